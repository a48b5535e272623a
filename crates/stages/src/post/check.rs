//! Writes the check of a job: that it runs, and what it came to.
//!
//! What it says is read from the ledger, so that it does not matter which message comes first or twice. A
//! commit may be the head of several pull requests, and a check hangs on the commit: the worst of their
//! verdicts counts, as far as they have checks of ours.
//!
//! **Invariant:** nothing is a success but a posted review's own pass, beside which no other open pull
//! request with this head is worse or unread. No failure here undoes or holds up a review.

pub(super) mod siblings;

use std::time::Duration;

use mirilla_domain::gate::CheckReport;
use mirilla_domain::ids::JobId;
use mirilla_domain::job::{Claim, Job, JobCheck, JobState, Stage};
use mirilla_domain::settings::SETTINGS_FILE;
use mirilla_domain::signal::Signal;
use mirilla_ports::ForgeError;
use mirilla_ports::checks::{CheckFound, NewCheck};
use mirilla_ports::ledger::Claimed;
use mirilla_ports::message::GroupMessage;

use super::{PostPorts, PostSettings, Posting, count, group};
use crate::collect::{subject, trusted_rev};
use crate::error::StageError;
use crate::report::{Report, STALE};
use crate::review::effective_policy;

/// Longer than writing a check takes.
const CHECK_LEASE: Duration = Duration::from_secs(60);
/// What to do where checks may not be written.
pub(super) const NO_PERMISSION_HINT: &str = "grant it, or set `gate = \"off\"`";

/// Makes a job's check say what the ledger says of the job.
pub async fn check(
    ports: PostPorts<'_>,
    settings: &PostSettings,
    id: &JobId,
) -> Result<Report, StageError> {
    let now = ports.clock.now();
    let Some(known) = ports.ledger.job(id).await? else {
        return Err(StageError::UnknownJob);
    };
    if !known.is_check_open() {
        return Ok(Report::on(&known, STALE));
    }
    let claim = Claim {
        stage: Stage::Post,
        token: ports.entropy.hex(16),
        until: now.plus(CHECK_LEASE),
    };
    let job = match ports.ledger.claim(id, &JobState::ALL, claim, now).await? {
        Claimed::Granted(job) => *job,
        Claimed::Busy(until) => {
            return Err(StageError::Busy {
                what: "the job",
                after: until.since(now),
            });
        }
        Claimed::Unknown | Claimed::NotNow(_) => return Err(StageError::UnknownJob),
    };
    let mut work = Posting {
        ports,
        settings,
        job,
        last_review: None,
        paused: false,
        judged: None,
    };
    let told = write(&mut work).await;
    work.release().await?;
    Ok(add(Report::on(&work.job, "check"), told?))
}

/// Writes the check of a job that has just ended. What fails is told, and tried again: by the sweeper, which
/// looks at the newest job of a pull request, and by this message for one whose place another has taken.
pub(super) async fn after(posting: &mut Posting<'_>, report: Report) -> Result<Report, StageError> {
    if !posting.job.state.is_terminal() || !posting.job.is_check_open() {
        return Ok(report);
    }
    match write(posting).await {
        Ok(told) => Ok(add(report, told)),
        Err(error) if posting.job.state == JobState::Superseded => Err(error),
        Err(error) => {
            warn(&posting.job, &error);
            Ok(report)
        }
    }
}

/// Writes what an earlier try left open.
pub(super) async fn finish(
    ports: PostPorts<'_>,
    settings: &PostSettings,
    id: &JobId,
) -> Result<(), StageError> {
    let known = ports.ledger.job(id).await?;
    if known.is_some_and(|job| job.state.is_terminal() && job.is_check_open()) {
        check(ports, settings, id).await?;
    }
    Ok(())
}

/// What is to be told of a check.
#[derive(Default)]
struct Told {
    line: Option<String>,
    facts: Vec<Signal>,
}

impl From<String> for Told {
    fn from(line: String) -> Self {
        Self {
            line: Some(line),
            facts: Vec::new(),
        }
    }
}

fn add(report: Report, told: Told) -> Report {
    let report = report.counting_all(told.facts);
    told.line.into_iter().fold(report, Report::line)
}

fn warn(job: &Job, error: &StageError) {
    let text = mirilla_telemetry::chain(error);
    tracing::warn!("{} has not all of its checks yet: {text}", subject(job));
}

/// Writes it; tells what was written, if anything.
async fn write(posting: &mut Posting<'_>) -> Result<Told, StageError> {
    let check = match posting.job.check.clone() {
        None if posting.job.settings_unread => unread(posting).await?,
        known => known,
    };
    let Some(check) = check else {
        return Ok(Told::default());
    };
    match written(posting, &check).await {
        Ok(told) => Ok(told),
        // Nobody is there to be told.
        Err(StageError::Forge(ForgeError::NotFound { .. })) => {
            close(posting, check).await?;
            Ok(Told::default())
        }
        Err(StageError::Forge(error @ ForgeError::Forbidden { .. })) => {
            close(posting, check).await?;
            let subject = subject(&posting.job);
            Ok(format!("{subject} has no check: {error}; {NO_PERMISSION_HINT}").into())
        }
        // Only after it can no longer land can be seen whether it did.
        Err(StageError::Forge(ForgeError::Unknown { .. })) => Err(StageError::MayHaveLanded {
            after: posting.settings.write_grace,
        }),
        Err(error) => Err(error),
    }
}

/// Reads the settings for a job that ended before a collector could, and notes what they ask for.
async fn unread(posting: &mut Posting<'_>) -> Result<Option<JobCheck>, StageError> {
    let (read, job) = (posting.ports.read, &posting.job);
    let check = match read
        .pull_request(&job.repo_name, &job.key.pull_request())
        .await
    {
        Ok(live) if live.open && live.head == job.key.head && live.base_ref == job.key.base_ref => {
            let policy = &posting.settings.policy;
            let rev = trusted_rev(policy, &live);
            let files = read.files(&live.repo_name, rev, &[SETTINGS_FILE]).await?;
            JobCheck::of(&live, &effective_policy(policy, &files))
        }
        // Nobody waits for it.
        Ok(_) | Err(ForgeError::NotFound { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let job = Job {
        check: check.clone(),
        settings_unread: false,
        ..posting.job.clone()
    };
    posting.rewrite(job).await?;
    Ok(check)
}

/// Writes that it runs. Before that was tried once, nothing of it stands there, and nothing is listed.
async fn begin(posting: &mut Posting<'_>, mut check: JobCheck) -> Result<Told, StageError> {
    let checks = posting.ports.checks;
    let repo = posting.job.repo_name.clone();
    let found = if check.begun {
        let head = &posting.job.key.head;
        checks.checks(&repo, head, check.name).await?
    } else {
        check.begun = true;
        note(posting, &check).await?;
        Vec::new()
    };
    let running = NewCheck {
        title: "Reading the change".to_owned(),
        summary: "The change is being read.".to_owned(),
        ..blank(&posting.job, &check)
    };
    let own = adopted(&posting.job.id, &found);
    // One that runs already needs no second word.
    if own.is_none_or(|run| run.conclusion.is_some()) {
        checks.write_check(&repo, own, &running).await?;
    }
    // Fails if the job ended meanwhile: then this message comes again, and ends the check.
    note(posting, &check).await?;
    let (subject, name) = (subject(&posting.job), check.name.as_str());
    Ok(format!("{subject} check {name} begun").into())
}

/// Writes the job's row with what is known of its check.
async fn note(posting: &mut Posting<'_>, check: &JobCheck) -> Result<(), StageError> {
    let job = Job {
        check: Some(check.clone()),
        ..posting.job.clone()
    };
    posting.rewrite(job).await
}

async fn written(posting: &mut Posting<'_>, check: &JobCheck) -> Result<Told, StageError> {
    let PostPorts { checks, .. } = posting.ports;
    let Some(verdict) = posting.job.verdict() else {
        return begin(posting, check.clone()).await;
    };
    let job = &posting.job;
    let found = checks
        .checks(&job.repo_name, &job.key.head, check.name)
        .await?;
    let own = adopted(&job.id, &found);
    // Nobody waits for a head that is none any more, or can merge what is closed.
    // A commit status that runs is found by nobody, and must not run for ever.
    if own.is_none() && !check.begun && !is_awaited(job) {
        close(posting, check.clone()).await?;
        return Ok(Told::default());
    }
    let others = siblings::read(posting.ports, &posting.job, check.name, &found).await?;
    let report = match posting
        .judged
        .take()
        .filter(|_| job.state == JobState::Posted)
    {
        Some(report) => report,
        None => CheckReport::plain(verdict, check.on_inconclusive),
    };
    let report = others.rulings().fold(report, CheckReport::beside);
    let done = NewCheck {
        review: job.review_id.filter(|_| job.state == JobState::Posted),
        conclusion: Some(report.conclusion()),
        title: report.title.clone(),
        summary: report.summary.clone(),
        annotations: report.annotations.clone(),
        ..blank(job, check)
    };
    checks.write_check(&job.repo_name, own, &done).await?;
    let basis = report.basis.as_ref();
    let line = format!(
        "{} check {}: {} -> {} (base={} merge-base={}{})",
        subject(job),
        check.name.as_str(),
        report.verdict.ruling.as_str(),
        report.conclusion().as_str(),
        mirilla_domain::escape::terminal(job.key.base_ref.as_str()),
        job.merge_base
            .as_ref()
            .map_or("none", |commit| commit.short()),
        basis.map_or_else(String::new, |basis| format!(" {basis}")),
    );
    // What became of a review was counted with it.
    let facts = match job.state {
        JobState::Posted => Vec::new(),
        _ => count::of_check(&report),
    };
    let own_id = own.map(|run| run.id);
    let twins = found
        .iter()
        .filter(|run| run.job == job.id.as_str() && Some(run.id) != own_id);
    for twin in twins.filter(|run| run.conclusion.is_none()) {
        checks
            .write_check(&job.repo_name, Some(twin), &done)
            .await?;
    }
    // Tokens that write end with the last open check.
    others.tell(posting, check).await?;
    close(posting, check.clone()).await?;
    Ok(Told {
        line: Some(line),
        facts,
    })
}

/// Returns the run to write over: the job's own, unless another one of the name came after it and it is over,
/// because of several the forge looks at the newest.
pub(super) fn adopted<'f>(job: &JobId, found: &'f [CheckFound]) -> Option<&'f CheckFound> {
    let own = found.iter().position(|run| run.job == job.as_str())?;
    let run = found.get(own)?;
    (own == 0 || run.conclusion.is_none()).then_some(run)
}

/// Returns whether a merge may wait for the check of an ended job.
fn is_awaited(job: &Job) -> bool {
    use mirilla_domain::code::EndReason;
    !matches!(
        job.end_reason,
        Some(EndReason::HeadMoved | EndReason::BaseChanged | EndReason::Closed | EndReason::Gone)
    )
}

fn blank(job: &Job, check: &JobCheck) -> NewCheck {
    NewCheck {
        name: check.name,
        head: job.key.head.clone(),
        job: job.id.clone(),
        pr: job.key.pr,
        review: None,
        conclusion: None,
        title: String::new(),
        summary: String::new(),
        annotations: Vec::new(),
    }
}

/// Notes that there is nothing more to write, and answers merge queues that waited for it.
async fn close(posting: &mut Posting<'_>, check: JobCheck) -> Result<(), StageError> {
    let check = JobCheck {
        written: true,
        ..check
    };
    note(posting, &check).await?;
    let id = posting.job.key.pull_request();
    let Some(record) = posting.ports.ledger.pull_request(&id).await? else {
        return Ok(());
    };
    for entry in record.queued.open(posting.ports.clock.now()) {
        let about = GroupMessage::new(id, entry.sha.clone());
        // What fails here the sweeper has tried again.
        if let Err(error) = group::merge_group(posting.ports, posting.settings, &about).await {
            warn(&posting.job, &error);
        }
    }
    Ok(())
}
