//! A happy run makes N port calls; it is killed before and after the effect of each. Its model looks
//! things up before it answers, so that the kills hit every point of a conversation.

use std::sync::Arc;
use std::time::Duration;

use mirilla_domain::settings::Gate as Threshold;

use crate::support::{Ended, Gate, Host, KillAt, REPO, TWO_DEFECTS, When};

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

/// A change whose defect fails the gate.
fn gated() -> Host {
    let mut host = Host::new(TWO_DEFECTS);
    host.policy.gate = Threshold::High;
    host
}

/// How the one check on a commit ended.
fn only_check(host: &Host, sha: &str, context: &str) -> String {
    let runs = host.sim.github().check_runs(REPO, sha).unwrap();
    assert_eq!(runs.len(), 1, "{context}: {runs:#?}");
    let conclusion = runs[0].conclusion.clone();
    conclusion.unwrap_or_else(|| panic!("{context}: it hangs: {runs:#?}"))
}

/// How good an end is, the best last.
fn rank(conclusion: &str) -> usize {
    let known = ["failure", "neutral", "success"];
    known.iter().position(|one| *one == conclusion).unwrap()
}

/// Starts the host again after a kill, and lets the sweeper find what was lost.
async fn recovered(host: &Host, delivery: &mirilla_sim::WebhookDelivery) {
    host.restart();
    let gate = Arc::new(Gate::open());
    host.deliver(&gate, delivery).await;
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    host.advance(Duration::from_secs(300));
    host.sweep(&gate, true).await;
    assert_eq!(host.run(&gate).await, Ended::Quiet);
}

/// Every call of a run to be killed at on one side, and what to say about it.
fn kills(names: &[&str], when: When) -> Vec<(KillAt, String)> {
    let all = names.iter().zip(0_u64..);
    all.map(|(name, call)| {
        let context = format!("killed {when:?} {name} (call {call} of {})", names.len());
        (KillAt { call, when }, context)
    })
    .collect()
}

/// Kills a run with the gate on at each of its calls.
async fn gated_runs_killed(when: When) {
    let host = gated();
    let delivery = host.deliveries().remove(0);
    let gate = Arc::new(Gate::open());
    assert_eq!(host.deliver_and_run(&gate, &delivery).await, Ended::Quiet);
    let head = host.sim.github().tip(REPO, "change").unwrap();
    let (undisturbed, said) = (only_check(&host, &head, "undisturbed"), host.comments());
    let names = gate.names();
    for needed in ["forge.checks", "forge.write_check"] {
        assert!(names.contains(&needed), "no {needed} in {names:?}");
    }
    for (kill, context) in kills(&names, when) {
        let host = gated();
        let delivery = host.deliveries().remove(0);
        let gate = Arc::new(Gate::killing(kill));
        let ended = host.deliver_and_run(&gate, &delivery).await;
        assert_eq!(ended, Ended::Killed, "{context}: never reached");
        recovered(&host, &delivery).await;
        host.assert_reviewed_once(&context).await;
        assert_eq!(host.comments(), said, "{context}");
        let conclusion = only_check(&host, &head, &context);
        let is_no_better = rank(&conclusion) <= rank(&undisturbed);
        assert!(is_no_better, "{context}: {conclusion}");
        assert!(!host.job().await.unwrap().is_check_open(), "{context}");
    }
}

#[tokio::test]
async fn a_gated_run_killed_before_any_call_ends_with_one_check_that_is_no_better() {
    gated_runs_killed(When::Before).await;
}

#[tokio::test]
async fn a_gated_run_killed_after_any_call_ends_with_one_check_that_is_no_better() {
    gated_runs_killed(When::After).await;
}

/// Lets the review of a change end, and puts it into the merge queue: the queue's webhook and commit.
async fn queued() -> (Host, mirilla_sim::WebhookDelivery, String) {
    let host = gated();
    let opened = host.deliveries().remove(0);
    let gate = Arc::new(Gate::open());
    assert_eq!(host.deliver_and_run(&gate, &opened).await, Ended::Quiet);
    drop(host.sim.github().take_deliveries());
    let sha = host.sim.github().enqueue(REPO, host.pr, "dana").unwrap();
    let delivery = host.sim.github().take_deliveries().remove(0);
    (host, delivery, sha)
}

#[tokio::test]
async fn answer_to_a_merge_queue_killed_at_any_call_ends_with_one_check() {
    let (host, delivery, sha) = queued().await;
    let gate = Arc::new(Gate::open());
    assert_eq!(host.deliver_and_run(&gate, &delivery).await, Ended::Quiet);
    assert_eq!(only_check(&host, &sha, "undisturbed"), "failure");
    let names = gate.names();
    assert!(names.contains(&"forge.write_check"), "{names:?}");
    let both = [When::Before, When::After];
    for (kill, context) in both.into_iter().flat_map(|when| kills(&names, when)) {
        let (host, delivery, sha) = queued().await;
        let gate = Arc::new(Gate::killing(kill));
        let ended = host.deliver_and_run(&gate, &delivery).await;
        assert_eq!(ended, Ended::Killed, "{context}: never reached");
        recovered(&host, &delivery).await;
        assert_eq!(only_check(&host, &sha, &context), "failure", "{context}");
    }
}
