//! Deliveries that did not arrive are found and asked for again.

use mirilla_domain::ids::Timestamp;
use mirilla_ports::Clock as _;
use serde_json::json;

use crate::support::{REPO, Reply, Script, TestClock, World};

#[tokio::test]
async fn failed_and_timed_out_deliveries_come_again() {
    let world = World::new();
    let gh = world.gh();
    let log = world.minter().deliveries();
    // Opening the pull request and installing the App made the first ones.
    let sent = gh.take_deliveries();
    for delivery in &sent {
        gh.record_answer(delivery.id, 202).unwrap();
    }
    let begin = Timestamp::new(0);
    assert_eq!(log.undelivered(begin).await.unwrap(), []);
    gh.set_title(REPO, world.id.pr.get(), "Other", "bob")
        .unwrap();
    gh.label(REPO, world.id.pr.get(), "x", "bob").unwrap();
    gh.comment(REPO, world.id.pr.get(), "bob", "hi").unwrap();
    let lost = gh.take_deliveries();
    gh.record_answer(lost[0].id, 500).unwrap();
    gh.record_timeout(lost[1].id).unwrap();
    gh.record_answer(lost[2].id, 202).unwrap();
    let missing = log.undelivered(begin).await.unwrap();
    let ids: Vec<_> = missing.iter().map(|m| m.id).collect();
    assert_eq!(ids, [lost[0].id, lost[1].id]);
    assert_eq!(missing[0].repo, Some(world.id.repo));
    assert_eq!(missing[0].installation, Some(world.installation));
    for event in &missing {
        log.redeliver(event).await.unwrap();
    }
    let again = gh.take_deliveries();
    assert_eq!(again.len(), 2);
    for delivery in &again {
        gh.record_answer(delivery.id, 202).unwrap();
    }
    assert_eq!(log.undelivered(begin).await.unwrap(), []);
    world.sim.finish().unwrap();
}

#[tokio::test]
async fn listing_stops_at_what_is_too_old() {
    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    let item = |id: u64, guid: &str, minute: u64, status: &str| {
        json!({"id": id, "guid": guid, "delivered_at": format!("2026-01-01T00:{minute:02}:00Z"),
               "status": status, "event": "pull_request", "redelivery": false})
    };
    let path = "/app/hook/deliveries";
    let next = format!(
        "<{}{path}?per_page=100&cursor=v1_2>; rel=\"next\"",
        server.base
    );
    let first = json!([
        item(9, "b", 30, "failed to connect to host"),
        item(8, "a", 25, "OK"),
        item(7, "b", 20, "timed out"),
        item(6, "a", 15, "Invalid HTTP Response: 500"),
    ]);
    let last = json!([item(5, "c", 11, "timed out"), item(4, "d", 9, "timed out")]);
    let older = format!(
        "<{}{path}?per_page=100&cursor=v1_3>; rel=\"next\"",
        server.base
    );
    let first = Reply::json(200, &first).with("link", next);
    server.add("GET", &format!("{path}?per_page=100"), None, vec![first]);
    let last = Reply::json(200, &last).with("link", older);
    server.add(
        "GET",
        &format!("{path}?per_page=100&cursor=v1_2"),
        None,
        vec![last],
    );
    let since = Timestamp::new(clock.now().get() + 10 * 60_000);
    let minter = crate::minter::minter(&server, &clock);
    let missing = minter.deliveries().undelivered(since).await.unwrap();
    let ids: Vec<_> = missing.iter().map(|m| (m.id, m.guid.as_str())).collect();
    assert_eq!(
        ids,
        [(5, "c"), (9, "b")],
        "the latest attempt of each, oldest event first"
    );
    assert_eq!(server.seen().len(), 2);
    server.finish();
}
