//! Writes the check of a job: that it runs, and what it came to.
//!
//! What it says is read from the ledger, so that it does not matter which message comes first or twice. A
//! commit may be the head of several pull requests, and a check hangs on the commit: the worst of their
//! verdicts counts, as far as they have checks of ours.
//!
//! **Invariant:** nothing is a success but a posted review's own pass, beside which no other open pull
//! request with this head is worse or unread. No failure here undoes or holds up a review.

mod siblings;

use std::time::Duration;

use mirilla_domain::gate::CheckReport;
use mirilla_domain::ids::JobId;
use mirilla_domain::job::{Claim, Job, JobCheck, JobState, Stage};
use mirilla_ports::ForgeError;
use mirilla_ports::checks::{CheckFound, NewCheck};
use mirilla_ports::ledger::Claimed;

use super::{PostPorts, PostSettings, Posting};
use crate::collect::subject;
use crate::error::StageError;
use crate::report::{Report, STALE};

/// Longer than writing a check takes.
const CHECK_LEASE: Duration = Duration::from_secs(60);
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
    let line = write(&mut work).await;
    work.release().await?;
    let report = Report::on(&work.job, "check");
    Ok(line?.into_iter().fold(report, Report::line))
}

/// Writes the check of a job that has just ended. What fails is told, and tried again: by the sweeper, which
/// looks at the newest job of a pull request, and by this message for one whose place another has taken.
pub(super) async fn after(posting: &mut Posting<'_>, report: Report) -> Result<Report, StageError> {
    if !posting.job.state.is_terminal() || !posting.job.is_check_open() {
        return Ok(report);
    }
    match write(posting).await {
        Ok(line) => Ok(line.into_iter().fold(report, Report::line)),
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

fn warn(job: &Job, error: &StageError) {
    let text = mirilla_telemetry::chain(error);
    tracing::warn!("{} has no check yet: {text}", subject(job));
}

/// Writes it; returns a line for people if something was written.
async fn write(posting: &mut Posting<'_>) -> Result<Option<String>, StageError> {
    let Some(check) = posting.job.check.clone() else {
        return Ok(None);
    };
    match written(posting, &check).await {
        Ok(line) => Ok(line),
        // Nobody is there to be told.
        Err(StageError::Forge(ForgeError::NotFound { .. })) => {
            close(posting, check).await?;
            Ok(None)
        }
        Err(StageError::Forge(error @ ForgeError::Forbidden { .. })) => {
            close(posting, check).await?;
            Ok(Some(format!(
                "{} has no check: {error}; grant it, or set `gate = \"off\"`",
                subject(&posting.job)
            )))
        }
        // Only after it can no longer land can be seen whether it did.
        Err(StageError::Forge(ForgeError::Unknown { .. })) => Err(StageError::MayHaveLanded {
            after: posting.settings.write_grace,
        }),
        Err(error) => Err(error),
    }
}

async fn written(
    posting: &mut Posting<'_>,
    check: &JobCheck,
) -> Result<Option<String>, StageError> {
    let PostPorts { checks, .. } = posting.ports;
    let job = &posting.job;
    let found = checks
        .checks(&job.repo_name, &job.key.head, check.name)
        .await?;
    let own = adopted(job, &found);
    let Some(verdict) = job.verdict() else {
        let running = NewCheck {
            title: "Reading the change".to_owned(),
            summary: "The change is being read.".to_owned(),
            ..blank(job, check)
        };
        // One that runs already needs no second word.
        if own.is_none_or(|run| run.conclusion.is_some()) {
            checks.write_check(&job.repo_name, own, &running).await?;
        }
        let check = Some(check.clone());
        posting
            .rewrite(Job {
                check,
                ..posting.job.clone()
            })
            .await?;
        return Ok(Some(format!(
            "{} check {} begun",
            subject(&posting.job),
            name(posting)
        )));
    };
    // Nobody waits for a head that is none any more, or can merge what is closed.
    if own.is_none() && !is_awaited(job) {
        close(posting, check.clone()).await?;
        return Ok(None);
    }
    let others = siblings::read(posting, check, &found).await?;
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
    let line = format!(
        "{} check {}: {} -> {} (base={} merge-base={})",
        subject(job),
        check.name.as_str(),
        report.verdict.ruling.as_str(),
        report.conclusion().as_str(),
        mirilla_domain::escape::terminal(job.key.base_ref.as_str()),
        job.merge_base
            .as_ref()
            .map_or("none", |commit| commit.short()),
    );
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
    Ok(Some(line))
}

fn name(posting: &Posting<'_>) -> &'static str {
    let check = posting.job.check.as_ref();
    check.map_or("", |check| check.name.as_str())
}

/// Returns the run to write over: the job's own, unless another one of the name came after it and it is over,
/// because of several the forge looks at the newest.
fn adopted<'f>(job: &Job, found: &'f [CheckFound]) -> Option<&'f CheckFound> {
    let own = found.iter().position(|run| run.job == job.id.as_str())?;
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

/// Notes that there is nothing more to write.
async fn close(posting: &mut Posting<'_>, check: JobCheck) -> Result<(), StageError> {
    let check = Some(JobCheck {
        written: true,
        ..check
    });
    posting
        .rewrite(Job {
            check,
            ..posting.job.clone()
        })
        .await
}
