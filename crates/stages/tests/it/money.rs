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

#[tokio::test]
async fn a_model_that_looks_things_up_is_paid_call_by_call() {
    let mut host = Host::new(TWO_DEFECTS).looking(2);
    host.policy.verify = false;
    let gate = Arc::new(Gate::open());
    host.deliver(&gate, &host.deliveries()[0]).await;
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    host.assert_reviewed_once("looking").await;
    let calls = host.sim.messages().model_calls();
    let looking = calls
        .iter()
        .filter(|call| call.stop.as_deref() == Some("tool_use"));
    assert_eq!(
        (looking.count() % 2, calls.len() % 3),
        (0, 0),
        "two looks and an answer each"
    );
    assert_eq!(host.booked_and_billed().await, (0, 0));
    // Every call names the same tools and asks for the same form of answer.
    let tools = |call: &mirilla_sim::ModelCall| call.prompt.body["tools"].clone();
    assert!(
        calls
            .iter()
            .all(|call| tools(call) == tools(&calls[0]) && !tools(call).is_null())
    );
    let looks = host.looks();
    assert!(
        looks[0].starts_with("chunk 1/1 turn 1: read_file -> ") && looks[0].ends_with(" bytes"),
        "{looks:?}"
    );
    assert_eq!(looks[1], "chunk 1/1 turn 1: read_file -> refused");
    assert_eq!(looks[2..4], ["chunk 1/1 turn 2: read_file -> refused"; 2]);
}

#[tokio::test]
async fn a_purse_too_small_for_a_look_and_an_answer_pays_the_answer() {
    let mut host = Host::new(TWO_DEFECTS).looking(2);
    // One call at its worst fits, and no second one beside it.
    host.policy.max_usd = PicoUsd::from_micro(120_000);
    host.policy.verify = false;
    let gate = Arc::new(Gate::open());
    host.deliver(&gate, &host.deliveries()[0]).await;
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    host.assert_reviewed_once("small purse").await;
    let calls = host.sim.messages().model_calls();
    assert_eq!(calls.len(), 1, "{calls:#?}");
    assert!(!calls[0].prompt.may_call_tools());
    assert!(
        !calls[0].prompt.body["tools"].is_null(),
        "the tools are named all the same"
    );
    assert!(!host.comments().is_empty());
    // The rule that lets the model look was not needed.
    drop(host.sim.messages().take_problems());
}

#[tokio::test]
async fn turns_of_one_leave_the_model_with_the_diff() {
    let mut host = Host::new(TWO_DEFECTS).looking(2);
    host.policy.max_turns = 1;
    let gate = Arc::new(Gate::open());
    host.deliver(&gate, &host.deliveries()[0]).await;
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    host.assert_reviewed_once("one turn").await;
    assert_eq!(host.looks(), [""; 0]);
}

#[tokio::test]
async fn a_call_that_is_refused_in_mid_conversation_costs_the_conversation_and_not_the_review() {
    let host = Host::new(TWO_DEFECTS).looking(2);
    let refused = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prose"}}"#;
    let fault = mirilla_sim::Fault::status(400, refused);
    host.sim
        .messages()
        .faults()
        .on("POST /v1/messages", 2, fault);
    let gate = Arc::new(Gate::open());
    host.deliver(&gate, &host.deliveries()[0]).await;
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    host.assert_reviewed_once("refused midway").await;
    assert!(!host.comments().is_empty());
    assert_eq!(host.booked_and_billed().await, (0, 0));
}

/// What a conversation can end with that is no answer. None of it is clean, and all of it is paid.
#[tokio::test]
async fn no_end_of_a_conversation_but_an_answer_makes_a_file_reviewed() {
    type End = fn() -> Scripted;
    let ends: [(&str, End); 4] = [
        ("declined", || Scripted::refusal(Some("cyber"))),
        ("gave no answer", Scripted::empty),
        ("cut off", || {
            Scripted::truncated(&serde_json::json!({"summary": "x", "findings": []}))
        }),
        ("could not be understood", Scripted::apology),
    ];
    for (said, end) in ends {
        let host = Host::new(TWO_DEFECTS).looking(2);
        host.sim
            .messages()
            .answer_all_when("the end", |p| p.turns() >= 2, move |_| end());
        let gate = Arc::new(Gate::open());
        host.deliver(&gate, &host.deliveries()[0]).await;
        assert_eq!(host.run(&gate).await, Ended::Quiet);
        host.assert_reviewed_once(said).await;
        let body = host.review_body();
        assert!(body.contains(said), "{said}: {body}");
        assert_eq!(host.booked_and_billed().await, (0, 0), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_workers_with_conversations_never_spend_more_than_their_purse() {
    for micro in [90_000, 130_000, 180_000, 260_000, 340_000, 500_000] {
        let host = Host::new(TWO_DEFECTS).looking(2);
        let gate = Arc::new(Gate::open());
        host.deliver(&gate, &host.deliveries()[0]).await;
        let job = host
            .until(&gate, mirilla_domain::job::JobState::Collected)
            .await;
        let purse = mirilla_domain::money::Purse::Review(job.id.clone());
        let cap = PicoUsd::from_micro(micro);
        let purses = [mirilla_domain::money::CappedPurse {
            purse: purse.clone(),
            cap,
        }];
        let worker = |attempt| {
            let attempt = mirilla_domain::ids::AttemptNo::new(attempt);
            host.review_as(&gate, (&job.id, attempt), &purses, 1)
        };
        let both = async { tokio::join!(worker(1), worker(2), worker(3)) };
        let watch = async {
            loop {
                let spent = mirilla_ports::Meter::spent(host.meter(), &purse)
                    .await
                    .unwrap();
                assert!(spent <= cap, "{spent} of {cap}");
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
        };
        tokio::select! {
            (first, second, third) = both => {
                first.unwrap();
                second.unwrap();
                third.unwrap();
            }
            () = watch => panic!("it watches until the workers are done"),
        }
        let spent = host.spent_on_review().await;
        assert!(spent <= cap, "{spent} of {cap}");
        assert_eq!(
            host.booked_and_billed().await,
            (0, 0),
            "every answered call at its usage"
        );
    }
}
