//! The review queue, worked through by one short-lived child per message.
//!
//! The reviewer cannot open ledger or queue, so the supervisor claims the job and answers the message
//! for it. What it passes on is the message; it never looks into a snapshot or a findings file.
//!
//! **Invariant:** a reviewer lives for one job: nothing of one repository can reach another's review.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use mirilla_domain::ids::{AttemptNo, JobId};
use mirilla_domain::job::{Claim, Job, JobState, Stage};
use mirilla_domain::money::CappedPurse;
use mirilla_local::{LocalHeads, LocalLedger, LocalQueue, MAX_RECEIVES};
use mirilla_ports::ledger::{Claimed, Transaction};
use mirilla_ports::message::Message;
use mirilla_ports::queue::{QueueName, Received};
use mirilla_ports::{Clock as _, Entropy as _, Heads as _, Ledger as _, Queue as _};
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
    let clock = SystemClock;
    let now = clock.now();
    let ledger = LocalLedger::open(&host.data.ledger())?;
    let claim = Claim {
        stage: Stage::Review,
        token: OsEntropy::open()?.hex(16),
        until: now.plus(lease),
    };
    let job = match ledger.claim(id, &[JobState::Collected], claim, now).await? {
        Claimed::Granted(job) if job.attempt == attempt => *job,
        Claimed::Granted(job) => {
            give_up(&ledger, &job).await?;
            return Ok(ReviewVerdict::Reject);
        }
        Claimed::Busy(until) => {
            let after = until.since(now).as_millis();
            return Ok(ReviewVerdict::Retry {
                after_ms: u64::try_from(after).unwrap_or(u64::MAX),
            });
        }
        Claimed::NotNow(_) | Claimed::Unknown => return Ok(ReviewVerdict::Reject),
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
    let verdict = match tokio::time::timeout(limit, run(host, &job, settings)).await {
        Ok(verdict) => verdict,
        Err(_elapsed) => Err(anyhow::anyhow!(
            "it took longer than {} seconds and was ended",
            limit.as_secs()
        )),
    };
    give_up(&ledger, &job).await?;
    verdict
}

/// Gives the claim up; that the row has moved on already is as good.
async fn give_up(ledger: &LocalLedger, job: &Job) -> Result<()> {
    let released = Job {
        claim: None,
        ..job.clone()
    };
    ledger
        .commit(Transaction {
            jobs: vec![released],
            ..Transaction::default()
        })
        .await?;
    Ok(())
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
