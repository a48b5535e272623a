//! The pull request moves while it is read.

use std::time::Duration;

use mirilla_tests::World;

#[tokio::test]
async fn a_burst_of_pushes_becomes_one_review_of_the_last_head() {
    let world = World::deploy().await;
    let pr = world.open_pull("change");
    for step in 1..4 {
        world.push("change", step);
    }
    for delivery in world.deliveries() {
        let answer = world.deliver(&delivery);
        assert!((200..300).contains(&answer.status), "{answer:?}");
    }
    world.wait_for_review(pr, 4).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(world.said(pr).0, 1, "older heads stay silent");
    world.finish().await;
}

#[tokio::test]
async fn a_head_that_moves_during_the_review_is_reviewed_instead() {
    let world = World::deploy().await;
    let pr = world.open_pull("change");
    let first = world.deliveries();
    world.slow_model(Duration::from_secs(3));
    for delivery in &first {
        assert_eq!(world.deliver(delivery).status, 202);
    }
    world.wait_for_model_calls(1).await;
    world.push("change", 1);
    // The second webhook never arrives: whoever posts finds the live head.
    drop(world.deliveries());
    world.wait_for_review(pr, 2).await;
    world.finish().await;
}
