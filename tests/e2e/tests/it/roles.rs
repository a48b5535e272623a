//! What each function's role keeps it from, tried with the credentials that the function was given.

use mirilla_tests::{REPO, Setting, Verdict, World};
use serde_json::json;

/// An App's deployment with roles, in which every function and both minters have worked.
async fn reviewed_by_an_app() -> World {
    let world = World::deploy_as(Setting {
        roles: true,
        app: true,
    })
    .await;
    let pr = world.open_pull("change");
    for delivery in world.deliveries() {
        assert_eq!(world.deliver(&delivery).status, 202);
    }
    world.wait_for_review(pr, 1).await;
    let reviews = world.sim.github().reviews(REPO, pr).unwrap();
    assert_eq!(reviews[0].author, world.sim.github().bot());
    world
}

#[tokio::test]
async fn each_role_is_denied_what_only_another_may() {
    let world = reviewed_by_an_app().await;
    let [intake, collector, reviewer, poster, minter] =
        ["intake", "collector", "reviewer", "poster", "minter-read"]
            .map(|function| world.as_role_of(function));

    let secret = world.output("AppSecretArn");
    assert_eq!(reviewer.try_secret(secret).await, Verdict::Denied);
    assert_eq!(minter.try_secret(secret).await, Verdict::Allowed);
    let secret = world.output("WebhookSecretArn");
    assert_eq!(reviewer.try_secret(secret).await, Verdict::Denied);
    assert_eq!(intake.try_secret(secret).await, Verdict::Allowed);
    let secret = world.output("ModelKeyArn");
    assert_eq!(poster.try_secret(secret).await, Verdict::Denied);
    assert_eq!(collector.try_secret(secret).await, Verdict::Denied);
    assert_eq!(reviewer.try_secret(secret).await, Verdict::Allowed);

    let bucket = world.output("BucketName");
    let keys = world.aws.keys(bucket, "snapshots/").await;
    // Without a signed address even its own job's is another's.
    assert_eq!(reviewer.try_object(bucket, &keys[0]).await, Verdict::Denied);
    assert_eq!(
        collector.try_object(bucket, &keys[0]).await,
        Verdict::Allowed
    );

    let ledger = world.output("LedgerTableName");
    assert_eq!(reviewer.try_row(ledger).await, Verdict::Denied);
    assert_eq!(collector.try_row(ledger).await, Verdict::Allowed);
    let meter = world.output("MeterTableName");
    assert_eq!(poster.try_row(meter).await, Verdict::Denied);
    assert_eq!(reviewer.try_row(meter).await, Verdict::Allowed);

    let key = world.output("AppKeyArn");
    assert_eq!(collector.try_sign(key).await, Verdict::Denied);
    assert_eq!(poster.try_sign(key).await, Verdict::Denied);
    assert_eq!(minter.try_sign(key).await, Verdict::Allowed);

    let request = json!({"job": "0".repeat(32), "fresh": false});
    let write = world.output("MinterWriteFunction");
    assert_eq!(collector.try_invoke(write, &request).await, Verdict::Denied);
    assert_eq!(reviewer.try_invoke(write, &request).await, Verdict::Denied);
    assert_eq!(poster.try_invoke(write, &request).await, Verdict::Allowed);
    let read = world.output("MinterReadFunction");
    assert_eq!(reviewer.try_invoke(read, &request).await, Verdict::Denied);
    assert_eq!(collector.try_invoke(read, &request).await, Verdict::Allowed);
    world.finish().await;
}
