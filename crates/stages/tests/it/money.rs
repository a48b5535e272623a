//! The cap holds and every call is paid for once, whatever the model does.

use std::sync::Arc;

use mirilla_domain::money::PicoUsd;
use mirilla_sim::Scripted;

use crate::support::{Ended, Gate, Host, TWO_DEFECTS};

#[tokio::test]
async fn a_purse_that_is_too_small_skips_files_and_says_so() {
    let mut host = Host::new(TWO_DEFECTS);
    host.policy.max_usd = PicoUsd::from_micro(20_000);
    let gate = Arc::new(Gate::open());
    host.deliver(&gate, &host.deliveries()[0]).await;
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    host.assert_reviewed_once("small purse").await;
    let body = host.review_body();
    assert!(body.to_lowercase().contains("spending cap"), "{body}");
    assert_eq!(
        host.sim.messages().model_calls().len(),
        0,
        "nothing may be sent that could pass the cap"
    );
}

#[tokio::test]
async fn an_answer_that_is_lost_is_paid_in_full_and_asked_again() {
    let host = Host::new(TWO_DEFECTS);
    host.sim
        .messages()
        .faults()
        .on("POST /v1/messages", 1, mirilla_sim::Fault::DropAfterEffect);
    let gate = Arc::new(Gate::open());
    host.deliver(&gate, &host.deliveries()[0]).await;
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    host.assert_reviewed_once("lost answer").await;
    host.assert_paid_once("lost answer").await;
}

/// Runs a review whose answers come without usage; returns the host.
async fn without_usage(cap: PicoUsd) -> Host {
    let mut host = Host::new(TWO_DEFECTS);
    host.policy.max_usd = cap;
    host.sim.messages().answer_all_when(
        "no usage",
        |_| true,
        |_| Scripted::nothing_found().without_usage(),
    );
    let gate = Arc::new(Gate::open());
    host.deliver(&gate, &host.deliveries()[0]).await;
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    host
}

#[tokio::test]
async fn an_answer_without_usage_is_booked_within_what_was_set_aside() {
    let ample = PicoUsd::from_micro(1_000_000);
    let booked = without_usage(ample).await.spent_on_review().await;
    assert!(
        booked > PicoUsd::ZERO,
        "an answer without usage is not free"
    );
    // One unit less than the estimate: either nothing is sent, or no more than this is booked.
    let cap = booked.minus(PicoUsd::new(1));
    let spent = without_usage(cap).await.spent_on_review().await;
    assert!(spent <= cap, "booked {spent} of {cap}");
}
