//! The things that exist beside projects: users, tokens, merge requests, and what is said on them.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use crate::gitlab::positions::Position;

/// A user.
#[derive(Debug, Clone)]
pub(crate) struct User {
    pub(crate) id: u64,
    pub(crate) username: String,
    pub(crate) name: String,
    /// Whether it belongs to a project's token.
    pub(crate) bot: bool,
}

/// What a member may do in a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Look at the project, not at its code.
    Guest,
    /// Read the code and comment.
    Reporter,
    /// Push, resolve threads and set statuses.
    Developer,
    /// Manage.
    Maintainer,
    /// Everything.
    Owner,
}

impl Access {
    /// Returns the API's number.
    pub fn level(self) -> u8 {
        match self {
            Self::Guest => 10,
            Self::Reporter => 20,
            Self::Developer => 30,
            Self::Maintainer => 40,
            Self::Owner => 50,
        }
    }
}

/// Who sees a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// Members.
    Private,
    /// Everyone who is signed in.
    Internal,
    /// Everyone.
    Public,
}

impl Visibility {
    /// Returns the API's word.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Internal => "internal",
            Self::Public => "public",
        }
    }

    /// Returns the number that webhooks say.
    pub(crate) fn level(self) -> u8 {
        match self {
            Self::Private => 0,
            Self::Internal => 10,
            Self::Public => 20,
        }
    }
}

/// What a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Read everything its user sees.
    ReadApi,
    /// Everything its user may do.
    Api,
}

impl Scope {
    /// Returns GitLab's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadApi => "read_api",
            Self::Api => "api",
        }
    }
}

/// A token somebody can present.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) user: String,
    pub(crate) scopes: BTreeSet<Scope>,
    /// The only project that a project's token reaches.
    pub(crate) project: Option<u64>,
    pub(crate) expires: Option<DateTime<Utc>>,
    pub(crate) revoked: bool,
    pub(crate) created: DateTime<Utc>,
}

/// State of a merge request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MergeState {
    Opened,
    Closed,
    Merged,
}

impl MergeState {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Closed => "closed",
            Self::Merged => "merged",
        }
    }

    /// Returns the number that webhooks say.
    pub(crate) fn id(self) -> u8 {
        match self {
            Self::Opened => 1,
            Self::Closed => 2,
            Self::Merged => 3,
        }
    }
}

/// A version of a merge request's diff: what a push or another target made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) id: u64,
    pub(crate) head: String,
    /// The merge base of head and target.
    pub(crate) base: String,
    /// The tip of the target branch at that time.
    pub(crate) start: String,
    pub(crate) created: DateTime<Utc>,
}

/// A merge request with all that was said on it.
#[derive(Debug, Clone)]
pub(crate) struct Merge {
    pub(crate) id: u64,
    pub(crate) iid: u64,
    pub(crate) title: String,
    pub(crate) description: Option<String>,
    pub(crate) author: String,
    pub(crate) source_branch: String,
    pub(crate) target_branch: String,
    /// The project of the source branch; `None` once the fork is deleted.
    pub(crate) source_project: Option<u64>,
    pub(crate) state: MergeState,
    pub(crate) head: String,
    /// The versions of its diff, oldest first; none while it is being prepared.
    pub(crate) versions: Vec<Version>,
    pub(crate) prepared: Option<DateTime<Utc>>,
    pub(crate) merged: Option<(String, DateTime<Utc>, String)>,
    pub(crate) closed: Option<(String, DateTime<Utc>)>,
    pub(crate) labels: Vec<String>,
    pub(crate) created: DateTime<Utc>,
    pub(crate) updated: DateTime<Utc>,
    pub(crate) discussions: Vec<Discussion>,
    pub(crate) drafts: Vec<Draft>,
    pub(crate) awards: Vec<Award>,
    /// How many mails people got about it.
    pub(crate) notifications: u32,
}

/// Notes that belong together.
#[derive(Debug, Clone)]
pub(crate) struct Discussion {
    /// 40 hex digits.
    pub(crate) id: String,
    /// Whether it is one note that nobody answered.
    pub(crate) individual: bool,
    pub(crate) notes: Vec<Note>,
}

impl Discussion {
    /// Returns whether it can be resolved and is not.
    pub(crate) fn is_open(&self) -> bool {
        self.notes
            .iter()
            .any(|n| n.is_resolvable() && n.resolved.is_none())
    }
}

/// What kind of note it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoteKind {
    /// By itself.
    Plain,
    /// In a thread on the whole.
    Thread,
    /// In a thread on a place of the diff.
    Diff,
}

impl NoteKind {
    /// Returns the API's word.
    pub(crate) fn as_str(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Thread => Some("DiscussionNote"),
            Self::Diff => Some("DiffNote"),
        }
    }
}

/// A note.
#[derive(Debug, Clone)]
pub(crate) struct Note {
    pub(crate) id: u64,
    pub(crate) kind: NoteKind,
    pub(crate) author: String,
    pub(crate) body: String,
    /// Whether GitLab wrote it.
    pub(crate) system: bool,
    pub(crate) created: DateTime<Utc>,
    pub(crate) updated: DateTime<Utc>,
    /// Where it stands now, and where it was written.
    pub(crate) position: Option<Position>,
    pub(crate) original: Option<Position>,
    pub(crate) line_code: Option<String>,
    pub(crate) resolved: Option<(String, DateTime<Utc>)>,
    pub(crate) awards: Vec<Award>,
    pub(crate) unread: bool,
}

impl Note {
    pub(crate) fn is_resolvable(&self) -> bool {
        !self.system && self.kind != NoteKind::Plain
    }
}

/// An emoji on a note or on the whole.
#[derive(Debug, Clone)]
pub(crate) struct Award {
    pub(crate) id: u64,
    pub(crate) author: String,
    pub(crate) name: String,
    pub(crate) at: DateTime<Utc>,
}

/// A comment that its author has not published.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) id: u64,
    pub(crate) author: String,
    pub(crate) body: String,
    pub(crate) position: Option<Position>,
    pub(crate) line_code: Option<String>,
    pub(crate) reply_to: Option<String>,
    pub(crate) resolve: bool,
    pub(crate) unread: bool,
}

/// A commit status.
#[derive(Debug, Clone)]
pub(crate) struct Status {
    pub(crate) id: u64,
    pub(crate) sha: String,
    pub(crate) reference: String,
    pub(crate) name: String,
    pub(crate) state: String,
    pub(crate) description: Option<String>,
    pub(crate) target_url: Option<String>,
    pub(crate) author: String,
    pub(crate) created: DateTime<Utc>,
    pub(crate) finished: Option<DateTime<Utc>>,
}
