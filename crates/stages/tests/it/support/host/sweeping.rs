//! The sweeper on this host.

use std::sync::Arc;
use std::time::Duration;

use mirilla_forge::github::DeliveryLog;
use mirilla_stages::intake::IntakeSettings;
use mirilla_stages::sweep::{DeliveryPorts, Pace, SweepPorts, SweepSettings, sweep};

use super::{Host, KEEP_RUNS, gated};
use crate::support::Gate;

impl Host {
    pub(crate) async fn sweep(&self, gate: &Arc<Gate>, probe: bool) {
        self.swept(gate, probe, None).await;
    }

    /// Sweeps, and asks the forge for lost webhooks again; the host serves `accounts`.
    pub(crate) async fn sweep_deliveries(&self, gate: &Arc<Gate>, accounts: &[&str]) {
        let log = DeliveryLog::new(Arc::new(self.app().deliveries()));
        let bookmarks = self.ledger();
        let intake = IntakeSettings::new(accounts.iter().copied()).unwrap();
        let (log, bookmarks) = (gated(&log, gate), gated(bookmarks, gate));
        let deliveries = DeliveryPorts {
            log: &log,
            bookmarks: &bookmarks,
            intake: &intake,
            pace: Pace::default(),
        };
        self.swept(gate, false, Some(deliveries)).await;
    }

    async fn swept(&self, gate: &Arc<Gate>, probe: bool, deliveries: Option<DeliveryPorts<'_>>) {
        let (ledger, meter, queue, artifacts) =
            (self.ledger(), self.meter(), self.queue(), self.artifacts());
        let (ledger, meter) = (gated(ledger, gate), gated(meter, gate));
        let (queue, artifacts) = (gated(queue, gate), gated(artifacts, gate));
        let ports = SweepPorts {
            ledger: &ledger,
            meter: &meter,
            leases: &meter,
            queue: &queue,
            depth: &queue,
            artifacts: &artifacts,
            deliveries,
            clock: self.clock.as_ref(),
        };
        let settings = SweepSettings {
            lost_after: Duration::from_secs(30),
            stalled_after: Duration::from_secs(900),
            probe_window: Duration::from_secs(86_400),
            limit: 1_000,
            keep_runs: Some(KEEP_RUNS),
        };
        let swept = sweep(ports, &settings, probe).await.unwrap();
        for (about, signal) in &swept.facts {
            self.saw(about, std::slice::from_ref(signal));
        }
    }
}
