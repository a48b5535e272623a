//! Every reason for which a change does not pass, and what each amounts to.

use serde::{Deserialize, Serialize};

use super::Ruling;
use crate::code::{EndReason, FailReason, SkipReason};
use crate::plan::FileState;
use crate::review::{Outcome, Severity};

/// Why a change does not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "why", content = "what")]
pub enum Cause {
    /// A finding is open.
    Open(Severity),
    /// A finding that the second look calls wrong or mild.
    Doubted(Severity),
    /// A finding of the review file could not be used, so that nobody knows what it says.
    Unusable,
    /// A file was left out by a rule that the change cannot write.
    LeftOut(SkipReason),
    /// A file was not sent to the model.
    Skipped(SkipReason),
    /// A file was sent without an answer that counts.
    Failed(FailReason),
    /// A file is not the one that was read.
    Stale,
    /// The reviewer does not mention a file.
    NotCovered,
    /// The change holds something that works on its reviewer.
    AddressesReviewer,
    /// There are more hits of fixed checks than are listed.
    FloorCut,
    /// There are more comments than are listed.
    CommentsCut,
    /// The repository's settings file is broken.
    SettingsBroken,
    /// Nothing was changed, so that nothing was read.
    NothingChanged,
    /// The review calls itself less than complete.
    Outcome(Outcome),
    /// The job ended without a review.
    Ended(EndReason),
    /// No verdict about the pull request's head is known.
    NoVerdict,
    /// Another open pull request with the same head is not read yet.
    OtherUnread,
    /// Another open pull request with the same head does not pass.
    Other(Ruling),
}

impl Cause {
    /// Returns what becomes of a file. `by_rule` is whether a rule of trusted settings, or the list of exact
    /// lockfile names, really leaves it out; the review file's word for it counts for nothing.
    pub(super) const fn of_file(state: FileState, by_rule: bool) -> Option<Self> {
        match state {
            FileState::Reviewed | FileState::Carried => None,
            FileState::Skipped(reason) if by_rule => Some(Self::LeftOut(reason)),
            FileState::Skipped(reason) => Some(Self::Skipped(reason)),
            FileState::Failed(reason) => Some(Self::Failed(reason)),
            FileState::Stale => Some(Self::Stale),
            FileState::NotCovered => Some(Self::NotCovered),
        }
    }

    /// Returns what the cause amounts to.
    pub const fn ruling(self) -> Ruling {
        match self {
            Self::Open(_) => Ruling::Fail,
            Self::LeftOut(reason) => of_left_out(reason),
            Self::Skipped(reason) => of_skip(reason),
            Self::Failed(reason) => of_failure(reason),
            Self::Outcome(outcome) => of_outcome(outcome),
            Self::Ended(reason) => of_end(reason),
            Self::Other(ruling) => ruling,
            Self::Doubted(_)
            | Self::Unusable
            | Self::Stale
            | Self::NotCovered
            | Self::AddressesReviewer
            | Self::FloorCut
            | Self::CommentsCut
            | Self::SettingsBroken
            | Self::NothingChanged
            | Self::NoVerdict
            | Self::OtherUnread => Ruling::Inconclusive,
        }
    }

    /// Returns the stable kebab-case code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Open(Severity::Critical) => "open-critical",
            Self::Open(Severity::High) => "open-high",
            Self::Open(Severity::Medium) => "open-medium",
            Self::Open(Severity::Low) => "open-low",
            Self::Doubted(_) => "doubted",
            Self::Unusable => "unusable-finding",
            Self::LeftOut(reason) | Self::Skipped(reason) => reason.as_str(),
            Self::Failed(reason) => reason.as_str(),
            Self::Stale => "changed-since",
            Self::NotCovered => "not-covered",
            Self::AddressesReviewer => "addresses-reviewer",
            Self::FloorCut => "floor-cut",
            Self::CommentsCut => "comments-cut",
            Self::SettingsBroken => "settings-file-broken",
            Self::NothingChanged => "nothing-changed",
            Self::Outcome(Outcome::Complete) => "complete",
            Self::Outcome(Outcome::Partial) => "partial",
            Self::Outcome(Outcome::Failed) => "failed",
            Self::Outcome(Outcome::Superseded) => "superseded",
            Self::Ended(reason) => reason.as_str(),
            Self::NoVerdict => "no-verdict",
            Self::OtherUnread => "other-unread",
            Self::Other(Ruling::Pass) => "other-pass",
            Self::Other(Ruling::Inconclusive) => "other-inconclusive",
            Self::Other(Ruling::Fail) => "other-fail",
        }
    }

    /// Returns one sentence for the person who wonders, without its end.
    pub const fn explain(self) -> &'static str {
        match self {
            Self::Open(Severity::Critical) => "a critical finding is open",
            Self::Open(Severity::High) => "a high finding is open",
            Self::Open(Severity::Medium) => "a medium finding is open",
            Self::Open(Severity::Low) => "a low finding is open",
            Self::Doubted(_) => {
                "the second look calls a finding wrong or mild; a person has to decide"
            }
            Self::Unusable => "a finding of the review could not be used",
            Self::LeftOut(reason) | Self::Skipped(reason) => reason.explain(),
            Self::Failed(reason) => reason.explain(),
            Self::Stale => FileState::Stale.explain(),
            Self::NotCovered => FileState::NotCovered.explain(),
            Self::AddressesReviewer => {
                "the change holds something that works on its reviewer, so that what was said about it proves nothing"
            }
            Self::FloorCut => "there are more hits of fixed checks than are listed",
            Self::CommentsCut => "there are more comments on the pull request than are listed",
            Self::SettingsBroken => "the repository's `.mirilla.toml` has errors",
            Self::NothingChanged => "nothing was changed, so nothing was read",
            Self::Outcome(Outcome::Complete) => "the review is complete",
            Self::Outcome(Outcome::Partial) => "the review is not complete",
            Self::Outcome(Outcome::Failed) => "no file was read",
            Self::Outcome(Outcome::Superseded) => "the review was given up",
            Self::Ended(reason) => reason.explain(),
            Self::NoVerdict => "no verdict about the pull request's head is known",
            Self::OtherUnread => "another open pull request has the same head and is not read yet",
            Self::Other(Ruling::Pass) => "another open pull request with the same head passes",
            Self::Other(Ruling::Inconclusive) => {
                "another open pull request with the same head is inconclusive"
            }
            Self::Other(Ruling::Fail) => "another open pull request with the same head fails",
        }
    }

    /// Returns what is counted.
    pub(crate) const fn counts(self) -> &'static str {
        match self {
            Self::LeftOut(_)
            | Self::Skipped(_)
            | Self::Failed(_)
            | Self::Stale
            | Self::NotCovered => "file",
            Self::Open(_) | Self::Doubted(_) | Self::Unusable => "finding",
            Self::AddressesReviewer => "hit",
            Self::OtherUnread | Self::Other(_) => "pull request",
            Self::FloorCut
            | Self::CommentsCut
            | Self::SettingsBroken
            | Self::NothingChanged
            | Self::NoVerdict
            | Self::Outcome(_)
            | Self::Ended(_) => "",
        }
    }
}

/// A cause and how often it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// The cause.
    #[serde(flatten)]
    pub cause: Cause,
    /// Of how many files, findings, hits or pull requests.
    pub count: usize,
}

impl Counted {
    /// Returns a cause that holds once.
    pub const fn once(cause: Cause) -> Self {
        Self { cause, count: 1 }
    }
}

/// A file that a trusted rule leaves out.
const fn of_left_out(reason: SkipReason) -> Ruling {
    match reason {
        SkipReason::Lockfile | SkipReason::Ignored => Ruling::Pass,
        other => of_skip(other),
    }
}

/// A file that was not sent. Each of these the pull request can bring about, or nobody can tell.
const fn of_skip(reason: SkipReason) -> Ruling {
    match reason {
        // Only the review file says that a rule names it.
        SkipReason::Lockfile | SkipReason::Ignored => Ruling::Inconclusive,
        // The file says so of itself.
        SkipReason::Generated
        | SkipReason::Minified
        | SkipReason::Vendored
        | SkipReason::Binary
        | SkipReason::Submodule
        | SkipReason::UnusablePath
        | SkipReason::Malformed => Ruling::Inconclusive,
        // A rename moves code to where it runs, and what is deleted may have been a guard.
        SkipReason::NoContentChange | SkipReason::LineEndingsOnly | SkipReason::DeletionOnly => {
            Ruling::Inconclusive
        }
        // The change is too large, or others used up what it needed.
        SkipReason::PatchUnavailable
        | SkipReason::TooLarge
        | SkipReason::CostCap
        | SkipReason::OutsidersShare
        | SkipReason::Deadline => Ruling::Inconclusive,
        SkipReason::SettingsBroken | SkipReason::NoModel => Ruling::Inconclusive,
    }
}

/// A file without an answer.
const fn of_failure(reason: FailReason) -> Ruling {
    match reason {
        FailReason::Refusal
        | FailReason::Truncated
        | FailReason::MalformedAnswer
        | FailReason::EmptyAnswer
        | FailReason::PromptTooLong
        | FailReason::ModelUnavailable
        | FailReason::AnswerLost
        | FailReason::ModelRejected
        | FailReason::ReviewerDied => Ruling::Inconclusive,
    }
}

/// A job without a review.
const fn of_end(reason: EndReason) -> Ruling {
    match reason {
        EndReason::HeadMoved
        | EndReason::BaseChanged
        | EndReason::Closed
        | EndReason::Draft
        | EndReason::Paused
        | EndReason::AskedAgain
        | EndReason::Empty
        | EndReason::Gone
        | EndReason::AttemptsExhausted
        | EndReason::WriteForbidden => Ruling::Inconclusive,
    }
}

/// What the review calls itself; it can only make things worse.
const fn of_outcome(outcome: Outcome) -> Ruling {
    match outcome {
        Outcome::Complete => Ruling::Pass,
        Outcome::Partial | Outcome::Failed | Outcome::Superseded => Ruling::Inconclusive,
    }
}
