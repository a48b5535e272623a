//! What is counted of runs in which nothing goes wrong.

use std::sync::Arc;

use mirilla_domain::money::PicoUsd;
use mirilla_sim::Scripted;
use mirilla_telemetry::Metric;

use super::said;
use crate::support::{Ended, Gate, Host, REPO, TWO_DEFECTS};

/// Delivers what is due and runs until nothing is left to do.
pub(super) async fn reviewed(host: &Host) {
    let gate = Arc::new(Gate::open());
    for delivery in host.deliveries() {
        host.deliver(&gate, &delivery).await;
    }
    assert_eq!(host.run(&gate).await, Ended::Quiet);
}

pub(super) async fn a_plain_run() -> Host {
    let mut host = Host::new(TWO_DEFECTS);
    // Small enough that what is spent is a percentage.
    host.policy.max_usd = PicoUsd::from_micro(150_000);
    reviewed(&host).await;
    host.assert_reviewed_once("plain run").await;
    let outcomes = said(&host, Metric::Runs, "outcome");
    assert!(outcomes.contains("accepted") && outcomes.contains("done"));
    assert_eq!(said(&host, Metric::JobsEnded, "state").len(), 1);
    assert_eq!(
        said(&host, Metric::Spend, "repo")
            .into_iter()
            .collect::<Vec<_>>(),
        [REPO],
        "what a repository costs can be searched for"
    );
    assert_eq!(said(&host, Metric::PurseUsed, "purse").len(), 3);
    assert_eq!(spent(&host), host.spent_on_review().await);
    host
}

/// Sums what the metrics say was spent.
fn spent(host: &Host) -> PicoUsd {
    host.seen()
        .into_iter()
        .map(|signal| match signal {
            mirilla_domain::signal::Signal::ModelCalled { cost, .. }
            | mirilla_domain::signal::Signal::CallLost { cost, .. } => cost,
            _ => PicoUsd::ZERO,
        })
        .fold(PicoUsd::ZERO, PicoUsd::plus)
}

pub(super) async fn a_second_push() -> Host {
    let host = Host::new(TWO_DEFECTS);
    reviewed(&host).await;
    host.push("more", &[("c/extra.txt", "more\n")]);
    reviewed(&host).await;
    host
}

pub(super) async fn findings_off_the_diff() -> Host {
    let host = Host::new(TWO_DEFECTS);
    let messages = host.sim.messages();
    messages.answer_all_when(
        "wrong lines",
        |_| true,
        |_| Scripted::wrong_lines("a/Pay.java"),
    );
    reviewed(&host).await;
    host
}

pub(super) async fn a_purse_that_is_too_small() -> Host {
    let mut host = Host::new(TWO_DEFECTS);
    host.policy.max_usd = PicoUsd::from_micro(20_000);
    reviewed(&host).await;
    assert!(said(&host, Metric::CapHits, "purse").contains("review"));
    host
}

pub(super) async fn a_head_that_moved() -> Host {
    let host = Host::new(TWO_DEFECTS);
    let gate = Arc::new(Gate::open());
    host.deliver(&gate, &host.deliveries()[0]).await;
    host.push("moved on", &[("c/extra.txt", "moved\n")]);
    reviewed(&host).await;
    host.assert_reviewed_once("head moved").await;
    let states = said(&host, Metric::JobsEnded, "state");
    assert!(states.contains("superseded") && states.contains("posted"));
    host
}

pub(super) async fn a_finding_that_is_gone() -> Host {
    let host = Host::that_resolves(TWO_DEFECTS);
    reviewed(&host).await;
    host.push("mend", &[("a/Pay.java", "class Pay {\n}\n// mended\n")]);
    reviewed(&host).await;
    let fates = said(&host, Metric::ThreadsGone, "fate");
    assert!(fates.contains("resolved"), "{fates:?}");
    host
}
