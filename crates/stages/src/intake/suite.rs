//! Has all of our checks on a commit run again.
//!
//! GitHub sends "re-run all" to the App that owns the checks, and names the pull requests with that head,
//! but none of forks: those are run again one check at a time.
//!
//! **Invariant:** a pull request counts only if the ledger knows it, and a check of ours on that commit.

use mirilla_domain::ids::{
    CommitSha, DeliveryId, InstallationId, PullRequestRef, RepoName, sha256,
};
use mirilla_domain::job::{Debounce, Job};
use mirilla_domain::request::{Delivery, Trigger};
use mirilla_ports::LedgerError;

use super::write::{self, Asked, Known, Outcome};
use super::{RecordPorts, Wanted};

/// What is to be run again.
pub(super) struct Suite<'a> {
    pub(super) sha: &'a CommitSha,
    pub(super) pull_requests: &'a [PullRequestRef],
    pub(super) repo_name: &'a RepoName,
    pub(super) installation: Option<InstallationId>,
    pub(super) debounce: Debounce,
}

/// Asks for a review of each pull request; nothing if none of them has a check of ours on the commit.
///
/// Each is recorded under a delivery of its own, the last one under the real one: only once all are in the
/// ledger is the delivery known.
pub(super) async fn record(
    ports: RecordPorts<'_>,
    delivery: &Delivery,
    suite: Suite<'_>,
) -> Option<(Outcome, Known)> {
    let jobs = match checked(ports, &suite).await {
        Ok(jobs) => jobs,
        Err(error) => return Some((Outcome::Unavailable(Box::new(error)), Known::No)),
    };
    let last = jobs.len().saturating_sub(1);
    let mut done: Option<(Outcome, Known)> = None;
    for (at, job) in jobs.iter().enumerate() {
        let asked = Asked {
            debounce: suite.debounce,
            pull_request: job.key.pull_request(),
            repo_name: suite.repo_name,
            installation: suite.installation,
            wanted: Wanted {
                head: &job.key.head,
                base_ref: &job.key.base_ref,
                trigger: Trigger::Rerun,
            },
        };
        let part = if at == last {
            delivery.clone()
        } else {
            part_of(delivery, job)
        };
        let (outcome, known) = write::review(ports, &part, asked).await;
        match outcome {
            // Answered so that it is sent again: what is recorded is known then.
            Outcome::Unavailable(_) | Outcome::Contended => return Some((outcome, known)),
            Outcome::Queued | Outcome::RecordedOnly(_) => done = Some((outcome, known)),
            Outcome::Duplicate | Outcome::TooMany => {
                done = done.or(Some((outcome, known)));
            }
        }
    }
    done
}

/// Returns the last job of each pull request that has a check on the commit.
async fn checked(ports: RecordPorts<'_>, suite: &Suite<'_>) -> Result<Vec<Job>, LedgerError> {
    let mut jobs: Vec<Job> = Vec::new();
    for id in suite.pull_requests {
        let record = ports.ledger.pull_request(id).await?;
        let Some(last) = record.and_then(|record| record.last_job) else {
            continue;
        };
        let job = ports.ledger.job(&last).await?;
        let is_ours = |job: &Job| job.key.head == *suite.sha && job.check.is_some();
        let is_new = |job: &Job| jobs.iter().all(|known| known.id != job.id);
        if let Some(job) = job.filter(|job| is_ours(job) && is_new(job)) {
            jobs.push(job);
        }
    }
    Ok(jobs)
}

/// Returns a delivery for one of several pull requests. It is the same for the same delivery.
fn part_of(delivery: &Delivery, job: &Job) -> Delivery {
    let digest = |whole: &str| sha256(format!("{whole}:{}", job.key.pr).as_bytes());
    let id = DeliveryId::parse(digest(delivery.id.as_str()).as_str());
    Delivery {
        id: id.unwrap_or_else(|_error| delivery.id.clone()),
        body: digest(delivery.body.as_str()),
        ..delivery.clone()
    }
}
