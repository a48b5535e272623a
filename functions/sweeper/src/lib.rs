//! Restarts what died, on AWS: called on a schedule, one run a call.
//!
//! **Invariant:** no token and no key here: the forge is asked through `minter-deliveries`.

use std::sync::Arc;
use std::time::Duration;

use mirilla_domain::ids::Timestamp;
use mirilla_ports::{
    Artifacts, Bookmarks, Clock, Deliveries, Ledger, LedgerError, MeterSweep, QueueDepth,
    QueueSend, ReviewLeases,
};
use mirilla_stages::error::StageError;
use mirilla_stages::intake::IntakeSettings;
use mirilla_stages::sweep::{self, DeliveryPorts, Pace, SweepPorts, SweepSettings, Swept, sweep};
use mirilla_telemetry::Telemetry;

/// Under which name the moment of the latest look for unannounced heads is kept.
const PROBED: &str = "probed-at";
/// From one such look to the next: ten minutes, less what a schedule by the minute may be early.
const PROBE_EVERY: Duration = Duration::from_secs(10 * 60 - 30);

/// What the sweeper was wired with.
pub struct State {
    /// Jobs.
    pub ledger: Arc<dyn Ledger>,
    /// Reservations of dead workers.
    pub meter: Arc<dyn MeterSweep>,
    /// Who reads which snapshot.
    pub leases: Arc<dyn ReviewLeases>,
    /// Restarts.
    pub queue: Arc<dyn QueueSend>,
    /// Backlogs.
    pub depth: Arc<dyn QueueDepth>,
    /// Which findings exist.
    pub artifacts: Arc<dyn Artifacts>,
    /// What is kept from one run to the next.
    pub bookmarks: Arc<dyn Bookmarks>,
    /// The forge's record of webhooks; `None` where no App is, and with it no such record.
    pub record: Option<Record>,
    /// When something counts as dead.
    pub settings: SweepSettings,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Metrics.
    pub telemetry: Telemetry,
}

/// The forge's record of webhooks.
pub struct Record {
    /// Through the minter that may read it.
    pub deliveries: Arc<dyn Deliveries>,
    /// Whom the intake works for.
    pub intake: IntakeSettings,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("settings", &self.settings)
            .field("record", &self.record)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Record")
            .field("intake", &self.intake)
            .finish_non_exhaustive()
    }
}

/// Does one run and returns what it did; a failed one is a failed invocation, and the next comes with the schedule.
pub async fn handle(state: &State) -> Result<Swept, StageError> {
    let begun = state.clock.now();
    let result = run(state, begun).await;
    let took = state.clock.now().since(begun);
    for (about, facts) in sweep::facts(&result, took) {
        state.telemetry.emit(&about, &facts, state.clock.now());
    }
    sweep::log(&result);
    result
}

async fn run(state: &State, now: Timestamp) -> Result<Swept, StageError> {
    let deliveries = state.record.as_ref().map(|record| DeliveryPorts {
        log: &*record.deliveries,
        bookmarks: &*state.bookmarks,
        intake: &record.intake,
        pace: Pace::default(),
    });
    let ports = SweepPorts {
        ledger: &*state.ledger,
        meter: &*state.meter,
        leases: &*state.leases,
        queue: &*state.queue,
        depth: &*state.depth,
        artifacts: &*state.artifacts,
        deliveries,
        clock: &*state.clock,
    };
    let probe = probe_is_due(&*state.bookmarks, now).await?;
    sweep(ports, &state.settings, probe).await
}

/// Returns whether this run looks for heads that nobody announced, and if so keeps the next ones from it.
async fn probe_is_due(bookmarks: &dyn Bookmarks, now: Timestamp) -> Result<bool, LedgerError> {
    let kept = bookmarks.bookmark(PROBED).await?;
    let last = kept.as_deref().and_then(|text| text.parse().ok());
    if last.is_some_and(|last| now.since(Timestamp::new(last)) < PROBE_EVERY) {
        return Ok(false);
    }
    let text = now.get().to_string();
    match bookmarks
        .keep_bookmark(PROBED, kept.as_deref(), &text)
        .await
    {
        Ok(()) => Ok(true),
        // Another run, at the same moment, does it.
        Err(LedgerError::Conflict { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
