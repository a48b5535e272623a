//! Posts on AWS: a write token per job, the ledger, findings and the way back to the collector.
//!
//! **Invariant:** no model here, and no key of the App: tokens come from `minter-write`, one for each
//! job, or are the operator's own; and, only where the operator opted in, from `minter-resolve`. Of S3's event only the object's key counts.

use std::sync::Arc;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use lambda_runtime::LambdaEvent;
use mirilla_domain::ids::Timestamp;
use mirilla_forge::{Access, JobTokens, ResolveTokens, TokensFrom};
use mirilla_lambda::batch::{Batch, Received};
use mirilla_lambda::findings_event;
use mirilla_ports::message::Message;
use mirilla_ports::{Artifacts, Clock, Entropy, Ledger, PutBack, QueueSend};
use mirilla_stages::error::StageError;
use mirilla_stages::post::{self, PostPorts, PostSettings};
use mirilla_stages::report::{NOT_FOR_THIS_STAGE, Report};
use mirilla_telemetry::Telemetry;

/// What the poster was wired with.
pub struct State {
    /// Jobs.
    pub ledger: Arc<dyn Ledger>,
    /// Findings and snapshots.
    pub artifacts: Arc<dyn Artifacts>,
    /// The bucket whose events count.
    pub bucket: String,
    /// The way back to the collector.
    pub queue: Arc<dyn QueueSend>,
    /// Its own queue.
    pub put_back: Arc<dyn PutBack>,
    /// The forge.
    pub forge: Access,
    /// Where tokens come from.
    pub tokens: TokensFrom,
    /// Where tokens come from that resolve threads on GitHub; nothing unless the operator opted into it. On GitLab
    /// the token that writes may resolve.
    pub resolve: Option<TokensFrom>,
    /// The operator's decisions.
    pub settings: PostSettings,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Claim tokens.
    pub entropy: Arc<dyn Entropy>,
    /// Metrics.
    pub telemetry: Telemetry,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("bucket", &self.bucket)
            .finish_non_exhaustive()
    }
}

/// Handles the messages of one event: ours, and S3's about findings.
pub async fn handle(state: &State, event: LambdaEvent<SqsEvent>) -> SqsBatchResponse {
    let batch = Batch {
        stage: "post",
        clock: &*state.clock,
        deadline: Timestamp::from_epoch_millis(event.context.deadline),
        telemetry: state.telemetry,
        put_back: &*state.put_back,
    };
    let read = |body: &str| findings_event::read(body, &state.bucket);
    let work = async |received: Received| one(state, received).await;
    batch.run(event.payload, read, work).await
}

async fn one(state: &State, received: Received) -> Result<Report, StageError> {
    let message = received.message;
    let tokens = JobTokens::of(state.tokens.clone(), &message);
    let resolve = state.resolve.clone();
    let resolve = resolve.map(|from| ResolveTokens::of(from, &message));
    let write = state.forge.writer(tokens, resolve);
    let ports = PostPorts {
        ledger: &*state.ledger,
        artifacts: &*state.artifacts,
        queue: &*state.queue,
        read: write.read(),
        write: write.write(),
        checks: write.checks(),
        resolve: write.resolves(),
        clock: &*state.clock,
        entropy: &*state.entropy,
    };
    match message {
        Message::PostV1 {
            job,
            attempt,
            findings,
        } => post::post(ports, &state.settings, &job, attempt, findings.as_deref()).await,
        Message::AcknowledgeV1(about) => post::acknowledge(ports, &about).await,
        Message::CheckV1 { job } => post::check(ports, &state.settings, &job).await,
        Message::MergeGroupV1(about) => post::merge_group(ports, &state.settings, &about).await,
        other => Ok(Report::silent(other.job().clone(), NOT_FOR_THIS_STAGE)),
    }
}
