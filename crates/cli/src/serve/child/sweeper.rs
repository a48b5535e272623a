//! The sweeper's process: ledger, meter, queue and artifacts, no credential at all.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use mirilla_domain::job::Debounce;
use mirilla_forge::github::DeliveryLog;
use mirilla_local::{DataDir, DirArtifacts, LocalLedger, LocalMeter, LocalQueue};
use mirilla_stages::intake::IntakeSettings;
use mirilla_stages::sweep::{self, DeliveryPorts, Pace, SweepPorts, SweepSettings, sweep};
use mirilla_telemetry::Telemetry;
use tokio::sync::Mutex;

use super::super::protocol::{FromChild, Link};
use super::{Supervisor, surroundings};
use crate::settings::SweeperSettings;

/// Runs the sweeper.
#[expect(clippy::infinite_loop, reason = "a sweeper ends with its process")]
pub(super) async fn run(
    mut link: Link,
    settings: SweeperSettings,
    telemetry: Telemetry,
) -> Result<()> {
    let (clock, _entropy) = surroundings()?;
    let data = DataDir::at(&settings.data_dir);
    let ledger = LocalLedger::open(&data.ledger())?;
    let meter = LocalMeter::open(&data.meter())?;
    let artifacts = DirArtifacts::open(&data.artifacts())?;
    let queue = LocalQueue::open(&data.queue(), Arc::clone(&clock))?;
    let stage = SweepSettings {
        lost_after: settings.timings.lost_after,
        stalled_after: settings.timings.lost_after.saturating_mul(10),
        probe_window: Duration::from_secs(24 * 60 * 60),
        limit: 1_000,
        keep_runs: Some(settings.timings.keep_runs),
    };
    link.send(&FromChild::Ready { address: None }).await?;
    let supervisor = Supervisor(Arc::new(Mutex::new(link)));
    let record = DeliveryLog::new(Arc::new(supervisor));
    let mut intake = IntakeSettings::new(settings.allowed_accounts.iter().map(String::as_str))?;
    intake.debounce = Debounce {
        first: settings.timings.debounce_first,
        busy: settings.timings.debounce_busy,
    };
    let deliveries = DeliveryPorts {
        log: &record,
        bookmarks: &ledger,
        intake: &intake,
        pace: pace(settings.timings.sweep_every),
    };
    let ports = SweepPorts {
        ledger: &ledger,
        meter: &meter,
        leases: &meter,
        queue: &queue,
        depth: &queue,
        artifacts: &artifacts,
        deliveries: settings.deliveries.then_some(deliveries),
        clock: clock.as_ref(),
    };
    let mut probed_at = clock.now();
    loop {
        tokio::time::sleep(settings.timings.sweep_every).await;
        let probe = clock.now().since(probed_at) >= settings.timings.probe_every;
        if probe {
            probed_at = clock.now();
        }
        let begun = clock.now();
        let result = sweep(ports, &stage, probe).await;
        let took = clock.now().since(begun);
        for (about, facts) in sweep::facts(&result, took) {
            telemetry.emit(&about, &facts, clock.now());
        }
        sweep::log(&result);
    }
}

/// Returns how soon lost webhooks are asked for, on a host that sweeps so often: at the default of half a
/// minute, what [`Pace::default`] says.
fn pace(sweep_every: Duration) -> Pace {
    let times = |count| sweep_every.saturating_mul(count);
    Pace {
        rest: times(4),
        waits: [times(2), times(20), times(120)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pace_of_the_default_host_is_the_default_pace() {
        let timings = crate::settings::Timings::default();
        assert_eq!(pace(timings.sweep_every), Pace::default());
    }
}
