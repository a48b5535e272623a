//! Which threads of ours to resolve: those whose finding is gone, and none that anyone else is part of.
//!
//! **Invariant:** a thread is named only if this run read its file, our comment, whose marker verified, is the
//! only one in it, nobody resolved it, and everything on the pull request was listed. The same is asked again
//! right before it is touched ([`Resolve::veto`]).

use std::collections::BTreeSet;

use super::known::{Known, KnownComment};
use super::{
    CoverageReport, FloorHit, LeftOpen, MAX_RESOLVED, PlanInput, PlanPolicy, Resolve, WhyOpen,
};
use crate::ids::Fingerprint;
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
    let is_silent = outcome == Outcome::Failed
        || input.floor.iter().any(FloorHit::addresses_reviewer)
        || input.existing.truncated;
    if is_silent {
        return Vec::new();
    }
    let gone = known.comments.iter().filter_map(|comment| {
        let thread = comment.thread?;
        let resolve = Resolve {
            thread: thread.id.clone(),
            comment: comment.id,
            fingerprint: comment.fingerprint.clone(),
        };
        let is_gone = resolve.veto(Some(thread)).is_none()
            && (!current.contains(&comment.fingerprint) || is_replaced(known, comment))
            && was_read(input, coverage, comment.path)
            && is_evidence(comment);
        is_gone.then_some(resolve)
    });
    gone.collect()
}

/// Returns those that are resolved now, and those that are left with the reason.
pub(super) fn split(gone: Vec<Resolve>, policy: &PlanPolicy) -> (Vec<Resolve>, Vec<LeftOpen>) {
    let (now, why) = if policy.resolve_threads {
        (MAX_RESOLVED, WhyOpen::NextRun)
    } else {
        (0, WhyOpen::NotOptedIn)
    };
    let mut resolve = gone;
    let rest = resolve.split_off(now.min(resolve.len()));
    let left = rest.into_iter().map(|one| LeftOpen {
        thread: one.thread,
        comment: one.comment,
        why,
    });
    (resolve, left.collect())
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
