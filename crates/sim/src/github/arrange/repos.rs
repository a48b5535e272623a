//! Repositories, branches and commits.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use crate::git::{Commit, GitDir};
use crate::github::Github;
use crate::github::render::merged;
use crate::github::world::{Repo, World};
use crate::state::StateError;

/// How a repository is created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoOptions {
    /// Whether only collaborators see it.
    pub private: bool,
    /// Name of the first branch.
    pub default_branch: String,
}

impl Default for RepoOptions {
    fn default() -> Self {
        Self {
            private: false,
            default_branch: "main".to_owned(),
        }
    }
}

/// The commit address of a person; no mail can be sent there.
fn email(login: &str) -> String {
    format!("{login}@users.noreply.github.test")
}

impl Github {
    /// Creates an empty repository, `owner/name`, and returns its number.
    pub fn create_repo(&self, full_name: &str, options: &RepoOptions) -> Result<u64, StateError> {
        let mut world = self.world();
        let id = world.next_id();
        let git = GitDir::init(&self.repo_dir(id), &options.default_branch)?;
        let found = (options.default_branch.clone(), Vec::new());
        self.add_repo(&mut world, id, full_name, git, found, options.private)
    }

    /// Creates a repository with the branches of one on this machine.
    pub fn create_repo_from(
        &self,
        full_name: &str,
        source: &Path,
        private: bool,
    ) -> Result<u64, StateError> {
        let mut world = self.world();
        let id = world.next_id();
        let git = GitDir::clone_from(source, &self.repo_dir(id))?;
        let found = git.branches()?;
        self.add_repo(&mut world, id, full_name, git, found, private)
    }

    fn repo_dir(&self, id: u64) -> PathBuf {
        self.0.dir.path().join(format!("{id}.git"))
    }

    fn add_repo(
        &self,
        world: &mut World,
        id: u64,
        full_name: &str,
        git: GitDir,
        (default_branch, branches): (String, Vec<(String, String)>),
        private: bool,
    ) -> Result<u64, StateError> {
        let (owner, name) = full_name
            .split_once('/')
            .filter(|(owner, name)| !owner.is_empty() && !name.is_empty() && !name.contains('/'))
            .ok_or_else(|| StateError::conflict(format!("{full_name} is not owner/name")))?;
        if world.repo_id(full_name).is_some() {
            return Err(StateError::conflict(format!(
                "repository {full_name} exists"
            )));
        }
        world.account(owner);
        let now = self.now();
        world.repos.insert(
            id,
            Repo {
                id,
                owner: owner.to_owned(),
                name: name.to_owned(),
                private,
                default_branch,
                fork_of: None,
                git: Arc::new(git),
                branches: branches.into_iter().collect(),
                roles: BTreeMap::new(),
                contributors: BTreeSet::new(),
                pulls: BTreeMap::new(),
                checks: Vec::new(),
                statuses: Vec::new(),
                last_number: 0,
                created: now,
                pushed: now,
            },
        );
        Ok(id)
    }

    /// Forks a repository to an account and returns the fork's full name.
    pub fn fork(&self, full_name: &str, owner: &str) -> Result<String, StateError> {
        let mut world = self.world();
        world.account(owner);
        let id = world.next_id();
        let parent = world.repo_named(full_name)?;
        let fork = Repo {
            id,
            owner: owner.to_owned(),
            fork_of: Some(parent.id),
            roles: BTreeMap::new(),
            pulls: BTreeMap::new(),
            checks: Vec::new(),
            statuses: Vec::new(),
            last_number: 0,
            created: self.now(),
            ..parent.clone()
        };
        let name = fork.full_name();
        if world.repo_id(&name).is_some() {
            return Err(StateError::conflict(format!("repository {name} exists")));
        }
        for (branch, sha) in &fork.branches {
            fork.git.set_ref(&fork.ref_name(branch), Some(sha))?;
        }
        world.repos.insert(id, fork);
        Ok(name)
    }

    /// Deletes a repository. Pull requests from a deleted fork stay, without a head repository.
    pub fn delete_repo(&self, full_name: &str) -> Result<(), StateError> {
        let mut world = self.world();
        let id = world.repo_named(full_name)?.id;
        world.repos.remove(&id);
        for pull in world
            .repos
            .values_mut()
            .flat_map(|repo| repo.pulls.values_mut())
        {
            if pull.head_repo == Some(id) {
                pull.head_repo = None;
            }
        }
        Ok(())
    }

    /// Gives a repository another owner or name; its number stays, and requests under the old name
    /// are redirected until somebody else takes it.
    pub fn rename_repo(&self, from: &str, to: &str) -> Result<(), StateError> {
        let mut world = self.world();
        let taken = world.repo_id(to).is_some();
        let (owner, name) = to
            .split_once('/')
            .filter(|_| !taken)
            .ok_or_else(|| StateError::conflict(format!("cannot rename to {to}")))?;
        world.account(owner);
        let repo = world.repo_named_mut(from)?;
        let (id, former) = (repo.id, repo.full_name().to_ascii_lowercase());
        owner.clone_into(&mut repo.owner);
        name.clone_into(&mut repo.name);
        world.former_names.insert(former, id);
        Ok(())
    }

    /// Returns where a repository's objects lie, to look at with `git --git-dir`.
    pub fn git_dir(&self, full_name: &str) -> Result<PathBuf, StateError> {
        Ok(self.world().repo_named(full_name)?.git.path().to_owned())
    }

    /// Returns a repository's number.
    pub fn repo_id(&self, full_name: &str) -> Result<u64, StateError> {
        Ok(self.world().repo_named(full_name)?.id)
    }

    /// Returns the tip of a branch.
    pub fn tip(&self, full_name: &str, branch: &str) -> Result<String, StateError> {
        let world = self.world();
        let tip = world.repo_named(full_name)?.branches.get(branch).cloned();
        tip.ok_or_else(|| StateError::missing(format!("branch {branch} in {full_name}")))
    }

    /// Commits to a branch and pushes; returns the commit. A new branch starts at the default
    /// branch, or from nothing in an empty repository.
    pub fn commit(
        &self,
        full_name: &str,
        branch: &str,
        commit: &Commit,
    ) -> Result<String, StateError> {
        let mut world = self.world();
        world.account(&commit.author);
        let now = self.now();
        let (id, parent, git) = {
            let repo = world.repo_named(full_name)?;
            let start = repo
                .branches
                .get(branch)
                .or_else(|| repo.branches.get(&repo.default_branch));
            (repo.id, start.cloned(), Arc::clone(&repo.git))
        };
        let parents: Vec<&str> = parent.iter().map(String::as_str).collect();
        let sha = git.commit(&parents, commit, &email(&commit.author), now)?;
        if commit.verified {
            world.verified.insert(sha.clone());
        }
        if let Some(repo) = world.repos.get_mut(&id)
            && repo.default_branch == branch
        {
            repo.contributors.insert(commit.author.clone());
        }
        self.move_branch(&mut world, id, branch, &sha, &commit.author)?;
        Ok(sha)
    }

    /// Writes a commit on top of `parents` without moving any branch, and returns it.
    pub fn write_commit(
        &self,
        full_name: &str,
        parents: &[&str],
        commit: &Commit,
    ) -> Result<String, StateError> {
        let mut world = self.world();
        world.account(&commit.author);
        let git = Arc::clone(&world.repo_named(full_name)?.git);
        let sha = git.commit(parents, commit, &email(&commit.author), self.now())?;
        if commit.verified {
            world.verified.insert(sha.clone());
        }
        Ok(sha)
    }

    /// Points a branch at any commit, as a push or force-push does.
    pub fn push(
        &self,
        full_name: &str,
        branch: &str,
        sha: &str,
        by: &str,
    ) -> Result<(), StateError> {
        let mut world = self.world();
        let (id, known) = {
            let repo = world.repo_named(full_name)?;
            (repo.id, repo.git.resolve(sha, "commit")?)
        };
        let sha = known.ok_or_else(|| StateError::missing(format!("commit {sha}")))?;
        self.move_branch(&mut world, id, branch, &sha, by)
    }

    /// Deletes a branch; pull requests from it are closed.
    pub fn delete_branch(&self, full_name: &str, branch: &str, by: &str) -> Result<(), StateError> {
        let mut world = self.world();
        let id = {
            let repo = world.repo_named_mut(full_name)?;
            if repo.branches.remove(branch).is_none() {
                return Err(StateError::missing(format!(
                    "branch {branch} in {full_name}"
                )));
            }
            repo.git.set_ref(&repo.ref_name(branch), None)?;
            repo.id
        };
        for (repo, number) in heads(&world, id, branch) {
            self.close_in(&mut world, repo, number, by)?;
        }
        Ok(())
    }

    /// Moves a branch, and with it the pull requests whose head it is.
    pub(super) fn move_branch(
        &self,
        world: &mut World,
        id: u64,
        branch: &str,
        sha: &str,
        by: &str,
    ) -> Result<(), StateError> {
        world.account(by);
        let now = self.now();
        let repo = world
            .repos
            .get_mut(&id)
            .ok_or_else(|| StateError::missing("repository"))?;
        repo.git.set_ref(&repo.ref_name(branch), Some(sha))?;
        repo.branches.insert(branch.to_owned(), sha.to_owned());
        repo.pushed = now;
        for (of, number) in heads(world, id, branch) {
            let Some(base) = world.repos.get_mut(&of) else {
                continue;
            };
            base.git
                .set_ref(&format!("refs/pull/{number}/head"), Some(sha))?;
            let Some(pull) = base.pulls.get_mut(&number) else {
                continue;
            };
            let before = std::mem::replace(&mut pull.head, sha.to_owned());
            if before == sha {
                continue;
            }
            pull.heads.push(sha.to_owned());
            pull.updated = now;
            let more = json!({ "before": before, "after": sha });
            self.pull_event(world, of, number, "synchronize", by, more)?;
        }
        Ok(())
    }

    /// Delivers an event of a pull request.
    pub(super) fn pull_event(
        &self,
        world: &mut World,
        repo: u64,
        number: u64,
        action: &str,
        by: &str,
        more: serde_json::Value,
    ) -> Result<(), StateError> {
        world.account(by);
        let payload = {
            let found = world
                .repos
                .get(&repo)
                .ok_or_else(|| StateError::missing("repository"))?;
            if world.installation_for(found).is_none() {
                // Nobody would get it; counting its lines would only cost time.
                return Ok(());
            }
            let pull = found
                .pulls
                .get(&number)
                .ok_or_else(|| StateError::missing(format!("pull request {number}")))?;
            json!({
                "action": action,
                "number": number,
                "pull_request": self.show(world).pull(found, pull)?,
            })
        };
        self.emit(world, repo, "pull_request", by, merged(payload, more));
        Ok(())
    }
}

/// Returns the open pull requests whose head is this branch: repository and number.
fn heads(world: &World, repo: u64, branch: &str) -> Vec<(u64, u64)> {
    world
        .repos
        .values()
        .flat_map(|base| base.pulls.values().map(move |pull| (base.id, pull)))
        .filter(|(_, pull)| pull.open && pull.head_repo == Some(repo) && pull.head_ref == branch)
        .map(|(base, pull)| (base, pull.number))
        .collect()
}
