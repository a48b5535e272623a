//! One poster per pull request: two of them could each find a finding new and post it twice.

use mirilla_domain::ids::{InstallationId, PullRequestRef, RepoName, Timestamp};
use mirilla_domain::job::{Claim, Job, PullRequestRecord, Stage};
use mirilla_ports::ledger::{Recorded, Transaction};

use super::{POST_LEASE, PostPorts};
use crate::error::StageError;

/// How often a write that somebody else was faster with is tried again.
const MAX_ROUNDS: u32 = 8;

/// Who works on which pull request.
pub(super) struct Holder<'a> {
    pub(super) pull_request: PullRequestRef,
    pub(super) repo_name: &'a RepoName,
    pub(super) installation: Option<InstallationId>,
    /// What tells this worker from others: its job, since a claim lets one worker at it, or something random.
    pub(super) token: &'a str,
}

impl<'a> From<&'a Job> for Holder<'a> {
    /// Returns the holder of the job's claim.
    fn from(job: &'a Job) -> Self {
        Self {
            pull_request: job.key.pull_request(),
            repo_name: &job.repo_name,
            installation: job.installation,
            token: job.id.as_str(),
        }
    }
}

/// Takes the pull request; returns its record.
pub(super) async fn take(
    ports: PostPorts<'_>,
    holder: Holder<'_>,
) -> Result<PullRequestRecord, StageError> {
    let token = holder.token.to_owned();
    change(ports, &holder, |record, now| {
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

/// Gives the pull request up, if this worker holds it.
pub(super) async fn give_up(ports: PostPorts<'_>, holder: Holder<'_>) -> Result<(), StageError> {
    change(ports, &holder, |record, _now| {
        let ours = record
            .poster
            .as_ref()
            .is_some_and(|poster| poster.token == holder.token);
        Ok(ours.then_some(PullRequestRecord {
            poster: None,
            ..record
        }))
    })
    .await
    .map(drop)
}

/// Changes the pull request's record, again if somebody else changed it in between; returns it.
async fn change(
    ports: PostPorts<'_>,
    holder: &Holder<'_>,
    decide: impl Fn(PullRequestRecord, Timestamp) -> Result<Option<PullRequestRecord>, StageError>,
) -> Result<PullRequestRecord, StageError> {
    for _ in 0..MAX_ROUNDS {
        let now = ports.clock.now();
        let known = ports.ledger.pull_request(&holder.pull_request).await?;
        let record = known.unwrap_or_else(|| {
            let name = holder.repo_name.clone();
            PullRequestRecord::new(holder.pull_request, name, holder.installation, now)
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
