//! Answers a merge queue: the pull request's own verdict, on the queue's commit.
//!
//! The change was read on its pull request, and a queue only takes what passes there. So nothing is read
//! again; but the queue waits until a required check is written on its commit as well.
//!
//! **Invariant:** no verdict is made here: what is written is what the ledger says of the pull request's live
//! head, beside other open pull requests with that head, or that nothing is known. It is written only to a
//! commit at which the forge says that its queue's branch for this pull request and base stands.

use std::time::Duration;

use mirilla_domain::gate::{CheckReport, Verdict};
use mirilla_domain::ids::{CommitSha, JobId};
use mirilla_domain::job::{Job, JobCheck, JobKey, PullRequestRecord};
use mirilla_domain::merge_queue::{Progress, QueueBranch, QueueEntry, SETTLES_WITHIN};
use mirilla_domain::settings::SETTINGS_FILE;
use mirilla_domain::snapshot::PullRequest;
use mirilla_ports::ForgeError;
use mirilla_ports::checks::NewCheck;
use mirilla_ports::ledger::{Recorded, Transaction};
use mirilla_ports::message::GroupMessage;

use super::check::{NO_PERMISSION_HINT, adopted, siblings};
use super::{PostPorts, PostSettings, lease};
use crate::collect::{calls_left, trusted_rev};
use crate::error::StageError;
use crate::report::{Report, STALE};
use crate::review::effective_policy;

/// How often a write that somebody else was faster with is tried again.
const MAX_ROUNDS: u32 = 8;

/// How soon the forge is asked again about an entry that it does not know yet.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(15);
/// The pull request is not on its way into the branch that the queue is for.
const NOT_QUEUED: &str = "not-queued";
/// The queue's branch stands elsewhere.
const QUEUE_MOVED: &str = "queue-moved";

/// Writes the check of one commit of a merge queue.
pub async fn merge_group(
    ports: PostPorts<'_>,
    settings: &PostSettings,
    about: &GroupMessage,
) -> Result<Report, StageError> {
    let known = ports.ledger.pull_request(&about.pull_request).await?;
    let Some(record) = known.filter(|record| open(record, &about.sha).is_some()) else {
        return Ok(Report::silent(about.run.clone(), STALE));
    };
    // The message may come twice: nothing about the entry tells the workers apart.
    let token = ports.entropy.hex(16);
    let holder = || lease::Holder {
        pull_request: about.pull_request,
        repo_name: &record.repo_name,
        installation: record.installation,
        token: &token,
    };
    let record = lease::take(ports, holder()).await?;
    let done = answer(ports, settings, about, &record).await;
    lease::give_up(ports, holder()).await?;
    done.map(|report| report.counting_all(calls_left(ports.read)))
}

fn open<'r>(record: &'r PullRequestRecord, sha: &CommitSha) -> Option<&'r QueueEntry> {
    record.queued.find(sha).filter(|entry| entry.is_open())
}

async fn answer(
    ports: PostPorts<'_>,
    settings: &PostSettings,
    about: &GroupMessage,
    record: &PullRequestRecord,
) -> Result<Report, StageError> {
    let told = |outcome| Report::on_run(&about.run, record, outcome);
    let Some(entry) = open(record, &about.sha) else {
        return Ok(told(STALE));
    };
    let age = ports.clock.now().since(entry.at);
    let found = match found(ports, settings, record, entry).await {
        Ok(Ok(found)) => found,
        // What the forge says may be older than its webhook.
        Ok(Err(NOT_QUEUED | QUEUE_MOVED)) | Err(StageError::Forge(ForgeError::NotFound { .. }))
            if age < SETTLES_WITHIN =>
        {
            return Err(StageError::Busy {
                what: "the merge queue's commit",
                after: ASK_AGAIN_AFTER,
            });
        }
        Ok(Err(reason)) => {
            settle(ports, about, Progress::Done).await?;
            return Ok(told(reason));
        }
        Err(StageError::Forge(ForgeError::NotFound { .. })) => {
            settle(ports, about, Progress::Done).await?;
            return Ok(told("queue-gone"));
        }
        Err(error) => return Err(error),
    };
    let Found { live, job, check } = found;
    let report = match &job {
        None => Some(CheckReport::plain(
            Verdict::unknown(),
            check.on_inconclusive,
        )),
        Some(job) => repeated(ports, job, &check).await?,
    };
    let run = job.as_ref().map_or(&about.run, |job| &job.id);
    let new = written(about, &live, &check, run, report.as_ref());
    let repo = &record.repo_name;
    let there = ports.checks.checks(repo, &about.sha, check.name).await?;
    let done = match ports
        .checks
        .write_check(repo, adopted(run, &there), &new)
        .await
    {
        Ok(_) => told(if report.is_some() {
            "repeated"
        } else {
            "begun"
        }),
        Err(ForgeError::NotFound { .. }) => {
            settle(ports, about, Progress::Done).await?;
            return Ok(told("queue-gone"));
        }
        Err(error @ ForgeError::Forbidden { .. }) => {
            settle(ports, about, Progress::Done).await?;
            let pr = about.pull_request.pr;
            let line = format!(
                "{repo}#{pr} in the merge queue has no check: {error}; {NO_PERMISSION_HINT}"
            );
            return Ok(told("check-forbidden").line(line));
        }
        // Only after it can no longer land can be seen whether it did.
        Err(ForgeError::Unknown { .. }) => {
            return Err(StageError::MayHaveLanded {
                after: settings.write_grace,
            });
        }
        Err(error) => return Err(error.into()),
    };
    let progress = match report {
        Some(_) => Progress::Done,
        None => Progress::Begun,
    };
    settle(ports, about, progress).await?;
    let line = format!(
        "{repo}#{} check {} in the merge queue: {} (head={} commit={})",
        about.pull_request.pr,
        check.name.as_str(),
        report
            .as_ref()
            .map_or("begun", |report| report.verdict.ruling.as_str()),
        live.head.short(),
        about.sha.short(),
    );
    Ok(done.line(line))
}

/// What is known of an entry that is really one.
struct Found {
    live: PullRequest,
    /// The job of the live head.
    job: Option<Job>,
    check: JobCheck,
}

/// Asks the forge whether the entry is what its webhook says, and the ledger for the verdict. `Err` within
/// names why nothing is to be written.
async fn found(
    ports: PostPorts<'_>,
    settings: &PostSettings,
    record: &PullRequestRecord,
    entry: &QueueEntry,
) -> Result<Result<Found, &'static str>, StageError> {
    let said = QueueBranch::parse(&entry.branch);
    let Some(said) = said.filter(|said| said.pr == record.pull_request.pr) else {
        return Ok(Err("no-queue-branch"));
    };
    let live = ports
        .read
        .pull_request(&record.repo_name, &record.pull_request)
        .await?;
    if !live.open || live.base_ref != said.base {
        return Ok(Err(NOT_QUEUED));
    }
    let branch = entry.branch.as_str();
    let stands = ports.read.files(&record.repo_name, branch, &[]).await?;
    if stands.commit != entry.sha {
        return Ok(Err(QUEUE_MOVED));
    }
    let key = JobKey::of(&live, record.generation);
    let job = ports.ledger.job(&key.id()).await?;
    let known = job.as_ref().and_then(|job| job.check.clone());
    let check = if known.is_some() {
        known
    } else {
        // Nobody has read the settings for this head, or they ask for no gate.
        let rev = trusted_rev(&settings.policy, &live);
        let files = ports
            .read
            .files(&record.repo_name, rev, &[SETTINGS_FILE])
            .await?;
        JobCheck::of(&live, &effective_policy(&settings.policy, &files))
    };
    Ok(match check {
        Some(check) => Ok(Found { live, job, check }),
        None => Err("no-gate"),
    })
}

/// Returns the verdict that counts for the pull request's head; nothing while it is being made.
async fn repeated(
    ports: PostPorts<'_>,
    job: &Job,
    check: &JobCheck,
) -> Result<Option<CheckReport>, StageError> {
    let Some(verdict) = job.verdict() else {
        return Ok(None);
    };
    let on_head = ports
        .checks
        .checks(&job.repo_name, &job.key.head, check.name)
        .await?;
    let others = siblings::read(ports, job, check.name, &on_head).await?;
    let own = CheckReport::plain(verdict, check.on_inconclusive);
    Ok(Some(others.rulings().fold(own, CheckReport::beside)))
}

fn written(
    about: &GroupMessage,
    live: &PullRequest,
    check: &JobCheck,
    run: &JobId,
    report: Option<&CheckReport>,
) -> NewCheck {
    let origin = format!(
        "What was read is #{} at {}; this repeats its verdict for the merge queue.",
        live.id.pr,
        live.head.short()
    );
    let (title, summary) = match report {
        Some(report) => (
            report.title.clone(),
            format!("{origin}\n\n{}", report.summary),
        ),
        None => ("Reading the change".to_owned(), origin),
    };
    NewCheck {
        name: check.name,
        head: about.sha.clone(),
        job: run.clone(),
        pr: live.id.pr,
        review: None,
        conclusion: report.map(CheckReport::conclusion),
        title,
        summary,
        annotations: Vec::new(),
    }
}

/// Notes how far the entry is.
async fn settle(
    ports: PostPorts<'_>,
    about: &GroupMessage,
    progress: Progress,
) -> Result<(), StageError> {
    for _ in 0..MAX_ROUNDS {
        let Some(mut record) = ports.ledger.pull_request(&about.pull_request).await? else {
            return Ok(());
        };
        record.queued.settle(&about.sha, progress);
        let transaction = Transaction {
            pull_request: Some(record),
            ..Transaction::default()
        };
        if ports.ledger.commit(transaction).await? == Recorded::New {
            return Ok(());
        }
    }
    Err(StageError::Busy {
        what: "the pull request's record",
        after: Duration::from_secs(1),
    })
}
