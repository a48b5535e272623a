//! Webhooks that intake did not get.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use mirilla_ports::AskDeliveries;
use mirilla_ports::deliveries::{DeliveriesAnswer, DeliveriesFailure, DeliveriesRequest};
use mirilla_sweeper::handle;

use crate::support::{Line, World};

#[tokio::test]
async fn lost_webhook_is_asked_for_again_and_no_credential_is_seen() {
    let world = World::new();
    let lost = world.open_pull("lost", 502);
    let line = world.line();
    let sweeper = world.sweeper(&["acme"], Some(Arc::<Line>::clone(&line)));
    let mut redelivered = 0;
    let mut again = Vec::new();
    for _ in 0..8 {
        redelivered += world.next_run(&sweeper).await.redelivered;
        for delivery in world.sent() {
            world.sim.github().record_answer(delivery.id, 202).unwrap();
            again.push(delivery);
        }
    }
    assert_eq!((redelivered, again.len()), (1, 1));
    assert_eq!((&again[0].guid, again[0].redelivery), (&lost.guid, true));
    // A look every other minute, not more.
    assert!(line.asked.load(Ordering::SeqCst) <= 6);
    let said = line.said.lock().unwrap();
    assert!(said.contains(&lost.guid), "control: the record is there");
    for secret in ["eyJ", "Bearer", "ghs_", "PRIVATE KEY"] {
        assert!(!said.contains(secret), "{secret} in {said}");
    }
}

#[tokio::test]
async fn webhook_too_large_for_lambda_is_read_by_intakes_rules() {
    for (accounts, jobs) in [(["acme"], 1), (["somebody-else"], 0)] {
        let world = World::new();
        world.open_pull("large", 413);
        let sweeper = world.sweeper(&accounts, Some(world.line()));
        let mut read = 0;
        for _ in 0..8 {
            read += world.next_run(&sweeper).await.read;
        }
        assert_eq!(world.sent(), [], "it would be as large again");
        assert_eq!((world.jobs().await, read), (jobs, u64::from(jobs == 1)));
    }
}

#[tokio::test]
async fn two_sweepers_at_a_time_ask_once() {
    // With a bookmark of an earlier run, and without; and the control: alone, this one asks.
    for (ran_before, overlap) in [(true, true), (false, true), (true, false), (false, false)] {
        let world = World::new();
        world.open_pull("lost", 502);
        let line = world.line();
        let sweeper = world.sweeper(&["acme"], Some(Arc::<Line>::clone(&line)));
        if ran_before {
            let swept = handle(&sweeper).await.unwrap();
            assert_eq!(swept.redelivered, 0, "it may still arrive");
        }
        world.advance(5);
        if overlap {
            let other = world.sweeper(&["acme"], Some(world.line()));
            *line.meanwhile.lock().unwrap() = Some(other);
        }
        let swept = world.next_run(&sweeper).await;
        assert_eq!(world.sent().len(), 1, "{ran_before} {overlap}");
        assert_eq!(swept.redelivered, u64::from(!overlap), "{ran_before}");
    }
}

#[tokio::test]
async fn minter_that_does_not_answer_fails_no_run() {
    struct Gone;

    #[async_trait::async_trait]
    impl AskDeliveries for Gone {
        async fn ask(&self, _: &DeliveriesRequest) -> DeliveriesAnswer {
            DeliveriesAnswer::Failed(DeliveriesFailure::Unavailable {
                reason: "made-up failure".to_owned(),
            })
        }
    }

    let world = World::new();
    world.open_pull("lost", 502);
    let sweeper = world.sweeper(&["acme"], Some(Arc::new(Gone)));
    for _ in 0..4 {
        let swept = world.next_run(&sweeper).await;
        assert_eq!((swept.redelivered, swept.undeliverable), (0, 0));
    }
    // It goes on where nothing was lost by that.
    let sweeper = world.sweeper(&["acme"], Some(world.line()));
    let mut redelivered = 0;
    for _ in 0..4 {
        redelivered += world.next_run(&sweeper).await.redelivered;
    }
    assert_eq!((redelivered, world.sent().len()), (1, 1));
}

#[tokio::test]
async fn stack_without_an_app_asks_nothing() {
    let world = World::new();
    world.open_pull("lost", 502);
    let before = world.sim.github().calls().len();
    let sweeper = world.sweeper(&["acme"], None);
    for _ in 0..5 {
        world.next_run(&sweeper).await;
    }
    assert_eq!(world.sent(), []);
    assert_eq!(world.sim.github().calls().len(), before);
}
