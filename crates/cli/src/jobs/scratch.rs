//! What a stage of a pipeline stands on: the stores of a host, in a temporary directory.
//!
//! **Invariant:** nothing of it outlives the process.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use mirilla_domain::ids::Timestamp;
use mirilla_domain::job::{Job, PullRequestRecord};
use mirilla_local::{DataDir, DirArtifacts, LocalHeads, LocalLedger, LocalQueue};
use mirilla_ports::ledger::Transaction;
use mirilla_ports::{Clock, Entropy, ForgeError};
use mirilla_stages::error::{Disposition, StageError};
use mirilla_stages::live;
use mirilla_stages::report::Report;

use crate::output;
use crate::serve::child::surroundings;

/// How often a stage is tried.
const TRIES: u32 = 3;
/// Before another try, where the stage names no time.
const BETWEEN_TRIES: Duration = Duration::from_secs(2);
/// The longest that is waited for another try: what the forge limits for an hour is another run's.
const LONGEST_WAIT: Duration = Duration::from_secs(180);

/// The stores.
pub(super) struct Scratch {
    pub(super) ledger: LocalLedger,
    pub(super) heads: LocalHeads,
    pub(super) queue: LocalQueue,
    pub(super) artifacts: DirArtifacts,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) entropy: Arc<dyn Entropy>,
    /// Removed when it is dropped, so after everything in it.
    _directory: tempfile::TempDir,
}

impl Scratch {
    /// Makes them.
    pub(super) fn set_up() -> Result<Self> {
        let directory = tempfile::tempdir().context("no temporary directory")?;
        let data = DataDir::create(directory.path())?;
        let (clock, entropy) = surroundings()?;
        Ok(Self {
            ledger: LocalLedger::open(&data.ledger())?,
            heads: LocalHeads::open(&data.heads())?,
            queue: LocalQueue::open(&data.queue(), Arc::clone(&clock))?,
            artifacts: DirArtifacts::open(&data.artifacts())?,
            clock,
            entropy,
            _directory: directory,
        })
    }

    /// Returns the time.
    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Records the one job that there is.
    pub(super) async fn record(&self, job: &Job) -> Result<()> {
        let record = PullRequestRecord::new(
            job.key.pull_request(),
            job.repo_name.clone(),
            None,
            self.now(),
        );
        let transaction = Transaction {
            jobs: vec![job.clone()],
            pull_request: Some(record),
            ..Transaction::default()
        };
        live::committed(&self.ledger, transaction).await?;
        Ok(())
    }

    /// Runs a stage, and again after the time that it asks for, as a queue would bring its message back.
    pub(super) async fn patiently<F>(&self, stage: impl Fn() -> F) -> Result<Report, StageError>
    where
        F: Future<Output = Result<Report, StageError>>,
    {
        let mut tried: u32 = 1;
        loop {
            let error = match Box::pin(stage()).await {
                Ok(report) => return Ok(report),
                Err(error) => error,
            };
            let after = match error.disposition() {
                Disposition::Retry { after } => after.unwrap_or(BETWEEN_TRIES),
                Disposition::Reject | Disposition::Stale => return Err(error),
            };
            if tried >= TRIES || after > LONGEST_WAIT || is_hopeless(&error) {
                return Err(error);
            }
            output::worker_line(&format!(
                "{}; trying again in {} s",
                mirilla_telemetry::chain(&error),
                after.as_secs()
            ));
            self.clock.sleep(after).await;
            tried = tried.saturating_add(1);
        }
    }
}

/// Returns whether the same token will be refused the same thing again.
fn is_hopeless(error: &StageError) -> bool {
    matches!(
        error,
        StageError::Forge(
            ForgeError::NotFound { .. } | ForgeError::Forbidden { .. } | ForgeError::Unauthorized
        )
    )
}
