//! The plan: what to write, what to leave, and why.
//!
//! **Invariant:** a plan holds everything that is written; applying it needs no further decision.

use serde::{Deserialize, Serialize};

use super::{CoverageReport, Item, ItemFate, JobFacts, NewReview, Source, Tally};
use crate::anchor::Anchor;
use crate::escape;
use crate::gate::CheckReport;
use crate::ids::{CommentId, Fingerprint, ReviewId};
use crate::review::{Outcome, Severity};
use crate::thread::ExistingThread;

/// What to do about the review itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "action")]
pub enum ReviewAction {
    /// Post a new review: something is new, or nothing of ours is there yet.
    Create {
        /// The review.
        review: NewReview,
    },
    /// Nothing is new: replace the body of our latest review, which notifies nobody.
    Edit {
        /// The review to edit.
        review_id: ReviewId,
        /// Its new body.
        body: String,
    },
    /// Our latest review says exactly this already.
    Nothing {
        /// That review.
        review_id: ReviewId,
    },
}

/// The most threads that one plan resolves. Each is a write of its own, a second after the one before, and
/// the job is not closed before they are done.
pub const MAX_RESOLVED: usize = 10;

/// A thread of ours whose finding is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolve {
    /// The forge's name of the thread.
    pub thread: String,
    /// Our comment that opened it.
    pub comment: CommentId,
    /// The finding.
    pub fingerprint: Fingerprint,
}

impl Resolve {
    /// Returns why the thread must be left, as it stands now; `None` if it may be resolved.
    ///
    /// Asked twice: when the plan is made, and right before the thread is touched.
    pub fn veto(&self, now: Option<&ExistingThread>) -> Option<Veto> {
        let Some(thread) = now else {
            return Some(Veto::Gone);
        };
        if thread.resolved {
            Some(Veto::Resolved)
        } else if !thread.complete {
            Some(Veto::NotListed)
        } else if thread.comments != [self.comment] {
            // Whoever it was: with a plain token, a person may write under our own account.
            Some(Veto::Answered)
        } else {
            None
        }
    }
}

/// Why a thread whose finding is gone is not touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Veto {
    /// It is not there.
    Gone,
    /// Somebody resolved it.
    Resolved,
    /// Not all of its comments were listed.
    NotListed,
    /// Our comment is not the only one in it.
    Answered,
}

impl Veto {
    /// Returns the stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Resolved => "resolved",
            Self::NotListed => "not-listed",
            Self::Answered => "answered",
        }
    }
}

/// A thread of ours whose finding is gone and that stays open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOpen {
    /// The forge's name of the thread.
    pub thread: String,
    /// Our comment that opened it.
    pub comment: CommentId,
    /// Why.
    pub why: WhyOpen,
}

/// Why a thread of ours whose finding is gone stays open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhyOpen {
    /// The operator did not opt into resolving: the forge itself shows it as outdated.
    NotOptedIn,
    /// There are more than [`MAX_RESOLVED`]: it is left to the next run.
    NextRun,
}

/// What to post, where, what to skip and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The job it answers.
    pub job: JobFacts,
    /// How the review ended, as the poster sees it.
    pub outcome: Outcome,
    /// How many findings became what.
    pub tally: Tally,
    /// Each finding, in the order of importance.
    pub items: Vec<Item>,
    /// Each changed file.
    pub coverage: CoverageReport,
    /// Reviews of ours that were begun and never submitted, to be deleted before a new one.
    pub delete_pending: Vec<ReviewId>,
    /// What to do about the review.
    pub review: ReviewAction,
    /// The body as it would be posted, whatever `review` says.
    pub body: String,
    /// Threads to resolve, at most [`MAX_RESOLVED`].
    pub resolve: Vec<Resolve>,
    /// Threads that could be resolved as well and are left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_open: Vec<LeftOpen>,
    /// What the check says; nothing if the gate is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckReport>,
    /// How often a secret, or text that looks like one, was taken out of what a model wrote. A metric,
    /// and an alarm.
    pub redacted: usize,
}

impl Plan {
    /// Returns whether applying it changes nothing.
    pub fn is_noop(&self) -> bool {
        matches!(self.review, ReviewAction::Nothing { .. }) && self.resolve.is_empty()
    }

    /// Returns the line for the log:
    /// `3 findings, 1 off-diff, 1 already posted -> review posted: 1 comment (HIGH) Pay.java:88`.
    ///
    /// Findings of the deterministic checks are counted apart. Paths in it are escaped for terminals.
    pub fn counts(&self) -> String {
        let by_checks = self
            .items
            .iter()
            .filter(|item| item.source == Source::Floor)
            .count();
        let found = counted(self.tally.found, "finding");
        let found = match by_checks {
            0 => found,
            count => format!("{found} ({count} by fixed checks)"),
        };
        let mut parts = vec![found];
        let mut part = |count: usize, what: &str| {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        };
        part(self.tally.in_body, "off-diff");
        part(self.tally.already_there, "already posted");
        if self.tally.dropped_in_all() > 0 {
            let dropped = format!("dropped ({})", self.tally.reasons());
            part(self.tally.dropped_in_all(), &dropped);
        }
        let done = match &self.review {
            ReviewAction::Create { review } if review.comments.is_empty() => {
                "review posted: no comment on a line".to_owned()
            }
            ReviewAction::Create { review } => format!(
                "review posted: {} {}",
                counted(review.comments.len(), "comment"),
                self.posted_places()
            ),
            ReviewAction::Edit { review_id, .. } => {
                format!("review {review_id} edited: nothing new")
            }
            ReviewAction::Nothing { review_id } => {
                format!("review {review_id} left as it is: nothing new")
            }
        };
        format!("{} -> {done}", parts.join(", "))
    }

    /// `(HIGH) Pay.java:88`, or `(2 HIGH, 1 LOW) Pay.java:88 and 2 more places`.
    fn posted_places(&self) -> String {
        let posted: Vec<&Item> = self
            .items
            .iter()
            .filter(|item| item.fate == ItemFate::Posted)
            .collect();
        let by_severity: Vec<String> = Severity::ALL
            .into_iter()
            .filter_map(|severity| {
                let count = posted
                    .iter()
                    .filter(|item| item.severity == Some(severity))
                    .count();
                let name = severity.as_str().to_uppercase();
                match (count, posted.len()) {
                    (0, _) => None,
                    (1, 1) => Some(name),
                    _ => Some(format!("{count} {name}")),
                }
            })
            .collect();
        let first = posted.first().map_or_else(String::new, |item| {
            let file = item.path.rsplit('/').next().unwrap_or(&item.path);
            let line = item.anchor.as_ref().map_or(item.line, Anchor::first);
            format!("{}:{line}", escape::terminal(file))
        });
        let more = match posted.len() {
            0 | 1 => String::new(),
            n => format!(" and {} more", n.saturating_sub(1)),
        };
        format!("({}) {first}{more}", by_severity.join(", "))
    }
}

fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}
