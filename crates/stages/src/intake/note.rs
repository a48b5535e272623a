//! Notes in a pull request's record that something is to be looked at, and sends the message about it.
//!
//! **Invariant:** note and delivery are one transaction, and each is made once; what is noted and not looked
//! at yet is sent again however often it is delivered.

use std::time::Duration;

use mirilla_domain::command::Admission;
use mirilla_domain::ids::{InstallationId, PullRequestRef, RepoName, Timestamp};
use mirilla_domain::job::PullRequestRecord;
use mirilla_domain::request::Delivery;
use mirilla_ports::LedgerError;
use mirilla_ports::ledger::{Recorded, Transaction};
use mirilla_ports::message::Message;
use mirilla_ports::queue::QueueName;

use super::RecordPorts;
use super::write::{Known, MAX_ROUNDS, Outcome};

/// Where something is to be noted, and who is told.
pub(super) struct Noting<'a> {
    pub(super) pull_request: PullRequestRef,
    pub(super) repo_name: &'a RepoName,
    pub(super) installation: Option<InstallationId>,
    pub(super) queue: QueueName,
    pub(super) message: Message,
}

/// What is in the ledger now.
enum Noted {
    Waiting,
    Done,
    TooMany,
    Nothing,
}

/// Notes what `admit` puts into the record.
pub(super) async fn record(
    ports: RecordPorts<'_>,
    delivery: &Delivery,
    noting: Noting<'_>,
    admit: impl Fn(&mut PullRequestRecord, Timestamp) -> Admission,
) -> (Outcome, Known) {
    let mut known = Known::default();
    let outcome = match note(ports, delivery, &noting, &admit, &mut known).await {
        Ok(Noted::Waiting) => send(ports, noting).await,
        Ok(Noted::Done) => Outcome::Duplicate,
        Ok(Noted::TooMany) => Outcome::TooMany,
        Ok(Noted::Nothing) => Outcome::Contended,
        Err(error) => Outcome::Unavailable(Box::new(error)),
    };
    (outcome, known)
}

async fn note(
    ports: RecordPorts<'_>,
    delivery: &Delivery,
    noting: &Noting<'_>,
    admit: &impl Fn(&mut PullRequestRecord, Timestamp) -> Admission,
    known: &mut Known,
) -> Result<Noted, LedgerError> {
    for _ in 0..MAX_ROUNDS {
        let now = ports.clock.now();
        let record = ports.ledger.pull_request(&noting.pull_request).await?;
        let mut record = record.unwrap_or_else(|| {
            let name = noting.repo_name.clone();
            PullRequestRecord::new(noting.pull_request, name, noting.installation, now)
        });
        match admit(&mut record, now) {
            Admission::Admitted => {}
            // Its message may have been lost; one more changes nothing.
            Admission::Waiting => return Ok(Noted::Waiting),
            Admission::Done => return Ok(Noted::Done),
            Admission::TooMany => return Ok(Noted::TooMany),
        }
        // A body that was recorded before asks nothing again, even if the note of it is gone.
        if *known != Known::No {
            return Ok(Noted::Done);
        }
        record.repo_name.clone_from(noting.repo_name);
        record.installation = noting.installation.or(record.installation);
        record.touched_at = now;
        let transaction = Transaction {
            delivery: Some(delivery.clone()),
            jobs: Vec::new(),
            pull_request: Some(record),
        };
        match ports.ledger.commit(transaction).await? {
            Recorded::New => return Ok(Noted::Waiting),
            Recorded::DuplicateDelivery => {
                *known = Known::of(ports, delivery).await?;
            }
            Recorded::Stale => {}
        }
    }
    Ok(Noted::Nothing)
}

/// Sends the message. If that fails the sweeper sends it.
async fn send(ports: RecordPorts<'_>, noting: Noting<'_>) -> Outcome {
    let (queue, message) = (noting.queue, &noting.message);
    match ports.queue.send(queue, message, Duration::ZERO).await {
        Ok(()) => Outcome::Queued,
        Err(error) => Outcome::RecordedOnly(Box::new(error)),
    }
}
