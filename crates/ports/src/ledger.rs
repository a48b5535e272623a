//! The ledger of jobs, and the newest heads.

use async_trait::async_trait;
use mirilla_domain::ids::{CommitSha, DeliveryId, Forge, JobId, PullRequestRef, Timestamp};
use mirilla_domain::job::{Claim, Job, JobState, PullRequestRecord};
use mirilla_domain::request::Delivery;

/// Why the ledger did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// Somebody changed the row in between; read it again.
    #[error("{what} was changed by somebody else")]
    Conflict {
        /// Which row.
        what: String,
    },
    /// The store cannot be reached or failed; nothing was recorded.
    #[error("the ledger failed at {action}")]
    Unavailable {
        /// What was tried.
        action: &'static str,
        /// What the store said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// What became of a delivery that was to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// Delivery and request are in the ledger.
    New,
    /// This delivery's id, or its body, is in the ledger already; nothing was changed.
    DuplicateDelivery,
    /// The job the write was based on has moved on; read it again and decide again.
    Stale,
}

/// One transaction: what to write together, and what must still be true.
///
/// Every row names the version it was decided upon; if any of them moved, nothing is written.
#[derive(Debug, Clone, Default)]
pub struct Transaction {
    /// A delivery that must be new, by its id and by its body.
    pub delivery: Option<Delivery>,
    /// Jobs to insert (`version == 0`) or to replace (`version` as read); stored with `version + 1`.
    pub jobs: Vec<Job>,
    /// The pull request's record, to insert or to replace by the same rule.
    pub pull_request: Option<PullRequestRecord>,
}

/// Whether a worker may work on a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claimed {
    /// Yes: this is the row, claim included.
    Granted(Box<Job>),
    /// Somebody else works on it until then.
    Busy(Timestamp),
    /// It is not in a state this stage works on.
    NotNow(JobState),
    /// There is no such job.
    Unknown,
}

/// Jobs, deliveries and pull requests.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Returns a job.
    async fn job(&self, id: &JobId) -> Result<Option<Job>, LedgerError>;

    /// Returns what is known of a pull request.
    async fn pull_request(
        &self,
        id: &PullRequestRef,
    ) -> Result<Option<PullRequestRecord>, LedgerError>;

    /// Returns whether a delivery is recorded, and with it its request.
    ///
    /// Deliveries are kept for 30 days, longer than any forge can send one again.
    async fn has_delivery(&self, forge: Forge, id: &DeliveryId) -> Result<bool, LedgerError>;

    /// Writes all of a transaction or nothing.
    async fn commit(&self, transaction: Transaction) -> Result<Recorded, LedgerError>;

    /// Takes the job for a stage if it is in one of `states` and nobody holds it at `now`.
    ///
    /// The claim is part of the row; [`Ledger::commit`] with the row as granted (or a changed copy)
    /// and `claim: None` gives it up. Claiming raises the row's version
    /// and its `updated_at`.
    async fn claim(
        &self,
        id: &JobId,
        states: &[JobState],
        claim: Claim,
        now: Timestamp,
    ) -> Result<Claimed, LedgerError>;

    /// Returns unfinished jobs that did not change since `before`, oldest first, at most `limit`.
    async fn unfinished(&self, before: Timestamp, limit: usize) -> Result<Vec<Job>, LedgerError>;

    /// Returns pull requests touched at or after `since`, oldest first, at most `limit`.
    async fn touched(
        &self,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<PullRequestRecord>, LedgerError>;
}

/// The newest head of each pull request, as the collector read it from the forge.
///
/// It only saves money: a reviewer stops early when its head is not the newest. What is superseded
/// is decided from the forge alone.
#[async_trait]
pub trait Heads: Send + Sync {
    /// Returns the newest head known.
    async fn newest(&self, id: &PullRequestRef) -> Result<Option<CommitSha>, LedgerError>;
}

/// The writing half of [`Heads`].
#[async_trait]
pub trait HeadsWrite: Send + Sync {
    /// Records a head read from the forge at `read_at`; an older reading does not replace a newer.
    async fn record(
        &self,
        id: &PullRequestRef,
        head: &CommitSha,
        read_at: Timestamp,
    ) -> Result<(), LedgerError>;
}
