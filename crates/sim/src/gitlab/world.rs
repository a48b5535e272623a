//! The state of the simulated GitLab: what exists, before any of it is shown.
//!
//! **Invariant:** everything here is plain data behind one lock; nothing in it talks HTTP.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::positions::Position;
use crate::git::{GitDir, GitError};
use crate::state::StateError;

mod entities;

pub use entities::{Access, Scope, Visibility};
pub(crate) use entities::{
    Award, Discussion, Draft, Merge, MergeState, Note, NoteKind, Status, Token, User, Version,
};

/// Everything that exists.
#[derive(Debug, Default)]
pub(crate) struct World {
    last_id: u64,
    pub(crate) users: BTreeMap<String, User>,
    pub(crate) projects: BTreeMap<u64, Project>,
    pub(crate) tokens: HashMap<String, Token>,
    pub(crate) deliveries: Vec<super::webhooks::Delivery>,
    /// Deliveries that nobody took yet, as indices.
    pub(crate) outbox: Vec<usize>,
    /// While set, events share this `X-Gitlab-Event-UUID`, as webhooks that cause webhooks do.
    pub(crate) shared_uuid: Option<String>,
    /// Whether pushes wait for [`super::Gitlab::prepare`] before their diff is there.
    pub(crate) slow: bool,
}

/// A project with everything in it.
#[derive(Debug, Clone)]
pub(crate) struct Project {
    pub(crate) id: u64,
    /// The full path, as in `group/subgroup/name`.
    pub(crate) path: String,
    pub(crate) visibility: Visibility,
    pub(crate) default_branch: String,
    pub(crate) fork_of: Option<u64>,
    pub(crate) git: Arc<GitDir>,
    pub(crate) branches: BTreeMap<String, String>,
    /// Every commit that was ever pushed here, by a branch or by a merge request.
    pub(crate) tips: Vec<String>,
    pub(crate) members: BTreeMap<String, Access>,
    pub(crate) merges: BTreeMap<u64, Merge>,
    pub(crate) statuses: Vec<Status>,
    pub(crate) last_iid: u64,
    pub(crate) hook: Option<super::webhooks::Hook>,
    /// Merging needs all threads to be resolved.
    pub(crate) all_resolved: bool,
    /// Merging needs a pipeline that succeeded.
    pub(crate) must_succeed: bool,
    pub(crate) created: DateTime<Utc>,
}

impl Project {
    /// Returns the last part of the path.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the path without its last part.
    pub(crate) fn namespace(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(space, _)| space)
    }

    /// Returns where the references of this project lie in its network's git directory.
    pub(crate) fn ref_name(&self, branch: &str) -> String {
        if self.fork_of.is_some() {
            format!("refs/forks/{}/heads/{branch}", self.id)
        } else {
            format!("refs/heads/{branch}")
        }
    }

    /// Returns the commit that a branch, a merge request's reference or a hash names here.
    ///
    /// Forks share objects, but a commit exists in a project only if it came there.
    pub(crate) fn commit_of(&self, name: &str) -> Result<Option<String>, GitError> {
        let branch = name.strip_prefix("refs/heads/").unwrap_or(name);
        if let Some(sha) = self.branches.get(branch) {
            return Ok(Some(sha.clone()));
        }
        if name == "HEAD" {
            return Ok(self.branches.get(&self.default_branch).cloned());
        }
        let merge = name
            .strip_prefix("refs/merge-requests/")
            .and_then(|rest| rest.strip_suffix("/head"))
            .and_then(|iid| iid.parse().ok())
            .and_then(|iid: u64| self.merges.get(&iid));
        if let Some(merge) = merge {
            return Ok(Some(merge.head.clone()));
        }
        // Names with punctuation would reach into git's own syntax.
        if name.len() < 7 || !name.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let Some(sha) = self.git.resolve(name, "commit")? else {
            return Ok(None);
        };
        for tip in &self.tips {
            if *tip == sha || self.git.merge_base(tip, &sha)?.as_ref() == Some(&sha) {
                return Ok(Some(sha));
            }
        }
        Ok(None)
    }

    /// Returns the branches that have a commit, the ones at its tip first.
    pub(crate) fn branches_with(&self, sha: &str) -> Result<Vec<String>, GitError> {
        let (mut at, mut above) = (Vec::new(), Vec::new());
        for (branch, tip) in &self.branches {
            if tip == sha {
                at.push(branch.clone());
            } else if self.git.merge_base(tip, sha)?.as_deref() == Some(sha) {
                above.push(branch.clone());
            }
        }
        at.append(&mut above);
        Ok(at)
    }

    /// Returns a note of the project with its merge request and discussion.
    pub(crate) fn note(&self, iid: u64, note: u64) -> Option<(&Merge, &Discussion, &Note)> {
        let merge = self.merges.get(&iid)?;
        merge.discussions.iter().find_map(|discussion| {
            let found = discussion.notes.iter().find(|n| n.id == note)?;
            Some((merge, discussion, found))
        })
    }

    /// Returns the access of a user who was made a member.
    pub(crate) fn access(&self, username: &str) -> Option<Access> {
        self.members.get(username).copied()
    }

    /// Returns whether a user may see that the project exists.
    pub(crate) fn is_visible_to(&self, username: Option<&str>) -> bool {
        match self.visibility {
            Visibility::Public => true,
            Visibility::Internal => username.is_some(),
            Visibility::Private => username.is_some_and(|u| self.access(u).is_some()),
        }
    }

    /// Returns whether a user may do what takes this access.
    pub(crate) fn allows(&self, username: &str, needed: Access) -> bool {
        self.access(username).is_some_and(|have| have >= needed)
    }
}

impl Merge {
    /// Returns the newest version of the diff.
    pub(crate) fn latest(&self) -> Option<&Version> {
        self.versions.last()
    }

    /// Returns a version that has exactly these commits.
    pub(crate) fn version_with(&self, position: &Position) -> Option<&Version> {
        self.versions.iter().find(|v| {
            v.base == position.base && v.start == position.start && v.head == position.head
        })
    }

    /// Returns a discussion.
    pub(crate) fn discussion(&self, id: &str) -> Option<&Discussion> {
        self.discussions.iter().find(|d| d.id == id)
    }

    /// Returns a note, to be changed.
    pub(crate) fn note_mut(&mut self, id: u64) -> Option<&mut Note> {
        self.discussions
            .iter_mut()
            .flat_map(|d| d.notes.iter_mut())
            .find(|n| n.id == id)
    }

    /// Removes a note, and its discussion with the last of its notes.
    pub(crate) fn remove_note(&mut self, id: u64) -> bool {
        let count =
            |merge: &Self| -> usize { merge.discussions.iter().map(|d| d.notes.len()).sum() };
        let before = count(self);
        for discussion in &mut self.discussions {
            discussion.notes.retain(|note| note.id != id);
        }
        self.discussions.retain(|d| !d.notes.is_empty());
        count(self) < before
    }

    /// Returns whether no resolvable thread is open.
    pub(crate) fn is_settled(&self) -> bool {
        self.discussions.iter().all(|d| !d.is_open())
    }
}

impl World {
    /// Returns a number that nothing else has.
    pub(crate) fn next_id(&mut self) -> u64 {
        // Ids of notes on gitlab.com passed two billion; who squeezes them into 32 bits fails here.
        const FIRST_ID: u64 = 3_000_000_000;
        self.last_id = self.last_id.max(FIRST_ID).saturating_add(1);
        self.last_id
    }

    /// Returns a user, who gets an account here if there is none.
    pub(crate) fn user(&mut self, username: &str) -> User {
        if let Some(known) = self.users.get(username) {
            return known.clone();
        }
        let user = User {
            id: self.next_id(),
            username: username.to_owned(),
            name: username.to_owned(),
            bot: false,
        };
        self.users.insert(username.to_owned(), user.clone());
        user
    }

    /// Finds a project by its full path, in any case of letters.
    pub(crate) fn project_id(&self, path: &str) -> Option<u64> {
        self.projects
            .values()
            .find(|p| p.path.eq_ignore_ascii_case(path))
            .map(|p| p.id)
    }

    /// Returns a project for the state API.
    pub(crate) fn project(&self, path: &str) -> Result<&Project, StateError> {
        self.project_id(path)
            .and_then(|id| self.projects.get(&id))
            .ok_or_else(|| StateError::missing(format!("project {path}")))
    }

    /// Returns a project for the state API, to be changed.
    pub(crate) fn project_mut(&mut self, path: &str) -> Result<&mut Project, StateError> {
        let id = self.project_id(path);
        id.and_then(|id| self.projects.get_mut(&id))
            .ok_or_else(|| StateError::missing(format!("project {path}")))
    }

    /// Returns a merge request, to be changed.
    pub(crate) fn merge_mut(&mut self, project: u64, iid: u64) -> Result<&mut Merge, StateError> {
        self.projects
            .get_mut(&project)
            .and_then(|project| project.merges.get_mut(&iid))
            .ok_or_else(|| StateError::missing(format!("merge request {iid}")))
    }

    /// Returns a merge request and its project.
    pub(crate) fn merge(&self, project: u64, iid: u64) -> Result<(&Project, &Merge), StateError> {
        self.projects
            .get(&project)
            .and_then(|project| Some((project, project.merges.get(&iid)?)))
            .ok_or_else(|| StateError::missing(format!("merge request {iid}")))
    }
}
