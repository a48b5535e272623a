//! What happens every day.

use mirilla_domain::marker::without_macs;
use mirilla_domain::plan::KeptInput;
use mirilla_sim::Scripted;
use mirilla_tests::{REPO, Verdict, World};
use serde_json::{Value, json};

#[tokio::test]
async fn a_signed_webhook_becomes_one_review_and_its_repetition_nothing() {
    let world = World::deploy().await;
    let pr = world.open_pull("change");
    let deliveries = world.deliveries();
    let [delivery] = deliveries.as_slice() else {
        panic!("{deliveries:?}");
    };
    let answer = world.deliver(delivery);
    assert_eq!((answer.status, answer.text.as_str()), (202, "queued"));
    let again = world.deliver(delivery);
    assert_eq!((again.status, again.text.as_str()), (200, "duplicate"));
    world.wait_for_review(pr, 1).await;

    let mut forged = delivery.clone();
    forged.body.push(b' ');
    let refused = world.deliver(&forged);
    assert_eq!(
        (refused.status, refused.text.as_str()),
        (401, "bad signature")
    );
    assert_eq!(world.said(pr).0, 1);
    world.finish().await;
}

#[tokio::test]
async fn the_rights_of_each_role_are_enough() {
    let world = World::deploy_with_roles().await;
    let pr = world.open_pull("change");
    for delivery in world.deliveries() {
        assert_eq!(world.deliver(&delivery).status, 202);
    }
    world.wait_for_review(pr, 1).await;
    world.sweep().await;
    world.finish().await;
}

#[tokio::test]
async fn the_model_looks_into_the_archive_that_its_message_opens() {
    let world = World::deploy_with_roles().await;
    let looks = [
        ("read_file", json!({"path": "README.md"})),
        ("read_file", json!({"path": "../../proc/self/environ"})),
    ];
    let blocks = looks.iter().zip(0..).map(|((name, input), number)| {
        json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": name, "input": input})
    });
    let script = Scripted::blocks(blocks.collect(), "tool_use");
    world.sim.messages().answer(script);
    let pr = world.open_pull("change");
    for delivery in world.deliveries() {
        assert_eq!(world.deliver(&delivery).status, 202);
    }
    world.wait_for_review(pr, 1).await;
    let calls = world.sim.messages().model_calls();
    let results = calls[1].prompt.newest_results();
    let [(file, false), (outside, true)] = results.as_slice() else {
        panic!("{results:?}");
    };
    assert!(file.contains("1   A shop.\n"), "{file}");
    assert!(
        outside.starts_with("It is not in the archive."),
        "{outside}"
    );
    world.finish().await;
}

#[tokio::test]
async fn what_was_kept_of_a_run_makes_the_plan_that_was_posted() {
    let world = World::deploy_with_roles().await;
    let pr = world.open_pull("change");
    for delivery in world.deliveries() {
        assert_eq!(world.deliver(&delivery).status, 202);
    }
    world.wait_for_review(pr, 1).await;

    let bucket = world.output("BucketName");
    let keys = world.aws.keys(bucket, "runs/").await;
    let folder = keys[0].strip_suffix("diff.patch").unwrap();
    let named: Vec<&str> = keys
        .iter()
        .map(|key| key.strip_prefix(folder).unwrap())
        .collect();
    let files = ["diff.patch", "plan-input.json", "plan.json", "review.json"];
    assert_eq!(named, files);
    let mut kept = Vec::new();
    for key in &keys {
        kept.push(world.aws.object(bucket, key).await);
    }
    let [diff, input, plan, review] = kept.as_slice() else {
        panic!("{keys:?}");
    };
    let input = KeptInput::read(input).unwrap();
    let (_, again) = input.replay(diff, Some(review)).unwrap();
    assert_eq!(&again, plan);

    // It is what stands on the pull request, but for what only the poster's key can sign.
    let plan: Value = serde_json::from_slice(&again).unwrap();
    let planned = &plan["review"]["review"];
    let reviews = world.sim.github().reviews(REPO, pr).unwrap();
    let [posted] = reviews.as_slice() else {
        panic!("{reviews:?}");
    };
    let text = |value: &Value| without_macs(value.as_str().unwrap());
    assert_eq!(text(&planned["body"]), without_macs(&posted.body));
    let comments = planned["comments"].as_array().unwrap();
    assert_eq!(comments.len(), posted.comments.len());
    assert_eq!(
        text(&comments[0]["body"]),
        without_macs(&posted.comments[0].body)
    );

    // It is the operator's to read, and no function's.
    for function in ["poster", "collector", "reviewer"] {
        let role = world.as_role_of(function);
        let read = role.try_object(bucket, &keys[0]).await;
        assert_eq!(read, Verdict::Denied, "{function}");
    }
    world.finish().await;
}
