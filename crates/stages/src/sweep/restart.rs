//! Begins a dead job anew, at most so often.
//!
//! **Invariant:** the row is written before the message is sent, so a run that dies in between costs a
//! try and loses nothing.

use std::time::Duration;

use mirilla_domain::code::EndReason;
use mirilla_domain::ids::{AttemptNo, JobId, Timestamp};
use mirilla_domain::job::{Job, JobState, MAX_TRIES};
use mirilla_domain::signal::Signal;
use mirilla_domain::snapshot::Keys;
use mirilla_ports::ledger::Transaction;
use mirilla_ports::message::Message;
use mirilla_ports::queue::QueueName;
use mirilla_ports::{Ledger, QueueSend};

use super::{SweepPorts, Swept};
use crate::error::StageError;
use crate::live;

/// Sends the message that a dead job waits for, or gives the job up.
pub(super) async fn restart(
    ports: SweepPorts<'_>,
    job: &Job,
    now: Timestamp,
    swept: &mut Swept,
) -> Result<(), StageError> {
    // Found findings are the reviewer's answer, however often the job was begun.
    let findings = Keys::findings(&job.id, job.attempt);
    let has_findings = ports.artifacts.list(&findings).await?.contains(&findings);
    let tried_enough = job.tries >= MAX_TRIES;
    if tried_enough && job.tries >= MAX_TRIES.saturating_mul(2) {
        let job = &Job {
            settings_unread: job.check.is_none() && !job.is_collected(),
            ..job.clone()
        };
        live::end(
            ports.ledger,
            job,
            JobState::Failed,
            EndReason::AttemptsExhausted,
            now,
        )
        .await?;
        if job.is_check_open() {
            // Only the poster may say on the forge that nobody works on it any more.
            let message = Message::CheckV1 {
                job: job.id.clone(),
            };
            ports
                .queue
                .send(QueueName::Post, &message, Duration::ZERO)
                .await?;
        }
        swept.failed = swept.failed.saturating_add(1);
        let state = JobState::Failed;
        swept.count(job, Signal::Ended { state });
        return Ok(());
    }
    let next = Job {
        tries: job.tries.saturating_add(1),
        updated_at: now,
        claim: None,
        ..job.clone()
    };
    let mut given_up = false;
    let (queue, message, next) = match job.state {
        JobState::Accepted => (
            QueueName::Collect,
            Message::CollectV1 {
                job: job.id.clone(),
            },
            Job {
                state: JobState::Queued,
                tries: job.tries,
                ..next
            },
        ),
        JobState::Collected | JobState::Reviewed if has_findings => (
            QueueName::Post,
            Message::PostV1 {
                job: job.id.clone(),
                attempt: job.attempt,
                findings: Some(findings),
            },
            next,
        ),
        _ if tried_enough => {
            given_up = true;
            let message = Message::PostV1 {
                job: job.id.clone(),
                attempt: job.attempt,
                findings: None,
            };
            (QueueName::Post, message, next)
        }
        // The collector, which alone hands out rights to the snapshot, announces it again.
        JobState::Collected => (
            QueueName::Collect,
            Message::CollectV1 {
                job: job.id.clone(),
            },
            Job {
                attempt: job.attempt.next(),
                ..next
            },
        ),
        _ => (
            QueueName::Collect,
            Message::CollectV1 {
                job: job.id.clone(),
            },
            next,
        ),
    };
    live::committed(
        ports.ledger,
        Transaction {
            jobs: vec![next],
            ..Transaction::default()
        },
    )
    .await?;
    ports.queue.send(queue, &message, Duration::ZERO).await?;
    if given_up {
        swept.given_up = swept.given_up.saturating_add(1);
        swept.count(job, Signal::GivenUp);
    } else {
        swept.restarted = swept.restarted.saturating_add(1);
        swept.count(job, Signal::Restarted);
    }
    Ok(())
}

/// What comes after a reviewer's death.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Died {
    /// The message may be read again.
    Again,
    /// It was the last try: the poster posts what there is without findings.
    GivenUp,
    /// The job went on without this reviewer.
    Stale,
}

/// Counts a try whose reviewer died, for a host that sees it die and need not wait for its lease.
pub async fn review_died(
    ledger: &dyn Ledger,
    queue: &dyn QueueSend,
    id: &JobId,
    attempt: AttemptNo,
    now: Timestamp,
) -> Result<Died, StageError> {
    let job = match ledger.job(id).await? {
        Some(job) if job.state == JobState::Collected && job.attempt == attempt => job,
        _ => return Ok(Died::Stale),
    };
    let last = job.tries >= MAX_TRIES;
    let counted = Job {
        tries: job.tries.saturating_add(1),
        updated_at: now,
        ..job
    };
    let transaction = Transaction {
        jobs: vec![counted],
        ..Transaction::default()
    };
    live::committed(ledger, transaction).await?;
    if !last {
        return Ok(Died::Again);
    }
    let message = Message::PostV1 {
        job: id.clone(),
        attempt,
        findings: None,
    };
    queue
        .send(QueueName::Post, &message, Duration::ZERO)
        .await?;
    Ok(Died::GivenUp)
}
