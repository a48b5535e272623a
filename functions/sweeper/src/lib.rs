//! Restarts what died, on AWS: called on a schedule, one run a call.
//!
//! **Invariant:** no token and no key here: the forge is asked through `minter-deliveries`.

use std::sync::Arc;

use mirilla_ports::{Artifacts, Clock, Ledger, MeterSweep, QueueDepth, QueueSend, ReviewLeases};
use mirilla_stages::error::StageError;
use mirilla_stages::sweep::{self, SweepPorts, SweepSettings, sweep};
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

/// Does one run; a failed one is a failed invocation, and the next comes with the schedule.
pub async fn handle(state: &State) -> Result<(), StageError> {
    let ports = SweepPorts {
        ledger: &*state.ledger,
        meter: &*state.meter,
        leases: &*state.leases,
        queue: &*state.queue,
        depth: &*state.depth,
        artifacts: &*state.artifacts,
        deliveries: None,
        clock: &*state.clock,
    };
    let begun = state.clock.now();
    let result = sweep(ports, &state.settings, true).await;
    let took = state.clock.now().since(begun);
    for (about, facts) in sweep::facts(&result, took) {
        state.telemetry.emit(&about, &facts, state.clock.now());
    }
    let swept = result?;
    if swept.found_deaths() {
        tracing::warn!(
            restarted = swept.restarted,
            given_up = swept.given_up,
            failed = swept.failed,
            booked = swept.booked,
            "the sweeper restarted {} jobs, gave {} up, failed {} and booked {} lost calls",
            swept.restarted,
            swept.given_up,
            swept.failed,
            swept.booked
        );
    }
    Ok(())
}
