//! Does what a command in a comment asks for, if whoever wrote it may write here.
//!
//! ```text
//! note in the ledger → comment as it is now → its author's permission → live head → one transaction → messages
//! ```
//!
//! **Invariant:** the webhook only says which comment to look at. Text, author, permission and head are read
//! from the forge at this moment, and what is done, with the note that it is, is one transaction: a message
//! that comes back finds it done.

use std::time::Duration;

use mirilla_domain::command::{CommandNote, Fate, MAX_AGE};
use mirilla_domain::ids::{JobId, Timestamp};
use mirilla_domain::job::{Debounce, Job, PullRequestRecord};
use mirilla_domain::request::{Trigger, Verb};
use mirilla_domain::snapshot::PullRequest;
use mirilla_domain::webhook::find_command;
use mirilla_ports::ForgeError;
use mirilla_ports::ledger::{Recorded, Transaction};
use mirilla_ports::message::{CommandMessage, Message};
use mirilla_ports::queue::QueueName;

use super::{CollectPorts, calls_left};
use crate::error::StageError;
use crate::intake::{Asked, Wanted};
use crate::report::{Report, STALE};

/// How often a decision is made anew because a row moved.
const MAX_ROUNDS: u32 = 10;

/// Looks at a comment, and obeys it if it counts.
pub async fn command(
    ports: CollectPorts<'_>,
    about: &CommandMessage,
) -> Result<Report, StageError> {
    let Some((record, note)) = noted(ports, about).await? else {
        return Ok(Report::silent(about.run.clone(), STALE));
    };
    let told = |outcome| Report::on_command(about, &record, outcome);
    match &note.fate {
        Fate::Waiting => {}
        Fate::Refused
        | Fate::Obeyed {
            acknowledged: true, ..
        } => return Ok(told(STALE)),
        // It was done, but who had to hear of it may not have been told before a crash.
        Fate::Obeyed { job, .. } => {
            announce(ports, about, job.as_ref()).await?;
            return Ok(told("announced-again"));
        }
    }
    let order = order(ports, &record, about, &note).await?;
    let refusal = order.as_ref().err().copied().unwrap_or(Refusal::TooMany);
    let (outcome, said) = match settle(ports, about, order.as_ref().ok()).await? {
        Done::Obeyed => ("obeyed", "obeyed".to_owned()),
        Done::Refused => (
            refusal.as_str(),
            format!("not obeyed: {}", refusal.explain()),
        ),
        Done::Already => return Ok(told(STALE)),
    };
    let (repo, pr, verb) = (&record.repo_name, about.pull_request.pr, note.verb.as_str());
    Ok(told(outcome)
        .line(format!("{repo}#{pr} /mirilla {verb} {said}"))
        .counting_all(calls_left(ports.forge)))
}

/// Why a command does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    /// The comment was deleted, or is on another pull request.
    Gone,
    /// It does not say so any more.
    Edited,
    /// It is too old.
    Old,
    /// Somebody else wrote it than the webhook says.
    OtherAuthor,
    /// A bot wrote it, or we did.
    Bot,
    /// Who wrote it may not write to the repository.
    NoWriteAccess,
    /// The pull request is closed.
    Closed,
    /// There were too many.
    TooMany,
}

impl Refusal {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Gone => "command-gone",
            Self::Edited => "command-edited",
            Self::Old => "command-old",
            Self::OtherAuthor => "command-author-mismatch",
            Self::Bot => "command-of-a-bot",
            Self::NoWriteAccess => "command-without-write-access",
            Self::Closed => "command-on-closed",
            Self::TooMany => "too-many-commands",
        }
    }

    const fn explain(self) -> &'static str {
        match self {
            Self::Gone => "the comment is not there",
            Self::Edited => "the comment says something else now",
            Self::Old => "the comment is older than three days",
            Self::OtherAuthor => "the webhook names another author than the forge",
            Self::Bot => "a bot wrote it",
            Self::NoWriteAccess => "its author may not write to the repository",
            Self::Closed => "the pull request is closed",
            Self::TooMany => "there were too many",
        }
    }
}

/// A command that counts.
struct Order {
    verb: Verb,
    /// The pull request as it is now, where the command is about its head.
    live: Option<PullRequest>,
}

/// What became of a command.
enum Done {
    Obeyed,
    Refused,
    /// Another worker was faster.
    Already,
}

async fn noted(
    ports: CollectPorts<'_>,
    about: &CommandMessage,
) -> Result<Option<(PullRequestRecord, CommandNote)>, StageError> {
    let record = ports.ledger.pull_request(&about.pull_request).await?;
    Ok(record.and_then(|record| {
        let note = record.commands.find(about.place, about.comment)?.clone();
        Some((record, note))
    }))
}

/// Asks the forge what the comment says now and whether its author may say so.
async fn order(
    ports: CollectPorts<'_>,
    record: &PullRequestRecord,
    about: &CommandMessage,
    note: &CommandNote,
) -> Result<Result<Order, Refusal>, StageError> {
    let now = ports.clock.now();
    if !record.commands.has_room_for(note.verb, now) {
        return Ok(Err(Refusal::TooMany));
    }
    let repo = &record.repo_name;
    let pr = about.pull_request.pr;
    let said = match ports
        .forge
        .comment(repo, pr, about.place, about.comment)
        .await
    {
        Ok(said) if said.pr == pr => said,
        Ok(_) | Err(ForgeError::NotFound { .. }) => return Ok(Err(Refusal::Gone)),
        Err(error) => return Err(error.into()),
    };
    let (Some(author), false, false) = (&said.author, said.by_bot, said.ours) else {
        return Ok(Err(Refusal::Bot));
    };
    if note.author.is_some() && note.author != said.author_id {
        return Ok(Err(Refusal::OtherAuthor));
    }
    if now.since(said.created_at) > MAX_AGE {
        return Ok(Err(Refusal::Old));
    }
    if find_command(&said.body) != Some(note.verb) {
        return Ok(Err(Refusal::Edited));
    }
    match ports.forge.may_write(repo, author).await {
        Ok(true) => {}
        // A token that may not ask makes nobody a writer.
        Ok(false) | Err(ForgeError::Forbidden { .. }) => return Ok(Err(Refusal::NoWriteAccess)),
        Err(error) => return Err(error.into()),
    }
    let live = match note.verb {
        Verb::Review | Verb::Resume => {
            let read_at = ports.clock.now();
            let live = match ports.forge.pull_request(repo, &about.pull_request).await {
                Ok(live) => live,
                Err(ForgeError::NotFound { .. }) => return Ok(Err(Refusal::Gone)),
                Err(error) => return Err(error.into()),
            };
            ports.heads.record(&live.id, &live.head, read_at).await?;
            if !live.open {
                return Ok(Err(Refusal::Closed));
            }
            Some(live)
        }
        Verb::Pause | Verb::Help | Verb::Dismiss | Verb::Explain => None,
    };
    Ok(Ok(Order {
        verb: note.verb,
        live,
    }))
}

/// Writes what becomes of the command, again if somebody else wrote in between, and tells who has to know.
async fn settle(
    ports: CollectPorts<'_>,
    about: &CommandMessage,
    order: Option<&Order>,
) -> Result<Done, StageError> {
    for _ in 0..MAX_ROUNDS {
        let waiting = noted(ports, about)
            .await?
            .filter(|(_, note)| note.fate == Fate::Waiting);
        let Some((record, _)) = waiting else {
            return Ok(Done::Already);
        };
        let now = ports.clock.now();
        // Asked again here: others may have been obeyed since.
        let order = order.filter(|order| record.commands.has_room_for(order.verb, now));
        let decided = match order {
            Some(order) => decide(ports, record, order, now).await?,
            None => Decided::nothing(record),
        };
        let fate = match order {
            None => Fate::Refused,
            Some(_) => Fate::Obeyed {
                job: decided.started.as_ref().map(|job| job.id.clone()),
                acknowledged: false,
            },
        };
        let Decided {
            mut record,
            started,
            jobs,
        } = decided;
        record.commands.settle(about.place, about.comment, fate);
        let transaction = Transaction {
            jobs: started.iter().cloned().chain(jobs).collect(),
            pull_request: Some(record),
            ..Transaction::default()
        };
        if ports.ledger.commit(transaction).await? != Recorded::New {
            continue;
        }
        if order.is_none() {
            return Ok(Done::Refused);
        }
        announce(ports, about, started.map(|job| job.id).as_ref()).await?;
        return Ok(Done::Obeyed);
    }
    Err(StageError::Busy {
        what: "the pull request's record",
        after: Duration::from_secs(1),
    })
}

/// What an obeyed command changes.
struct Decided {
    record: PullRequestRecord,
    /// The job to read.
    started: Option<Job>,
    /// Other jobs that change with it.
    jobs: Vec<Job>,
}

impl Decided {
    const fn nothing(record: PullRequestRecord) -> Self {
        Self {
            record,
            started: None,
            jobs: Vec::new(),
        }
    }
}

async fn decide(
    ports: CollectPorts<'_>,
    mut record: PullRequestRecord,
    order: &Order,
    now: Timestamp,
) -> Result<Decided, StageError> {
    let trigger = match order.verb {
        Verb::Review => Trigger::Asked,
        Verb::Resume => Trigger::Resumed,
        Verb::Pause | Verb::Help | Verb::Dismiss | Verb::Explain => {
            record.paused |= order.verb == Verb::Pause;
            record.touched_at = now;
            return Ok(Decided::nothing(record));
        }
    };
    record.paused &= trigger != Trigger::Resumed;
    record.touched_at = now;
    // A draft is read when somebody asks for that, not because it may be read again.
    let live = order
        .live
        .as_ref()
        .filter(|live| !live.draft || trigger == Trigger::Asked);
    let Some(live) = live else {
        return Ok(Decided::nothing(record));
    };
    let asked = Asked {
        debounce: Debounce::default(),
        pull_request: live.id,
        repo_name: &live.repo_name,
        installation: record.installation,
        wanted: Wanted {
            head: &live.head,
            base_ref: &live.base_ref,
            trigger,
        },
    };
    let present = ports.ledger.job(&asked.key(record.generation).id()).await?;
    let plan = asked.plan(record, present, false, now);
    Ok(Decided {
        record: plan.record,
        started: plan.send,
        jobs: plan.touch.into_iter().chain(plan.end).collect(),
    })
}

/// Sends the messages that follow from an obeyed command.
async fn announce(
    ports: CollectPorts<'_>,
    about: &CommandMessage,
    started: Option<&JobId>,
) -> Result<(), StageError> {
    if let Some(job) = started {
        let message = Message::CollectV1 { job: job.clone() };
        ports
            .queue
            .send(QueueName::Collect, &message, Duration::ZERO)
            .await?;
    }
    let message = Message::AcknowledgeV1(about.clone());
    ports
        .queue
        .send(QueueName::Post, &message, Duration::ZERO)
        .await?;
    Ok(())
}
