use std::sync::Mutex;

use async_trait::async_trait;
use mirilla_domain::ids::JobId;
use mirilla_ports::QueueError;
use serde_json::json;

use super::*;

struct StoppedClock;

#[async_trait]
impl Clock for StoppedClock {
    fn now(&self) -> Timestamp {
        Timestamp::new(1_000)
    }

    async fn sleep(&self, _duration: Duration) {}
}

#[derive(Default)]
struct Pauses(Mutex<Vec<(String, Duration)>>);

#[async_trait]
impl PutBack for Pauses {
    async fn put_back(&self, receipt: &str, delay: Duration) -> Result<(), QueueError> {
        self.0.lock().unwrap().push((receipt.to_owned(), delay));
        Ok(())
    }
}

fn job(digit: char) -> JobId {
    JobId::parse(&digit.to_string().repeat(32)).unwrap()
}

/// One record for each body, received `count` times.
fn event(bodies: &[String], count: u32) -> SqsEvent {
    let records: Vec<_> = bodies
        .iter()
        .enumerate()
        .map(|(at, body)| {
            json!({
                "messageId": format!("m{at}"), "receiptHandle": format!("r{at}"), "body": body,
                "attributes": {"ApproximateReceiveCount": count.to_string()},
            })
        })
        .collect();
    serde_json::from_value(json!({"Records": records})).unwrap()
}

fn collect(digit: char) -> String {
    serde_json::to_string(&Message::CollectV1 { job: job(digit) }).unwrap()
}

/// Runs a batch; returns the failed ids and what was put back.
async fn run(
    event: SqsEvent,
    millis: i64,
    handle: impl AsyncFn(Received) -> Result<Report, StageError>,
) -> (Vec<String>, Vec<(String, Duration)>) {
    let put_back = Pauses::default();
    let batch = Batch {
        stage: "collect",
        clock: &StoppedClock,
        deadline: Timestamp::new(1_000 + millis),
        telemetry: Telemetry::silent(),
        put_back: &put_back,
    };
    let response = batch.run(event, ours, handle).await;
    let failed = response.batch_item_failures.into_iter();
    (
        failed.map(|failure| failure.item_identifier).collect(),
        put_back.0.into_inner().unwrap(),
    )
}

fn done(received: &Received) -> Report {
    Report::silent(received.message.job().clone(), "done")
}

#[tokio::test]
async fn only_what_failed_comes_back_and_each_for_itself() {
    let event = event(
        &[
            collect('a'),
            "poison".to_owned(),
            collect('b'),
            collect('c'),
        ],
        3,
    );
    let (failed, put_back) = run(event, 60_000, async |received| {
        match received.message.job() {
            id if *id == job('a') => Ok(done(&received)),
            id if *id == job('b') => Err(StageError::Moving),
            _ => Err(StageError::UnknownJob),
        }
    })
    .await;
    assert_eq!(
        failed,
        ["m1", "m2"],
        "an unknown job is dropped, poison and failures are not"
    );
    assert_eq!(
        put_back,
        [
            ("r1".to_owned(), Duration::ZERO),
            ("r2".to_owned(), Duration::from_secs(8))
        ]
    );
}

#[tokio::test]
async fn a_panic_is_a_failed_message_and_the_next_one_is_handled() {
    let event = event(&[collect('a'), collect('b')], 1);
    let (failed, _) = run(event, 60_000, async |received| {
        assert_ne!(*received.message.job(), job('a'), "a made-up bug");
        Ok(done(&received))
    })
    .await;
    assert_eq!(failed, ["m0"]);
}

#[tokio::test(start_paused = true)]
async fn work_that_does_not_end_is_given_up_before_the_function_is_killed() {
    let (failed, put_back) = run(event(&[collect('a')], 1), 30_000, async |received| {
        assert_eq!(received.time_left, Duration::from_secs(25));
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        Ok(done(&received))
    })
    .await;
    assert_eq!((failed.len(), put_back.len()), (1, 1));
}

#[tokio::test]
async fn a_wait_lasts_as_long_as_it_was_told_and_the_last_try_knows_it() {
    let (_, put_back) = run(event(&[collect('a')], 10), 30_000, async |received| {
        assert!(received.last_try);
        Err(StageError::NotDue {
            after: Duration::from_secs(90),
        })
    })
    .await;
    assert_eq!(put_back, [("r0".to_owned(), Duration::from_secs(90))]);
}
