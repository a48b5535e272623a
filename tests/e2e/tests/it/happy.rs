//! What happens every day.

use mirilla_tests::World;

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
