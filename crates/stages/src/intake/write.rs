//! Writes delivery, job and pull request in one transaction, then sends the message.

use std::time::Duration;

use mirilla_domain::code::EndReason;
use mirilla_domain::ids::{Generation, InstallationId, PullRequestRef, RepoName, Timestamp};
use mirilla_domain::job::{Debounce, Job, JobKey, JobState, PullRequestRecord};
use mirilla_domain::request::{Delivery, Trigger};
use mirilla_ports::LedgerError;
use mirilla_ports::ledger::{Recorded, Transaction};
use mirilla_ports::message::Message;
use mirilla_ports::queue::QueueName;

use super::decide::{Choice, Wanted, choose};
use super::{Failure, RecordPorts};
use crate::live;

/// How often a decision is made anew because a row moved. More writers than this on one pull request
/// at one moment are answered with "later".
pub(super) const MAX_ROUNDS: u32 = 10;

/// A review that is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// How long pushes wait.
    pub(crate) debounce: Debounce,
    pub(crate) pull_request: PullRequestRef,
    pub(crate) repo_name: &'a RepoName,
    pub(crate) installation: Option<InstallationId>,
    pub(crate) wanted: Wanted<'a>,
}

/// What became of a request.
pub(super) enum Outcome {
    /// Nothing is recorded: there were too many of the kind.
    TooMany,
    /// Recorded and sent.
    Queued,
    /// Recorded; the queue refused, and the sweeper will send it.
    RecordedOnly(Failure),
    /// There is nothing to do.
    Duplicate,
    /// Nothing is recorded.
    Unavailable(Failure),
    /// Nothing is recorded, because others kept writing.
    Contended,
}

/// Records the review that a delivery asks for.
pub(super) async fn review(
    ports: RecordPorts<'_>,
    delivery: &Delivery,
    asked: Asked<'_>,
) -> (Outcome, Known) {
    let mut known = Known::default();
    let outcome = match write(ports, delivery, asked, &mut known).await {
        Ok(Written::Job(job)) => send(ports, &job).await,
        Ok(Written::NoJob) => Outcome::Duplicate,
        Ok(Written::Nothing) => Outcome::Contended,
        Err(error) => Outcome::Unavailable(Box::new(error)),
    };
    (outcome, known)
}

/// What the ledger knows of a delivery already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Known {
    /// Nothing.
    #[default]
    No,
    /// Its id: the forge, or the sweeper, sent it again.
    Id,
    /// Its body alone: somebody sent a recorded body under an id of their own.
    Body,
}

impl Known {
    /// Finds out what a refused delivery was known by.
    pub(super) async fn of(
        ports: RecordPorts<'_>,
        delivery: &Delivery,
    ) -> Result<Self, LedgerError> {
        let forge = delivery.origin.forge;
        let by_id = ports.ledger.has_delivery(forge, &delivery.id).await?;
        Ok(if by_id { Self::Id } else { Self::Body })
    }
}

/// What is in the ledger now.
enum Written {
    /// A job that waits for the collector.
    Job(Box<Job>),
    /// The delivery, or it was there already.
    NoJob,
    /// Nothing new.
    Nothing,
}

/// Decides and writes, and does so again if a row moved in between.
async fn write(
    ports: RecordPorts<'_>,
    delivery: &Delivery,
    asked: Asked<'_>,
    known: &mut Known,
) -> Result<Written, LedgerError> {
    for round in 0..MAX_ROUNDS {
        let redelivered = *known != Known::No;
        let now = ports.clock.now();
        let record = ports.ledger.pull_request(&asked.pull_request).await?;
        let record = record.unwrap_or_else(|| {
            let name = asked.repo_name.clone();
            PullRequestRecord::new(asked.pull_request, name, asked.installation, now)
        });
        // Most pushes ask for a job that nobody has recorded: the first round takes that for granted
        // and saves a reading. Where it is wrong, the transaction refuses the row.
        let present = if round == 0 {
            None
        } else {
            let id = asked.key(record.generation).id();
            ports.ledger.job(&id).await?
        };
        let plan = asked.plan(record, present, redelivered, now);
        if redelivered && plan.send.is_none() {
            return Ok(Written::NoJob);
        }
        let transaction = Transaction {
            // The id of a redelivery is taken; what may be written for it is the armed job.
            delivery: (!redelivered).then(|| delivery.clone()),
            jobs: [&plan.send, &plan.touch, &plan.end]
                .into_iter()
                .flatten()
                .cloned()
                .collect(),
            pull_request: Some(plan.record),
        };
        match ports.ledger.commit(transaction).await? {
            Recorded::New => {
                return Ok(plan
                    .send
                    .map_or(Written::NoJob, |job| Written::Job(Box::new(job))));
            }
            Recorded::DuplicateDelivery => {
                *known = Known::of(ports, delivery).await?;
            }
            Recorded::Stale => {}
        }
    }
    Ok(Written::Nothing)
}

/// What one round wants written.
pub(crate) struct Plan {
    pub(crate) record: PullRequestRecord,
    /// A job to write and to send to the collector.
    pub(crate) send: Option<Job>,
    /// A job whose row is only touched.
    pub(crate) touch: Option<Job>,
    /// A job that ends because `send` takes its place.
    pub(crate) end: Option<Job>,
}

impl Asked<'_> {
    pub(crate) fn key(&self, generation: Generation) -> JobKey {
        JobKey {
            forge: self.pull_request.forge,
            repo: self.pull_request.repo,
            pr: self.pull_request.pr,
            head: self.wanted.head.clone(),
            base_ref: self.wanted.base_ref.clone(),
            generation,
        }
    }

    /// Decides what the request means for the job at the record's generation.
    pub(crate) fn plan(
        &self,
        mut record: PullRequestRecord,
        present: Option<Job>,
        redelivered: bool,
        now: Timestamp,
    ) -> Plan {
        let mut choice = choose(
            self.wanted,
            present.as_ref(),
            record.last_posted.as_ref(),
            now,
        );
        // A redelivery repeats what was asked. It does not ask again, but it may revive what died.
        if redelivered && choice != Choice::Arm {
            choice = Choice::Nothing;
        }
        let again = self.wanted.trigger == Trigger::Rerun && choice != Choice::Nothing;
        if again && !record.note_rerun(now) {
            choice = Choice::Nothing;
        }
        if choice == Choice::Raise {
            record.generation = record.generation.next();
        }
        let by_hand = self.wanted.trigger == Trigger::Asked;
        let wait = match self.wanted.trigger {
            // Somebody waits for it, and nobody asks five times in a row by pushing.
            Trigger::Asked | Trigger::Resumed | Trigger::Rerun => Duration::ZERO,
            _ => self.debounce.delay(record.last_push, now),
        };
        let due_at = now.plus(wait);
        let end = present
            .as_ref()
            .filter(|job| by_hand && is_replaceable(job, now))
            .map(|job| live::ended(job, JobState::Superseded, EndReason::AskedAgain, now));
        let (send, touch) = match (choice, present) {
            (Choice::Begin | Choice::Raise, _) => {
                let key = self.key(record.generation);
                let name = self.repo_name.clone();
                let job = Job::accepted(key, name, self.installation, due_at, now);
                let sponsored = by_hand;
                (Some(Job { sponsored, ..job }), None)
            }
            (Choice::Arm, Some(present)) => (Some(present.armed_again(due_at, now)), None),
            (Choice::Touch, Some(present)) => {
                let touched = Job {
                    updated_at: now,
                    ..present
                };
                (None, Some(touched))
            }
            (Choice::Nothing | Choice::Arm | Choice::Touch, _) => (None, None),
        };
        record.repo_name.clone_from(self.repo_name);
        record.installation = self.installation.or(record.installation);
        record.touched_at = now;
        if let Some(job) = &send {
            record.last_job = Some(job.id.clone());
            if matches!(self.wanted.trigger, Trigger::Opened | Trigger::Pushed) {
                record.last_push = Some(now);
            }
        }
        Plan {
            record,
            send,
            touch,
            end,
        }
    }
}

/// Returns whether a job may be ended because the same head is read anew: only while nobody has begun.
/// What a reviewer has in hand will be posted, and findings for an ended job would look like an attack.
fn is_replaceable(job: &Job, now: Timestamp) -> bool {
    matches!(job.state, JobState::Accepted | JobState::Queued) && !job.is_claimed(now)
}

/// Sends the collect message. That it was sent is not noted: the job stays accepted until a collector
/// claims it, and the sweeper sends again what nobody claims.
async fn send(ports: RecordPorts<'_>, job: &Job) -> Outcome {
    let message = Message::CollectV1 {
        job: job.id.clone(),
    };
    let delay = job.due_at.since(ports.clock.now());
    match ports.queue.send(QueueName::Collect, &message, delay).await {
        Ok(()) => Outcome::Queued,
        Err(error) => Outcome::RecordedOnly(Box::new(error)),
    }
}
