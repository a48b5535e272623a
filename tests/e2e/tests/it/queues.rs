//! Messages that nobody can read, that come twice, or that were never sent.

use std::time::Duration;

use mirilla_tests::World;
use serde_json::json;

#[tokio::test]
async fn poison_goes_to_the_dead_letters_and_stops_nobody() {
    let world = World::deploy().await;
    let queue = world.output("CollectQueueUrl");
    let dead = world.output("CollectDeadLettersUrl");
    world.aws.send(queue, "poison").await;
    let pr = world.open_pull("change");
    for delivery in world.deliveries() {
        assert_eq!(world.deliver(&delivery).status, 202);
    }
    world.wait_for_review(pr, 1).await;
    let limit = Duration::from_secs(60);
    world
        .wait(
            "the poison among the dead letters",
            limit,
            async || match world.aws.depth(dead).await {
                1 => Ok(()),
                other => Err(format!("{other} dead letters")),
            },
        )
        .await;
    assert_eq!(world.aws.take(dead).await.as_deref(), Some("poison"));
    world.finish().await;
}

#[tokio::test]
async fn a_job_that_died_of_an_outage_is_redriven_and_reviewed_once() {
    let world = World::deploy().await;
    let queue = world.output("CollectQueueUrl");
    let dead = world.output("CollectDeadLettersUrl");
    let collector = world.output("CollectorFunction");
    let github = world.sim.github_api_url();
    let point_at = async |url: &str| {
        let variables = [("MIRILLA_GITHUB_API_URL", url)];
        world.aws.reconfigure(collector, None, &variables).await;
    };
    point_at("http://127.0.0.1:9").await;
    // Ten tries take half an hour; two are as dead.
    world.aws.die_after(queue, 2).await;
    let pr = world.open_pull("change");
    for delivery in world.deliveries() {
        assert_eq!(world.deliver(&delivery).status, 202);
    }
    let limit = Duration::from_secs(60);
    world
        .wait(
            "the job among the dead letters",
            limit,
            async || match world.aws.depth(dead).await {
                1 => Ok(()),
                other => Err(format!("{other} dead letters")),
            },
        )
        .await;
    assert_eq!(world.said(pr).0, 0);
    assert_eq!(world.sim.messages().charged().calls, 0);

    point_at(&github).await;
    assert_eq!(world.aws.redrive(dead, queue).await, 1);
    world.wait_for_review(pr, 1).await;
    world.wait_until_quiet(queue).await;
    assert_eq!(world.said(pr).0, 1);
    world.finish().await;
}

#[tokio::test]
async fn findings_that_are_announced_twice_are_posted_once() {
    let world = World::deploy().await;
    let pr = world.open_pull("change");
    for delivery in world.deliveries() {
        assert_eq!(world.deliver(&delivery).status, 202);
    }
    world.wait_for_review(pr, 1).await;
    let bucket = world.output("BucketName");
    let keys = world.aws.keys(bucket, "findings/").await;
    let [key] = keys.as_slice() else {
        panic!("{keys:?}");
    };
    let post = world.output("PostQueueUrl");
    let event = |bucket: &str| {
        json!({"Records": [{"eventSource": "aws:s3", "s3": {"bucket": {"name": bucket}, "object": {"key": key}}}]})
            .to_string()
    };
    world.aws.send(post, &event(bucket)).await;
    world.aws.send(post, &event("somebody-elses")).await;
    world.wait_until_quiet(post).await;
    assert_eq!(world.said(pr).0, 1);
    world.finish().await;
}

#[tokio::test]
async fn a_job_whose_message_was_never_sent_is_finished_by_the_sweeper() {
    let world = World::deploy().await;
    let intake = world.output("IntakeFunction");
    let sweeper = world.output("SweeperFunction");
    let nowhere = "http://127.0.0.1:9/000000000000/nowhere";
    world
        .aws
        .reconfigure(intake, None, &[("MIRILLA_COLLECT_QUEUE_URL", nowhere)])
        .await;
    world
        .aws
        .reconfigure(sweeper, None, &[("MIRILLA_LOST_SECONDS", "1")])
        .await;
    let pr = world.open_pull("change");
    for delivery in world.deliveries() {
        let answer = world.deliver(&delivery);
        assert_eq!(answer.status, 202, "recorded is accepted: {answer:?}");
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    world.sweep().await;
    world.wait_for_review(pr, 1).await;
    world.finish().await;
}
