//! Writes what a plan says, and finds out what became of it.
//!
//! **Invariant:** before the first write `posting_since` is in the ledger; a write whose answer is lost
//! is never repeated before it can no longer land.

use mirilla_domain::ids::ReviewId;
use mirilla_domain::job::{Job, JobState, PostedHead, PullRequestRecord};
use mirilla_domain::plan::{NewReview, Plan, ReviewAction};
use mirilla_domain::signal::Signal;
use mirilla_domain::snapshot::PullRequest;
use mirilla_ports::ForgeError;
use mirilla_ports::forge::Refusal;
use mirilla_ports::ledger::{Recorded, Transaction};

use super::Posting;
use super::resolve::resolve;
use crate::collect::subject;
use crate::error::StageError;
use crate::report::Report;

/// How often the closing transaction is tried again when the pull request's record moved.
const MAX_ROUNDS: u32 = 8;

/// Applies a plan; `body_only` is the same plan with every finding in the body, for a forge that
/// refuses an anchor.
pub(super) async fn apply(
    posting: &mut Posting<'_>,
    live: &PullRequest,
    plan: Plan,
    body_only: Plan,
) -> Result<Report, StageError> {
    let merge_base = plan.job.merge_base.clone();
    let review_id = match &plan.review {
        ReviewAction::Nothing { review_id } => *review_id,
        ReviewAction::Edit { review_id, body } => {
            begin(posting).await?;
            let done = posting
                .ports
                .write
                .edit_review(&live.repo_name, live.id.pr, *review_id, body)
                .await;
            match done {
                Ok(()) => *review_id,
                Err(error) => return failed(posting, error).await,
            }
        }
        ReviewAction::Create { review } => {
            begin(posting).await?;
            for pending in &plan.delete_pending {
                let done = posting
                    .ports
                    .write
                    .delete_pending_review(&live.repo_name, live.id.pr, *pending)
                    .await;
                if let Err(error) = done
                    && !matches!(error, ForgeError::NotFound { .. })
                {
                    return failed(posting, error).await;
                }
            }
            match create(posting, live, review, &body_only).await {
                Ok(review_id) => review_id,
                Err(error) => return failed(posting, error).await,
            }
        }
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

/// Creates the review, with all findings in its body if the forge refuses an anchor of ours.
///
/// The refusal does not say which anchor. All of them were checked against a diff fetched a moment
/// ago, so none can be proved wrong; one review without comments beats several or none.
async fn create(
    posting: &Posting<'_>,
    live: &PullRequest,
    review: &NewReview,
    body_only: &Plan,
) -> Result<ReviewId, ForgeError> {
    let write = posting.ports.write;
    match write
        .create_review(&live.repo_name, live.id.pr, review)
        .await
    {
        Err(ForgeError::Unprocessable {
            reason: Refusal::Anchor | Refusal::TooLong,
            ..
        }) if !review.comments.is_empty() => {
            let body = NewReview {
                commit: review.commit.clone(),
                body: body_only.body.clone(),
                comments: Vec::new(),
            };
            write
                .create_review(&live.repo_name, live.id.pr, &body)
                .await
        }
        other => other,
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
