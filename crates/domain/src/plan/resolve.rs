//! Which threads of ours to resolve: those whose finding is gone, and none that anyone else is part of.
//!
//! **Invariant:** a thread with one comment that is not ours, or that was not listed to its end, is left
//! alone.

use std::collections::{BTreeMap, BTreeSet};

use super::known::{Known, KnownComment};
use super::{CoverageReport, FloorHit, PlanInput, Resolve};
use crate::ids::{CommentId, Fingerprint};
use crate::review::{Outcome, Severity};

/// Returns the threads whose finding `current` no longer has.
pub(super) fn threads(
    input: &PlanInput<'_>,
    known: &Known<'_>,
    coverage: &CoverageReport,
    outcome: Outcome,
    current: &BTreeSet<Fingerprint>,
) -> Vec<Resolve> {
    // Silence is no evidence if nothing was read or if the change talks to its reviewer.
    if outcome == Outcome::Failed || input.floor.iter().any(FloorHit::addresses_reviewer) {
        return Vec::new();
    }
    let ours: BTreeMap<CommentId, bool> = input
        .existing
        .comments
        .iter()
        .map(|comment| (comment.id, comment.ours))
        .collect();
    let all_ours = |ids: &[CommentId]| ids.iter().all(|id| ours.get(id).copied().unwrap_or(false));
    known
        .comments
        .iter()
        .filter_map(|comment| {
            let thread = comment.thread?;
            let opened_it = thread.comments.first() == Some(&comment.id);
            let is_gone = opened_it
                && !thread.resolved
                && thread.complete
                && all_ours(&thread.comments)
                && (!current.contains(&comment.fingerprint) || is_replaced(known, comment))
                && was_read(input, coverage, comment.path)
                && is_evidence(comment);
            is_gone.then(|| Resolve {
                thread: thread.id.clone(),
                comment: comment.id,
                fingerprint: comment.fingerprint.clone(),
            })
        })
        .collect()
}

fn was_read(input: &PlanInput<'_>, coverage: &CoverageReport, path: &str) -> bool {
    input
        .diff
        .resolve(path)
        .and_then(|path| coverage.state(path))
        .is_some_and(super::FileState::is_read)
}

/// The finding is still there, but another thread of ours stands on its present line.
fn is_replaced(known: &Known<'_>, comment: &KnownComment<'_>) -> bool {
    comment.outdated
        && known.comments.iter().any(|other| {
            other.id != comment.id
                && other.fingerprint == comment.fingerprint
                && !other.outdated
                && other.thread.is_some_and(|thread| !thread.resolved)
        })
}

/// A model that is silent about code that did not change may just be silent today: for what matters
/// most, the code must have changed.
fn is_evidence(comment: &KnownComment<'_>) -> bool {
    comment.outdated || comment.severity < Severity::High
}
