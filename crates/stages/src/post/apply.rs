//! Writes what a plan says, and finds out what became of it.
//!
//! **Invariant:** before the first write `posting_since` is in the ledger; a write whose answer is lost
//! is never repeated before it can no longer land.

use mirilla_domain::ids::ReviewId;
use mirilla_domain::job::{Job, JobState, PostedHead, PullRequestRecord};
use mirilla_domain::plan::{Plan, ReviewAction};
use mirilla_domain::signal::Signal;
use mirilla_domain::snapshot::PullRequest;
use mirilla_ports::ForgeError;
use mirilla_ports::forge::Refusal;
use mirilla_ports::ledger::{Recorded, Transaction};

use super::Posting;
use super::basis::Basis;
use super::resolve::resolve;
use crate::collect::subject;
use crate::error::StageError;
use crate::report::Report;

/// How often the closing transaction is tried again when the pull request's record moved.
const MAX_ROUNDS: u32 = 8;

/// Applies a plan.
///
/// If the forge refuses a line or a length, it does not say which, and where comments are posted one by one
/// the others may stand by then. So what stands there is read again, and a plan is made from it that has
/// everything new in the body: nothing is said twice, and nothing is lost.
pub(super) async fn apply(
    posting: &mut Posting<'_>,
    live: &PullRequest,
    plan: Plan,
    basis: &Basis<'_>,
) -> Result<Report, StageError> {
    let merge_base = plan.job.merge_base.clone();
    let (plan, written) = match write(posting, live, &plan).await? {
        Err(error) if is_refused_comment(&error, &plan) => {
            let existing = posting.existing(live).await?;
            let in_body = basis.plan_in_body(&existing);
            let written = write(posting, live, &in_body).await?;
            (in_body, written)
        }
        written => (plan, written),
    };
    let review_id = match written {
        Ok(review_id) => review_id,
        Err(error) => return failed(posting, error).await,
    };
    let closed = resolve(posting, live, &plan.resolve).await;
    close(posting, live, merge_base, review_id).await?;
    let subject = subject(&posting.job);
    let report = Report::on(&posting.job, "posted")
        .counting(Signal::Ended {
            state: JobState::Posted,
        })
        .line(format!("{subject} {}", plan.counts()));
    Ok(closed.told(report, &subject))
}

/// Returns whether a review was refused for one of its comments. All of them were checked against a diff
/// fetched a moment ago, so none can be proved wrong.
fn is_refused_comment(error: &ForgeError, plan: &Plan) -> bool {
    let had_comments = matches!(
        &plan.review,
        ReviewAction::Create { review } if !review.comments.is_empty()
    );
    had_comments
        && matches!(
            error,
            ForgeError::Unprocessable {
                reason: Refusal::Anchor | Refusal::TooLong,
                ..
            }
        )
}

/// Writes what a plan says; returns the review, or what the forge said instead.
async fn write(
    posting: &mut Posting<'_>,
    live: &PullRequest,
    plan: &Plan,
) -> Result<Result<ReviewId, ForgeError>, StageError> {
    let (forge, repo, pr) = (posting.ports.write, &live.repo_name, live.id.pr);
    match &plan.review {
        ReviewAction::Nothing { review_id } => Ok(Ok(*review_id)),
        ReviewAction::Edit { review_id, body } => {
            begin(posting).await?;
            let done = forge.edit_review(repo, pr, *review_id, body).await;
            Ok(done.map(|()| *review_id))
        }
        ReviewAction::Create { review } => {
            begin(posting).await?;
            for pending in &plan.delete_pending {
                let done = forge.delete_pending_review(repo, pr, *pending).await;
                if let Err(error) = done
                    && !matches!(error, ForgeError::NotFound { .. })
                {
                    return Ok(Err(error));
                }
            }
            Ok(forge.create_review(repo, pr, review).await)
        }
    }
}

/// Notes that from now on a write may land.
async fn begin(posting: &mut Posting<'_>) -> Result<(), StageError> {
    let job = Job {
        posting_since: Some(posting.ports.clock.now()),
        ..posting.job.clone()
    };
    posting.rewrite(job).await
}

/// Decides what a failed write means for the job.
async fn failed(posting: &mut Posting<'_>, error: ForgeError) -> Result<Report, StageError> {
    match error {
        error @ ForgeError::Forbidden { .. } => Err(error.into()),
        ForgeError::Unknown { .. } => Err(StageError::MayHaveLanded {
            after: posting.settings.write_grace,
        }),
        // Certainly not written: the next try need not wait for it to land.
        error => {
            let job = Job {
                posting_since: None,
                ..posting.job.clone()
            };
            posting.rewrite(job).await?;
            Err(error.into())
        }
    }
}

/// Records the posted review in job and pull request, together.
async fn close(
    posting: &mut Posting<'_>,
    live: &PullRequest,
    merge_base: mirilla_domain::ids::CommitSha,
    review_id: ReviewId,
) -> Result<(), StageError> {
    let now = posting.ports.clock.now();
    let job = Job {
        state: JobState::Posted,
        merge_base: Some(merge_base.clone()),
        review_id: Some(review_id),
        posting_since: None,
        claim: None,
        updated_at: now,
        ..posting.job.clone()
    };
    for _ in 0..MAX_ROUNDS {
        let known = posting.ports.ledger.pull_request(&live.id).await?;
        let record = known.unwrap_or_else(|| {
            PullRequestRecord::new(live.id, live.repo_name.clone(), job.installation, now)
        });
        let record = PullRequestRecord {
            last_posted: Some(PostedHead {
                job: job.id.clone(),
                head: live.head.clone(),
                base_ref: live.base_ref.clone(),
                merge_base: merge_base.clone(),
                review_id,
            }),
            poster: None,
            ..record
        };
        let transaction = Transaction {
            jobs: vec![job.clone()],
            pull_request: Some(record),
            ..Transaction::default()
        };
        if posting.ports.ledger.commit(transaction).await? == Recorded::New {
            posting.job = Job {
                version: job.version.saturating_add(1),
                ..job
            };
            return Ok(());
        }
    }
    Err(StageError::Busy {
        what: "the pull request's record",
        after: std::time::Duration::from_secs(1),
    })
}
