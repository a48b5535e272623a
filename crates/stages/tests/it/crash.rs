//! A happy run makes N port calls; it is killed before and after the effect of each. Its model looks
//! things up before it answers, so that the kills hit every point of a conversation.

use std::sync::Arc;

use crate::support::{Ended, Gate, Host, KillAt, TWO_DEFECTS, When};

/// Kills a run at one call, starts the host again, and lets the forge redeliver.
async fn killed_at(kill: KillAt) -> Host {
    let host = Host::new(TWO_DEFECTS).looking(1);
    let delivery = host.deliveries().remove(0);
    let gate = Arc::new(Gate::killing(kill));
    let ended = host.deliver_and_run(&gate, &delivery).await;
    assert_eq!(ended, Ended::Killed, "{kill:?} was never reached");
    host.restart();
    let gate = Arc::new(Gate::open());
    // A delivery that was not answered is delivered again; one that was answered may be.
    host.deliver(&gate, &delivery).await;
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    host
}

#[tokio::test]
async fn a_run_killed_at_any_call_ends_with_one_review_and_is_paid_once() {
    let host = Host::new(TWO_DEFECTS).looking(1);
    let delivery = host.deliveries().remove(0);
    let gate = Arc::new(Gate::open());
    assert_eq!(host.deliver_and_run(&gate, &delivery).await, Ended::Quiet);
    host.assert_reviewed_once("undisturbed").await;
    let calls = gate.calls();
    let undisturbed = host.comments();
    assert!(
        calls > 20,
        "the run makes only {calls} calls: {:?}",
        gate.names()
    );
    assert!(
        !undisturbed.is_empty(),
        "the run finds nothing, so nothing could be said twice"
    );

    let names = gate.names();
    for needed in [
        "meter.sent",
        "meter.settle",
        "artifacts.get_range",
        "model.converse",
    ] {
        assert!(names.contains(&needed), "no {needed} in {names:?}");
    }
    assert_eq!(
        names.iter().filter(|name| **name == "meter.sent").count(),
        host.sim.messages().model_calls().len(),
        "each call has its own reservation"
    );
    assert!(host.sim.messages().model_calls().len() >= 2);
    assert_eq!(
        host.booked_and_billed().await,
        (0, 0),
        "an undisturbed run pays what it is billed"
    );

    for call in 0..calls {
        for when in [When::Before, When::After] {
            let kill = KillAt { call, when };
            let name = gate.names()[call as usize];
            let host = killed_at(kill).await;
            let context = format!("killed {when:?} {name} (call {call} of {calls})");
            host.assert_reviewed_once(&context).await;
            assert_eq!(host.comments(), undisturbed, "{context}");
            host.assert_paid_once(&context).await;
            // One call was under way at most: what is booked beside the bill is its worst case.
            let (over, under) = host.booked_and_billed().await;
            let lost = ["meter.sent", "artifacts.put", "meter.settle"].contains(&name);
            assert_eq!(under, 0, "{context}");
            assert!(
                over == 0 || (lost && over < 300_000_000_000),
                "{context}: {over} too much"
            );
        }
    }
}
