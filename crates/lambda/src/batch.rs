//! The messages of one event of a queue, each answered for itself.
//! <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html>
//!
//! A message that could not be handled is reported as failed, and made visible again after a pause of
//! ours instead of the queue's own long one. Only a process that is killed leaves it to the queue.
//!
//! **Invariant:** a message is left out of the failures only after its stage said that it is done.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use futures_util::FutureExt as _;
use mirilla_domain::ids::Timestamp;
use mirilla_domain::signal::{About, OddFindings, RunOutcome, Signal};
use mirilla_ports::message::Message;
use mirilla_ports::{Clock, PutBack};
use mirilla_stages::error::{Disposition, StageError};
use mirilla_stages::report::{self, Report};
use mirilla_telemetry::{Telemetry, chain, field};

use crate::findings_event::{FOREIGN_BUCKET, PostBody};

/// How often a message is received before the queue moves it to its dead letters: the template's
/// `maxReceiveCount`.
pub const MAX_RECEIVES: u32 = 10;
/// Time kept back at the end of an invocation for answering the queue.
pub const ANSWER_RESERVE: Duration = Duration::from_secs(5);
/// The first pause before a failed message comes back; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
/// The longest pause of ours.
const MAX_PAUSE: Duration = Duration::from_secs(15 * 60);

/// One message as a stage gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// What it says.
    pub message: Message,
    /// How often it was received, this time included.
    pub receive_count: u32,
    /// Whether it will not come back if this fails.
    pub last_try: bool,
    /// How long the work may take.
    pub time_left: Duration,
}

/// What answering a queue needs.
pub struct Batch<'a> {
    /// The stage, for log and metrics.
    pub stage: &'static str,
    /// Time.
    pub clock: &'a dyn Clock,
    /// When the invocation ends.
    pub deadline: Timestamp,
    /// Where metrics go.
    pub telemetry: Telemetry,
    /// The queue.
    pub put_back: &'a dyn PutBack,
}

impl std::fmt::Debug for Batch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch")
            .field("stage", &self.stage)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

/// What became of one message.
enum Answer {
    Done,
    Back { after: Duration },
}

impl Batch<'_> {
    /// Handles every message of an event; returns those that come back.
    pub async fn run(
        &self,
        event: SqsEvent,
        read: impl Fn(&str) -> PostBody,
        handle: impl AsyncFn(Received) -> Result<Report, StageError>,
    ) -> SqsBatchResponse {
        let mut response = SqsBatchResponse::default();
        for record in event.records {
            let Answer::Back { after } = self.one(&record, &read, &handle).await else {
                continue;
            };
            if let Some(receipt) = &record.receipt_handle
                && let Err(error) = self.put_back.put_back(receipt, after).await
            {
                tracing::warn!(
                    { field::ERROR } = chain(&error),
                    "a message could not be put back; it returns when the queue's own time is over"
                );
            }
            let mut failure = BatchItemFailure::default();
            failure.item_identifier = record.message_id.unwrap_or_default();
            response.batch_item_failures.push(failure);
        }
        response
    }

    async fn one(
        &self,
        record: &SqsMessage,
        read: &impl Fn(&str) -> PostBody,
        handle: &impl AsyncFn(Received) -> Result<Report, StageError>,
    ) -> Answer {
        let receive_count = record
            .attributes
            .get("ApproximateReceiveCount")
            .and_then(|count| count.parse().ok())
            .unwrap_or(1);
        let messages = match read(record.body.as_deref().unwrap_or_default()) {
            PostBody::Messages(messages) => messages,
            PostBody::Nothing(reason) => {
                tracing::warn!(
                    { field::REASON } = reason,
                    "a message asks for nothing: {reason}"
                );
                if reason == FOREIGN_BUCKET {
                    let odd = Signal::OddFindings(OddFindings::ForeignBucket);
                    let now = self.clock.now();
                    self.telemetry.emit(&About::default(), &[odd], now);
                }
                return Answer::Done;
            }
            PostBody::Unreadable => {
                tracing::error!(
                    { field::ATTEMPT } = receive_count,
                    "a message of the {} queue cannot be read; it goes to the dead letters",
                    self.stage
                );
                return Answer::Back {
                    after: Duration::ZERO,
                };
            }
        };
        for message in messages {
            let answer = self.message(message, receive_count, handle).await;
            if matches!(answer, Answer::Back { .. }) {
                return answer;
            }
        }
        Answer::Done
    }

    async fn message(
        &self,
        message: Message,
        receive_count: u32,
        handle: &impl AsyncFn(Received) -> Result<Report, StageError>,
    ) -> Answer {
        let began = self.clock.now();
        let time_left = self.deadline.since(began).saturating_sub(ANSWER_RESERVE);
        let job = message.job().clone();
        let received = Received {
            message,
            receive_count,
            last_try: receive_count >= MAX_RECEIVES,
            time_left,
        };
        let work = AssertUnwindSafe(handle(received)).catch_unwind();
        let done = tokio::time::timeout(time_left, work).await;
        let took = self.clock.now().since(began);
        let broken = |reason| {
            let ran = Signal::Ran {
                outcome: RunOutcome::Retry,
                reason,
                duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            };
            (About::job_id(&job), vec![ran])
        };
        let (about, facts) = match &done {
            Ok(Ok(result)) => report::facts(&job, result, took),
            Ok(Err(_panic)) => broken("panicked"),
            Err(_elapsed) => broken("timed-out"),
        };
        self.telemetry.emit(&about, &facts, self.clock.now());
        match done {
            Ok(Ok(Ok(report))) => {
                for line in &report.lines {
                    tracing::info!({ field::JOB_ID } = job.as_str(), "{line}");
                }
                Answer::Done
            }
            Ok(Ok(Err(error))) => failed(&job, &error, receive_count),
            Ok(Err(_panic)) => {
                tracing::error!(
                    { field::JOB_ID } = job.as_str(),
                    "job {job} made the stage panic"
                );
                back(growing(receive_count))
            }
            Err(_elapsed) => {
                tracing::error!(
                    { field::JOB_ID } = job.as_str(),
                    "job {job} took longer than the function may; it is tried again"
                );
                back(growing(receive_count))
            }
        }
    }
}

/// Says what a failure means for its message.
fn failed(job: &mirilla_domain::ids::JobId, error: &StageError, receive_count: u32) -> Answer {
    let waits = matches!(
        error,
        StageError::Busy { .. } | StageError::NotDue { .. } | StageError::MayHaveLanded { .. }
    );
    let text = chain(error);
    if waits {
        tracing::info!(
            { field::JOB_ID } = job.as_str(),
            { field::REASON } = error.code(),
            "job {job} waits: {text}"
        );
    } else {
        tracing::warn!(
            { field::JOB_ID } = job.as_str(),
            { field::REASON } = error.code(),
            { field::ATTEMPT } = receive_count,
            "job {job} could not go on: {text}"
        );
    }
    match error.disposition() {
        Disposition::Reject | Disposition::Stale => Answer::Done,
        // A queue gives a message so many tries and no more: a wait uses up as few as possible.
        Disposition::Retry { after } => back(after.unwrap_or_else(|| growing(receive_count))),
    }
}

/// Reads a message of a queue that only our own functions write to.
pub fn ours(body: &str) -> PostBody {
    serde_json::from_str(body).map_or(PostBody::Unreadable, |message| {
        PostBody::Messages(vec![message])
    })
}

fn back(after: Duration) -> Answer {
    Answer::Back {
        after: after.min(MAX_PAUSE),
    }
}

fn growing(receive_count: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(1 << receive_count.saturating_sub(1).min(9))
}

#[cfg(test)]
mod tests;
