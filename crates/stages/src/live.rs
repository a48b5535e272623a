//! The live head decides: whoever finds another head than the job's makes sure that it has a job.
//!
//! **Invariant:** the job that ends and the job that takes its place are written in one transaction,
//! so there is no moment at which a live head has neither a running nor a posted job.

use mirilla_domain::code::EndReason;
use mirilla_domain::ids::{JobId, Timestamp};
use mirilla_domain::job::{Job, JobKey, JobState, PullRequestRecord};
use mirilla_domain::snapshot::PullRequest;
use mirilla_ports::ledger::{Recorded, Transaction};
use mirilla_ports::{Ledger, LedgerError};

/// Returns `job` ended for `reason`, its claim given up.
pub fn ended(job: &Job, state: JobState, reason: EndReason, now: Timestamp) -> Job {
    Job {
        state,
        end_reason: Some(reason),
        claim: None,
        updated_at: now,
        ..job.clone()
    }
}

/// Ends `job` for `reason` without a review.
pub async fn end(
    ledger: &dyn Ledger,
    job: &Job,
    state: JobState,
    reason: EndReason,
    now: Timestamp,
) -> Result<(), LedgerError> {
    let transaction = Transaction {
        jobs: vec![ended(job, state, reason, now)],
        ..Transaction::default()
    };
    committed(ledger, transaction).await
}

/// Writes a transaction that must not find its rows changed.
pub async fn committed(ledger: &dyn Ledger, transaction: Transaction) -> Result<(), LedgerError> {
    match ledger.commit(transaction).await? {
        Recorded::New => Ok(()),
        Recorded::DuplicateDelivery | Recorded::Stale => Err(LedgerError::Conflict {
            what: "the job".to_owned(),
        }),
    }
}

/// Ends `superseded` (if one is given) and makes sure that the live head of `live` has a job.
///
/// Returns the job whose collect message is to be sent, if there is a new one.
pub async fn follow(
    ledger: &dyn Ledger,
    live: &PullRequest,
    superseded: Option<(&Job, EndReason)>,
    now: Timestamp,
) -> Result<Option<JobId>, LedgerError> {
    let known = ledger.pull_request(&live.id).await?;
    let installation = superseded
        .and_then(|(job, _)| job.installation)
        .or_else(|| known.as_ref().and_then(|record| record.installation));
    let record = known.unwrap_or_else(|| {
        PullRequestRecord::new(live.id, live.repo_name.clone(), installation, now)
    });
    let key = JobKey::of(live, record.generation);
    let successor = if live.open && !live.draft && !record.paused {
        match ledger.job(&key.id()).await? {
            None => Some(Job::accepted(
                key,
                live.repo_name.clone(),
                installation,
                now,
                now,
            )),
            Some(job) if job.state.is_terminal() && !job.state.closes_key() => {
                Some(job.armed_again(now, now))
            }
            Some(_) => None,
        }
    } else {
        None
    };
    let mut transaction = Transaction::default();
    let successor_id = successor.as_ref().map(|job| job.id.clone());
    if let Some((job, reason)) = superseded
        && successor_id.as_ref() != Some(&job.id)
    {
        transaction
            .jobs
            .push(ended(job, JobState::Superseded, reason, now));
    }
    if let Some(job) = successor {
        transaction.pull_request = Some(PullRequestRecord {
            last_job: Some(job.id.clone()),
            touched_at: now,
            ..record
        });
        transaction.jobs.push(job);
    }
    if !transaction.jobs.is_empty() {
        committed(ledger, transaction).await?;
    }
    Ok(successor_id)
}
