//! Restarts what died: jobs whose message was lost, workers that were killed, heads that nobody
//! announced, money of calls that will never be answered.
//!
//! **Invariant:** a backlog is not a death. A job that waits in a queue has no claim and is left
//! alone for as long as its queue still holds messages, up to the queue's own age alarm.

use std::collections::HashSet;
use std::time::Duration;

use mirilla_domain::code::EndReason;
use mirilla_domain::ids::{JobId, Timestamp};
use mirilla_domain::job::{Job, JobState, MAX_TRIES};
use mirilla_domain::snapshot::Keys;
use mirilla_ports::ledger::Transaction;
use mirilla_ports::message::Message;
use mirilla_ports::queue::QueueName;
use mirilla_ports::{Artifacts, Clock, Ledger, MeterSweep, QueueDepth, QueueSend};

use crate::error::StageError;
use crate::live;

/// What the sweeper may use.
#[derive(Clone, Copy)]
pub struct SweepPorts<'a> {
    /// Jobs.
    pub ledger: &'a dyn Ledger,
    /// Reservations of dead workers.
    pub meter: &'a dyn MeterSweep,
    /// Restarts.
    pub queue: &'a dyn QueueSend,
    /// Backlogs.
    pub depth: &'a dyn QueueDepth,
    /// Which findings exist.
    pub artifacts: &'a dyn Artifacts,
    /// Time.
    pub clock: &'a dyn Clock,
}

impl std::fmt::Debug for SweepPorts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SweepPorts")
    }
}

/// When something counts as dead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweepSettings {
    /// An unclaimed job counts as dead after this long when its queue is empty.
    pub lost_after: Duration,
    /// An unclaimed job counts as dead after this long whatever its queue holds.
    pub stalled_after: Duration,
    /// Pull requests touched within this time are probed for heads that nobody announced.
    pub probe_window: Duration,
    /// Most rows looked at in one run, so that a run always ends.
    pub limit: usize,
}

/// What one run did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Jobs whose next message was sent again.
    pub restarted: u64,
    /// Jobs that go to the poster without findings.
    pub given_up: u64,
    /// Jobs that ended because even that failed.
    pub failed: u64,
    /// Reservations given back.
    pub returned: u64,
    /// Reservations booked in full.
    pub booked: u64,
    /// Pull requests whose live head is being looked at.
    pub probed: u64,
    /// Snapshots removed because their job ended.
    pub cleaned: u64,
}

/// Does one run. With `probe`, it also looks for live heads that nobody announced.
pub async fn sweep(
    ports: SweepPorts<'_>,
    settings: &SweepSettings,
    probe: bool,
) -> Result<Swept, StageError> {
    let now = ports.clock.now();
    let mut swept = Swept::default();
    (swept.returned, swept.booked) = ports.meter.settle_expired(now).await?;
    let before = Timestamp::new(now.get().saturating_sub(millis(settings.lost_after)));
    for job in ports.ledger.unfinished(before, settings.limit).await? {
        if job.is_claimed(now) || !is_dead(ports, settings, &job, now).await? {
            continue;
        }
        restart(ports, &job, now, &mut swept).await?;
    }
    if probe {
        let since = Timestamp::new(now.get().saturating_sub(millis(settings.probe_window)));
        for record in ports.ledger.touched(since, settings.limit).await? {
            if let Some(job) = record.last_job
                && ports
                    .ledger
                    .job(&job)
                    .await?
                    .is_some_and(|job| job.state.is_terminal())
            {
                ports
                    .queue
                    .send(
                        QueueName::Collect,
                        &Message::ProbeV1 { job },
                        Duration::ZERO,
                    )
                    .await?;
                swept.probed += 1;
            }
        }
    }
    swept.cleaned = clean(ports, settings, now).await?;
    Ok(swept)
}

async fn is_dead(
    ports: SweepPorts<'_>,
    settings: &SweepSettings,
    job: &Job,
    now: Timestamp,
) -> Result<bool, StageError> {
    let idle = now.since(job.updated_at.max(job.due_at));
    if idle >= settings.stalled_after {
        return Ok(true);
    }
    if idle < settings.lost_after {
        return Ok(false);
    }
    Ok(ports.depth.depth(queue_of(job.state)).await? == 0)
}

const fn queue_of(state: JobState) -> QueueName {
    match state {
        JobState::Collected => QueueName::Review,
        JobState::Reviewed => QueueName::Post,
        _ => QueueName::Collect,
    }
}

async fn restart(
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
        live::end(
            ports.ledger,
            job,
            JobState::Failed,
            EndReason::AttemptsExhausted,
            now,
        )
        .await?;
        swept.failed += 1;
        return Ok(());
    }
    let next = Job {
        tries: job.tries.saturating_add(1),
        updated_at: now,
        claim: None,
        ..job.clone()
    };
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
            swept.given_up += 1;
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
    swept.restarted += 1;
    Ok(())
}

/// Removes snapshots and checkpoints of ended jobs, and archives that no open job needs.
async fn clean(
    ports: SweepPorts<'_>,
    settings: &SweepSettings,
    now: Timestamp,
) -> Result<u64, StageError> {
    let mut cleaned = 0;
    let mut seen = HashSet::new();
    for key in ports.artifacts.list("snapshots/").await? {
        let Some(id) = key.split('/').nth(1).and_then(|id| JobId::parse(id).ok()) else {
            continue;
        };
        if seen.len() >= settings.limit || !seen.insert(id.clone()) {
            continue;
        }
        if ports
            .ledger
            .job(&id)
            .await?
            .is_none_or(|job| job.state.is_terminal())
        {
            ports.artifacts.delete(&Keys::snapshot(&id)).await?;
            ports.artifacts.delete(&Keys::work(&id)).await?;
            cleaned += 1;
        }
    }
    let needed: HashSet<String> = ports
        .ledger
        .unfinished(now, usize::MAX)
        .await?
        .iter()
        .map(|job| Keys::archive(&job.key.pull_request(), &job.key.head))
        .collect();
    for key in ports.artifacts.list("archives/").await? {
        if !needed.contains(&key) {
            ports.artifacts.delete(&key).await?;
        }
    }
    Ok(cleaned)
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
