//! Takes snapshots on AWS: a read token per job, the ledger, heads, artifacts and the next queues.
//!
//! **Invariant:** no model here, and no key of the App: tokens come from `minter-read`, one for each
//! job, or are the operator's own; GitLab has no App.

use std::sync::Arc;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use lambda_runtime::LambdaEvent;
use mirilla_domain::ids::Timestamp;
use mirilla_forge::{Access, JobTokens, TokensFrom};
use mirilla_lambda::batch::{self, Batch, Received};
use mirilla_ports::message::Message;
use mirilla_ports::{
    Artifacts, Clock, Entropy, GrantObjects, HeadsWrite, Ledger, PutBack, QueueSend,
};
use mirilla_stages::collect::{self, CollectPorts, CollectSettings};
use mirilla_stages::error::StageError;
use mirilla_stages::report::{NOT_FOR_THIS_STAGE, Report};
use mirilla_telemetry::Telemetry;

/// What the collector was wired with.
pub struct State {
    /// Jobs.
    pub ledger: Arc<dyn Ledger>,
    /// Newest heads.
    pub heads: Arc<dyn HeadsWrite>,
    /// Snapshots.
    pub artifacts: Arc<dyn Artifacts>,
    /// The reviewer's rights to one job's objects.
    pub grants: Arc<dyn GrantObjects>,
    /// The next stages.
    pub queue: Arc<dyn QueueSend>,
    /// Its own queue.
    pub put_back: Arc<dyn PutBack>,
    /// The forge.
    pub forge: Access,
    /// Where tokens come from.
    pub tokens: TokensFrom,
    /// The operator's decisions.
    pub settings: CollectSettings,
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
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// Handles the messages of one event.
pub async fn handle(state: &State, event: LambdaEvent<SqsEvent>) -> SqsBatchResponse {
    let batch = Batch {
        stage: "collect",
        clock: &*state.clock,
        deadline: Timestamp::from_epoch_millis(event.context.deadline),
        telemetry: state.telemetry,
        put_back: &*state.put_back,
    };
    let work = async |received: Received| one(state, received).await;
    batch.run(event.payload, batch::ours, work).await
}

async fn one(state: &State, received: Received) -> Result<Report, StageError> {
    let message = received.message;
    let tokens = JobTokens::of(state.tokens.clone(), &message);
    let forge = state.forge.reader(tokens);
    let ports = CollectPorts {
        ledger: &*state.ledger,
        heads: &*state.heads,
        artifacts: &*state.artifacts,
        grants: &*state.grants,
        queue: &*state.queue,
        forge: forge.as_port(),
        clock: &*state.clock,
        entropy: &*state.entropy,
    };
    match message {
        Message::CollectV1 { job } => collect::collect(ports, &state.settings, &job).await,
        Message::ProbeV1 { job } => collect::probe(ports, &job).await,
        Message::CommandV1(about) => collect::command(ports, &about).await,
        other => Ok(Report::silent(other.job().clone(), NOT_FOR_THIS_STAGE)),
    }
}
