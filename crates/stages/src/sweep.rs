//! Restarts what died: jobs whose message was lost, workers that were killed, heads that nobody
//! announced, money of calls that will never be answered.
//!
//! **Invariant:** a backlog is not a death. A job that waits in a queue has no claim and no lease, and
//! is left alone for as long as a queue that could hold its message is not empty, up to the queue's own
//! age alarm. A claim or a lease that has lapsed is a death, whatever the queues hold.

mod backlog;
mod clean;
mod dead;
mod deliveries;
mod log;
pub mod redeliveries;
mod restart;

use std::time::Duration;

use mirilla_domain::command::Fate;
use mirilla_domain::ids::Timestamp;
use mirilla_domain::job::{Job, JobState, PullRequestRecord};
use mirilla_domain::signal::{About, RunOutcome, Signal};
use mirilla_ports::message::{CommandMessage, GroupMessage, Message};
use mirilla_ports::queue::QueueName;
use mirilla_ports::{
    Artifacts, Clock, Ledger, LedgerError, MeterSweep, QueueDepth, QueueSend, ReviewLeases,
};

use crate::error::StageError;
use backlog::Backlog;
pub use deliveries::{DeliveryPorts, Pace};
pub use log::log;
pub use restart::{Died, review_died};

/// What the sweeper may use.
#[derive(Clone, Copy)]
pub struct SweepPorts<'a> {
    /// Jobs.
    pub ledger: &'a dyn Ledger,
    /// Reservations of dead workers.
    pub meter: &'a dyn MeterSweep,
    /// Reviewers at work.
    pub leases: &'a dyn ReviewLeases,
    /// Restarts.
    pub queue: &'a dyn QueueSend,
    /// Backlogs.
    pub depth: &'a dyn QueueDepth,
    /// Which findings exist.
    pub artifacts: &'a dyn Artifacts,
    /// The forge's record of webhooks; `None` where no App is, and with it no such record.
    pub deliveries: Option<DeliveryPorts<'a>>,
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
    /// How long records of ended jobs are kept; `None` where the store forgets them by itself.
    pub keep_runs: Option<Duration>,
}

/// What one run did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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
    /// Webhook deliveries that the forge was asked to repeat.
    pub redelivered: u64,
    /// Webhook deliveries that were read from the forge's record instead.
    pub read: u64,
    /// Webhook deliveries that nothing more is done about.
    pub undeliverable: u64,
    /// What is worth counting, and whom it concerns.
    pub facts: Vec<(About, Signal)>,
}

impl Swept {
    fn count(&mut self, job: &Job, signal: Signal) {
        self.facts.push((About::from(job), signal));
    }

    /// Returns whether anything had died.
    pub const fn found_deaths(&self) -> bool {
        self.restarted > 0 || self.given_up > 0 || self.failed > 0 || self.booked > 0
    }
}

/// Returns what a run amounts to, and whom each part of it concerns; every edge that sweeps hands this to
/// the telemetry.
pub fn facts(result: &Result<Swept, StageError>, took: Duration) -> Vec<(About, Vec<Signal>)> {
    let (outcome, reason) = match result {
        Ok(_) => (RunOutcome::Done, "swept"),
        Err(error) => (RunOutcome::Retry, error.code()),
    };
    let ran = Signal::Ran {
        outcome,
        reason,
        duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    };
    let mut facts = vec![(About::default(), vec![ran])];
    if let Ok(swept) = result {
        let found = swept.facts.iter().cloned();
        facts.extend(found.map(|(about, signal)| (about, vec![signal])));
    }
    facts
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
    if swept.booked > 0 {
        let count = swept.booked;
        let fact = (About::default(), Signal::CallsBooked { count });
        swept.facts.push(fact);
    }
    let after_now = now.plus(Duration::from_millis(1));
    let unfinished = ports.ledger.unfinished(after_now, settings.limit).await?;
    let backlog = Backlog::read(ports.depth).await?;
    swept.facts.extend(
        backlog
            .facts(&unfinished, now)
            .into_iter()
            .map(|signal| (About::default(), signal)),
    );
    for job in &unfinished {
        let lease = match job.state {
            JobState::Collected => ports.leases.held_until(&job.id).await?,
            _ => None,
        };
        if !dead::is_dead(job, lease, &backlog, settings, now) {
            continue;
        }
        match restart::restart(ports, job, now, &mut swept).await {
            // Somebody took it up in between: then it is not dead.
            Ok(()) | Err(StageError::Ledger(LedgerError::Conflict { .. })) => {}
            Err(error) => return Err(error),
        }
    }
    if probe {
        swept.probed = send_probes(ports, settings, now).await?;
    }
    swept.cleaned = clean::clean(ports, settings, now).await?;
    if let Some(record) = ports.deliveries {
        match deliveries::redeliver(ports, record, now, &mut swept).await {
            // Another run is at the record, and does what this one would have.
            Ok(()) | Err(StageError::Ledger(LedgerError::Conflict { .. })) => {}
            // Everything else is done, and the next run asks again.
            Err(StageError::Forge(error)) => {
                let error: &(dyn std::error::Error + 'static) = &error;
                tracing::warn!(error, "lost webhooks could not be asked for: {error}");
            }
            Err(error) => return Err(error),
        }
    }
    Ok(swept)
}

/// Sends the messages about commands again that were lost, in all likelihood: no job waits for them, so
/// that nothing else would.
async fn send_commands(
    ports: SweepPorts<'_>,
    record: &PullRequestRecord,
    now: Timestamp,
) -> Result<(), StageError> {
    for note in record.commands.overdue(now) {
        let about = CommandMessage::new(record.pull_request, note.place, note.comment);
        let (queue, message) = match note.fate {
            Fate::Obeyed { .. } => (QueueName::Post, Message::AcknowledgeV1(about)),
            Fate::Waiting | Fate::Refused => (QueueName::Collect, Message::CommandV1(about)),
        };
        ports.queue.send(queue, &message, Duration::ZERO).await?;
    }
    Ok(())
}

/// Lets the collector look at the live head of every pull request that was heard of lately and has no
/// job at work; returns how many.
async fn send_probes(
    ports: SweepPorts<'_>,
    settings: &SweepSettings,
    now: Timestamp,
) -> Result<u64, StageError> {
    let mut probed = 0_u64;
    let since = now.minus(settings.probe_window);
    for record in ports.ledger.touched(since, settings.limit).await? {
        send_commands(ports, &record, now).await?;
        let job = match &record.last_job {
            Some(id) => ports.ledger.job(id).await?,
            None => None,
        };
        let has_verdict = job.as_ref().is_none_or(|job| job.state.is_terminal());
        for entry in record.queued.overdue(now, has_verdict) {
            let about = GroupMessage::new(record.pull_request, entry.sha.clone());
            let message = Message::MergeGroupV1(about);
            ports
                .queue
                .send(QueueName::Post, &message, Duration::ZERO)
                .await?;
        }
        let Some(job) = job else { continue };
        let id = job.id.clone();
        if job.state.is_terminal() && job.is_check_open() {
            let message = Message::CheckV1 { job: id.clone() };
            ports
                .queue
                .send(QueueName::Post, &message, Duration::ZERO)
                .await?;
        }
        if job.state.is_terminal() {
            let message = Message::ProbeV1 { job: id };
            ports
                .queue
                .send(QueueName::Collect, &message, Duration::ZERO)
                .await?;
            probed = probed.saturating_add(1);
        }
    }
    Ok(probed)
}
