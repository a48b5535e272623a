//! The recorded cases about limits: how long is waited, and what no waiting helps against.

use std::time::Duration;

use mirilla_ports::ForgeWrite as _;
use mirilla_ports::forge::ForgeError;
use serde_json::{Value, json};

use crate::cases_writes::review;
use crate::support::{Reply, Script, TestClock, case, pull, repo, writer};

const REVIEWS: &str = "/repos/acme/shop/pulls/7/reviews";

/// Returns the times of the requests in seconds since the first.
fn gaps(server: &Script) -> Vec<u64> {
    let seen = server.seen();
    seen.windows(2)
        .map(|pair| pair[1].at.since(pair[0].at).as_secs())
        .collect()
}

#[tokio::test]
async fn case_139_named_wait_is_kept_without_a_write_in_between() {
    let (case, clock) = (case("139"), TestClock::new());
    let mut expected = case.expected();
    let script = case.json("script.json");
    assert_eq!(script["clock_start"], json!(1_767_225_600));
    let server = Script::of_case(&script, &clock).await;
    let (half, pr) = (writer(&server.base, &clock), pull(1).id.pr);
    let mut waited = 0;
    let created = loop {
        match half.create_review(&repo(), pr, &review(vec![])).await {
            Ok(created) => break created,
            Err(ForgeError::RateLimited { after }) => {
                // An impatient caller is held back here, not at GitHub.
                clock.pass(after.min(Duration::from_secs(30)));
                waited += 1;
            }
            Err(other) => panic!("{other:?}"),
        }
    };
    assert_eq!((created.get(), waited), (1, 3));
    assert_eq!(expected.need("requests"), json!(server.seen().len()));
    let least = expected.need("min_gap_seconds").as_u64().unwrap();
    assert!(
        gaps(&server).iter().all(|gap| *gap >= least),
        "{:?}",
        gaps(&server)
    );
    assert_eq!(expected.need("schema"), "timing/1");
    expected.finish();
    server.finish();
}

#[tokio::test]
async fn case_140_unnamed_wait_is_a_minute_and_grows() {
    let (case, clock) = (case("140"), TestClock::new());
    let mut expected = case.expected();
    let server = Script::of_case(&case.json("script.json"), &clock).await;
    let (half, pr) = (writer(&server.base, &clock), pull(1).id.pr);
    while let Err(error) = half.create_review(&repo(), pr, &review(vec![])).await {
        let ForgeError::RateLimited { after } = error else {
            panic!("{error:?}");
        };
        clock.pass(after);
    }
    let most = expected.need("requests_max").as_u64().unwrap();
    assert!(server.seen().len() as u64 <= most);
    let (gaps, least) = (
        gaps(&server),
        expected.need("min_gap_seconds").as_u64().unwrap(),
    );
    assert!(gaps.iter().all(|gap| *gap >= least), "{gaps:?}");
    assert_eq!(
        expected.need("second_gap_not_smaller"),
        json!(gaps[1] >= gaps[0])
    );
    assert_eq!(gaps, [60, 120]);
    assert_eq!(expected.need("schema"), "timing/1");
    expected.finish();
    server.finish();
}

#[tokio::test]
async fn case_142_every_form_of_retry_after_is_understood() {
    let case = case("142");
    let mut expected = case.expected();
    assert_eq!(
        expected.need("table"),
        "values.json wait column is the minimum"
    );
    for row in case.json("values.json").as_array().unwrap() {
        let clock = TestClock::new();
        let now = row["now"]
            .as_str()
            .unwrap_or("Thu, 01 Jan 2026 00:00:00 GMT");
        assert_eq!(
            now, "Thu, 01 Jan 2026 00:00:00 GMT",
            "the test's clock shows it"
        );
        let server = Script::start(&clock).await;
        let reply = Reply::json(
            403,
            &json!({"message": "You have exceeded a secondary rate limit"}),
        )
        .with("retry-after", row["value"].as_str().unwrap());
        server.add("POST", REVIEWS, None, vec![reply]);
        let error = writer(&server.base, &clock)
            .create_review(&repo(), pull(1).id.pr, &review(vec![]))
            .await
            .unwrap_err();
        let ForgeError::RateLimited { after } = error else {
            panic!("{row}: {error:?}");
        };
        match &row["wait"] {
            Value::Number(least) => assert_eq!(after.as_secs(), least.as_u64().unwrap(), "{row}"),
            // Handed back at once; nobody sleeps for a day.
            requeue => assert_eq!((requeue, after.as_secs()), (&json!("requeue"), 86_400)),
        }
        assert!(clock.waits().is_empty(), "{row}");
        server.finish();
    }
    assert_eq!(expected.need("schema"), "timing/1");
    expected.finish();
}

#[tokio::test]
async fn case_159_kinds_of_403_are_told_apart() {
    let case = case("159");
    let mut expected = case.expected();
    let mut classify = expected.take_object("classify").unwrap();
    for reply in case.json("replies.json").as_array().unwrap() {
        let name = reply["case"].as_str().unwrap();
        // Ten minutes before the reset that one reply names.
        let clock = TestClock::at(1_767_225_000_000);
        let server = Script::start(&clock).await;
        let mut answer = Reply::json(reply["status"].as_u64().unwrap() as u16, &reply["json"]);
        for (header, value) in reply["headers"].as_object().unwrap() {
            answer = answer.with(header, value.as_str().unwrap());
        }
        server.add("POST", REVIEWS, None, vec![answer]);
        let half = writer(&server.base, &clock);
        let error = half
            .create_review(&repo(), pull(1).id.pr, &review(vec![]))
            .await
            .unwrap_err();
        let kind = match error {
            ForgeError::Forbidden { .. } | ForgeError::NotFound { .. } => "permanent",
            ForgeError::RateLimited { after } if after.as_secs() == 60 => "backoff",
            ForgeError::RateLimited { after } if after.as_secs() == 600 => "until-reset",
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(classify.need(name), kind, "{name}");
        assert_eq!(server.seen().len(), 1, "{name}: not repeated");
        server.finish();
    }
    classify.finish();
    assert_eq!(expected.need("schema"), "behaviour/1");
    expected.finish();
}
