//! What happens every day.

use mirilla_sim::Scripted;
use mirilla_tests::World;
use serde_json::json;

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
