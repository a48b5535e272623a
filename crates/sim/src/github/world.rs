//! The state of the simulated GitHub: what exists, before any of it is shown.
//!
//! **Invariant:** everything here is plain data behind one lock; nothing in it talks HTTP.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::{DateTime, Utc};

use super::auth::Caller;
use crate::state::StateError;

mod entities;

pub(crate) use entities::{
    Account, Anchor, CheckRun, Holder, Installation, IssueComment, Label, Level, Merged, Place,
    Pull, Reaction, Repo, Review, ReviewComment, ReviewState, Status, Thread, Token,
};
pub use entities::{AccountKind, Role};

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
    /// What the App's manifest asked for, if it was registered by one.
    pub(crate) registered: Option<Registered>,
    /// Codes of registrations that nobody exchanged yet.
    pub(crate) manifest_codes: HashMap<String, ManifestCode>,
}

/// What a manifest asked for.
#[derive(Debug, Clone)]
pub(crate) struct Registered {
    pub(crate) name: String,
    pub(crate) owner: String,
    pub(crate) permissions: Vec<(String, String)>,
    pub(crate) events: Vec<String>,
}

/// The code of a registration; it can be exchanged once.
#[derive(Debug, Clone)]
pub(crate) struct ManifestCode {
    pub(crate) expires: DateTime<Utc>,
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
            private_members: BTreeSet::new(),
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
        let owner = self.accounts.get(&repo.owner);
        let member = owner.is_some_and(|owner| owner.members.contains(login));
        let private = owner.is_some_and(|owner| owner.private_members.contains(login));
        if repo.owner == login {
            "OWNER"
        } else if private {
            // Neither the membership nor what comes with it is told.
            if repo.contributors.contains(login) {
                "CONTRIBUTOR"
            } else {
                "NONE"
            }
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
