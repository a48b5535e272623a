//! GitHub's own example payloads, and bodies that are not what their header says.

mod gitlab;

use mirilla_casekit::{Case, cases, repo_path};
use mirilla_domain::request::{Request, Trigger};
use mirilla_domain::webhook::{
    FieldProblem, GithubHeaders, IgnoreReason, MAX_BODY_BYTES, Parsed, WebhookError, parse_github,
};
use proptest::prelude::*;
use serde_json::{Value, json};

const MATERIAL: &str = "tests/fixtures/material/github/webhooks";
const HANDLED: [&str; 10] = [
    "ping",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_review_thread",
    "issue_comment",
    "check_run",
    "check_suite",
    "merge_group",
    "installation",
];

/// One example payload: its name without `.json`, the event's name, the body.
struct Example {
    name: String,
    event: String,
    body: Vec<u8>,
}

fn examples() -> Vec<Example> {
    let mut found: Vec<_> = std::fs::read_dir(repo_path(MATERIAL))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let event = name.trim_start_matches("SYNTHETIC.").split('.').next();
            Example {
                event: event.unwrap().to_owned(),
                name,
                body: std::fs::read(path).unwrap(),
            }
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(found.len() > 50, "the examples are there");
    found
}

fn example(name: &str) -> Value {
    let path = repo_path(MATERIAL).join(format!("{name}.json"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn case(id: &str) -> Case {
    cases("tests/fixtures/cases", |name| name.starts_with(id)).remove(0)
}

fn parse(event: &str, body: &[u8]) -> Result<Parsed, WebhookError> {
    let headers = GithubHeaders {
        event: Some(event),
        delivery: Some("72d3162e-cc78-11e3-81ab-4c9367dc0958"),
        content_type: Some("application/json"),
    };
    parse_github(headers, body)
}

fn parse_json(event: &str, body: &Value) -> Result<Parsed, WebhookError> {
    parse(event, &serde_json::to_vec(body).unwrap())
}

fn request(parsed: Result<Parsed, WebhookError>) -> Option<Request> {
    match parsed.unwrap() {
        Parsed::Delivery(delivery) => Some(delivery.request),
        Parsed::Ignored(_) => None,
    }
}

fn ignored(parsed: Result<Parsed, WebhookError>) -> Option<IgnoreReason> {
    match parsed.unwrap() {
        Parsed::Delivery(_) => None,
        Parsed::Ignored(reason) => Some(reason),
    }
}

fn describe(parsed: &Parsed) -> String {
    match parsed {
        Parsed::Ignored(reason) => format!("ignored: {}", reason.as_str()),
        Parsed::Delivery(delivery) => {
            let origin = &delivery.origin;
            let repository = origin.repository.as_ref();
            format!(
                "{} of {} ({}): {}",
                delivery.action,
                repository.map_or(origin.account.as_str(), |it| it.name.as_str()),
                origin
                    .installation
                    .map_or_else(|| "no App".to_owned(), |id| id.to_string()),
                serde_json::to_string(&delivery.request).unwrap()
            )
        }
    }
}

#[test]
fn every_example_is_acted_on_or_ignored_with_its_reason() {
    let lines: Vec<_> = examples()
        .iter()
        .map(|it| {
            let parsed = parse(&it.event, &it.body).unwrap_or_else(|e| panic!("{}: {e}", it.name));
            format!("{} -> {}", it.name, describe(&parsed))
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn body_of_one_event_under_the_header_of_another_is_refused() {
    let mut refused = 0;
    for it in examples() {
        for event in HANDLED.into_iter().filter(|event| *event != it.event) {
            let outcome = parse(event, &it.body);
            let fits = matches!(
                outcome,
                Err(WebhookError::OtherEvent { .. } | WebhookError::Field { .. })
            );
            assert!(fits, "{} under `{event}`: {outcome:?}", it.name);
            refused += 1;
        }
    }
    assert!(refused > 450, "{refused}");
}

#[test]
fn unknown_events_and_actions_are_ignored() {
    let body = example("pull_request.opened.installation");
    for event in ["push", "star", "pull_request_target", "", "Pull_Request"] {
        assert_eq!(ignored(parse_json(event, &body)), Some(IgnoreReason::Event));
    }
    for (event, name) in [
        ("pull_request", "pull_request.opened.installation"),
        ("check_run", "check_run.rerequested.installation"),
        ("merge_group", "merge_group.checks_requested.installation"),
        ("installation", "installation.deleted.installation"),
        ("issue_comment", "SYNTHETIC.issue_comment.created.on_pr"),
    ] {
        for action in [json!("some_new_action"), json!(""), Value::Null] {
            let mut body = example(name);
            body["action"] = action;
            assert_eq!(
                ignored(parse_json(event, &body)),
                Some(IgnoreReason::Action)
            );
        }
    }
}

#[test]
fn edits_count_only_if_the_base_changed() {
    let mut body = example("SYNTHETIC.pull_request.edited.base_changed");
    let Some(Request::Review {
        base_ref, trigger, ..
    }) = request(parse_json("pull_request", &body))
    else {
        panic!("another base is another diff");
    };
    assert_eq!(base_ref.as_str(), body["pull_request"]["base"]["ref"]);
    assert_eq!(trigger, Trigger::Retargeted);
    for changes in [json!({"title": {"from": "x"}}), json!({}), Value::Null] {
        body["changes"] = changes;
        let outcome = ignored(parse_json("pull_request", &body));
        assert_eq!(outcome, Some(IgnoreReason::Action));
    }
}

#[test]
fn a_field_that_is_missing_or_malformed_is_named_and_no_value_is_told() {
    const SENTINEL: &str = "sentinel-9b1f";
    for (path, bad) in [
        ("number", json!(SENTINEL)),
        ("pull_request", json!(SENTINEL)),
        ("pull_request.head", json!(SENTINEL)),
        ("pull_request.head.sha", json!(SENTINEL)),
        ("pull_request.base", json!(7)),
        ("pull_request.base.ref", json!(format!("{SENTINEL} ../x"))),
        ("repository", json!(SENTINEL)),
        ("repository.id", json!(-1)),
        ("repository.full_name", json!(SENTINEL)),
        ("installation.id", json!(SENTINEL)),
    ] {
        let pointer = format!("/{}", path.replace('.', "/"));
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let mut body = example("pull_request.opened.installation");
        *body.pointer_mut(&pointer).unwrap() = bad;
        let error = parse_json("pull_request", &body).unwrap_err();
        let field = |problem| WebhookError::Field {
            path: path.to_owned(),
            problem,
        };
        assert_eq!(error, field(FieldProblem::Malformed));
        assert!(
            !format!("{error} {error:?}").contains(SENTINEL),
            "{error:?}"
        );

        let parent = body.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        parent.remove(key).unwrap();
        let outcome = parse_json("pull_request", &body);
        if path == "number" {
            let expected = WebhookError::Field {
                path: "pull_request".to_owned(),
                problem: FieldProblem::Missing,
            };
            assert_eq!(
                outcome.unwrap_err(),
                expected,
                "without it, it is no such body"
            );
        } else {
            assert_eq!(outcome.unwrap_err(), field(FieldProblem::Missing));
        }
    }
}

#[test]
fn bodies_that_are_no_json_object_are_refused() {
    let deep = "[".repeat(100_000);
    for body in [
        "",
        "x",
        "{",
        "null",
        "[]",
        "\"pull_request\"",
        "7",
        "{} {}",
        "{\"a\":1",
        &deep,
        "payload=%7B%7D",
    ] {
        let error = parse("pull_request", body.as_bytes()).unwrap_err();
        assert_eq!(error, WebhookError::NotJson, "{body:.20}");
    }
    let invalid_utf8 = b"{\"action\":\"\xff\"}";
    assert_eq!(
        parse("pull_request", invalid_utf8).unwrap_err(),
        WebhookError::NotJson
    );
}

#[test]
fn headers_are_needed_and_checked() {
    let body = b"{}";
    let refuse = |event, delivery| {
        let headers = GithubHeaders {
            event,
            delivery,
            content_type: None,
        };
        parse_github(headers, body).unwrap_err().to_string()
    };
    assert_eq!(
        refuse(None, Some("d")),
        "the header `X-GitHub-Event` is missing"
    );
    assert_eq!(
        refuse(Some("ping"), None),
        "the header `X-GitHub-Delivery` is missing"
    );
    for id in ["", "a b", "x\ny", &"d".repeat(129)] {
        let text = refuse(Some("ping"), Some(id));
        assert_eq!(text, "the header `X-GitHub-Delivery` is malformed");
    }
}

#[test]
fn bodies_above_the_cap_are_not_read() {
    let body = vec![b' '; MAX_BODY_BYTES + 1];
    let error = parse("pull_request", &body).unwrap_err();
    assert_eq!(
        error,
        WebhookError::TooLarge {
            limit: MAX_BODY_BYTES
        }
    );
    let fits = parse("pull_request", &body[..MAX_BODY_BYTES]).unwrap_err();
    assert_eq!(fits, WebhookError::NotJson);
}

#[test]
fn form_encoded_bodies_say_the_same_as_json() {
    for it in examples() {
        let mut form = b"payload=".to_vec();
        for byte in &it.body {
            match byte {
                b' ' => form.push(b'+'),
                byte if byte.is_ascii_alphanumeric() => form.push(*byte),
                byte => form.extend(format!("%{byte:02X}").into_bytes()),
            }
        }
        let headers = GithubHeaders {
            event: Some(&it.event),
            delivery: Some("72d3162e-cc78-11e3-81ab-4c9367dc0958"),
            content_type: Some("application/x-www-form-urlencoded"),
        };
        // The body's hash tells one body from another, whatever it says.
        let said = |parsed: Result<Parsed, WebhookError>| {
            parsed.map(|parsed| match parsed {
                Parsed::Delivery(mut delivery) => {
                    delivery.body = mirilla_domain::ids::sha256(b"");
                    Parsed::Delivery(delivery)
                }
                ignored @ Parsed::Ignored(_) => ignored,
            })
        };
        let (form, json) = (parse_github(headers, &form), parse(&it.event, &it.body));
        assert_eq!(said(form), said(json), "{}", it.name);
    }
}

#[test]
fn commands_come_from_people_on_pull_requests() {
    let mut body = example("SYNTHETIC.issue_comment.created.on_pr");
    body["comment"]["body"] = json!("please\n\n/mirilla review");
    let found = request(parse_json("issue_comment", &body));
    assert!(matches!(found, Some(Request::Command { .. })), "{found:?}");

    for (path, value, reason) in [
        ("/action", json!("edited"), IgnoreReason::Action),
        ("/action", json!("deleted"), IgnoreReason::Action),
        ("/sender/type", json!("Bot"), IgnoreReason::Bot),
        ("/comment/user/type", json!("Bot"), IgnoreReason::Bot),
        (
            "/issue/pull_request",
            Value::Null,
            IgnoreReason::NotAPullRequest,
        ),
        (
            "/comment/body",
            json!("> /mirilla review"),
            IgnoreReason::NoCommand,
        ),
    ] {
        let mut changed = body.clone();
        *changed.pointer_mut(path).unwrap() = value;
        assert_eq!(
            ignored(parse_json("issue_comment", &changed)),
            Some(reason),
            "{path}"
        );
    }
}

#[test]
fn bots_may_open_pull_requests_but_not_ask_for_re_runs() {
    let mut body = example("pull_request.opened.installation");
    body["sender"]["type"] = json!("Bot");
    assert!(request(parse_json("pull_request", &body)).is_some());
    let mut body = example("check_run.rerequested.installation");
    body["sender"]["type"] = json!("Bot");
    assert_eq!(
        ignored(parse_json("check_run", &body)),
        Some(IgnoreReason::Bot)
    );
}

#[test]
fn case_093_own_comment_events_are_ignored() {
    let case = case("093");
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "webhook/1");
    let jobs = expected.need("jobs");
    let events = case.json("events.json");
    for (event, job) in events
        .as_array()
        .unwrap()
        .iter()
        .zip(jobs.as_array().unwrap())
    {
        let name = event["event"].as_str().unwrap();
        // The case gives what matters; a real payload around it gives the rest.
        let around = match name {
            "issue_comment" => "SYNTHETIC.issue_comment.created.on_pr",
            "pull_request_review" => "pull_request_review.submitted",
            _ => "check_run.completed",
        };
        let mut body = example(around);
        overlay(&mut body, event);
        let found = request(parse_json(name, &body));
        if *job == json!(false) {
            assert_eq!(found, None, "{event}");
            continue;
        }
        assert_eq!(*job, "true if the product has a comment command");
        assert_eq!(
            found, None,
            "`@reviewbot review` is not this product's command"
        );
        body["comment"]["body"] = json!("/mirilla review");
        assert!(request(parse_json(name, &body)).is_some());
    }
    expected.finish();
}

fn overlay(body: &mut Value, over: &Value) {
    match (body, over) {
        (Value::Object(body), Value::Object(over)) => {
            for (key, value) in over {
                overlay(body.entry(key).or_insert(Value::Null), value);
            }
        }
        (body, over) => *body = over.clone(),
    }
}

#[test]
fn case_149_a_deleted_fork_is_parsed() {
    let body = case("149").bytes("webhook.json");
    let found = request(parse("pull_request", &body));
    let Some(Request::Review {
        pr, head, base_ref, ..
    }) = found
    else {
        panic!("{found:?}");
    };
    assert_eq!((pr.get(), base_ref.as_str()), (7, "main"));
    assert_eq!(head.as_str(), "b".repeat(40));
    let fork = example("SYNTHETIC.pull_request.synchronize.deleted_fork");
    assert_eq!(fork["pull_request"]["head"]["repo"], Value::Null);
    assert!(request(parse_json("pull_request", &fork)).is_some());
}

/// Which of the matrix's events may lead to a review. That a draft or closed pull request is then
/// not read is the collector's to find out from the forge: the payload is a hint.
#[test]
fn case_155_events_that_matter() {
    let case = case("155");
    let review = case.json("expected.json")["review"].clone();
    let events = case.json("events.json");
    let mut seen = 0;
    for event in events.as_array().unwrap() {
        let id = event["id"].to_string();
        let pull_request = &event["pull_request"];
        let left_to_the_collector =
            pull_request["draft"] == json!(true) || pull_request["state"] == "closed";
        let is_review = matches!(
            request(parse_json("pull_request", event)),
            Some(Request::Review { .. })
        );
        if review[&id] == json!(true) {
            assert!(is_review, "{id}");
        } else {
            assert!(!is_review || left_to_the_collector, "{id}");
        }
        seen += 1;
    }
    assert_eq!(seen, review.as_object().unwrap().len());
}

proptest! {
    #[test]
    fn arbitrary_bodies_never_panic(
        event in prop::sample::select(HANDLED.to_vec()),
        body in prop::collection::vec(any::<u8>(), 0..200),
        form in any::<bool>(),
    ) {
        let headers = GithubHeaders {
            event: Some(event),
            delivery: Some("d"),
            content_type: form.then_some("application/x-www-form-urlencoded"),
        };
        prop_assert!(parse_github(headers, &body).is_err());
    }

    #[test]
    fn damaged_examples_never_panic(
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        event in prop::sample::select(HANDLED.to_vec()),
    ) {
        let mut body = serde_json::to_vec(&example("pull_request.synchronize.installation")).unwrap();
        let at = at.index(body.len());
        body[at] = byte;
        let outcome = parse(event, &body);
        prop_assert!(event == "pull_request" || outcome.is_err());
        let cut = parse(event, &body[..at]);
        prop_assert!(cut.is_err());
    }

    #[test]
    fn command_search_never_panics(text in "[`~>\\t /a-z\\n<!-]{0,80}") {
        let found = mirilla_domain::webhook::find_command(&text);
        prop_assert!(found.is_none() || text.contains("/mirilla"));
    }
}
