//! The cap holds and every call is paid for once, whatever the model does.

use std::sync::Arc;

use mirilla_domain::money::PicoUsd;

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
