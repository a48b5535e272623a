//! What a webhook asks for, as a closed list.
//!
//! **Invariant:** a request holds ids only. Author, text, head, labels and draft state are read from
//! the forge before anything acts, because a webhook body is a hint and not a fact.

use serde::{Deserialize, Serialize};

use crate::ids::{
    Account, AccountId, BranchName, CommentId, CommitSha, DeliveryId, Forge, InstallationId,
    PrNumber, RepoId, RepoName, Sha256Hex,
};

/// A verified webhook delivery, reduced to what may be acted on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The forge's id of this delivery.
    pub id: DeliveryId,
    /// SHA-256 of the body. The id is a header and not signed; the body is, so one that comes back
    /// under another id is a replay.
    pub body: Sha256Hex,
    /// Where it happened.
    pub origin: Origin,
    /// The event's name, for the log.
    pub event: String,
    /// The event's action, for the log; empty where the event has none.
    pub action: String,
    /// What is asked.
    pub request: Request,
}

/// Where an event came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Which kind of forge.
    pub forge: Forge,
    /// The account that owns the repository, or that the App was installed for.
    pub account: Account,
    /// The App installation, where the forge has one.
    pub installation: Option<InstallationId>,
    /// The repository; `None` only for [`Request::Uninstalled`], which is about a whole account.
    pub repository: Option<Repository>,
}

/// A repository as an event names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// Its number.
    pub id: RepoId,
    /// Its present name.
    pub name: RepoName,
}

/// What a delivery asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Request {
    /// Review this head against this base branch.
    Review {
        /// The pull request.
        pr: PrNumber,
        /// The head as the webhook says; the live head decides.
        head: CommitSha,
        /// The base branch as the webhook says.
        base_ref: BranchName,
        /// What happened.
        trigger: Trigger,
    },
    /// A comment that may hold a command.
    Command {
        /// The pull request.
        pr: PrNumber,
        /// The comment to read from the forge.
        comment: CommentId,
        /// Which list of comments it is in.
        #[serde(default)]
        place: CommentPlace,
        /// What the comment seemed to say.
        verb: Verb,
        /// Who seemed to write it.
        #[serde(default)]
        author: Option<AccountId>,
    },
    /// Someone pressed "re-run" on our check.
    CheckRerun {
        /// The commit whose check it is.
        sha: CommitSha,
        /// What we called the run, if the forge told us.
        external_id: String,
    },
    /// Someone pressed "re-run all" on our checks of a commit.
    SuiteRerun {
        /// The commit whose checks they are.
        sha: CommitSha,
        /// Pull requests with that head, as far as the webhook says; it names none of forks.
        prs: Vec<PrNumber>,
    },
    /// A merge queue asks for a verdict.
    MergeGroup {
        /// The queue's temporary commit.
        sha: CommitSha,
        /// The queue's branch, whose name holds the base branch and the pull request.
        branch: BranchName,
        /// That pull request.
        pr: PrNumber,
    },
    /// The pull request was closed or merged.
    Closed {
        /// The pull request.
        pr: PrNumber,
    },
    /// The App was removed or suspended.
    Uninstalled,
}

impl Request {
    /// Returns the stable name of the kind.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Review { .. } => "review",
            Self::Command { .. } => "command",
            Self::CheckRerun { .. } => "check-rerun",
            Self::SuiteRerun { .. } => "suite-rerun",
            Self::MergeGroup { .. } => "merge-group",
            Self::Closed { .. } => "closed",
            Self::Uninstalled => "uninstalled",
        }
    }
}

/// What made a review due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// The pull request was opened.
    Opened,
    /// Commits were pushed.
    Pushed,
    /// It was closed and is open again; raises the generation.
    Reopened,
    /// It was a draft; raises the generation.
    Ready,
    /// It targets another branch now.
    Retargeted,
    /// The sweeper found a live head without a review.
    Swept,
    /// Somebody with write access asked for a review from nothing; raises the generation.
    Asked,
    /// Reviews were paused and are not any more.
    Resumed,
    /// Somebody pressed "re-run" on our check; raises the generation.
    Rerun,
}

impl Trigger {
    /// Returns whether the same head is to be read again on purpose.
    pub const fn raises_generation(self) -> bool {
        matches!(
            self,
            Self::Reopened | Self::Ready | Self::Asked | Self::Rerun
        )
    }
}

/// The lists of comments that a pull request has; a number means something in one of them only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommentPlace {
    /// On the pull request as a whole.
    #[default]
    Conversation,
    /// On a line, or in the thread that such a comment opened.
    Line,
}

impl CommentPlace {
    /// Returns the stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::Line => "line",
        }
    }
}

/// A command as a comment names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// Review again, from nothing.
    Review,
    /// Stop reviewing this pull request.
    Pause,
    /// Review it again from now on.
    Resume,
    /// Decline a finding.
    Dismiss,
    /// Say more about a finding.
    Explain,
    /// List the commands.
    Help,
}

impl Verb {
    /// Returns the word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Review => "review",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Dismiss => "dismiss",
            Self::Explain => "explain",
            Self::Help => "help",
        }
    }

    /// Returns whether the comment's webhook starts something. [`Verb::Dismiss`] is read where it stands,
    /// by the next run that looks at its thread, and [`Verb::Explain`] is for the command line.
    pub const fn starts_something(self) -> bool {
        matches!(self, Self::Review | Self::Pause | Self::Resume | Self::Help)
    }
}
