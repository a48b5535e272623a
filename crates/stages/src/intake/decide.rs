//! What a request for a review means for the job that its key names.
//!
//! **Invariant:** at most one job of a key is open, and no request is answered with a job that may
//! have looked at the pull request before the request was made.

use mirilla_domain::ids::{BranchName, CommitSha, Timestamp};
use mirilla_domain::job::{Job, JobState, PostedHead};
use mirilla_domain::request::Trigger;

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) head: &'a CommitSha,
    pub(crate) base_ref: &'a BranchName,
    pub(crate) trigger: Trigger,
}

/// What to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// There is no such job: record one.
    Begin,
    /// It ended without a review: start it again.
    Arm,
    /// It was, or is being, read: the head is to be read once more, under the next generation.
    Raise,
    /// It waits and will look at the pull request as it is then. Touching the row makes sure that
    /// no worker began in between.
    Touch,
    /// It is open, or its review is posted: nothing to do.
    Nothing,
}

/// Chooses by the job at the present generation and the review that was posted last.
pub(super) fn choose(
    wanted: Wanted<'_>,
    present: Option<&Job>,
    last_posted: Option<&PostedHead>,
    now: Timestamp,
) -> Choice {
    let again_on_purpose = wanted.trigger.raises_generation();
    // Nothing that was read before, of this head or another, is to count.
    if wanted.trigger == Trigger::Asked {
        return Choice::Raise;
    }
    let Some(job) = present else {
        return Choice::Begin;
    };
    match job.state {
        JobState::Skipped | JobState::Superseded | JobState::Failed => Choice::Arm,
        JobState::Posted if again_on_purpose || returns(wanted, last_posted) => Choice::Raise,
        JobState::Posted => Choice::Nothing,
        _ if !again_on_purpose => Choice::Nothing,
        JobState::Accepted | JobState::Queued if !job.is_claimed(now) => Choice::Touch,
        _ => Choice::Raise,
    }
}

/// Returns whether another head, or another base, was reviewed since this one was.
fn returns(wanted: Wanted<'_>, last_posted: Option<&PostedHead>) -> bool {
    last_posted.is_some_and(|last| last.head != *wanted.head || last.base_ref != *wanted.base_ref)
}
