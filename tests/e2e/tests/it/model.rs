//! The model fails.

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
}
