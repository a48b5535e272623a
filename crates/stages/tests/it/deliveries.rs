//! Webhooks that were lost come again, or are read from the forge's own record; nothing is asked for
//! that is there, and nothing without end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mirilla_domain::signal::Signal;
use mirilla_ports::queue::QueueName;
use mirilla_sim::{Fault, WebhookDelivery};

use crate::support::{Ended, Gate, Host, KillAt, REPO, TWO_DEFECTS, When};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);

fn count(host: &Host, wanted: &Signal) -> usize {
    host.seen()
        .iter()
        .filter(|signal| *signal == wanted)
        .count()
}

/// Lets the forge send what it has to a host that answers with `code` without looking.
fn refuse(host: &Host, code: u16) -> Vec<WebhookDelivery> {
    let refused = host.deliveries();
    for delivery in &refused {
        host.sim.github().record_answer(delivery.id, code).unwrap();
    }
    refused
}

/// Lets the forge send what it has to a host that takes it.
async fn take(host: &Host, gate: &Arc<Gate>) -> Vec<WebhookDelivery> {
    let taken = host.deliveries();
    for delivery in &taken {
        let status = host.deliver(gate, delivery).await.status;
        host.sim
            .github()
            .record_answer(delivery.id, status)
            .unwrap();
    }
    taken
}

/// Lets arrive what the forge tells of our own comments; it is nothing to us, but would be asked for.
async fn hear_of_ourselves(host: &Host, gate: &Arc<Gate>) {
    for own in host.sim.github().take_deliveries() {
        let status = host.deliver(gate, &own).await.status;
        host.sim.github().record_answer(own.id, status).unwrap();
    }
}

async fn sweep(host: &Host, gate: &Arc<Gate>) {
    host.sweep_deliveries(gate, &["acme"]).await;
}

#[tokio::test]
async fn lost_webhook_comes_again_once_and_is_reviewed_once() {
    let host = Host::new(TWO_DEFECTS);
    let gate = Arc::new(Gate::open());
    let lost = refuse(&host, 503);
    assert_eq!(lost.len(), 1);
    sweep(&host, &gate).await;
    assert_eq!(host.deliveries(), [], "a deployment may be under way");
    host.advance(3 * MINUTE);
    sweep(&host, &gate).await;
    let again = take(&host, &gate).await;
    assert_eq!(again.len(), 1);
    assert_eq!((&again[0].guid, again[0].redelivery), (&lost[0].guid, true));
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    hear_of_ourselves(&host, &gate).await;
    for _ in 0..30 {
        host.advance(10 * MINUTE);
        sweep(&host, &gate).await;
    }
    assert_eq!(host.deliveries(), [], "it arrived");
    assert_eq!(count(&host, &Signal::RedeliveryAsked), 1);
    assert_eq!(count(&host, &Signal::RedeliveryGivenUp), 0);
    host.assert_reviewed_once("lost webhook").await;
}

#[tokio::test]
async fn webhook_that_always_fails_is_asked_for_three_times() {
    for code in [500, 401, 0] {
        let host = Host::new(TWO_DEFECTS);
        let gate = Arc::new(Gate::open());
        refuse(&host, 503);
        let mut asked = 0;
        for _ in 0..80 {
            host.advance(HOUR);
            sweep(&host, &gate).await;
            for delivery in host.deliveries() {
                asked += 1;
                match code {
                    0 => host.sim.github().record_timeout(delivery.id).unwrap(),
                    code => host.sim.github().record_answer(delivery.id, code).unwrap(),
                }
            }
        }
        assert_eq!(asked, 3, "answered {code}");
        assert_eq!(count(&host, &Signal::RedeliveryAsked), 3);
        assert_eq!(count(&host, &Signal::RedeliveryGivenUp), 1, "said once");
        assert!(host.job().await.is_none());
    }
}

#[tokio::test]
async fn webhook_whose_answer_was_lost_is_recorded_and_not_asked_for() {
    let host = Host::new(TWO_DEFECTS);
    let gate = Arc::new(Gate::open());
    for delivery in host.deliveries() {
        host.deliver(&gate, &delivery).await;
        host.sim.github().record_timeout(delivery.id).unwrap();
    }
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    hear_of_ourselves(&host, &gate).await;
    for _ in 0..5 {
        host.advance(HOUR);
        sweep(&host, &gate).await;
    }
    assert_eq!(host.deliveries(), []);
    assert_eq!(count(&host, &Signal::RedeliveryAsked), 0);
    host.assert_reviewed_once("answer lost").await;
}

#[tokio::test]
async fn webhook_too_large_for_the_front_door_is_read_from_the_record() {
    let host = Host::new(TWO_DEFECTS);
    let gate = Arc::new(Gate::open());
    refuse(&host, 413);
    for _ in 0..5 {
        sweep(&host, &gate).await;
        host.advance(3 * MINUTE);
    }
    assert_eq!(host.deliveries(), [], "asking for it again would not help");
    assert_eq!(count(&host, &Signal::DeliveryRead), 1);
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    host.assert_reviewed_once("too large").await;
}

#[tokio::test]
async fn webhook_of_an_account_that_is_not_served_is_not_read_into_a_job() {
    let host = Host::new(TWO_DEFECTS);
    let gate = Arc::new(Gate::open());
    refuse(&host, 413);
    for _ in 0..3 {
        host.sweep_deliveries(&gate, &["somebody-else"]).await;
        host.advance(3 * MINUTE);
    }
    assert!(host.job().await.is_none());
    assert_eq!(count(&host, &Signal::DeliveryRead), 0);
    let reads = gate
        .names()
        .iter()
        .filter(|name| **name == "deliveries.read")
        .count();
    assert_eq!(reads, 1, "read once, and left");
}

#[tokio::test]
async fn outage_of_many_webhooks_is_worked_off_page_by_page_each_once() {
    let host = Host::new(TWO_DEFECTS);
    let gate = Arc::new(Gate::open());
    for step in 0..124 {
        let title = format!("Title {step}");
        host.sim
            .github()
            .set_title(REPO, host.pr, &title, "dana")
            .unwrap();
    }
    let lost = refuse(&host, 502).len();
    assert_eq!(lost, 125);
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..8 {
        host.advance(3 * MINUTE);
        let before = gate.calls();
        sweep(&host, &gate).await;
        assert!(gate.calls() - before < 300, "a run is bounded");
        let again = take(&host, &gate).await;
        assert!(again.len() <= 50, "{}", again.len());
        for delivery in again {
            *times.entry(delivery.guid).or_default() += 1;
        }
    }
    assert_eq!(times.len(), lost);
    assert!(times.values().all(|n| *n == 1), "{times:?}");
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    host.assert_reviewed_once("outage").await;
}

#[tokio::test]
async fn forge_that_does_not_answer_delays_nothing_else() {
    let host = Host::new(TWO_DEFECTS);
    let gate = Arc::new(Gate::open());
    let faults = host.sim.github().faults();
    for call in 1..=6 {
        faults.on("GET /app/hook/deliveries", call, Fault::status(503, "{}"));
    }
    host.deliver(&gate, &host.deliveries()[0]).await;
    host.advance(10 * MINUTE);
    host.lose(QueueName::Collect).await;
    sweep(&host, &gate).await;
    assert_eq!(count(&host, &Signal::Restarted), 1);
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    host.assert_reviewed_once("forge down").await;
    // It is not asked at every run, and then goes on as if nothing had been.
    host.push("lost", &[("c/extra.txt", "1\n")]);
    refuse(&host, 503);
    for _ in 0..4 {
        host.advance(3 * MINUTE);
        sweep(&host, &gate).await;
    }
    assert_eq!(take(&host, &gate).await.len(), 1);
}

/// How a lost webhook's story ends when a sweep is killed at one call.
async fn killed_at(kill: KillAt, code: u16) -> (Host, usize) {
    let host = Host::new(TWO_DEFECTS);
    refuse(&host, code);
    host.advance(3 * MINUTE);
    let killed = Arc::new(Gate::killing(kill));
    tokio::select! {
        biased;
        () = killed.killed() => {}
        () = sweep(&host, &killed) => {}
    }
    host.restart();
    let gate = Arc::new(Gate::open());
    let mut asked = 0;
    for _ in 0..8 {
        let again = host.deliveries();
        asked += again.len();
        // The first repetition fails as well.
        for delivery in again {
            let status = if asked > 1 {
                host.deliver(&gate, &delivery).await.status
            } else {
                500
            };
            let github = host.sim.github();
            github.record_answer(delivery.id, status).unwrap();
        }
        if host.job().await.is_some() {
            assert_eq!(host.run(&gate).await, Ended::Quiet);
            // What was asked for twice over comes now or never.
            sweep(&host, &gate).await;
            asked += host.deliveries().len();
            break;
        }
        host.advance(HOUR);
        sweep(&host, &gate).await;
    }
    (host, asked)
}

#[tokio::test]
async fn sweep_killed_at_any_call_loses_no_webhook_and_asks_no_more_than_three_times() {
    for code in [503, 413] {
        let host = Host::new(TWO_DEFECTS);
        refuse(&host, code);
        host.advance(3 * MINUTE);
        let gate = Arc::new(Gate::open());
        sweep(&host, &gate).await;
        let names = gate.names();
        assert!(names.iter().any(|name| name.starts_with("deliveries.re")));
        // What a run does for money and objects is no part of this, and is killed elsewhere.
        let part = |name: &str| !name.starts_with("meter") && !name.starts_with("artifacts");
        for call in (0..gate.calls()).filter(|call| part(names[*call as usize])) {
            for when in [When::Before, When::After] {
                let name = names[call as usize];
                let context = format!("answered {code}, killed {when:?} {name}");
                let (host, asked) = killed_at(KillAt { call, when }, code).await;
                assert!(asked <= 3, "{context}: asked {asked} times");
                host.assert_reviewed_once(&context).await;
                let reviews = host.sim.github().reviews(REPO, host.pr).unwrap();
                assert_eq!(reviews.len(), 1, "{context}");
            }
        }
    }
}
