//! Webhooks have no order, come twice or not at all: the live head is reviewed once anyway.

use std::sync::Arc;
use std::time::Duration;

use mirilla_domain::job::JobState;
use mirilla_sim::WebhookDelivery;

use crate::support::{Ended, Gate, Host, REPO, TWO_DEFECTS};

/// A small generator: the seed is in the failure message, so that a failure can be run again.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        // SplitMix64, https://prng.di.unimi.it/splitmix64.c
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }
}

/// Plays pushes back and forth, retargets, lost, repeated and reordered deliveries.
async fn life(seed: u64) {
    let mut dice = Dice(seed);
    let host = Host::new(TWO_DEFECTS);
    let github = host.sim.github();
    let gate = Arc::new(Gate::open());
    let main = github.tip(REPO, "main").unwrap();
    github.push(REPO, "other", &main, "dana").unwrap();
    drop(host.deliveries());
    let mut heads = vec![github.tip(REPO, "change").unwrap()];
    let mut outbox: Vec<WebhookDelivery> = Vec::new();
    for step in 0..8 {
        match dice.roll(6) {
            0 | 1 => heads.push(host.push(
                &format!("step {step}"),
                &[("c/extra.txt", &format!("{step}\n"))],
            )),
            2 => {
                let back = heads[dice.roll(heads.len() as u64) as usize].clone();
                github.push(REPO, "change", &back, "dana").unwrap();
            }
            3 => {
                let base = if dice.roll(2) == 0 { "other" } else { "main" };
                github.retarget(REPO, host.pr, base, "dana").unwrap();
            }
            4 => host.advance(Duration::from_secs(dice.roll(120))),
            _ => {
                host.run(&gate).await;
            }
        }
        outbox.extend(host.deliveries());
        while !outbox.is_empty() && dice.roll(3) > 0 {
            let delivery = outbox.remove(dice.roll(outbox.len() as u64) as usize);
            match dice.roll(4) {
                0 => {}
                1 => {
                    host.deliver(&gate, &delivery).await;
                    host.deliver(&gate, &delivery).await;
                }
                _ => {
                    host.deliver(&gate, &delivery).await;
                }
            }
        }
    }
    // The last word of the life is a push back to the main branch, so that there is something to see
    // even if every delivery was lost.
    github.retarget(REPO, host.pr, "main", "dana").unwrap();
    let last = host.deliveries().pop();
    let known = host.ledger_knows_the_pull_request().await;
    if let Some(delivery) = last.filter(|_| !known || dice.roll(2) == 0) {
        host.deliver(&gate, &delivery).await;
    } else if !known {
        return;
    }
    assert_eq!(host.run(&gate).await, Ended::Quiet, "seed {seed}");
    host.sweep(&gate, true).await;
    assert_eq!(host.run(&gate).await, Ended::Quiet, "seed {seed}");
    host.assert_reviewed_once(&format!("seed {seed}")).await;
}

#[tokio::test]
async fn any_order_loss_and_repetition_of_pushes_ends_with_one_review_of_the_live_head() {
    for seed in 0..60 {
        life(seed).await;
    }
}

#[tokio::test]
async fn a_head_that_returns_is_reviewed() {
    let host = Host::new(TWO_DEFECTS);
    let github = host.sim.github();
    let gate = Arc::new(Gate::open());
    let first = github.tip(REPO, "change").unwrap();
    let opened = host.deliveries().remove(0);
    host.push("second", &[("c/extra.txt", "2\n")]);
    github.push(REPO, "change", &first, "dana").unwrap();
    host.deliver(&gate, &opened).await;
    for delivery in host.deliveries() {
        host.deliver(&gate, &delivery).await;
    }
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    host.assert_reviewed_once("A, B, A").await;
}

#[tokio::test]
async fn ten_pushes_in_a_row_are_one_review() {
    let host = Host::new(TWO_DEFECTS);
    let gate = Arc::new(Gate::open());
    for step in 0..10 {
        if step > 0 {
            host.push(
                &format!("step {step}"),
                &[("c/extra.txt", &format!("{step}\n"))],
            );
        }
        for delivery in host.deliveries() {
            host.deliver(&gate, &delivery).await;
        }
        host.advance(Duration::from_secs(1));
    }
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    host.assert_reviewed_once("burst").await;
    let reviews = host.sim.github().reviews(REPO, host.pr).unwrap();
    assert_eq!(reviews.len(), 1, "{reviews:#?}");
}

#[tokio::test]
async fn a_head_that_moves_after_the_snapshot_is_never_posted() {
    let host = Host::new(TWO_DEFECTS);
    let gate = Arc::new(Gate::open());
    let first = host.key(0).id();
    host.deliver(&gate, &host.deliveries()[0]).await;
    while host.ledger_state(&first).await != Some(JobState::Collected) {
        host.one_step(&gate).await;
    }
    host.push("moved on", &[("c/extra.txt", "moved\n")]);
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    assert_eq!(host.ledger_state(&first).await, Some(JobState::Superseded));
    host.assert_reviewed_once("head moved between snapshot and posting")
        .await;
}
