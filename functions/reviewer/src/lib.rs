//! Reads snapshots on AWS: the model, the meter, and of S3 only what its message grants.
//!
//! It has no ledger. That nobody else reads the same snapshot it learns from a lease kept beside the
//! money, and the sweeper learns from there that a reviewer died.
//!
//! **Invariant:** no forge here, no right in the artifact store, and no queue to send to. The
//! process does not start beside a variable or a value that it does not know.

use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use lambda_runtime::LambdaEvent;
use mirilla_archive::Archives;
use mirilla_domain::ids::Timestamp;
use mirilla_lambda::batch::{self, Batch, Received};
use mirilla_ports::message::Message;
use mirilla_ports::{
    Artifacts, Clock, Entropy, Grants, Heads, Meter, Model, PutBack, ReviewLeases,
};
use mirilla_stages::error::StageError;
use mirilla_stages::report::{NOT_FOR_THIS_STAGE, Report};
use mirilla_stages::review::{self, ReviewOrder, ReviewPorts, ReviewSettings};
use mirilla_telemetry::Telemetry;

/// The variables that the template gives this function; with any other it does not start.
pub const VARIABLES: &[&str] = &[
    "MIRILLA_HEADS_TABLE",
    "MIRILLA_METER_TABLE",
    "MIRILLA_BUCKET",
    "MIRILLA_REVIEW_QUEUE_URL",
    "MIRILLA_MODEL_KEY_ARN",
    "MIRILLA_BEDROCK_MODEL_ID",
    "MIRILLA_MODEL",
    "MIRILLA_MODEL_URL",
    "MIRILLA_POLICY",
    "MIRILLA_REVIEW_USD",
    "MIRILLA_REPOSITORY_DAY_USD",
    "MIRILLA_ACCOUNT_MONTH_USD",
    "MIRILLA_TRUSTED_BASES",
    "MIRILLA_LOG_LEVEL",
];

/// Time kept back after a review for giving the lease back and answering the queue.
const CLOSING_RESERVE: Duration = Duration::from_secs(15);

/// Opens one job's objects with the rights of its message.
pub trait OpenGranted: Send + Sync {
    /// Returns the store of these rights and no other.
    fn open(&self, grants: Grants) -> Box<dyn Artifacts>;
}

/// What the reviewer was wired with.
pub struct State {
    /// Makes a store of a message's rights.
    pub granted: Arc<dyn OpenGranted>,
    /// Purses and reservations.
    pub meter: Arc<dyn Meter>,
    /// Who reads which snapshot.
    pub leases: Arc<dyn ReviewLeases>,
    /// Newest heads.
    pub heads: Arc<dyn Heads>,
    /// Its own queue.
    pub put_back: Arc<dyn PutBack>,
    /// The model.
    pub model: Arc<dyn Model>,
    /// The operator's decisions; `limit` is the most that the function's own time-out leaves.
    pub settings: ReviewSettings,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Nonces and lease tokens.
    pub entropy: Arc<dyn Entropy>,
    /// Metrics.
    pub telemetry: Telemetry,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").finish_non_exhaustive()
    }
}

/// Handles the messages of one event.
pub async fn handle(state: &State, event: LambdaEvent<SqsEvent>) -> SqsBatchResponse {
    let batch = Batch {
        stage: "review",
        clock: &*state.clock,
        deadline: Timestamp::from_epoch_millis(event.context.deadline),
        telemetry: state.telemetry,
        put_back: &*state.put_back,
    };
    let work = async |received: Received| one(state, received).await;
    batch.run(event.payload, batch::ours, work).await
}

async fn one(state: &State, received: Received) -> Result<Report, StageError> {
    let Message::ReviewV1 {
        job,
        attempt,
        purses,
        grants,
    } = received.message
    else {
        let job = received.message.job().clone();
        return Ok(Report::silent(job, NOT_FOR_THIS_STAGE));
    };
    let now = state.clock.now();
    // Without its rights nothing can be read. The sweeper sees that nobody holds the job, and the
    // collector announces it with new ones.
    let Some(grants) = grants.filter(|grants| grants.expires_at > now) else {
        return Ok(Report::silent(job, "grants-expired"));
    };
    let artifacts = state.granted.open(grants);
    let archives = Archives::new(&*artifacts);
    let ports = ReviewPorts {
        artifacts: &*artifacts,
        meter: &*state.meter,
        heads: &*state.heads,
        model: Some(&*state.model),
        files: Some(&archives),
        clock: &*state.clock,
        entropy: &*state.entropy,
        note: &|line: &str| tracing::info!("{line}"),
        looked: &|look| tracing::info!("{}", look.log_line()),
        count: &|about, signal| state.telemetry.emit(about, &[signal], state.clock.now()),
    };
    let settings = ReviewSettings {
        limit: state
            .settings
            .limit
            .min(received.time_left.saturating_sub(CLOSING_RESERVE)),
        ..state.settings.clone()
    };
    let order = ReviewOrder {
        job,
        attempt,
        purses,
        receive_count: received.receive_count,
        last_try: received.last_try,
    };
    review::alone(
        &*state.leases,
        &*state.clock,
        &*state.entropy,
        &order.job,
        received.time_left,
        review::review(ports, &settings, &order),
    )
    .await
}
