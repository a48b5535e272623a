//! Tells a death from a backlog.

use mirilla_domain::ids::Timestamp;
use mirilla_domain::job::{Job, JobState, MAX_TRIES};

use super::SweepSettings;
use super::backlog::Backlog;

/// Returns whether nobody works on an unfinished job and no message of it waits.
///
/// `lease` is until when a reviewer holds or held the job's snapshot; `None` if none does, or if it was
/// given back.
pub(super) fn is_dead(
    job: &Job,
    lease: Option<Timestamp>,
    backlog: &Backlog,
    settings: &SweepSettings,
    now: Timestamp,
) -> bool {
    if job.is_claimed(now) || lease.is_some_and(|until| until > now) {
        return false;
    }
    // A worker that ends gives its claim up. A lease that lapsed before the job was begun anew is its
    // predecessor's.
    let claim_lapsed = job.claim.is_some();
    let lease_lapsed = lease.is_some_and(|until| until > job.updated_at);
    if claim_lapsed || lease_lapsed {
        return true;
    }
    let idle = now.since(job.updated_at.max(job.due_at));
    if idle >= settings.stalled_after {
        return true;
    }
    idle >= settings.lost_after && !may_wait(job, backlog)
}

/// Returns whether a message of the job may be waiting.
const fn may_wait(job: &Job, backlog: &Backlog) -> bool {
    // One that is given up waits for the poster.
    if job.tries >= MAX_TRIES && backlog.post > 0 {
        return true;
    }
    match job.state {
        // One that was restarted waits for the collector first, which alone hands out rights.
        JobState::Collected => backlog.review > 0 || backlog.collect > 0,
        JobState::Reviewed => backlog.post > 0,
        _ => backlog.collect > 0,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mirilla_domain::ids::{
        BranchName, CommitSha, Forge, Generation, PrNumber, RepoId, RepoName,
    };
    use mirilla_domain::job::{Claim, JobKey, Stage};

    use super::*;

    const SETTINGS: SweepSettings = SweepSettings {
        lost_after: Duration::from_secs(100),
        stalled_after: Duration::from_secs(1_000),
        probe_window: Duration::ZERO,
        limit: 10,
        keep_runs: None,
    };

    fn at(seconds: i64) -> Timestamp {
        Timestamp::new(seconds * 1_000)
    }

    fn job(state: JobState, claim: Option<i64>) -> Job {
        let key = JobKey {
            forge: Forge::Github,
            repo: RepoId::new(1),
            pr: PrNumber::new(2),
            head: CommitSha::parse(&"a".repeat(40)).unwrap(),
            base_ref: BranchName::parse("main").unwrap(),
            generation: Generation::new(0),
        };
        let name = RepoName::parse("acme/shop").unwrap();
        let accepted = Job::accepted(key, name, None, at(5_000), at(5_000));
        Job {
            state,
            claim: claim.map(|until| Claim {
                stage: Stage::Collect,
                token: "t".to_owned(),
                until: at(until),
            }),
            ..accepted
        }
    }

    #[test]
    fn backlog_is_not_a_death_and_a_lapsed_hold_is() {
        use JobState::{Accepted, Collected, Queued, Reviewed};
        let idle = Backlog::default();
        let busy = |collect, review, post| Backlog {
            collect,
            review,
            post,
        };
        // State, lapse of the claim, lapse of the lease, backlog, now, dead.
        let table = [
            (Queued, None, None, idle, 5_099, false),
            (Queued, None, None, idle, 5_100, true),
            (Queued, None, None, busy(1, 0, 0), 5_999, false),
            (Queued, None, None, busy(0, 7, 7), 5_100, true),
            (Queued, None, None, busy(1, 0, 0), 6_000, true),
            (Accepted, None, None, busy(1, 0, 0), 5_500, false),
            (Queued, Some(5_330), None, idle, 5_329, false),
            (Queued, Some(5_330), None, busy(9, 9, 9), 5_330, true),
            (Collected, None, None, busy(0, 1, 0), 5_500, false),
            (Collected, None, None, busy(1, 0, 0), 5_500, false),
            (Collected, None, None, busy(0, 0, 1), 5_500, true),
            (Collected, None, Some(5_630), idle, 5_629, false),
            (Collected, None, Some(5_630), busy(0, 9, 0), 5_630, true),
            (Collected, None, Some(4_990), busy(0, 1, 0), 5_500, false),
            (Collected, None, Some(4_990), idle, 5_050, false),
            (Collected, None, Some(9_000), idle, 8_000, false),
            (Reviewed, None, None, busy(9, 9, 0), 5_100, true),
            (Reviewed, None, None, busy(0, 0, 1), 5_100, false),
        ];
        for (row, (state, claim, lease, backlog, now, dead)) in table.into_iter().enumerate() {
            let job = job(state, claim);
            let found = is_dead(&job, lease.map(at), &backlog, &SETTINGS, at(now));
            assert_eq!(found, dead, "row {row}: {state:?} at {now}");
        }
    }

    #[test]
    fn job_that_was_given_up_waits_for_the_poster() {
        let given_up = Job {
            tries: MAX_TRIES,
            ..job(JobState::Collected, None)
        };
        let post = |post| Backlog {
            post,
            ..Backlog::default()
        };
        assert!(!is_dead(&given_up, None, &post(1), &SETTINGS, at(5_500)));
        assert!(is_dead(&given_up, None, &post(0), &SETTINGS, at(5_500)));
    }

    #[test]
    fn job_that_is_not_due_yet_is_not_dead() {
        let waits = Job {
            due_at: at(5_090),
            ..job(JobState::Queued, None)
        };
        assert!(!is_dead(
            &waits,
            None,
            &Backlog::default(),
            &SETTINGS,
            at(5_150)
        ));
        assert!(is_dead(
            &waits,
            None,
            &Backlog::default(),
            &SETTINGS,
            at(5_190)
        ));
    }
}
