//! The state of the simulated GitHub: what exists, before any of it is shown.
//!
//! **Invariant:** everything here is plain data behind one lock; nothing in it talks HTTP.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::auth::Caller;
use super::diff::Side;
use super::git::{GitDir, GitError};

/// Why the simulator could not arrange what a test asked for.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// There is no such thing.
    #[error("there is no {what}")]
    Missing {
        /// Its kind and name.
        what: String,
    },
    /// It exists already, or its state forbids the step.
    #[error("{what}")]
    Conflict {
        /// What stands against it.
        what: String,
    },
    /// Git could not do its part.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl StateError {
    pub(crate) fn missing(what: impl Into<String>) -> Self {
        Self::Missing { what: what.into() }
    }

    pub(crate) fn conflict(what: impl Into<String>) -> Self {
        Self::Conflict { what: what.into() }
    }
}

/// Everything that exists.
#[derive(Debug, Default)]
pub(crate) struct World {
    last_id: u64,
    pub(crate) accounts: BTreeMap<String, Account>,
    pub(crate) repos: BTreeMap<u64, Repo>,
    /// Names that repositories had before, in lower case.
    pub(crate) former_names: BTreeMap<String, u64>,
    pub(crate) installations: BTreeMap<u64, Installation>,
    pub(crate) tokens: HashMap<String, Token>,
    pub(crate) deliveries: Vec<super::webhooks::Delivery>,
    /// Deliveries that nobody took yet, as indices.
    pub(crate) outbox: Vec<usize>,
    /// Commits whose signature GitHub accepts.
    pub(crate) verified: BTreeSet<String>,
    /// Temporary archive links: token, then what it opens.
    pub(crate) archive_links: HashMap<String, ArchiveLink>,
    pub(crate) hook: HookConfig,
}

/// The App's webhook settings, which `PATCH /app/hook/config` changes.
#[derive(Debug, Clone, Default)]
pub(crate) struct HookConfig {
    pub(crate) url: String,
    pub(crate) secret: String,
    pub(crate) form: bool,
}

/// A temporary link to an archive.
#[derive(Debug, Clone)]
pub(crate) struct ArchiveLink {
    pub(crate) repo: u64,
    pub(crate) sha: String,
    pub(crate) expires: DateTime<Utc>,
}

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

impl World {
    /// Returns a number that nothing else has.
    pub(crate) fn next_id(&mut self) -> u64 {
        // Ids of GitHub are far from small; clients that squeeze them into 32 bits fail here.
        const FIRST_ID: u64 = 5_000_000_000;
        self.last_id = self.last_id.max(FIRST_ID).saturating_add(1);
        self.last_id
    }

    /// Returns an account, which a person without one gets here.
    pub(crate) fn account(&mut self, login: &str) -> Account {
        self.account_of(login, AccountKind::User)
    }

    /// Returns an account, created with this kind if it is new.
    pub(crate) fn account_of(&mut self, login: &str, kind: AccountKind) -> Account {
        if let Some(known) = self.accounts.get(login) {
            return known.clone();
        }
        let kind = if login.ends_with("[bot]") {
            AccountKind::Bot
        } else {
            kind
        };
        let account = Account {
            id: self.next_id(),
            login: login.to_owned(),
            kind,
            members: BTreeSet::new(),
        };
        self.accounts.insert(login.to_owned(), account.clone());
        account
    }

    /// Finds a repository by `owner/name`, in any case of letters.
    pub(crate) fn repo_id(&self, full_name: &str) -> Option<u64> {
        let (owner, name) = full_name.split_once('/')?;
        self.repos
            .values()
            .find(|r| r.owner.eq_ignore_ascii_case(owner) && r.name.eq_ignore_ascii_case(name))
            .map(|r| r.id)
    }

    /// Returns a repository for the state API.
    pub(crate) fn repo_named(&self, full_name: &str) -> Result<&Repo, StateError> {
        self.repo_id(full_name)
            .and_then(|id| self.repos.get(&id))
            .ok_or_else(|| StateError::missing(format!("repository {full_name}")))
    }

    /// Returns a repository for the state API, to be changed.
    pub(crate) fn repo_named_mut(&mut self, full_name: &str) -> Result<&mut Repo, StateError> {
        let id = self.repo_id(full_name);
        id.and_then(|id| self.repos.get_mut(&id))
            .ok_or_else(|| StateError::missing(format!("repository {full_name}")))
    }

    /// Returns a pull request for the state API, to be changed.
    pub(crate) fn pull_mut(&mut self, repo: u64, number: u64) -> Result<&mut Pull, StateError> {
        self.repos
            .get_mut(&repo)
            .and_then(|repo| repo.pulls.get_mut(&number))
            .ok_or_else(|| StateError::missing(format!("pull request {number}")))
    }

    /// Returns the role of an account in a repository.
    pub(crate) fn role(repo: &Repo, login: &str) -> Role {
        if repo.owner == login {
            return Role::Admin;
        }
        let open = if repo.private { Role::None } else { Role::Read };
        repo.roles.get(login).copied().unwrap_or(open)
    }

    /// Returns the word GitHub uses for an author's relation to a repository.
    pub(crate) fn association(&self, repo: &Repo, login: &str) -> &'static str {
        let member = self
            .accounts
            .get(&repo.owner)
            .is_some_and(|owner| owner.members.contains(login));
        if repo.owner == login {
            "OWNER"
        } else if member {
            "MEMBER"
        } else if repo.roles.get(login).is_some_and(|role| *role > Role::None) {
            "COLLABORATOR"
        } else if repo.contributors.contains(login) {
            "CONTRIBUTOR"
        } else if login.ends_with("[bot]") {
            "NONE"
        } else {
            "FIRST_TIME_CONTRIBUTOR"
        }
    }

    /// Returns whether a repository exists for a caller.
    pub(crate) fn sees(&self, caller: &Caller, repo: &Repo) -> bool {
        if !caller.reaches(repo.id) {
            return false;
        }
        match caller {
            Caller::Installation { id, .. } => self
                .installations
                .get(id)
                .is_some_and(|i| i.owner.eq_ignore_ascii_case(&repo.owner) && i.covers(repo.id)),
            Caller::User { login, .. } => Self::role(repo, login) >= Role::Read,
            Caller::App | Caller::Anonymous => false,
        }
    }

    /// Returns the installation that covers a repository.
    pub(crate) fn installation_for(&self, repo: &Repo) -> Option<&Installation> {
        self.installations
            .values()
            .find(|i| i.owner.eq_ignore_ascii_case(&repo.owner) && i.covers(repo.id))
    }
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
}

impl Repo {
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
