//! One poster per pull request: two of them could each find a finding new and post it twice.

use mirilla_domain::ids::Timestamp;
use mirilla_domain::job::{Claim, Job, PullRequestRecord, Stage};
use mirilla_ports::ledger::{Recorded, Transaction};

use super::{POST_LEASE, PostPorts};
use crate::error::StageError;

/// How often a write that somebody else was faster with is tried again.
const MAX_ROUNDS: u32 = 8;

/// Takes the pull request for the holder of the job's claim; returns its record.
pub(super) async fn take(ports: PostPorts<'_>, job: &Job) -> Result<PullRequestRecord, StageError> {
    let token = token_of(job);
    change(ports, job, |record, now| {
        let held_by_other = record
            .poster
            .as_ref()
            .filter(|poster| poster.until > now && poster.token != token);
        if let Some(poster) = held_by_other {
            return Err(StageError::Busy {
                what: "the pull request",
                after: poster.until.since(now),
            });
        }
        let claim = Claim {
            stage: Stage::Post,
            token: token.clone(),
            until: now.plus(POST_LEASE),
        };
        Ok(Some(PullRequestRecord {
            poster: Some(claim),
            ..record
        }))
    })
    .await
}

/// Gives the pull request up, if this job's poster holds it.
pub(super) async fn give_up(ports: PostPorts<'_>, job: &Job) -> Result<(), StageError> {
    change(ports, job, |record, _now| {
        let ours = record
            .poster
            .as_ref()
            .is_some_and(|poster| poster.token == token_of(job));
        Ok(ours.then_some(PullRequestRecord {
            poster: None,
            ..record
        }))
    })
    .await
    .map(drop)
}

/// Returns what tells this poster from others: its job, since one job is posted by one worker.
fn token_of(job: &Job) -> String {
    job.id.to_string()
}

/// Changes the pull request's record, again if somebody else changed it in between; returns it.
async fn change(
    ports: PostPorts<'_>,
    job: &Job,
    decide: impl Fn(PullRequestRecord, Timestamp) -> Result<Option<PullRequestRecord>, StageError>,
) -> Result<PullRequestRecord, StageError> {
    for _ in 0..MAX_ROUNDS {
        let now = ports.clock.now();
        let known = ports.ledger.pull_request(&job.key.pull_request()).await?;
        let record = known.unwrap_or_else(|| {
            PullRequestRecord::new(
                job.key.pull_request(),
                job.repo_name.clone(),
                job.installation,
                now,
            )
        });
        let Some(changed) = decide(record.clone(), now)? else {
            return Ok(record);
        };
        let transaction = Transaction {
            pull_request: Some(changed.clone()),
            ..Transaction::default()
        };
        if ports.ledger.commit(transaction).await? == Recorded::New {
            return Ok(changed);
        }
    }
    Err(StageError::Busy {
        what: "the pull request's record",
        after: std::time::Duration::from_secs(1),
    })
}
