//! The model fails, or whoever asks it.

use std::time::Duration;

use mirilla_tests::{REPO, World};
use serde_json::Value;

const CONFLICT: &str =
    "class Total {\n<<<<<<< HEAD\n  int sum = 1;\n=======\n  int sum = 2;\n>>>>>>> topic\n}\n";

/// Uses up the tries of a review whose first has failed, and looks at what is posted then.
async fn only_the_fixed_checks_speak(world: &World, pr: u64) {
    let (queue, reviewer) = (
        world.output("ReviewQueueUrl"),
        world.output("ReviewerFunction"),
    );
    // Ten tries take twenty minutes. The eight in the middle are received here instead.
    world.aws.feed(reviewer, false).await;
    world.aws.receive_until(queue, 9).await;
    assert_eq!(world.said(pr).0, 0, "so far the model may come back");
    world.aws.feed(reviewer, true).await;
    world.wait_for_review(pr, 1).await;

    let review = &world.sim.github().reviews(REPO, pr).unwrap()[0];
    assert!(review.body.contains("**Failed review**"), "{}", review.body);
    assert!(
        review.body.contains("0 of 2 changed files read"),
        "{}",
        review.body
    );
    assert_ne!(review.state, "APPROVED");
    assert_eq!(review.comments[0].path, "Total.java");
    let reviews = world.wait_until_counted("reviews", |_| true).await;
    assert_eq!(reviews.len(), 1, "{reviews:?}");
    assert_eq!(reviews[0]["outcome"], "failed");
}

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
async fn a_model_that_stays_down_leaves_the_fixed_checks_and_calls_nothing_clean() {
    let world = World::deploy().await;
    world.break_model();
    world.push_file("change", "Total.java", CONFLICT);
    let pr = world.open_pull("change");
    for delivery in world.deliveries() {
        assert_eq!(world.deliver(&delivery).status, 202);
    }
    world.wait_for_model_calls(1).await;
    only_the_fixed_checks_speak(&world, pr).await;
    let hits = world.wait_until_counted("floor_hits", |_| true).await;
    assert_eq!(hits[0]["check"], "conflict-marker");
    assert_eq!(world.sim.messages().charged().calls, 0);
    world.finish().await;
}

#[tokio::test]
async fn a_model_that_nobody_listens_for_leaves_the_fixed_checks_and_costs_nothing() {
    let world = World::deploy().await;
    let reviewer = world.output("ReviewerFunction");
    let nowhere = [("MIRILLA_MODEL_URL", "http://127.0.0.1:9")];
    world.aws.reconfigure(reviewer, None, &nowhere).await;
    world.push_file("change", "Total.java", CONFLICT);
    let pr = world.open_pull("change");
    for delivery in world.deliveries() {
        assert_eq!(world.deliver(&delivery).status, 202);
    }
    let failed = |run: &Value| run["stage"] == "reviewer" && run["outcome"] == "retry";
    world.wait_until_counted("runs", failed).await;
    only_the_fixed_checks_speak(&world, pr).await;
    let purses = world.aws.purses(world.output("MeterTableName")).await;
    assert!(!purses.is_empty(), "money was set aside, and given back");
    assert!(purses.values().all(|taken| *taken == 0), "{purses:?}");
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
    world.slow_model(Duration::from_secs(20));
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
    // The killed one, its successor, and the second look.
    assert_eq!(world.sim.messages().faults().count("POST /v1/messages"), 3);
    let charged = world.sim.messages().charged();
    assert_eq!(charged.calls, 3, "the provider bills the killed one too");
    let purses = world.aws.purses(world.output("MeterTableName")).await;
    let kinds: Vec<&str> = purses
        .keys()
        .filter_map(|key| key.split('/').next())
        .collect();
    assert_eq!(kinds, ["account", "repository", "review"], "{purses:?}");
    for (purse, taken) in purses {
        assert!(
            charged.pico_usd <= taken,
            "{purse}: {taken} is less than was spent"
        );
        // The smallest cap of all, a review's: $1.
        assert!(taken <= 1_000_000_000_000, "{purse}: {taken}");
    }
    world.finish().await;
}
