//! What the emulator never does: writers in each other's way, lost answers, refusals.

use std::error::Error as _;

use mirilla_aws::{
    DeliveriesFunction, DynamoLedger, DynamoMeter, InvokeError, LambdaInvoker, S3Artifacts,
};
use mirilla_contract::sample;
use mirilla_domain::ids::{Forge, Timestamp};
use mirilla_ports::deliveries::{DeliveriesAnswer, DeliveriesFailure, DeliveriesRequest};
use mirilla_ports::ledger::{Recorded, Transaction};
use mirilla_ports::{
    ArtifactError, Artifacts as _, AskDeliveries as _, Ledger as _, LedgerError, Meter as _,
    MeterSweep as _,
};
use secrecy::ExposeSecret as _;
use serde_json::json;

use crate::stub::{Say, Stub};
use crate::support::clock;

const FINE: &str = "None";
const REFUSED: &str = "ConditionalCheckFailed";
const CONFLICT: &str = "TransactionConflict";

/// Records a delivery with one job against a scripted DynamoDB.
async fn record(script: Vec<Say>) -> (Result<Recorded, LedgerError>, Stub) {
    let stub = Stub::start(script);
    let ledger = DynamoLedger::new(stub.aws().await.dynamodb(), "ledger", clock());
    let recorded = ledger
        .commit(Transaction {
            delivery: Some(sample::delivery("d-1", Forge::Github)),
            jobs: vec![sample::job('a', sample::at(1))],
            pull_request: None,
        })
        .await;
    (recorded, stub)
}

fn tokens(stub: &Stub) -> Vec<String> {
    let asked = stub.asked();
    let token =
        |it: &crate::stub::Asked| it.json()["ClientRequestToken"].as_str().unwrap().to_owned();
    asked.iter().map(token).collect()
}

#[tokio::test]
async fn conflict_is_tried_again_as_a_new_transaction() {
    let script = vec![
        Say::cancelled(&[CONFLICT, FINE, FINE]),
        Say::cancelled(&["ThrottlingError", FINE, FINE]),
        Say::done(),
    ];
    let (recorded, stub) = record(script).await;
    assert_eq!(recorded.unwrap(), Recorded::New);
    let mut tokens = tokens(&stub);
    tokens.sort();
    tokens.dedup();
    assert_eq!(tokens.len(), 3);
    let rows = |at: usize| stub.asked()[at].json()["TransactItems"].clone();
    assert_eq!(rows(0), rows(2), "the same rows each time");
    assert_eq!(rows(0).as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn lost_answer_is_asked_for_again_under_its_token() {
    // More often than the SDK repeats by itself.
    let mut script = vec![Say::Nothing];
    script.extend((0..5).map(|_| Say::error("TransactionInProgressException")));
    script.push(Say::done());
    let (recorded, stub) = record(script).await;
    assert_eq!(recorded.unwrap(), Recorded::New);
    let tokens = tokens(&stub);
    assert_eq!(tokens.len(), 7);
    assert!(tokens.iter().all(|it| *it == tokens[0]), "{tokens:?}");
}

#[tokio::test]
async fn duplicate_delivery_outranks_a_stale_job() {
    for (codes, want) in [
        ([REFUSED, FINE, REFUSED], Recorded::DuplicateDelivery),
        ([FINE, REFUSED, FINE], Recorded::DuplicateDelivery),
        ([FINE, FINE, REFUSED], Recorded::Stale),
    ] {
        let (recorded, _) = record(vec![Say::cancelled(&codes)]).await;
        assert_eq!(recorded.unwrap(), want, "{codes:?}");
    }
    // A delivery in conflict may turn out to be a duplicate: it is looked at again first.
    let script = vec![
        Say::cancelled(&[CONFLICT, FINE, REFUSED]),
        Say::cancelled(&[REFUSED, FINE, REFUSED]),
    ];
    let (recorded, _) = record(script).await;
    assert_eq!(recorded.unwrap(), Recorded::DuplicateDelivery);
}

#[tokio::test]
async fn conflicts_without_end_are_an_error_that_says_nothing_was_written() {
    let script = (0..20).map(|_| Say::cancelled(&[CONFLICT, FINE, FINE]));
    let (recorded, stub) = record(script.collect()).await;
    let error = recorded.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the ledger failed at writing a transaction"
    );
    let cause = error.source().unwrap().to_string();
    assert!(cause.contains("nothing was written"), "{cause}");
    assert_eq!(stub.asked().len(), 12, "bounded");
}

#[tokio::test]
async fn other_cancellations_and_refusals_are_named() {
    let (recorded, _) = record(vec![Say::cancelled(&["ValidationError", FINE, FINE])]).await;
    let cause = recorded.unwrap_err().source().unwrap().to_string();
    assert!(cause.contains("ValidationError"), "{cause}");
    let (recorded, stub) = record(vec![Say::error("AccessDeniedException")]).await;
    let error = recorded.unwrap_err();
    assert!(matches!(error, LedgerError::Unavailable { .. }));
    assert_eq!(stub.asked().len(), 1, "a refusal is not repeated");
}

#[tokio::test]
async fn sent_mark_whose_answer_is_lost_is_not_taken_for_another_callers() {
    let stub = Stub::start(vec![Say::Nothing, Say::done()]);
    let meter = DynamoMeter::new(stub.aws().await.dynamodb(), "meter", clock());
    meter.sent("j/1/1").await.unwrap();
    let tokens = tokens(&stub);
    assert_eq!(tokens[0], tokens[1]);
}

/// The sweeper reads a reservation as held, and the worker marks it as sent before the sweeper writes.
#[tokio::test]
async fn call_that_is_sent_while_it_is_swept_is_booked_in_full() {
    let row = |state: &str| {
        json!({
            "pk": {"S": "reservation#j/1/1"},
            "state": {"S": state},
            "amount": {"N": "70"},
            "due": {"N": "5"},
            "purses": {"S": "[{\"repository-day\":[2,1]}]"},
        })
    };
    let stub = Stub::start(vec![
        Say::json(200, &json!({"Items": [row("held")], "Count": 1})),
        Say::json(200, &json!({"Item": row("held")})),
        Say::cancelled(&[REFUSED, FINE]),
        Say::json(200, &json!({"Item": row("sent")})),
        Say::done(),
    ]);
    let meter = DynamoMeter::new(stub.aws().await.dynamodb(), "meter", clock());
    let swept = meter.settle_expired(Timestamp::new(5)).await.unwrap();
    assert_eq!(swept, (0, 1));
    let update =
        |at: usize, row: usize| stub.asked()[at].json()["TransactItems"][row]["Update"].clone();
    for (at, state, total, spent) in [(2, "held", "-70", "0"), (4, "sent", "0", "70")] {
        let reservation = update(at, 0);
        let condition = reservation["ConditionExpression"].as_str().unwrap();
        assert!(condition.starts_with("#state = :state AND "), "{condition}");
        assert!(!condition.contains("OR"), "{condition}");
        let values = &reservation["ExpressionAttributeValues"];
        assert_eq!(values[":state"], json!({"S": state}));
        let values = &update(at, 1)["ExpressionAttributeValues"];
        assert_eq!(
            (&values[":total"], &values[":spent"]),
            (&json!({"N": total}), &json!({"N": spent}))
        );
    }
}

#[tokio::test]
async fn writers_of_one_new_object_are_told_apart() {
    let put_new = async |script| {
        let stub = Stub::start(script);
        let store = S3Artifacts::new(stub.aws().await.s3(), "bucket", clock());
        (store.put_new("findings/x/1.json", b"{}").await, stub)
    };
    let busy = || Say::s3(409, "ConditionalRequestConflict");
    let created = || Say::Answer(200, ("etag", "\"made-up\""), String::new());
    let (stored, stub) = put_new(vec![busy(), busy(), created()]).await;
    assert_eq!(stored.unwrap().etag, "\"made-up\"");
    for asked in stub.asked() {
        let head = asked.head.to_lowercase();
        assert!(head.contains("if-none-match: *"), "{head}");
    }
    let (refused, _) = put_new(vec![busy(), Say::s3(412, "PreconditionFailed")]).await;
    assert!(
        matches!(refused, Err(ArtifactError::Exists { .. })),
        "{refused:?}"
    );
    let (refused, stub) = put_new(vec![Say::s3(403, "AccessDenied")]).await;
    assert!(matches!(refused, Err(ArtifactError::Unavailable { .. })));
    assert_eq!(stub.asked().len(), 1);
}

#[tokio::test]
async fn minter_that_does_not_answer_is_a_forge_that_does_not() {
    let ask = async |script| {
        let stub = Stub::start(script);
        let minter = DeliveriesFunction::new(&stub.aws().await.lambda(), "minter-deliveries");
        (
            minter.ask(&DeliveriesRequest::Redeliver { id: 7 }).await,
            stub,
        )
    };
    let said = |text: &str| {
        let version = ("x-amz-executed-version", "$LATEST");
        Say::Answer(200, version, text.to_owned())
    };
    let (answer, stub) = ask(vec![said("{\"answer\":\"asked\"}")]).await;
    assert_eq!(answer, DeliveriesAnswer::Asked);
    assert_eq!(stub.asked()[0].json(), json!({"ask": "redeliver", "id": 7}));
    let (answer, _) = ask(vec![said(
        "{\"answer\":\"failed\",\"why\":\"rate-limited\",\"after_ms\":9000}",
    )])
    .await;
    let limited = DeliveriesFailure::RateLimited { after_ms: 9_000 };
    assert_eq!(answer, DeliveriesAnswer::Failed(limited));

    let failed = Say::Answer(
        200,
        ("x-amz-function-error", "Unhandled"),
        "{\"errorType\":\"Runtime.ExitError\",\"errorMessage\":\"timed out\"}".to_owned(),
    );
    let denied = Say::Answer(
        403,
        ("x-amzn-errortype", "AccessDeniedException"),
        "{\"Message\":\"no\"}".to_owned(),
    );
    let unread = said("{\"answer\":\"a stranger's words\"}");
    for (say, word) in [
        (failed, "timed out"),
        (denied, "could not be asked"),
        (unread, "cannot be read"),
        // It may have done it: whether it is asked again is not for the SDK to say.
        (Say::Nothing, "could not be asked"),
    ] {
        let (answer, stub) = ask(vec![say]).await;
        assert_eq!(stub.asked().len(), 1, "{word}");
        let DeliveriesAnswer::Failed(DeliveriesFailure::Unavailable { reason }) = &answer else {
            panic!("{answer:?}");
        };
        assert!(reason.contains("`minter-deliveries`"), "{reason}");
        assert!(reason.contains(word), "{reason}");
        assert!(!reason.contains("stranger"), "{reason}");
    }
}

#[tokio::test]
async fn failed_function_and_failed_call_are_told_apart() {
    let ask = async |script| {
        let stub = Stub::start(script);
        let invoker = LambdaInvoker::new(stub.aws().await.lambda());
        (
            invoker.invoke("minter-read", &json!({"job": "j"})).await,
            stub,
        )
    };
    let fine = Say::Answer(
        200,
        ("x-amz-executed-version", "$LATEST"),
        "{\"a\":1}".to_owned(),
    );
    let (answer, stub) = ask(vec![fine]).await;
    assert_eq!(answer.unwrap().expose_secret(), "{\"a\":1}");
    assert_eq!(stub.asked()[0].json(), json!({"job": "j"}));

    let failure = "{\"errorType\":\"NoSuchJob\",\"errorMessage\":\"there is no such job\"}";
    let unhandled = ("x-amz-function-error", "Unhandled");
    let (answer, _) = ask(vec![Say::Answer(200, unhandled, failure.to_owned())]).await;
    let error = answer.unwrap_err();
    assert!(matches!(error, InvokeError::Function { .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "the function `minter-read` failed: NoSuchJob: there is no such job"
    );

    let denied = ("x-amzn-errortype", "AccessDeniedException");
    let (answer, _) = ask(vec![Say::Answer(
        403,
        denied,
        "{\"Message\":\"no\"}".to_owned(),
    )])
    .await;
    assert!(matches!(answer, Err(InvokeError::Unavailable { .. })));
    let odd = Say::Answer(200, ("x-amz-executed-version", "$LATEST"), String::new());
    let (answer, _) = ask(vec![odd]).await;
    assert_eq!(answer.unwrap().expose_secret(), "");
}
