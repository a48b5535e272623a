//! Recorded failures of other products' webhooks (kind 4), and the push storm.

use std::collections::BTreeSet;
use std::time::Duration;

use mirilla_casekit::{Case, cases};
use mirilla_domain::ids::Forge;
use mirilla_domain::job::Job;
use mirilla_stages::intake::IncomingWebhook;
use serde_json::Value;

use super::world::{World, head, payload, request, signed};

fn case(id: &str) -> Case {
    cases("tests/fixtures/cases", |name| name.starts_with(id)).remove(0)
}

fn headers(value: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let map = value.as_object().unwrap();
    map.iter()
        .map(|(name, value)| (name.clone(), text(value)))
        .collect()
}

fn seconds(value: &Value) -> Duration {
    Duration::from_secs_f64(value.as_f64().unwrap())
}

#[test]
fn case_081_signature_is_over_raw_utf8_bytes() {
    let case = case("081");
    let given = case.json("request.json");
    assert_eq!(given["secret"], super::world::SECRET);
    let world = World::new();
    let body = case.bytes("body.json");
    let http = IncomingWebhook::from_parts(Forge::Github, headers(&given["headers"]), body, false)
        .unwrap();
    let answer = world.take(&http);
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "webhook/1");
    assert_eq!(expected.need("status"), "2xx");
    assert!((200..300).contains(&answer.status), "{answer:?}");
    assert_eq!(expected.need("verified"), answer.status != 401);
    assert_eq!(world.open_jobs().len(), 1);
    expected.finish();
}

#[test]
fn case_082_signature_is_not_over_printed_json() {
    let case = case("082");
    let given = case.json("request.json");
    let world = World::new();
    let body = case.bytes("body.bin");
    let http = IncomingWebhook::from_parts(Forge::Github, headers(&given["headers"]), body, false)
        .unwrap();
    let answer = world.take(&http);
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "webhook/1");
    assert_eq!(expected.need("verified"), answer.status != 401);
    let statuses = expected.need("status_in");
    assert!(
        statuses.as_array().unwrap().contains(&answer.status.into()),
        "{answer:?}"
    );
    let must_not = expected.need("must_not");
    assert!(
        !must_not
            .as_array()
            .unwrap()
            .contains(&answer.status.to_string().into())
    );
    expected.finish();
}

#[test]
fn case_084_both_gateway_envelopes_lead_to_the_same_job() {
    let case = case("084");
    assert_eq!(case.text("secret.txt").trim(), super::world::SECRET);
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "webhook/1");
    let mut both = expected.take_object("both").unwrap();
    let (status, verified) = (both.need("status"), both.need("verified"));
    let world = World::new();
    for file in ["event_function_url_v2.json", "event_rest_v1.json"] {
        let event = case.json(file);
        let http = IncomingWebhook::from_parts(
            Forge::Github,
            headers(&event["headers"]),
            event["body"].as_str().unwrap().as_bytes().to_vec(),
            event["isBase64Encoded"].as_bool().unwrap(),
        )
        .unwrap();
        let answer = world.take(&http);
        assert_eq!(status, "2xx");
        assert!((200..300).contains(&answer.status), "{file}: {answer:?}");
        assert_eq!(verified, answer.status != 401);
    }
    assert_eq!(world.open_jobs().len(), 1, "the same job");
    let bad = IncomingWebhook::from_parts(Forge::Github, [("a", "b")], b"{}".to_vec(), true);
    assert_eq!(bad.unwrap_err().to_string(), "the body is not base64");
    both.finish();
    expected.finish();
}

#[test]
fn case_085_duplicate_delivery_starts_one_job() {
    let case = case("085");
    let world = World::new();
    let other_instance = mirilla_local::LocalLedger::open(&world.data.ledger()).unwrap();
    let mut statuses = Vec::new();
    let mut at = Duration::ZERO;
    for delivery in case.json("deliveries.json").as_array().unwrap() {
        world.clock.pass(seconds(&delivery["t"]).saturating_sub(at));
        at = seconds(&delivery["t"]);
        let id = delivery["id"].as_str().unwrap();
        let http = signed("pull_request", id, &payload("opened", &head('a')));
        let answer = if delivery["other_instance"] == true {
            let ports = world.ports(&other_instance, &world.queue);
            super::world::block_on(mirilla_stages::intake::intake(
                ports,
                &world.settings,
                &http,
            ))
        } else {
            world.take(&http)
        };
        statuses.push(answer.status);
    }
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "webhook/1");
    assert_eq!(expected.need("jobs_started"), world.drain().len());
    assert_eq!(expected.need("statuses"), "all 2xx");
    assert_eq!(statuses, [202, 200, 200, 200]);
    assert!(
        expected
            .need("note")
            .as_str()
            .unwrap()
            .contains("PR+sha key")
    );
    expected.finish();
}

#[test]
fn case_087_bad_signature_does_not_burn_the_id() {
    let case = case("087");
    let world = World::new();
    let mut statuses = Vec::new();
    for step in case.json("timeline.json").as_array().unwrap() {
        let id = step["id"].as_str().unwrap();
        let body = payload("opened", &head('a'));
        let http = if step["signature"] == "good" {
            signed("pull_request", id, &body)
        } else {
            let bad = format!("sha256={}", "0".repeat(64));
            request(
                "pull_request",
                id,
                serde_json::to_vec(&body).unwrap(),
                Some(&bad),
            )
        };
        statuses.push(world.take(&http).status);
    }
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "webhook/1");
    let wanted = expected.need("statuses");
    for (status, wanted) in statuses.iter().zip(wanted.as_array().unwrap()) {
        let wanted = wanted.as_str().unwrap();
        assert!(
            wanted == status.to_string() || wanted == format!("{}xx", status / 100),
            "{status}"
        );
    }
    assert_eq!(statuses.len(), wanted.as_array().unwrap().len());
    assert_eq!(expected.need("jobs_started"), world.drain().len());
    expected.finish();
}

#[test]
fn case_088_many_hooks_are_one_review() {
    let case = case("088");
    let world = World::new();
    let deliveries = case.json("deliveries.json");
    let first = &deliveries[0];
    for delivery in deliveries.as_array().unwrap() {
        let text = |key: &str| delivery.get(key).unwrap_or(&first[key]).as_str().unwrap();
        let (status, _) = world.deliver(text("id"), text("action"), text("sha"));
        assert!((200..300).contains(&status));
    }
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "webhook/1");
    let reviews: BTreeSet<_> = world.drain().into_iter().collect();
    assert_eq!(expected.need("reviews"), reviews.len());
    expected.finish();
}

/// What becomes of a job follows from two times: it is read in full if its head is live when it is
/// due, and posted if it still is when the reading ends. The collector and the poster see to that;
/// here the due times are intake's own.
#[test]
fn case_186_push_storm_is_one_review() {
    let case = case("186");
    let pushes = case.json("timeline.json");
    let pushes = pushes.as_array().unwrap();
    let reading = seconds(&case.json("config.json")["review_seconds"]);
    let digit = |number: usize| char::from_digit(u32::try_from(number + 1).unwrap(), 16).unwrap();
    let world = World::new();
    let start = world.now();
    let mut at = Duration::ZERO;
    for (number, push) in pushes.iter().enumerate() {
        world.clock.pass(seconds(&push["t"]).saturating_sub(at));
        at = seconds(&push["t"]);
        let action = if number == 0 { "opened" } else { "synchronize" };
        let (status, _) = world.deliver(&format!("d-{number}"), action, &head(digit(number)));
        assert_eq!(status, 202);
    }
    let name = |job: &Job| {
        let number = (0..pushes.len()).find(|n| head(digit(*n)) == job.key.head.as_str());
        pushes[number.unwrap()]["sha"].clone()
    };
    let live_at = |moment: Duration| {
        let mut pushed = pushes.iter().filter(|push| seconds(&push["t"]) <= moment);
        pushed.next_back().unwrap()["sha"].clone()
    };
    let jobs = world.open_jobs();
    assert_eq!(jobs.len(), pushes.len());
    let due = |job: &&Job| job.due_at.since(start);
    let read: Vec<_> = jobs
        .iter()
        .filter(|job| live_at(due(job)) == name(job))
        .collect();
    let posted: Vec<_> = read
        .iter()
        .filter(|job| live_at(due(job) + reading) == name(job))
        .map(|job| name(job))
        .collect();

    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "cost/1");
    let most = usize::try_from(expected.need("full_reviews_max").as_u64().unwrap()).unwrap();
    assert!(read.len() <= most, "{read:?}");
    assert_eq!(expected.need("last_reviewed"), name(read.last().unwrap()));
    assert_eq!(expected.need("posted_for"), Value::from(posted));
    expected.finish();
}
