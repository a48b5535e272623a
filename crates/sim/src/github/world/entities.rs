//! The things that exist: accounts, repositories, pull requests, and what is said on them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::diff::Side;
use crate::git::GitDir;

/// Kind of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountKind {
    /// A person.
    User,
    /// An organization.
    Organization,
    /// An App's or a machine's account.
    Bot,
}

/// An account.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub(crate) id: u64,
    pub(crate) login: String,
    pub(crate) kind: AccountKind,
    /// Members, if this is an organization.
    pub(crate) members: BTreeSet<String>,
    /// Those of them who keep it to themselves.
    pub(crate) private_members: BTreeSet<String>,
}

/// What someone may do in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Nothing beyond what everyone may.
    None,
    /// Read.
    Read,
    /// Read and manage issues.
    Triage,
    /// Push.
    Write,
    /// Push and manage.
    Maintain,
    /// Everything.
    Admin,
}

/// An installation of the App on an account.
#[derive(Debug, Clone)]
pub(crate) struct Installation {
    pub(crate) id: u64,
    pub(crate) owner: String,
    /// The chosen repositories; `None` means all.
    pub(crate) selected: Option<BTreeSet<u64>>,
    pub(crate) permissions: BTreeMap<String, Level>,
    pub(crate) suspended: bool,
    pub(crate) created: DateTime<Utc>,
}

/// A permission's level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Read,
    Write,
}

impl Level {
    pub(crate) fn parse(word: &str) -> Option<Self> {
        match word {
            "read" => Some(Self::Read),
            "write" | "admin" => Some(Self::Write),
            _ => None,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// A token somebody can present.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) holder: Holder,
    pub(crate) permissions: BTreeMap<String, Level>,
    /// The repositories it reaches; `None` means all its holder reaches.
    pub(crate) repos: Option<BTreeSet<u64>>,
    pub(crate) expires: Option<DateTime<Utc>>,
}

/// Whose token it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Holder {
    Installation(u64),
    User(String),
}

/// A repository.
#[derive(Debug, Clone)]
pub(crate) struct Repo {
    pub(crate) id: u64,
    pub(crate) owner: String,
    pub(crate) name: String,
    pub(crate) private: bool,
    pub(crate) default_branch: String,
    pub(crate) fork_of: Option<u64>,
    pub(crate) git: Arc<GitDir>,
    pub(crate) branches: BTreeMap<String, String>,
    pub(crate) roles: BTreeMap<String, Role>,
    /// Logins whose commits are on the default branch.
    pub(crate) contributors: BTreeSet<String>,
    pub(crate) pulls: BTreeMap<u64, Pull>,
    pub(crate) checks: Vec<CheckRun>,
    pub(crate) statuses: Vec<Status>,
    pub(crate) last_number: u64,
    pub(crate) created: DateTime<Utc>,
    pub(crate) pushed: DateTime<Utc>,
}

/// A pull request with all that was said on it.
#[derive(Debug, Clone)]
pub(crate) struct Pull {
    pub(crate) id: u64,
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) body: Option<String>,
    pub(crate) author: String,
    pub(crate) base_ref: String,
    pub(crate) head_ref: String,
    /// The repository of the head branch; `None` once the fork is deleted.
    pub(crate) head_repo: Option<u64>,
    pub(crate) head_owner: String,
    pub(crate) head: String,
    /// Tip of the base branch when the pull request was closed.
    pub(crate) closed_base: Option<String>,
    /// All heads it ever had, in order.
    pub(crate) heads: Vec<String>,
    pub(crate) open: bool,
    pub(crate) draft: bool,
    pub(crate) locked: bool,
    pub(crate) merged: Option<Merged>,
    pub(crate) closed_at: Option<DateTime<Utc>>,
    pub(crate) created: DateTime<Utc>,
    pub(crate) updated: DateTime<Utc>,
    pub(crate) labels: Vec<Label>,
    pub(crate) comments: Vec<IssueComment>,
    pub(crate) reviews: Vec<Review>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) review_comments: Vec<ReviewComment>,
}

#[derive(Debug, Clone)]
pub(crate) struct Merged {
    pub(crate) by: String,
    pub(crate) at: DateTime<Utc>,
    pub(crate) sha: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Label {
    pub(crate) id: u64,
    pub(crate) name: String,
}

/// A comment on the pull request as a whole.
#[derive(Debug, Clone)]
pub(crate) struct IssueComment {
    pub(crate) id: u64,
    pub(crate) author: String,
    pub(crate) body: String,
    pub(crate) created: DateTime<Utc>,
    pub(crate) updated: DateTime<Utc>,
    pub(crate) by_app: bool,
    pub(crate) minimized: Option<String>,
    pub(crate) reactions: Vec<Reaction>,
    pub(crate) unread: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Reaction {
    pub(crate) id: u64,
    pub(crate) author: String,
    pub(crate) content: String,
    pub(crate) at: DateTime<Utc>,
}

/// State of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReviewState {
    Pending,
    Commented,
    Approved,
    ChangesRequested,
    Dismissed,
}

impl ReviewState {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Commented => "COMMENTED",
            Self::Approved => "APPROVED",
            Self::ChangesRequested => "CHANGES_REQUESTED",
            Self::Dismissed => "DISMISSED",
        }
    }
}

/// A review.
#[derive(Debug, Clone)]
pub(crate) struct Review {
    pub(crate) id: u64,
    pub(crate) author: String,
    pub(crate) body: String,
    pub(crate) state: ReviewState,
    pub(crate) commit: String,
    pub(crate) submitted: Option<DateTime<Utc>>,
    pub(crate) minimized: Option<String>,
    pub(crate) unread: bool,
}

/// A conversation on a place in the diff.
#[derive(Debug, Clone)]
pub(crate) struct Thread {
    pub(crate) id: u64,
    pub(crate) resolved_by: Option<String>,
}

/// Where a comment was placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Anchor {
    pub(crate) path: Vec<u8>,
    /// `None` for a comment on the file as a whole.
    pub(crate) line: Option<Place>,
    pub(crate) start: Option<Place>,
    pub(crate) position: u64,
    pub(crate) hunk: String,
}

/// One line of one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) side: Side,
    pub(crate) line: u64,
}

/// A comment on a place in the diff.
#[derive(Debug, Clone)]
pub(crate) struct ReviewComment {
    pub(crate) id: u64,
    pub(crate) review: Option<u64>,
    pub(crate) thread: u64,
    pub(crate) in_reply_to: Option<u64>,
    pub(crate) author: String,
    pub(crate) body: String,
    pub(crate) anchor: Anchor,
    /// The commit it was written on, and the tip of the base branch then.
    pub(crate) commit: String,
    pub(crate) base: String,
    pub(crate) created: DateTime<Utc>,
    pub(crate) updated: DateTime<Utc>,
    pub(crate) minimized: Option<String>,
    pub(crate) reactions: Vec<Reaction>,
    pub(crate) unread: bool,
}

/// A check run.
#[derive(Debug, Clone)]
pub(crate) struct CheckRun {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) head: String,
    pub(crate) status: String,
    pub(crate) conclusion: Option<String>,
    pub(crate) external_id: String,
    pub(crate) details_url: Option<String>,
    pub(crate) started: DateTime<Utc>,
    pub(crate) completed: Option<DateTime<Utc>>,
    pub(crate) title: Option<String>,
    pub(crate) summary: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) annotations: Vec<serde_json::Value>,
    pub(crate) actions: Vec<serde_json::Value>,
}

/// A commit status.
#[derive(Debug, Clone)]
pub(crate) struct Status {
    pub(crate) id: u64,
    pub(crate) sha: String,
    pub(crate) state: String,
    pub(crate) context: String,
    pub(crate) description: Option<String>,
    pub(crate) target_url: Option<String>,
    pub(crate) creator: String,
    pub(crate) created: DateTime<Utc>,
}

impl Installation {
    /// Returns whether a repository of the owner is among the chosen ones.
    pub(crate) fn covers(&self, repo: u64) -> bool {
        self.selected
            .as_ref()
            .is_none_or(|chosen| chosen.contains(&repo))
    }
}

impl Repo {
    /// Returns `owner/name`.
    pub(crate) fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    /// Returns the commit a pull request is compared with: the tip of its base branch.
    pub(crate) fn base_sha(&self, pull: &Pull) -> String {
        pull.closed_base
            .clone()
            .or_else(|| self.branches.get(&pull.base_ref).cloned())
            .unwrap_or_default()
    }

    /// Returns where the references of this repository lie in its network's git directory.
    pub(crate) fn ref_name(&self, branch: &str) -> String {
        if self.fork_of.is_some() {
            format!("refs/forks/{}/heads/{branch}", self.id)
        } else {
            format!("refs/heads/{branch}")
        }
    }

    /// Finds a comment on the diff, and its pull request.
    pub(crate) fn review_comment(&self, id: u64) -> Option<(&Pull, &ReviewComment)> {
        self.pulls.values().find_map(|pull| {
            pull.review_comments
                .iter()
                .find(|c| c.id == id)
                .map(|comment| (pull, comment))
        })
    }

    /// Finds a comment on a pull request as a whole, and its pull request.
    pub(crate) fn issue_comment(&self, id: u64) -> Option<(&Pull, &IssueComment)> {
        self.pulls.values().find_map(|pull| {
            pull.comments
                .iter()
                .find(|c| c.id == id)
                .map(|comment| (pull, comment))
        })
    }

    /// Finds a comment on the diff, to be changed.
    pub(crate) fn review_comment_mut(&mut self, id: u64) -> Option<&mut ReviewComment> {
        self.pulls
            .values_mut()
            .find_map(|pull| pull.review_comments.iter_mut().find(|c| c.id == id))
    }

    /// Finds a comment on a pull request as a whole, to be changed.
    pub(crate) fn issue_comment_mut(&mut self, id: u64) -> Option<&mut IssueComment> {
        self.pulls
            .values_mut()
            .find_map(|pull| pull.comments.iter_mut().find(|c| c.id == id))
    }

    /// Removes a comment of either kind; returns whether it was there.
    pub(crate) fn remove_comment(&mut self, id: u64) -> bool {
        let mut found = false;
        for pull in self.pulls.values_mut() {
            let before = pull
                .comments
                .len()
                .saturating_add(pull.review_comments.len());
            pull.comments.retain(|c| c.id != id);
            pull.review_comments.retain(|c| c.id != id);
            found |= before
                != pull
                    .comments
                    .len()
                    .saturating_add(pull.review_comments.len());
            let threads: BTreeSet<u64> = pull.review_comments.iter().map(|c| c.thread).collect();
            pull.threads.retain(|thread| threads.contains(&thread.id));
        }
        found
    }
}
