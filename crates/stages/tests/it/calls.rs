//! How many calls to the forge a review costs with the gate on, message by message.

use std::sync::Arc;

use mirilla_domain::job::JobState;
use mirilla_domain::settings::Gate as Threshold;

use crate::support::{Ended, Gate, Host, REPO, TWO_DEFECTS};

/// design.md, section 10: token mint and archive redirect included.
const COLLECTOR_CALLS: usize = 7;
const POSTER_CALLS: usize = 8;
/// Once comments of ours stand there, their threads are asked for, and the gate's two calls no longer fit.
const POSTER_CALLS_LATER: usize = 9;
/// A token and the check, before anything was listed.
const BEGIN_CALLS: usize = 2;

/// Works off one webhook; returns the routes that each message called, if it called any.
async fn calls(host: &Host) -> Vec<Vec<String>> {
    let gate = Arc::new(Gate::open());
    for delivery in host.deliveries() {
        host.deliver(&gate, &delivery).await;
    }
    let mut messages = Vec::new();
    for _ in 0..100 {
        let before = host.sim.github().calls().len();
        host.one_step(&gate).await;
        let all = host.sim.github().calls();
        let made: Vec<String> = all[before..]
            .iter()
            .map(|call| call.route.clone())
            .collect();
        if !made.is_empty() {
            messages.push(made);
        }
        let job = host.job().await.unwrap();
        if job.state == JobState::Posted && !job.is_check_open() {
            return messages;
        }
    }
    panic!("it was never posted: {messages:#?}");
}

#[tokio::test]
async fn gated_review_keeps_the_budget() {
    let mut host = Host::new(TWO_DEFECTS);
    host.policy.gate = Threshold::High;
    let runs = [
        ("first review", POSTER_CALLS),
        ("later review", POSTER_CALLS_LATER),
    ];
    for (run, poster_calls) in runs {
        let messages = calls(&host).await;
        let bars = [COLLECTOR_CALLS, BEGIN_CALLS, poster_calls];
        for (message, bar) in messages.iter().zip(bars) {
            println!(
                "{run}: {} calls of {bar}\n{}",
                message.len(),
                message.join("\n")
            );
            assert!(message.len() <= bar, "{run}: {message:#?}");
        }
        assert_eq!(messages.len(), 3, "{run}: {messages:#?}");
        host.push("more", &[("c/extra.txt", "more\n")]);
    }
}

#[tokio::test]
async fn merge_queue_costs_six_calls() {
    let mut host = Host::new(TWO_DEFECTS);
    host.policy.gate = Threshold::High;
    calls(&host).await;
    drop(host.sim.github().take_deliveries());
    host.sim.github().enqueue(REPO, host.pr, "dana").unwrap();
    let gate = Arc::new(Gate::open());
    let delivery = host.sim.github().take_deliveries().remove(0);
    let before = host.sim.github().calls().len();
    assert_eq!(host.deliver_and_run(&gate, &delivery).await, Ended::Quiet);
    let made = host.sim.github().calls().split_off(before);
    assert_eq!(made.len(), 6, "{made:#?}");
}
