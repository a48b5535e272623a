//! What becomes of each finding, and the sum that must come out.
//!
//! **Invariant:** every finding that came in is exactly one [`Item`], so that
//! `found = posted + already there + in the body + dropped` holds by construction.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::anchor::{Anchor, OffDiff};
use crate::code::DropReason;
use crate::ids::{CommentId, Fingerprint};
use crate::review::Severity;

/// Who found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// A deterministic check of the poster.
    Floor,
    /// The model.
    Model,
}

/// What becomes of a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "fate")]
pub enum ItemFate {
    /// A new comment.
    Posted,
    /// Known from an earlier run; left as it is.
    AlreadyThere {
        /// Our comment; `None` if only the ledger remembers it.
        comment: Option<CommentId>,
        /// Whether its thread is resolved.
        resolved: bool,
    },
    /// Named in the review's body, with its text.
    InBody {
        /// Why it has no comment.
        place: OffDiff,
        /// Whether no earlier body named it.
        new: bool,
    },
    /// Not posted.
    Dropped {
        /// Why.
        reason: DropReason,
        /// What exactly was wrong, in our own words.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
}

/// One finding and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Who found it.
    pub source: Source,
    /// The category, or the name of the check.
    pub category: String,
    /// How bad; `None` if that could not be read.
    pub severity: Option<Severity>,
    /// The file it is about. Untrusted text.
    pub path: String,
    /// The line it names, as it came; 0 if there is none.
    pub line: u32,
    /// Its title, as it came. Untrusted text.
    pub title: String,
    /// Its explanation, as it came. Untrusted text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Where its comment goes or would go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<Anchor>,
    /// Its identity, if it got that far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
    /// What becomes of it.
    #[serde(flatten)]
    pub fate: ItemFate,
}

/// How many findings became what.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Everything that came in.
    pub found: usize,
    /// New comments.
    pub posted: usize,
    /// Known from earlier runs.
    pub already_there: usize,
    /// In the review's body only.
    pub in_body: usize,
    /// Not posted, by reason.
    pub dropped: BTreeMap<DropReason, usize>,
}

impl Tally {
    /// Counts items.
    pub fn of(items: &[Item]) -> Self {
        let mut tally = Self::default();
        for item in items {
            let slot = match &item.fate {
                ItemFate::Posted => &mut tally.posted,
                ItemFate::AlreadyThere { .. } => &mut tally.already_there,
                ItemFate::InBody { .. } => &mut tally.in_body,
                ItemFate::Dropped { reason, .. } => tally.dropped.entry(*reason).or_default(),
            };
            *slot = slot.saturating_add(1);
            tally.found = tally.found.saturating_add(1);
        }
        tally
    }

    /// Returns how many were not posted for any reason.
    pub fn dropped_in_all(&self) -> usize {
        self.dropped
            .values()
            .fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// Returns whether the sum comes out.
    pub fn reconciles(&self) -> bool {
        let parts = [
            self.posted,
            self.already_there,
            self.in_body,
            self.dropped_in_all(),
        ];
        parts.iter().fold(0_usize, |sum, n| sum.saturating_add(*n)) == self.found
    }

    /// Returns the sum as one line: `found 3 = posted 1 + already there 1 + in this text 1 + dropped 0`.
    pub fn equation(&self) -> String {
        let reasons = if self.dropped.is_empty() {
            String::new()
        } else {
            format!(" ({})", self.reasons())
        };
        format!(
            "found {} = posted {} + already there {} + in this text {} + dropped {}{reasons}",
            self.found,
            self.posted,
            self.already_there,
            self.in_body,
            self.dropped_in_all()
        )
    }

    /// Returns the reasons for dropping with their counts: `below-threshold 2, duplicate 1`.
    pub fn reasons(&self) -> String {
        let parts: Vec<String> = self
            .dropped
            .iter()
            .map(|(reason, count)| format!("{reason} {count}"))
            .collect();
        parts.join(", ")
    }
}
