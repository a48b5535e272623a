//! Webhooks that GitHub sent and that did not arrive.

use std::time::Duration;

use mirilla_tests::{Served, Setting, World};

const LIST: &str = "GET /app/hook/deliveries";
const REDELIVER: &str = "POST /app/hook/deliveries/{id}/attempts";
const READ: &str = "GET /app/hook/deliveries/{id}";

#[tokio::test]
async fn a_lost_webhook_is_asked_for_again_and_leads_to_one_review() {
    let world = World::deploy_as(Setting {
        roles: true,
        served: Served::GithubApp,
    })
    .await;
    let intake = world.output("IntakeFunction");
    let ledger = world.output("LedgerTableName");
    let record_in = async |table: &str| {
        let variables = [("MIRILLA_LEDGER_TABLE", table)];
        world.aws.reconfigure(intake, None, &variables).await;
    };
    let github = world.sim.github();
    let called = |route: &str| github.faults().count(route);

    // A webhook is asked for a minute after it was lost.
    let clock = world.sim.clock();
    clock.set(clock.now() - Duration::from_secs(90));
    let [lost_pr, heard_pr, large_pr] = ["lost", "heard", "large"].map(|branch| {
        let pr = world.open_pull(branch);
        let [delivery] = <[_; 1]>::try_from(world.deliveries()).unwrap();
        (pr, delivery)
    });
    clock.resume();
    record_in("out-of-order").await;
    let (lost_pr, lost) = lost_pr;
    let answer = world.deliver(&lost);
    assert_eq!(answer.status, 503, "{answer:?}");
    github.record_answer(lost.id, answer.status).unwrap();
    record_in(ledger).await;
    // Recorded, though GitHub never learns of it.
    let (heard_pr, heard) = heard_pr;
    assert_eq!(world.deliver(&heard).status, 202);
    github.record_timeout(heard.id).unwrap();
    // Turned away before any function saw it, as Lambda does with what is too large.
    let (large_pr, large) = large_pr;
    github.record_answer(large.id, 413).unwrap();

    world.sweep().await;
    assert_eq!((called(REDELIVER), called(READ)), (1, 1));
    let [again] = <[_; 1]>::try_from(world.deliveries()).unwrap();
    assert!(again.redelivery, "{again:?}");
    assert_eq!(again.guid, lost.guid);
    let look = called(LIST);
    world.sweep().await;
    assert_eq!(called(LIST), look, "one look in two minutes");
    let kept = world.aws.look_anew(ledger).await;
    assert_eq!(kept["tracked"][&lost.guid]["asked"], 1, "{kept}");
    world.sweep().await;
    assert!(called(LIST) > look, "this one looks");

    assert_eq!(world.deliver(&again).status, 202);
    github.record_answer(again.id, 202).unwrap();
    for pr in [lost_pr, heard_pr, large_pr] {
        world.wait_for_review(pr, 1).await;
    }
    let look = called(LIST);
    world.aws.look_anew(ledger).await;
    world.sweep().await;
    assert!(called(LIST) > look, "this one looks, too");
    assert_eq!((called(REDELIVER), called(READ)), (1, 1), "once is enough");
    assert!(world.deliveries().is_empty());
    for queue in ["CollectQueueUrl", "ReviewQueueUrl", "PostQueueUrl"] {
        world.wait_until_quiet(world.output(queue)).await;
    }
    for pr in [lost_pr, heard_pr, large_pr] {
        assert_eq!(world.said(pr).0, 1);
    }
    for metric in ["redeliveries_asked", "deliveries_read"] {
        let counted = world.wait_until_counted(metric, |_| true).await;
        assert_eq!(counted.len(), 1, "{metric}: {counted:?}");
        assert_eq!(counted[0][metric], 1);
    }
    world.finish().await;
}
