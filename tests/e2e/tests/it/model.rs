//! The model fails.

use std::time::Duration;

use mirilla_tests::World;

#[tokio::test]
async fn an_overloaded_model_is_asked_again_and_the_review_appears() {
    let world = World::deploy().await;
    let pr = world.open_pull("change");
    world.overload_model(2);
    for delivery in world.deliveries() {
        assert_eq!(world.deliver(&delivery).status, 202);
    }
    world.wait_for_review(pr, 1).await;
    assert!(world.sim.messages().faults().unfired().is_empty());
    world.finish().await;
}

#[tokio::test]
async fn a_killed_reviewer_is_replaced_once_its_lease_has_run_out() {
    let world = World::deploy().await;
    let reviewer = world.output("ReviewerFunction");
    let sweeper = world.output("SweeperFunction");
    let timeout = Duration::from_secs(40);
    world.aws.reconfigure(reviewer, Some(timeout), &[]).await;
    world
        .aws
        .reconfigure(sweeper, None, &[("MIRILLA_LOST_SECONDS", "1")])
        .await;
    let pr = world.open_pull("change");
    world.slow_model(Duration::from_secs(60));
    for delivery in world.deliveries() {
        assert_eq!(world.deliver(&delivery).status, 202);
    }
    world.wait_for_model_calls(1).await;
    world.kill("reviewer");
    world.sweep().await;
    assert_eq!(world.said(pr).0, 0, "its lease still stands");
    tokio::time::sleep(timeout).await;
    world.sweep().await;
    world.wait_for_review(pr, 1).await;
    assert_eq!(world.sim.messages().faults().count("POST /v1/messages"), 2);
    world.finish().await;
}
