//! Restarts what died, on AWS: called on a schedule, one run a call.
//!
//! **Invariant:** no token and no key here: the forge is asked through `minter-deliveries`.

use std::sync::Arc;

use lambda_runtime::LambdaEvent;
use mirilla_ports::{Artifacts, Clock, Ledger, MeterSweep, QueueDepth, QueueSend, ReviewLeases};
use mirilla_stages::error::StageError;
use mirilla_stages::sweep::{SweepPorts, SweepSettings, Swept, sweep};
use mirilla_telemetry::Telemetry;

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
    /// When something counts as dead.
    pub settings: SweepSettings,
    /// Time.
    pub clock: Arc<dyn Clock>,
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

/// Does one run.
pub async fn handle(
    state: &State,
    _event: &LambdaEvent<serde_json::Value>,
) -> Result<serde_json::Value, StageError> {
    let ports = SweepPorts {
        ledger: &*state.ledger,
        meter: &*state.meter,
        queue: &*state.queue,
        depth: &*state.depth,
        artifacts: &*state.artifacts,
        clock: &*state.clock,
    };
    let swept: Swept = sweep(ports, &state.settings, true).await?;
    Ok(serde_json::json!({"restarted": swept.restarted}))
}
