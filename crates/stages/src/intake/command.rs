//! Notes that a comment holds a command, and has the collector look at it.
//!
//! **Invariant:** what the webhook says about a command is a hint: here it is counted and noted, and nothing
//! else follows from it. A storm of commands ends here, before any call to a forge.

use std::time::Duration;

use mirilla_domain::command::Admission;
use mirilla_domain::ids::{AccountId, InstallationId, RepoName};
use mirilla_domain::job::PullRequestRecord;
use mirilla_domain::request::{Delivery, Verb};
use mirilla_ports::LedgerError;
use mirilla_ports::ledger::{Recorded, Transaction};
use mirilla_ports::message::{CommandMessage, Message};
use mirilla_ports::queue::QueueName;

use super::RecordPorts;
use super::write::{Known, MAX_ROUNDS, Outcome};

/// A command as a webhook gives it.
pub(super) struct Given<'a> {
    pub(super) about: CommandMessage,
    pub(super) verb: Verb,
    pub(super) author: Option<AccountId>,
    pub(super) repo_name: &'a RepoName,
    pub(super) installation: Option<InstallationId>,
}

/// What is in the ledger now.
enum Noted {
    Waiting,
    Done,
    TooMany,
    Nothing,
}

/// Records a command, once per comment.
pub(super) async fn record(
    ports: RecordPorts<'_>,
    delivery: &Delivery,
    given: Given<'_>,
) -> (Outcome, Known) {
    let mut known = Known::default();
    let outcome = match note(ports, delivery, &given, &mut known).await {
        Ok(Noted::Waiting) => send(ports, given.about).await,
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
    given: &Given<'_>,
    known: &mut Known,
) -> Result<Noted, LedgerError> {
    let about = &given.about;
    for _ in 0..MAX_ROUNDS {
        let now = ports.clock.now();
        let record = ports.ledger.pull_request(&about.pull_request).await?;
        let mut record = record.unwrap_or_else(|| {
            let name = given.repo_name.clone();
            PullRequestRecord::new(about.pull_request, name, given.installation, now)
        });
        let admission =
            record
                .commands
                .admit(about.place, about.comment, given.verb, given.author, now);
        match admission {
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
        record.repo_name.clone_from(given.repo_name);
        record.installation = given.installation.or(record.installation);
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
async fn send(ports: RecordPorts<'_>, about: CommandMessage) -> Outcome {
    let message = Message::CommandV1(about);
    let sent = ports
        .queue
        .send(QueueName::Collect, &message, Duration::ZERO)
        .await;
    match sent {
        Ok(()) => Outcome::Queued,
        Err(error) => Outcome::RecordedOnly(Box::new(error)),
    }
}
