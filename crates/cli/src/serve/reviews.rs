//! The review queue, worked through by one short-lived child per message.
//!
//! The reviewer cannot open ledger or queue, so the supervisor takes the lease and answers the message
//! for it. What it passes on is the message; it never looks into a snapshot or a findings file.
//!
//! **Invariant:** a reviewer lives for one job: nothing of one repository can reach another's review.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use mirilla_domain::ids::{AttemptNo, JobId};
use mirilla_domain::job::{Job, JobState};
use mirilla_domain::money::CappedPurse;
use mirilla_domain::signal::{About, Signal};
use mirilla_domain::snapshot::Keys;
use mirilla_local::{LocalHeads, LocalLedger, LocalMeter, LocalQueue, MAX_RECEIVES};
use mirilla_ports::message::Message;
use mirilla_ports::queue::{QueueName, Received};
use mirilla_ports::{Clock as _, Heads as _, Ledger as _, Queue as _};
use mirilla_stages::error::StageError;
use mirilla_stages::review;
use mirilla_stages::sweep::{self, Died};
use mirilla_system::{OsEntropy, SystemClock};

use super::Host;
use super::process::Child;
use super::protocol::{ChildSettings, FromChild, ReviewOrder, ReviewVerdict, ToChild};
use crate::settings::ReviewerSettings;

/// How long beyond its own limit a reviewer may take before it is killed.
const KILL_MARGIN: Duration = Duration::from_secs(30);
/// How often a running review is checked against the newest head.
const HEAD_CHECK: Duration = Duration::from_millis(500);

/// Works the queue with as many reviewers at once as the operator allows.
pub(crate) async fn serve(host: &Host<'_>) {
    let lanes = (0..host.settings.concurrent_reviews).map(|_| lane(host));
    futures_util::future::join_all(lanes).await;
}

#[expect(clippy::infinite_loop, reason = "a lane ends with its process")]
async fn lane(host: &Host<'_>) {
    loop {
        let pause = match next(host).await {
            Ok(true) => Duration::ZERO,
            Ok(false) => host.settings.timings.poll,
            Err(error) => {
                tracing::error!(
                    error = format!("{error:#}"),
                    "a review could not be handled: {error:#}"
                );
                Duration::from_secs(1)
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// Handles one message; returns whether there was one.
async fn next(host: &Host<'_>) -> Result<bool> {
    let queue = LocalQueue::open(&host.data.queue(), Arc::new(SystemClock))?;
    let lease = host
        .settings
        .timings
        .review_limit
        .saturating_add(KILL_MARGIN)
        .saturating_mul(2);
    let Some(received) = queue.receive(QueueName::Review, lease).await? else {
        return Ok(false);
    };
    let Ok(Message::ReviewV1 {
        job,
        attempt,
        purses,
        grants: _,
    }) = serde_json::from_str(&received.body)
    else {
        tracing::error!("a message of the review queue is not a review message; it is set aside");
        queue.bury(QueueName::Review, &received.receipt).await?;
        return Ok(true);
    };
    let verdict = review(host, &received, &job, attempt, purses, lease)
        .await
        .unwrap_or_else(|error| {
            tracing::error!(
                job_id = job.as_str(),
                error = format!("{error:#}"),
                "the reviewer of job {job} failed: {error:#}"
            );
            ReviewVerdict::Retry { after_ms: 1_000 }
        });
    match verdict {
        ReviewVerdict::Done | ReviewVerdict::Reject => {
            queue.delete(QueueName::Review, &received.receipt).await?;
        }
        ReviewVerdict::Retry { .. } if received.receive_count >= MAX_RECEIVES => {
            queue.bury(QueueName::Review, &received.receipt).await?;
        }
        ReviewVerdict::Retry { after_ms } => {
            queue
                .put_back(
                    QueueName::Review,
                    &received.receipt,
                    Duration::from_millis(after_ms),
                )
                .await?;
        }
    }
    Ok(true)
}

async fn review(
    host: &Host<'_>,
    received: &Received,
    id: &JobId,
    attempt: AttemptNo,
    purses: Vec<CappedPurse>,
    lease: Duration,
) -> Result<ReviewVerdict> {
    let ledger = LocalLedger::open(&host.data.ledger())?;
    let job = match ledger.job(id).await? {
        Some(job) if job.state == JobState::Collected && job.attempt == attempt => job,
        _ => return Ok(ReviewVerdict::Reject),
    };
    let settings = ChildSettings::Reviewer(ReviewerSettings {
        order: ReviewOrder {
            job: id.clone(),
            attempt,
            purses,
            receive_count: received.receive_count,
            last_try: received.receive_count >= MAX_RECEIVES,
            meter: host.data.meter(),
            artifacts: host.data.artifacts(),
            archive: host
                .data
                .artifacts()
                .join(Keys::archive(&job.key.pull_request(), &job.key.head)),
        },
        model: host.settings.model.clone(),
        policy: host.settings.policy.clone(),
        timings: host.settings.timings,
    });
    let limit = host
        .settings
        .timings
        .review_limit
        .saturating_add(KILL_MARGIN);
    let work = async {
        Ok(
            match tokio::time::timeout(limit, run(host, &job, settings)).await {
                Ok(verdict) => verdict,
                Err(_elapsed) => Err(anyhow::anyhow!(
                    "it took longer than {} seconds and was ended",
                    limit.as_secs()
                )),
            },
        )
    };
    let meter = LocalMeter::open(&host.data.meter())?;
    let entropy = OsEntropy::open()?;
    match review::alone(&meter, &SystemClock, &entropy, id, lease, work).await {
        Ok(Ok(verdict)) => Ok(verdict),
        Ok(Err(death)) => died(host, &ledger, &job, &death).await,
        Err(StageError::Busy { after, .. }) => Ok(retry(after)),
        Err(error) => Err(error.into()),
    }
}

/// Counts a try whose reviewer died; after the last one the poster posts without it.
async fn died(
    host: &Host<'_>,
    ledger: &LocalLedger,
    job: &Job,
    death: &anyhow::Error,
) -> Result<ReviewVerdict> {
    tracing::error!(
        job_id = job.id.as_str(),
        error = format!("{death:#}"),
        "the reviewer of job {} died: {death:#}",
        job.id
    );
    let queue = LocalQueue::open(&host.data.queue(), Arc::new(SystemClock))?;
    let now = SystemClock.now();
    match sweep::review_died(ledger, &queue, &job.id, job.attempt, now).await? {
        Died::Again => Ok(retry(Duration::from_secs(1))),
        Died::Stale => Ok(ReviewVerdict::Reject),
        Died::GivenUp => {
            host.count("reviewer", &About::from(job), [Signal::GivenUp]);
            Ok(ReviewVerdict::Reject)
        }
    }
}

fn retry(after: Duration) -> ReviewVerdict {
    ReviewVerdict::Retry {
        after_ms: u64::try_from(after.as_millis()).unwrap_or(u64::MAX),
    }
}

/// Makes the folders that a reviewer is confined to; it may not make them itself.
fn make_folders(host: &Host<'_>, job: &Job) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    for kind in ["work", "findings"] {
        let folder = host.data.artifacts().join(kind).join(job.id.as_str());
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .with_context(|| format!("{} cannot be made", folder.display()))?;
    }
    Ok(())
}

async fn run(host: &Host<'_>, job: &Job, settings: ChildSettings) -> Result<ReviewVerdict> {
    make_folders(host, job)?;
    let heads = LocalHeads::open(&host.data.heads())?;
    let mut child = Child::start(host.program, settings).await?;
    let mut told = false;
    loop {
        tokio::select! {
            line = child.link.next::<FromChild>() => match line? {
                Some(FromChild::Reviewed { verdict }) => {
                    child.wait().await?;
                    return Ok(verdict);
                }
                Some(FromChild::Ready { .. }) => {}
                Some(_) => anyhow::bail!("it said what only another stage may say"),
                None => {
                    let status = child.wait().await?;
                    anyhow::bail!("it ended without a word ({status})");
                }
            },
            () = tokio::time::sleep(HEAD_CHECK), if !told => {
                if heads.newest(&job.key.pull_request()).await?.is_some_and(|head| head != job.key.head) {
                    child.link.send(&ToChild::Superseded).await?;
                    told = true;
                }
            }
        }
    }
}
