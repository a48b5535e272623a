//! The loop of a stage that works on a queue: receive, work, answer the message.
//!
//! **Invariant:** a message is deleted only after its stage said that it is done; whatever else
//! happens, it comes back.

use std::time::Duration;

use anyhow::Result;
use mirilla_local::{LocalQueue, MAX_RECEIVES};
use mirilla_ports::message::Message;
use mirilla_ports::queue::{QueueName, Received};
use mirilla_ports::{Clock, Queue as _};
use mirilla_stages::error::{Disposition, StageError};
use mirilla_stages::report::{self, Report};
use mirilla_telemetry::Telemetry;

use crate::output;

/// Longest pause between two tries while a message waits for somebody else.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// What a worker sits at.
pub(crate) struct Desk<'a> {
    /// Where its messages come from.
    pub(crate) queue: &'a LocalQueue,
    /// Which queue.
    pub(crate) name: QueueName,
    /// How long a received message is hidden.
    pub(crate) visibility: Duration,
    /// How often an empty queue is looked at.
    pub(crate) poll: Duration,
    /// Time.
    pub(crate) clock: &'a dyn Clock,
    /// Where its facts go.
    pub(crate) telemetry: Telemetry,
}

impl Desk<'_> {
    /// Works the queue until the process ends.
    pub(crate) async fn work<F, Fut>(&self, handle: F) -> Result<()>
    where
        F: Fn(Message) -> Fut,
        Fut: Future<Output = Result<Report, StageError>>,
    {
        loop {
            match self.queue.receive(self.name, self.visibility).await? {
                None => tokio::time::sleep(self.poll).await,
                Some(received) => self.one(&received, &handle).await?,
            }
        }
    }

    async fn one<F, Fut>(&self, received: &Received, handle: &F) -> Result<()>
    where
        F: Fn(Message) -> Fut,
        Fut: Future<Output = Result<Report, StageError>>,
    {
        let (queue, name) = (self.queue, self.name);
        let Ok(message) = serde_json::from_str::<Message>(&received.body) else {
            tracing::error!(
                queue = name.as_str(),
                "a message of the {} queue cannot be read; it is set aside",
                name.as_str()
            );
            queue.bury(name, &received.receipt).await?;
            return Ok(());
        };
        let job = message.job().clone();
        let begun = self.clock.now();
        let result = handle(message).await;
        let now = self.clock.now();
        let (about, facts) = report::facts(&job, &result, now.since(begun));
        self.telemetry.emit(&about, &facts, now);
        match result {
            Ok(report) => {
                for line in &report.lines {
                    output::worker_line(line);
                }
                tracing::debug!(
                    job_id = job.as_str(),
                    outcome = report.outcome,
                    "job {job}: {}",
                    report.outcome
                );
                queue.delete(name, &received.receipt).await?;
            }
            Err(error) => answer(queue, name, received, &job, &error).await?,
        }
        Ok(())
    }
}

async fn answer(
    queue: &LocalQueue,
    name: QueueName,
    received: &Received,
    job: &mirilla_domain::ids::JobId,
    error: &StageError,
) -> Result<()> {
    let waits = matches!(
        error,
        StageError::Busy { .. } | StageError::NotDue { .. } | StageError::MayHaveLanded { .. }
    );
    let chain = mirilla_telemetry::chain(error);
    if waits {
        tracing::debug!(
            job_id = job.as_str(),
            error_code = error.code(),
            "job {job} waits: {chain}"
        );
    } else {
        tracing::warn!(
            job_id = job.as_str(),
            error_code = error.code(),
            attempt = received.receive_count,
            "job {job} could not go on: {chain}"
        );
    }
    match error.disposition() {
        Disposition::Reject | Disposition::Stale => queue.delete(name, &received.receipt).await?,
        Disposition::Retry { .. } if received.receive_count >= MAX_RECEIVES && !waits => {
            tracing::error!(
                job_id = job.as_str(),
                error_code = error.code(),
                "job {job} failed too often; its message is set aside and the sweeper takes over"
            );
            queue.bury(name, &received.receipt).await?;
        }
        Disposition::Retry { after } => {
            let growing =
                Duration::from_millis(250).saturating_mul(1 << received.receive_count.min(8));
            let pause = match after {
                // A holder may be done long before its lease ends.
                Some(after) if matches!(error, StageError::Busy { .. }) => after.min(growing),
                Some(after) => after,
                None => growing,
            };
            queue
                .put_back(
                    name,
                    &received.receipt,
                    pause.min(MAX_PAUSE.max(after.unwrap_or_default())),
                )
                .await?;
        }
    }
    Ok(())
}
