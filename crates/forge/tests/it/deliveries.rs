//! The App's record of its deliveries is passed on unread by the half that holds the key, and read by the
//! half that holds none.

use std::sync::Arc;

use mirilla_domain::request::{Request, Trigger};
use mirilla_forge::github::DeliveryLog;
use mirilla_ports::deliveries::{DeliveriesAnswer, DeliveriesFailure, DeliveriesRequest};
use mirilla_ports::{AskDeliveries, Deliveries as _, ForgeError};
use serde_json::{Value, json};

use crate::support::{REPO, Reply, Script, TestClock, World};

const PATH: &str = "/app/hook/deliveries";

/// The reading half, with every question and answer put through JSON as between two processes.
fn log(app: impl AskDeliveries + 'static) -> DeliveryLog {
    struct Wire<A>(A);

    #[async_trait::async_trait]
    impl<A: AskDeliveries> AskDeliveries for Wire<A> {
        async fn ask(&self, request: &DeliveriesRequest) -> DeliveriesAnswer {
            let asked = serde_json::to_string(request).unwrap();
            let answer = self.0.ask(&serde_json::from_str(&asked).unwrap()).await;
            let told = serde_json::to_string(&answer).unwrap();
            // What a synchronous invocation may answer.
            assert!(told.len() < 6 * 1024 * 1024);
            serde_json::from_str(&told).unwrap()
        }
    }

    DeliveryLog::new(Arc::new(Wire(app)))
}

#[tokio::test]
async fn attempts_are_listed_read_and_asked_for_again() {
    let world = World::new();
    let gh = world.gh();
    let log = log(world.minter().deliveries());
    // Installing the App and opening the pull request made the first ones.
    let sent = gh.take_deliveries();
    let opened = sent.iter().find(|d| d.event == "pull_request").unwrap();
    for delivery in &sent {
        let code = if delivery.id == opened.id { 503 } else { 202 };
        gh.record_answer(delivery.id, code).unwrap();
    }
    gh.label(REPO, world.id.pr.get(), "x", "bob").unwrap();
    let label = gh.take_deliveries().remove(0);
    gh.record_timeout(label.id).unwrap();

    let page = log.page(None).await.unwrap();
    let found = |id| page.attempts.iter().find(|a| a.id == id).unwrap();
    let failed = found(opened.id);
    assert_eq!(
        (failed.arrived, failed.status_code, failed.redelivery),
        (false, 503, false)
    );
    assert_eq!(
        (failed.event.as_str(), failed.action.as_str()),
        ("pull_request", "opened")
    );
    let late = found(label.id);
    assert_eq!((late.arrived, late.status_code), (false, 0));
    assert!(page.attempts.iter().filter(|a| a.arrived).count() > 0);

    let read = log.read(opened.id).await.unwrap().unwrap();
    assert_eq!(read.id.as_str(), opened.guid);
    assert_eq!(read.origin.account.as_str(), "acme");
    assert!(matches!(
        read.request,
        Request::Review {
            trigger: Trigger::Opened,
            ..
        }
    ));
    assert_eq!(log.read(label.id).await.unwrap(), None, "asks for nothing");

    log.redeliver(opened.id).await.unwrap();
    let again = gh.take_deliveries();
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].guid, opened.guid);
    let newest = log.page(None).await.unwrap().attempts.remove(0);
    assert_eq!((newest.id, newest.redelivery), (again[0].id, true));
    let unknown = log.redeliver(1).await.unwrap_err();
    assert!(matches!(unknown, ForgeError::NotFound { .. }), "{unknown}");
    world.sim.finish().unwrap();
}

#[tokio::test]
async fn pages_go_on_at_a_cursor_and_nowhere_else() {
    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    let item = |id: u64, status: &str| {
        json!({"id": id, "guid": format!("g{id}"), "delivered_at": "2026-01-01T00:30:00Z",
               "status": status, "status_code": 0, "event": "pull_request", "redelivery": false,
               "action": null})
    };
    let next = |cursor: &str| {
        let url = format!("{}{PATH}?per_page=100&cursor={cursor}", server.base);
        format!("<{url}>; rel=\"next\"")
    };
    let first = json!([item(9, "failed to connect to host"), item(8, "OK")]);
    let first = Reply::json(200, &first).with("link", next("v1_8"));
    server.add("GET", &format!("{PATH}?per_page=100"), None, vec![first]);
    let last = Reply::json(200, &json!([item(5, "timed out")]));
    let at = format!("{PATH}?per_page=100&cursor=v1_8");
    server.add("GET", &at, None, vec![last]);
    let log = log(crate::minter::minter(&server, &clock).deliveries());
    let first = log.page(None).await.unwrap();
    let ids: Vec<u64> = first.attempts.iter().map(|a| a.id).collect();
    assert_eq!((ids, first.next.as_deref()), (vec![9, 8], Some("v1_8")));
    let last = log.page(first.next.as_deref()).await.unwrap();
    assert_eq!(last.attempts[0].id, 5);
    assert_eq!(last.next, None);
    server.finish();
}

#[tokio::test]
async fn delivery_too_large_for_one_answer_comes_in_pieces_and_is_fetched_once() {
    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    let payload = payload(&"é\"\\ 🦀".repeat(400_000));
    let detail = json!({
        "id": 7, "guid": "9a1b", "event": "pull_request", "action": "opened",
        "request": {"headers": {"X-Hub-Signature-256": "sha256=00"}, "payload": payload},
        "response": {"headers": {}, "payload": null},
    });
    let reply = Reply::json(200, &detail);
    server.add("GET", &format!("{PATH}/7"), None, vec![reply]);
    let log = log(crate::minter::minter(&server, &clock).deliveries());
    let read = log.read(7).await.unwrap().unwrap();
    assert_eq!(read.id.as_str(), "9a1b");
    assert_eq!(read.origin.repository.unwrap().name.as_str(), "acme/shop");
    assert_eq!(server.seen().len(), 1, "one call for all pieces");
    server.finish();
}

fn payload(text: &str) -> Value {
    json!({
        "action": "opened", "number": 3,
        "pull_request": {
            "number": 3, "body": text, "draft": false,
            "head": {"sha": "a".repeat(40), "ref": "change"},
            "base": {"sha": "b".repeat(40), "ref": "main"},
        },
        "repository": {"id": 11, "name": "shop", "full_name": "acme/shop", "owner": {"login": "acme"}},
        "installation": {"id": 12},
        "sender": {"login": "dana", "type": "User"},
    })
}

#[tokio::test]
async fn refusals_are_told_apart_by_what_to_do() {
    let clock = TestClock::new();
    for (status, expected) in [
        (404, DeliveriesFailure::NotFound),
        (403, DeliveriesFailure::Refused),
    ] {
        let server = Script::start(&clock).await;
        let reply = Reply::json(status, &json!({"message": "no"}));
        server.add("GET", &format!("{PATH}/7"), None, vec![reply]);
        let app = crate::minter::minter(&server, &clock).deliveries();
        let answer = app.ask(&DeliveriesRequest::Detail { id: 7, from: 0 }).await;
        assert_eq!(answer, DeliveriesAnswer::Failed(expected), "{status}");
        server.finish();
    }
    let server = Script::start(&clock).await;
    let page = Reply::json(200, &json!({"not": "a list"}));
    server.add("GET", &format!("{PATH}?per_page=100"), None, vec![page]);
    let log = log(crate::minter::minter(&server, &clock).deliveries());
    let error = log.page(None).await.unwrap_err();
    assert!(matches!(error, ForgeError::Unavailable { .. }), "{error}");
    server.finish();
}
