//! Projects, members, tokens, hooks, branches and commits.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use sha2::{Digest as _, Sha256};

use crate::git::{Commit, GitDir};
use crate::gitlab::Gitlab;
use crate::gitlab::versions::GitlabFeature;
use crate::gitlab::webhooks::{Hook, HookOptions};
use crate::gitlab::world::{Access, Project, Scope, Token, Visibility, World};
use crate::state::StateError;

/// How a project is created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectOptions {
    /// Who sees it.
    pub visibility: Visibility,
    /// Name of the first branch.
    pub default_branch: String,
}

impl Default for ProjectOptions {
    fn default() -> Self {
        Self {
            visibility: Visibility::Private,
            default_branch: "main".to_owned(),
        }
    }
}

/// The commit address of a person; no mail can be sent there.
pub(super) fn email(username: &str) -> String {
    format!("{username}@users.noreply.gitlab.test")
}

impl Gitlab {
    /// Creates an empty project, `group/name` or with subgroups between, and returns its number.
    pub fn create_project(&self, path: &str, options: &ProjectOptions) -> Result<u64, StateError> {
        let mut world = self.world();
        let id = world.next_id();
        let git = GitDir::init(&self.project_dir(id), &options.default_branch)?;
        let found = (options.default_branch.clone(), Vec::new());
        self.add_project(&mut world, id, path, git, found, options.visibility)
    }

    /// Creates a project with the branches of a repository on this machine.
    pub fn create_project_from(
        &self,
        path: &str,
        source: &Path,
        visibility: Visibility,
    ) -> Result<u64, StateError> {
        let mut world = self.world();
        let id = world.next_id();
        let git = GitDir::clone_from(source, &self.project_dir(id))?;
        let found = git.branches()?;
        self.add_project(&mut world, id, path, git, found, visibility)
    }

    fn project_dir(&self, id: u64) -> PathBuf {
        self.0.dir.path().join(format!("{id}.git"))
    }

    fn add_project(
        &self,
        world: &mut World,
        id: u64,
        path: &str,
        git: GitDir,
        (default_branch, branches): (String, Vec<(String, String)>),
        visibility: Visibility,
    ) -> Result<u64, StateError> {
        check_free(world, path)?;
        world.projects.insert(
            id,
            Project {
                id,
                path: path.to_owned(),
                visibility,
                default_branch,
                fork_of: None,
                git: Arc::new(git),
                tips: branches.iter().map(|(_, sha)| sha.clone()).collect(),
                branches: branches.into_iter().collect(),
                members: BTreeMap::new(),
                merges: BTreeMap::new(),
                statuses: Vec::new(),
                last_iid: 0,
                hook: None,
                all_resolved: false,
                must_succeed: false,
                created: self.now(),
            },
        );
        Ok(id)
    }

    /// Forks a project to a namespace, where its owner gets everything, and returns its full path.
    pub fn fork(&self, path: &str, owner: &str) -> Result<String, StateError> {
        let mut world = self.world();
        world.user(owner);
        let id = world.next_id();
        let parent = world.project(path)?;
        let fork = Project {
            id,
            path: format!("{owner}/{}", parent.name()),
            fork_of: Some(parent.id),
            members: BTreeMap::from([(owner.to_owned(), Access::Owner)]),
            merges: BTreeMap::new(),
            statuses: Vec::new(),
            last_iid: 0,
            hook: None,
            created: self.now(),
            ..parent.clone()
        };
        check_free(&world, &fork.path)?;
        for (branch, sha) in &fork.branches {
            fork.git.set_ref(&fork.ref_name(branch), Some(sha))?;
        }
        let name = fork.path.clone();
        world.projects.insert(id, fork);
        Ok(name)
    }

    /// Deletes a project. Merge requests from a deleted fork stay, without a source project.
    pub fn delete_project(&self, path: &str) -> Result<(), StateError> {
        let mut world = self.world();
        let id = world.project(path)?.id;
        world.projects.remove(&id);
        for merge in world
            .projects
            .values_mut()
            .flat_map(|project| project.merges.values_mut())
        {
            if merge.source_project == Some(id) {
                merge.source_project = None;
            }
        }
        Ok(())
    }

    /// Moves a project to another path; its number stays.
    pub fn move_project(&self, from: &str, to: &str) -> Result<(), StateError> {
        let mut world = self.world();
        check_free(&world, to)?;
        to.clone_into(&mut world.project_mut(from)?.path);
        Ok(())
    }

    /// Makes somebody a member of a project.
    pub fn add_member(&self, path: &str, username: &str, access: Access) -> Result<(), StateError> {
        let mut world = self.world();
        world.user(username);
        let members = &mut world.project_mut(path)?.members;
        members.insert(username.to_owned(), access);
        Ok(())
    }

    /// Ends somebody's membership.
    pub fn remove_member(&self, path: &str, username: &str) -> Result<(), StateError> {
        let mut world = self.world();
        world.project_mut(path)?.members.remove(username);
        Ok(())
    }

    /// Demands that all threads are resolved, or a pipeline succeeded, before something is merged.
    pub fn protect(
        &self,
        path: &str,
        all_resolved: bool,
        must_succeed: bool,
    ) -> Result<(), StateError> {
        let mut world = self.world();
        let project = world.project_mut(path)?;
        project.all_resolved = all_resolved;
        project.must_succeed = must_succeed;
        Ok(())
    }

    /// Sets a project's webhook, which hears of merge requests, notes and emoji.
    pub fn set_hook(&self, path: &str, options: HookOptions) -> Result<(), StateError> {
        let mut world = self.world();
        let id = world.next_id();
        world.project_mut(path)?.hook = Some(Hook::new(id, options));
        Ok(())
    }

    /// Creates a personal access token and returns it.
    pub fn create_token(&self, username: &str, scope: Scope) -> String {
        let mut world = self.world();
        world.user(username);
        self.add_token(&mut world, username, scope, None)
    }

    /// Creates a project access token with its bot, and returns the token.
    pub fn create_project_token(
        &self,
        path: &str,
        name: &str,
        access: Access,
        scope: Scope,
    ) -> Result<String, StateError> {
        if !self.has(GitlabFeature::ProjectTokens) {
            let what = format!("GitLab {} has no project access tokens", self.version());
            return Err(StateError::conflict(what));
        }
        let mut world = self.world();
        let project = world.project(path)?.id;
        let number = world.next_id();
        let username = format!("project_{project}_bot_{number:08x}");
        world.user(&username);
        if let Some(bot) = world.users.get_mut(&username) {
            bot.bot = true;
            name.clone_into(&mut bot.name);
        }
        let members = &mut world.project_mut(path)?.members;
        members.insert(username.clone(), access);
        Ok(self.add_token(&mut world, &username, scope, Some(project)))
    }

    fn add_token(
        &self,
        world: &mut World,
        username: &str,
        scope: Scope,
        project: Option<u64>,
    ) -> String {
        let id = world.next_id();
        // Looks random, so that pieces of it are found nowhere else.
        let digest = hex::encode(Sha256::digest(format!("simulated gitlab token {id}")));
        let tail: String = digest.chars().take(20).collect();
        let text = format!("glpat-madeUp{tail}");
        world.tokens.insert(
            text.clone(),
            Token {
                id,
                name: "made up".to_owned(),
                user: username.to_owned(),
                scopes: BTreeSet::from([scope]),
                project,
                expires: None,
                revoked: false,
                created: self.now(),
            },
        );
        text
    }

    /// Lets a token end at a time.
    pub fn expire_token(&self, token: &str, at: DateTime<Utc>) -> Result<(), StateError> {
        let mut world = self.world();
        let known = world.tokens.get_mut(token);
        known.ok_or_else(|| StateError::missing("token"))?.expires = Some(at);
        Ok(())
    }

    /// Revokes a token.
    pub fn revoke_token(&self, token: &str) -> Result<(), StateError> {
        let mut world = self.world();
        let known = world.tokens.get_mut(token);
        known.ok_or_else(|| StateError::missing("token"))?.revoked = true;
        Ok(())
    }

    /// Returns a project's number.
    pub fn project_id(&self, path: &str) -> Result<u64, StateError> {
        Ok(self.world().project(path)?.id)
    }

    /// Returns a user's number.
    pub fn user_id(&self, username: &str) -> u64 {
        self.world().user(username).id
    }

    /// Returns where a project's objects lie, to look at with `git --git-dir`.
    pub fn git_dir(&self, path: &str) -> Result<PathBuf, StateError> {
        Ok(self.world().project(path)?.git.path().to_owned())
    }

    /// Returns the tip of a branch.
    pub fn tip(&self, path: &str, branch: &str) -> Result<String, StateError> {
        let world = self.world();
        let tip = world.project(path)?.branches.get(branch).cloned();
        tip.ok_or_else(|| StateError::missing(format!("branch {branch} in {path}")))
    }

    /// Commits to a branch and pushes; returns the commit. A new branch starts at the default
    /// branch, or from nothing in an empty project.
    pub fn commit(&self, path: &str, branch: &str, commit: &Commit) -> Result<String, StateError> {
        let mut world = self.world();
        let now = self.now();
        let (id, parent, git) = {
            let project = world.project(path)?;
            let start = project
                .branches
                .get(branch)
                .or_else(|| project.branches.get(&project.default_branch));
            (project.id, start.cloned(), Arc::clone(&project.git))
        };
        let parents: Vec<&str> = parent.iter().map(String::as_str).collect();
        let sha = git.commit(&parents, commit, &email(&commit.author), now)?;
        self.move_branch(&mut world, id, branch, &sha, &commit.author)?;
        Ok(sha)
    }

    /// Writes a commit on top of `parents` without moving any branch, and returns it.
    pub fn write_commit(
        &self,
        path: &str,
        parents: &[&str],
        commit: &Commit,
    ) -> Result<String, StateError> {
        let git = Arc::clone(&self.world().project(path)?.git);
        Ok(git.commit(parents, commit, &email(&commit.author), self.now())?)
    }

    /// Points a branch at any commit, as a push or force-push does.
    pub fn push(&self, path: &str, branch: &str, sha: &str, by: &str) -> Result<(), StateError> {
        let mut world = self.world();
        let (id, known) = {
            let project = world.project(path)?;
            (project.id, project.git.resolve(sha, "commit")?)
        };
        let sha = known.ok_or_else(|| StateError::missing(format!("commit {sha}")))?;
        self.move_branch(&mut world, id, branch, &sha, by)
    }
}

fn check_free(world: &World, path: &str) -> Result<(), StateError> {
    let parts: Vec<&str> = path.split('/').collect();
    if parts.len() < 2 || parts.iter().any(|part| part.is_empty()) {
        return Err(StateError::conflict(format!("{path} is not group/name")));
    }
    if world.project_id(path).is_some() {
        return Err(StateError::conflict(format!("project {path} exists")));
    }
    Ok(())
}
