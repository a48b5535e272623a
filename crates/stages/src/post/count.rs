//! What a posted review, or a message that fits no open job, amounts to in facts.
//!
//! **Invariant:** only counts and codes leave here. Texts of the findings are looked at, and nothing of
//! them is kept.

use std::collections::BTreeMap;

use mirilla_domain::checks::Check;
use mirilla_domain::code::{DropReason, RejectReason};
use mirilla_domain::gate::{CheckReport, Ruling, Trust};
use mirilla_domain::ids::{AttemptNo, JobId, sha256};
use mirilla_domain::job::Job;
use mirilla_domain::marker;
use mirilla_domain::plan::{JobFacts, Plan, ReadReview, Source};
use mirilla_domain::signal::{OddFindings, Signal, count};
use mirilla_ports::ArtifactError;

use super::{MAX_FINDINGS_BYTES, PostPorts};
use crate::error::StageError;
use crate::report::{Report, STALE};

/// Returns what a plan that was applied amounts to.
pub(super) fn of_plan(plan: &Plan, review: Option<&ReadReview>) -> Vec<Signal> {
    let mut facts = vec![Signal::Reviewed {
        outcome: plan.outcome,
    }];
    if let Some(check) = &plan.check {
        facts.extend(of_check(check));
    }
    for source in [Source::Model, Source::Floor] {
        let found = plan.items.iter().filter(|item| item.source == source);
        push(&mut facts, found.count(), |count| Signal::Found {
            source,
            count,
        });
    }
    let tally = &plan.tally;
    push(&mut facts, tally.posted, |count| Signal::Posted { count });
    push(&mut facts, tally.in_body, |count| Signal::InBody { count });
    push(&mut facts, tally.already_there, |count| {
        Signal::AlreadyThere { count }
    });
    for (reason, dropped) in &tally.dropped {
        push(&mut facts, *dropped, |count| Signal::Dropped {
            reason: *reason,
            count,
        });
    }
    push(&mut facts, plan.redacted, |count| Signal::Redacted {
        count,
    });
    let mut hits: BTreeMap<Check, usize> = BTreeMap::new();
    for item in plan.items.iter().filter(|i| i.source == Source::Floor) {
        if let Some(check) = Check::parse(&item.category) {
            let hit = hits.entry(check).or_default();
            *hit = hit.saturating_add(1);
        }
    }
    for (check, found) in hits {
        push(&mut facts, found, |count| Signal::FloorHit { check, count });
    }
    for (reason, refused) in refused(plan, review) {
        push(&mut facts, refused, |count| Signal::Rejected {
            reason,
            count,
        });
    }
    facts
}

/// Returns what a verdict amounts to.
pub(super) fn of_check(check: &CheckReport) -> Vec<Signal> {
    let ruling = check.verdict.ruling;
    let mut facts = vec![Signal::Judged { ruling }];
    let basis = check.basis.as_ref().filter(|_| ruling == Ruling::Pass);
    for trust in Trust::ALL {
        let found = basis.map_or(0, |basis| basis.of(trust));
        push(&mut facts, found, |count| Signal::PassOnTrust {
            trust,
            count,
        });
    }
    facts
}

/// Says how much of the review file was refused, and why.
fn refused(plan: &Plan, review: Option<&ReadReview>) -> Vec<(RejectReason, usize)> {
    let Some(read) = review else {
        return Vec::new();
    };
    let unknown = tally(plan, DropReason::UnknownPath);
    let posing = |text: &str| marker::poses_as_one(text);
    let markers = read
        .review
        .findings
        .iter()
        .filter(|finding| posing(&finding.title) || posing(&finding.message))
        .count();
    vec![
        (RejectReason::UnknownPath, unknown),
        (RejectReason::Invalid, read.refused.len()),
        (RejectReason::Coverage, read.lost_coverage),
        (RejectReason::Marker, markers),
        (
            RejectReason::OtherJob,
            usize::from(!answers(read, &plan.job)),
        ),
    ]
}

fn tally(plan: &Plan, reason: DropReason) -> usize {
    plan.tally.dropped.get(&reason).copied().unwrap_or(0)
}

/// Returns whether a review file names the job its key names.
fn answers(read: &ReadReview, job: &JobFacts) -> bool {
    let review = &read.review;
    review.job == job.job && review.attempt == job.attempt && review.head == job.head
}

/// Adds a fact about something that happened at least once.
fn push(facts: &mut Vec<Signal>, found: usize, fact: impl FnOnce(u64) -> Signal) {
    if found > 0 {
        facts.push(fact(count(found)));
    }
}

/// Reports a message whose job is not one to post for, and whether its findings object is odd.
pub(super) async fn unclaimed(
    ports: PostPorts<'_>,
    id: &JobId,
    attempt: AttemptNo,
    findings: Option<&str>,
) -> Result<Report, StageError> {
    let Some(job) = ports.ledger.job(id).await? else {
        return Err(StageError::UnknownJob);
    };
    let odd = match findings {
        None => None,
        Some(key) => oddity(ports, &job, attempt, key).await?,
    };
    Ok(Report::on(&job, STALE).counting_all(odd.map(Signal::OddFindings)))
}

/// Says what is odd about findings for a job that waits for none. The bucket and the queue may both
/// repeat themselves; other bytes under the same key are somebody's doing.
async fn oddity(
    ports: PostPorts<'_>,
    job: &Job,
    attempt: AttemptNo,
    key: &str,
) -> Result<Option<OddFindings>, StageError> {
    if job.attempt != attempt {
        return Ok(Some(OddFindings::GivenUpTry));
    }
    let Some(accepted) = &job.findings_sha256 else {
        return Ok(Some(if job.state.is_terminal() {
            OddFindings::AfterClose
        } else {
            OddFindings::TooEarly
        }));
    };
    match ports.artifacts.get(key, MAX_FINDINGS_BYTES).await {
        Ok(bytes) if sha256(&bytes) == *accepted => Ok(Some(OddFindings::Twice)),
        Ok(_) | Err(ArtifactError::TooLarge { .. }) => Ok(Some(OddFindings::OtherHash)),
        // Objects expire; there is nothing left to compare.
        Err(ArtifactError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
