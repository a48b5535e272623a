//! Who is not obeyed, what that costs, and that nobody is told.

use std::sync::Arc;
use std::time::Duration;

use mirilla_domain::ids::Generation;
use mirilla_sim::{Fault, Role};
use serde_json::{Value, json};

use super::{WRITER, opened, reviewed};
use crate::support::{Ended, Gate, Host, REPO};

const COMMENT: &str = "issues/comments/";
const PERMISSION: &str = "/permission";

/// Nothing follows, and nobody is told.
async fn assert_refused(host: &Host, comment: u64, context: &str) {
    assert_eq!(host.generation().await, Generation::new(0), "{context}");
    assert!(host.reactions(comment).is_empty(), "{context}");
}

#[tokio::test]
async fn people_without_write_access_are_not_obeyed() {
    let host = reviewed().await;
    let github = host.sim.github();
    github.set_role(REPO, "trish", Role::Triage).unwrap();
    for by in ["dana", "stranger", "trish"] {
        let comment = host.hears(by, "/mirilla review").await;
        assert_refused(&host, comment, by).await;
    }
    // What somebody may do is asked when they command, and not remembered.
    github.set_role(REPO, "trish", Role::Maintain).unwrap();
    let comment = host.hears("trish", "/mirilla review").await;
    assert!(host.is_acknowledged(comment));
}

#[tokio::test]
async fn comment_counts_as_it_is_when_it_is_looked_at() {
    for text in [
        "never mind",
        "/mirilla help",
        "> /mirilla review",
        "```\n/mirilla review\n```",
    ] {
        let host = reviewed().await;
        let (delivery, comment) = host.said(WRITER, "/mirilla review");
        host.sim
            .github()
            .edit_comment(REPO, comment, "dana", text)
            .unwrap();
        let gate = Arc::new(Gate::open());
        assert_eq!(host.deliver_and_run(&gate, &delivery).await, Ended::Quiet);
        assert_refused(&host, comment, text).await;
    }
    let host = reviewed().await;
    let (delivery, comment) = host.said(WRITER, "/mirilla review");
    host.sim
        .github()
        .delete_comment(REPO, comment, WRITER)
        .unwrap();
    let gate = Arc::new(Gate::open());
    assert_eq!(host.deliver_and_run(&gate, &delivery).await, Ended::Quiet);
    assert_refused(&host, comment, "deleted").await;
}

#[tokio::test]
async fn bots_and_our_own_account_are_not_looked_at() {
    let host = reviewed().await;
    for by in ["mirilla[bot]", "other[bot]"] {
        let (delivery, comment) = host.said(by, "/mirilla review");
        let gate = Arc::new(Gate::open());
        assert_eq!(host.deliver(&gate, &delivery).await.reason, "bot");
        assert!(!host.knows(comment).await);
    }
}

/// Signs another body for a webhook.
fn with_body(host: &Host, change: impl FnOnce(&mut Value)) -> mirilla_sim::WebhookDelivery {
    let (delivery, _) = host.said("stranger", "/mirilla review");
    let mut body: Value = serde_json::from_slice(&delivery.body).unwrap();
    change(&mut body);
    host.signed(delivery, &body)
}

#[tokio::test]
async fn webhook_that_names_a_writer_does_not_make_the_comment_theirs() {
    let host = reviewed().await;
    let forged = with_body(&host, |body| {
        body["comment"]["user"] = json!({ "login": WRITER, "id": 99, "type": "User" });
    });
    let gate = Arc::new(Gate::open());
    assert_eq!(host.deliver(&gate, &forged).await.text, "queued");
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    assert_eq!(host.generation().await, Generation::new(0));
    assert!(host.reasons().contains(&"command-author-mismatch"));
    assert_eq!(host.calls(PERMISSION), 0, "it is not even asked");
}

#[tokio::test]
async fn comment_of_another_pull_request_commands_nothing_here() {
    let host = reviewed().await;
    let (_, comment) = host.said(WRITER, "/mirilla review");
    let forged = with_body(&host, |body| {
        body["comment"]["id"] = json!(comment);
        body["comment"]["user"] = Value::Null;
        body["issue"]["number"] = json!(host.pr + 1);
    });
    let gate = Arc::new(Gate::open());
    assert_eq!(host.deliver_and_run(&gate, &forged).await, Ended::Quiet);
    assert!(host.reasons().contains(&"command-gone"));
    assert_refused(&host, comment, "another pull request").await;
}

#[tokio::test]
async fn captured_body_is_one_command_under_a_hundred_ids() {
    let host = reviewed().await;
    let (mut delivery, _) = host.said(WRITER, "/mirilla review");
    let gate = Arc::new(Gate::open());
    for round in 0..100 {
        for (name, value) in &mut delivery.headers {
            if name.eq_ignore_ascii_case("x-github-delivery") {
                *value = format!("replay-{round}");
            }
        }
        host.deliver(&gate, &delivery).await;
        host.run(&gate).await;
    }
    assert_eq!(host.generation().await, Generation::new(1));
}

#[tokio::test]
async fn old_comment_commands_nothing() {
    let host = reviewed().await;
    let (delivery, comment) = host.said(WRITER, "/mirilla review");
    host.advance(Duration::from_secs(3 * 24 * 3_600 + 60));
    let gate = Arc::new(Gate::open());
    assert_eq!(host.deliver_and_run(&gate, &delivery).await, Ended::Quiet);
    assert_refused(&host, comment, "old").await;
}

#[tokio::test]
async fn closed_pull_request_is_not_read() {
    let host = reviewed().await;
    host.sim.github().close(REPO, host.pr, "dana").unwrap();
    let comment = host.hears(WRITER, "/mirilla review").await;
    assert_refused(&host, comment, "closed").await;
}

#[tokio::test]
async fn storm_of_commands_costs_few_calls_and_holds_nobody_up() {
    let host = reviewed().await;
    let gate = Arc::new(Gate::open());
    for _ in 0..40 {
        let (delivery, _) = host.said("stranger", "/mirilla review");
        host.deliver(&gate, &delivery).await;
    }
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    assert!(host.calls(COMMENT) <= 10, "{}", host.calls(COMMENT));
    assert!(host.calls(PERMISSION) <= 10, "{}", host.calls(PERMISSION));
    let comment = host.hears(WRITER, "/mirilla review").await;
    assert!(host.is_acknowledged(comment));
}

#[tokio::test]
async fn talk_without_a_command_costs_no_call() {
    let host = reviewed().await;
    let before = host.sim.github().calls().len();
    for text in ["looks good", "`/mirilla review`", "please /mirilla review"] {
        host.hears(WRITER, text).await;
    }
    assert_eq!(host.sim.github().calls().len(), before);
}

#[tokio::test]
async fn sixth_review_within_an_hour_is_not_started() {
    let host = reviewed().await;
    for round in 1..=6 {
        let comment = host.hears(WRITER, "/mirilla review").await;
        assert_eq!(host.is_acknowledged(comment), round <= 5, "{round}");
    }
    assert_eq!(host.generation().await, Generation::new(5));
    // Runs take simulated time of their own; from here on the hour is over for all of them.
    host.advance(Duration::from_secs(3_600));
    let comment = host.hears(WRITER, "/mirilla review").await;
    assert!(host.is_acknowledged(comment));
}

#[tokio::test]
async fn forge_that_fails_in_passing_is_asked_again() {
    let host = opened();
    drop(host.deliveries());
    let faults = host.sim.github().faults();
    let permission = "GET /repos/{o}/{r}/collaborators/{user}/permission";
    for _ in 0..3 {
        faults.on_next(permission, Fault::status(502, ""));
    }
    let comment = host.hears(WRITER, "/mirilla pause").await;
    assert!(host.record().await.paused);
    assert!(host.is_acknowledged(comment));
}
