//! Tells somebody that their command was obeyed.
//!
//! **Invariant:** written is only what an obeyed and unanswered command of the ledger asks for: a reaction,
//! and the list of commands at most once per pull request. None of its lines is a command.

use std::time::Duration;

use mirilla_domain::command::{CommandNote, Fate};
use mirilla_domain::ids::Timestamp;
use mirilla_domain::job::PullRequestRecord;
use mirilla_domain::request::Verb;
use mirilla_ports::ForgeError;
use mirilla_ports::ledger::{Recorded, Transaction};
use mirilla_ports::message::CommandMessage;

use super::PostPorts;
use crate::collect::calls_left;
use crate::error::StageError;
use crate::report::{Report, STALE};

/// How often a write that somebody else was faster with is tried again.
const MAX_ROUNDS: u32 = 8;

/// What `help` is answered with.
const HELP: &str = "\
Commands, for people with write access, at the beginning of a line of a comment:

| command | what it does |
| --- | --- |
| `/mirilla review` | reads the whole change again, from nothing |
| `/mirilla pause` | no reviews of this pull request from now on, but those asked for by hand |
| `/mirilla resume` | reviews it again, beginning with its present head |
| `/mirilla dismiss <reason>` | in a thread of a finding: it is declined, if you have no part in the change |
| `/mirilla help` | this list |

Obeyed commands get a reaction; what is not obeyed gets no answer.";

/// Answers one obeyed command.
pub async fn acknowledge(
    ports: PostPorts<'_>,
    about: &CommandMessage,
) -> Result<Report, StageError> {
    let record = ports.ledger.pull_request(&about.pull_request).await?;
    let owed = record.and_then(|record| {
        let note = record.commands.find(about.place, about.comment)?.clone();
        note.owes_an_answer().then_some((record, note))
    });
    let Some((record, note)) = owed else {
        return Ok(Report::silent(about.run.clone(), STALE));
    };
    if note.verb == Verb::Help {
        help(ports, about, &record).await?;
    }
    let pr = about.pull_request.pr;
    let reacted = ports
        .write
        .acknowledge(&record.repo_name, pr, about.place, about.comment)
        .await;
    let outcome = match reacted {
        Ok(()) => "acknowledged",
        // The comment is gone or may not be reacted to: there is nobody to tell.
        Err(
            ForgeError::NotFound { .. }
            | ForgeError::Forbidden { .. }
            | ForgeError::Unprocessable { .. },
        ) => "not-acknowledged",
        // If it landed all the same, doing it twice is doing it once.
        Err(error) => return Err(error.into()),
    };
    change(ports, about, |_now, mut record| {
        let known = record.commands.find(about.place, about.comment)?;
        let fate = answered(known)?;
        record.commands.settle(about.place, about.comment, fate);
        Some(record)
    })
    .await?;
    Ok(Report::on_command(about, &record, outcome).counting_all(calls_left(ports.read)))
}

fn answered(note: &CommandNote) -> Option<Fate> {
    match &note.fate {
        Fate::Obeyed {
            job,
            acknowledged: false,
        } => Some(Fate::Obeyed {
            job: job.clone(),
            acknowledged: true,
        }),
        _ => None,
    }
}

/// Posts the list of commands, once per pull request. That it is posted is noted first: after a crash in
/// between it is missing rather than there twice.
async fn help(
    ports: PostPorts<'_>,
    about: &CommandMessage,
    record: &PullRequestRecord,
) -> Result<(), StageError> {
    let noted = change(ports, about, |now, mut record| {
        record.helped_at.is_none().then(|| {
            record.helped_at = Some(now);
            record
        })
    });
    if !noted.await? {
        return Ok(());
    }
    let said = ports
        .write
        .say(&record.repo_name, about.pull_request.pr, HELP)
        .await;
    match said {
        // What may have landed is not said again.
        Ok(_) | Err(ForgeError::Unknown { .. }) => Ok(()),
        Err(error) => {
            change(ports, about, |_now, mut record| {
                record.helped_at = None;
                Some(record)
            })
            .await?;
            match error {
                ForgeError::NotFound { .. }
                | ForgeError::Forbidden { .. }
                | ForgeError::Unprocessable { .. } => Ok(()),
                error => Err(error.into()),
            }
        }
    }
}

/// Changes the pull request's record, again if somebody else changed it in between; returns whether there
/// was anything to change.
async fn change(
    ports: PostPorts<'_>,
    about: &CommandMessage,
    decide: impl Fn(Timestamp, PullRequestRecord) -> Option<PullRequestRecord>,
) -> Result<bool, StageError> {
    for _ in 0..MAX_ROUNDS {
        let record = ports.ledger.pull_request(&about.pull_request).await?;
        let Some(changed) = record.and_then(|record| decide(ports.clock.now(), record)) else {
            return Ok(false);
        };
        let transaction = Transaction {
            pull_request: Some(changed),
            ..Transaction::default()
        };
        if ports.ledger.commit(transaction).await? == Recorded::New {
            return Ok(true);
        }
    }
    Err(StageError::Busy {
        what: "the pull request's record",
        after: Duration::from_secs(1),
    })
}
