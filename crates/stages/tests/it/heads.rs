//! Webhooks have no order, come twice or not at all: the live head is reviewed once anyway.

use std::sync::Arc;
use std::time::Duration;

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
