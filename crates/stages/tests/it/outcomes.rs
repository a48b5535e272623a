//! What a person reads when something went wrong: never "clean" about something that was not read.

use std::sync::Arc;

use mirilla_sim::Fault;

use crate::support::{Ended, Gate, Host, TWO_DEFECTS};

async fn reviewed(host: &Host) {
    let gate = Arc::new(Gate::open());
    host.deliver(&gate, &host.deliveries()[0]).await;
    assert_eq!(host.run(&gate).await, Ended::Quiet);
}

#[tokio::test]
async fn a_model_that_is_down_leaves_a_failed_review_with_the_floor() {
    let host = Host::new(TWO_DEFECTS);
    let faults = host.sim.messages().faults();
    for call in 1..=100 {
        faults.on(
            "POST /v1/messages",
            call,
            Fault::status(
                529,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            ),
        );
    }
    reviewed(&host).await;
    host.assert_reviewed_once("model down").await;
    let body = host.review_body();
    let first = body
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default()
        .to_lowercase();
    assert!(
        first.contains("fail") || first.contains("not"),
        "the first line hides the failure: {body}"
    );
    assert_eq!(
        host.spent_on_review().await.get(),
        0,
        "a call that was refused is not paid"
    );
}

#[tokio::test]
async fn a_refused_anchor_ends_in_one_review_with_everything_in_its_body() {
    let host = Host::new(TWO_DEFECTS);
    let github = host.sim.github();
    github.faults().on(
        "POST /repos/{owner}/{repo}/pulls/{number}/reviews",
        1,
        Fault::status(422, r#"{"message":"Unprocessable Entity","errors":["Line could not be resolved"],"documentation_url":"https://docs.github.com/rest","status":"422"}"#),
    );
    reviewed(&host).await;
    let reviews = github.reviews(crate::support::REPO, host.pr).unwrap();
    assert_eq!(reviews.len(), 1, "{reviews:#?}");
    assert!(reviews[0].comments.is_empty());
    assert!(reviews[0].body.contains("Pay.java"), "{}", reviews[0].body);
}
