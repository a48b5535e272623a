//! GitLab's webhooks, versions 12 to current: who is believed, what is asked, and what one event is.

use std::collections::BTreeSet;

use mirilla_casekit::{cases, repo_path};
use mirilla_domain::ids::{CommentId, DeliveryId, Forge, PrNumber, Timestamp};
use mirilla_domain::request::{CommentPlace, Delivery, Request, Trigger, Verb};
use mirilla_domain::webhook::{
    GitlabHeaders, GitlabSecrets, IgnoreReason, Parsed, PreviousSecret, Secrets, SignatureError,
    SigningTokenError, WebhookSecret, parse_gitlab, verify_gitlab,
};
use serde_json::{Value, json};

/// A change to a payload.
type Edit<'e> = &'e dyn Fn(&mut Value);

fn example(name: &str) -> Value {
    let path = repo_path(format!("tests/fixtures/material/gitlab/{name}.json"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn parse(headers: GitlabHeaders<'_>, body: &Value) -> Parsed {
    parse_gitlab(headers, &serde_json::to_vec(body).unwrap()).unwrap()
}

fn delivery(headers: GitlabHeaders<'_>, body: &Value) -> Delivery {
    match parse(headers, body) {
        Parsed::Delivery(delivery) => *delivery,
        Parsed::Ignored(reason) => panic!("ignored: {}", reason.as_str()),
    }
}

fn secrets(current: WebhookSecret) -> Secrets {
    Secrets {
        current,
        previous: None,
        grace: std::time::Duration::from_secs(60),
    }
}

fn headers(given: &Value) -> GitlabHeaders<'_> {
    let get = |name: &str| given[name].as_str();
    GitlabHeaders {
        token: get("X-Gitlab-Token"),
        webhook_id: get("webhook-id"),
        webhook_timestamp: get("webhook-timestamp"),
        webhook_signature: get("webhook-signature"),
        idempotency_key: get("Idempotency-Key"),
        event_uuid: get("X-Gitlab-Event-UUID"),
    }
}

const fn at(seconds: i64) -> Timestamp {
    Timestamp::new(seconds * 1_000)
}

#[test]
fn case_090_signature_where_there_is_one_and_else_the_token() {
    let case = cases("tests/fixtures/cases", |name| name.starts_with("090")).remove(0);
    let config = case.json("config.json");
    let token = WebhookSecret::parse(config["legacy_token"].as_str().unwrap()).unwrap();
    let key = WebhookSecret::parse_signing_token(&case.text("signing_token.txt")).unwrap();
    let both = GitlabSecrets::new(Some(secrets(token)), Some(secrets(key))).unwrap();
    let (mut accepted, mut rejected) = (Vec::new(), Vec::new());
    for request in case.json("requests.json").as_array().unwrap() {
        let now = request["now"].as_i64().or(config["now"].as_i64()).unwrap();
        let body = case.bytes("body.json");
        match verify_gitlab(&both, at(now), &body, headers(&request["headers"])) {
            Ok(()) => accepted.push(request["name"].clone()),
            Err(_) => rejected.push(request["name"].clone()),
        }
    }
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "webhook/1");
    assert_eq!(expected.need("accept"), Value::from(accepted));
    assert_eq!(expected.need("reject"), Value::from(rejected));
    expected.finish();
}

#[test]
fn case_091_one_event_is_one_delivery_and_a_chain_is_not() {
    let case = cases("tests/fixtures/cases", |name| name.starts_with("091")).remove(0);
    let given = case.json("deliveries.json");
    let mut seen = BTreeSet::new();
    let mut jobs = Vec::new();
    for one in given.as_array().unwrap() {
        let headers = GitlabHeaders {
            idempotency_key: one["idempotency_key"].as_str(),
            event_uuid: one["event_uuid"].as_str(),
            ..GitlabHeaders::default()
        };
        let id = delivery(headers, &example("mr.open")).id;
        if seen.insert(id.as_str().to_owned()) {
            jobs.push(id.as_str().to_owned());
        }
    }
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "webhook/1");
    assert_eq!(expected.need("jobs_from"), Value::from(jobs));
    expected.finish();
}

#[test]
fn without_a_key_the_event_itself_says_which_it_is() {
    let id = |headers: GitlabHeaders<'_>, change: &dyn Fn(&mut Value)| -> DeliveryId {
        let mut body = example("mr.update.push_oldrev");
        change(&mut body);
        delivery(headers, &body).id
    };
    let old = GitlabHeaders::default();
    let chain = GitlabHeaders {
        event_uuid: Some("E1"),
        ..old
    };
    let same = |_: &mut Value| {};
    assert_eq!(id(old, &same), id(old, &same));
    assert_eq!(id(chain, &same), id(chain, &same));
    assert_eq!(
        id(old, &|body| body["labels"] = json!(["x"])),
        id(old, &same)
    );
    for headers in [old, chain] {
        let other_push = |body: &mut Value| {
            body["object_attributes"]["last_commit"]["id"] = json!("c".repeat(40));
        };
        let later = |body: &mut Value| body["object_attributes"]["updated_at"] = json!("later");
        let other_project = |body: &mut Value| body["project"]["id"] = json!(16);
        for change in [&other_push as &dyn Fn(&mut Value), &later, &other_project] {
            assert_ne!(id(headers, change), id(headers, &same));
        }
    }
    // A key that is none is no reason to refuse the event: GitLab would switch the webhook off.
    let odd = GitlabHeaders {
        idempotency_key: Some("not a key\n"),
        ..old
    };
    assert_eq!(id(odd, &same), id(old, &same));
}

#[test]
fn signature_follows_the_published_formula() {
    let vector = example("signing_vector");
    let token = vector["signing_token"].as_str().unwrap();
    let signing = secrets(WebhookSecret::parse_signing_token(token).unwrap());
    let signed = GitlabSecrets::new(None, Some(signing.clone())).unwrap();
    let body = vector["body"].as_str().unwrap().as_bytes();
    let sent = vector["webhook-timestamp"].as_str().unwrap();
    let sent: i64 = sent.parse().unwrap();
    let check = |at_: i64, body: &[u8], given: GitlabHeaders<'_>| {
        verify_gitlab(&signed, at(at_), body, given)
    };
    let given = headers(&vector);
    for skew in [-300, 0, 300] {
        assert_eq!(check(sent + skew, body, given), Ok(()));
    }
    for skew in [-301, 301, 100_000] {
        assert_eq!(check(sent + skew, body, given), Err(SignatureError::Stale));
    }
    assert_eq!(check(sent, b"{}", given), Err(SignatureError::Mismatch));
    let none = GitlabHeaders::default();
    assert_eq!(check(sent, body, none), Err(SignatureError::Missing));
    for signature in ["", "v2,AAAA", "v1,***"] {
        let given = GitlabHeaders {
            webhook_signature: Some(signature),
            ..given
        };
        assert_eq!(check(sent, body, given), Err(SignatureError::Malformed));
    }
    // The key before counts while it is in its time of grace.
    let rotated = Secrets {
        current: WebhookSecret::parse_signing_token(&format!("whsec_{}", "QUJD".repeat(8)))
            .unwrap(),
        previous: Some(PreviousSecret {
            secret: signing.current,
            replaced_at: at(sent - 30),
        }),
        grace: signing.grace,
    };
    let rotated = GitlabSecrets::new(None, Some(rotated)).unwrap();
    assert_eq!(verify_gitlab(&rotated, at(sent), body, given), Ok(()));
    let late = verify_gitlab(&rotated, at(sent + 31), body, given);
    assert_eq!(late, Err(SignatureError::Mismatch));
}

#[test]
fn token_is_compared_as_a_whole_and_nothing_is_believed_without_a_secret() {
    assert!(GitlabSecrets::new(None, None).is_err());
    let token = secrets(WebhookSecret::parse("made-up-token").unwrap());
    let tokens = GitlabSecrets::new(Some(token), None).unwrap();
    for (given, wanted) in [
        (Some("made-up-token"), Ok(())),
        (Some("made-up-toke"), Err(SignatureError::Mismatch)),
        (Some("made-up-token2"), Err(SignatureError::Mismatch)),
        (Some(""), Err(SignatureError::Mismatch)),
        (None, Err(SignatureError::Mismatch)),
    ] {
        let headers = GitlabHeaders {
            token: given,
            // A signature by a key that we do not have proves nothing, and a newer key may be meant.
            webhook_signature: Some("v1,AAAA"),
            ..GitlabHeaders::default()
        };
        assert_eq!(
            verify_gitlab(&tokens, at(0), b"{}", headers),
            wanted,
            "{given:?}"
        );
    }
    let neither = verify_gitlab(&tokens, at(0), b"{}", GitlabHeaders::default());
    assert_eq!(neither, Err(SignatureError::Missing));
    for text in [
        "",
        "whsec_",
        "whsec_QUJD",
        "whsec_***",
        "QUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJD",
    ] {
        assert_eq!(
            WebhookSecret::parse_signing_token(text),
            Err(SigningTokenError)
        );
    }
}

#[test]
fn events_ask_for_what_they_mean() {
    let review = |name: &str| match delivery(GitlabHeaders::default(), &example(name)).request {
        Request::Review { trigger, .. } => Some(trigger),
        Request::Closed { .. } => None,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(review("mr.open"), Some(Trigger::Opened));
    assert_eq!(review("mr.open.draft"), Some(Trigger::Opened));
    assert_eq!(review("mr.open.deleted_fork"), Some(Trigger::Opened));
    assert_eq!(review("mr.update.push_oldrev"), Some(Trigger::Pushed));
    assert_eq!(review("mr.update.draft_ready"), Some(Trigger::Ready));
    assert_eq!(review("mr.close"), None);
    assert_eq!(review("mr.merge"), None);
    let delivery = delivery(GitlabHeaders::default(), &example("mr.open"));
    let repository = delivery.origin.repository.unwrap();
    assert_eq!(delivery.origin.forge, Forge::Gitlab);
    assert_eq!(
        (repository.id.get(), repository.name.as_str()),
        (15, "acme/demo")
    );
    assert!(delivery.origin.installation.is_none());
}

#[test]
fn old_versions_say_by_the_title_that_a_draft_is_ready() {
    let body = |previous: &str, current: &str| {
        let mut body = example("mr.update.label_only");
        body["changes"] = json!({"title": {"previous": previous, "current": current}});
        body
    };
    for was in ["WIP: a", "[WIP] a", "Draft: a", "(Draft) a"] {
        let Request::Review { trigger, .. } =
            delivery(GitlabHeaders::default(), &body(was, "a")).request
        else {
            panic!("{was}");
        };
        assert_eq!(trigger, Trigger::Ready);
    }
    for (was, is) in [("a", "b"), ("a", "WIP: a"), ("WIP: a", "Draft: a")] {
        assert_eq!(
            parse(GitlabHeaders::default(), &body(was, is)),
            Parsed::Ignored(IgnoreReason::Action)
        );
    }
    let mut moved = example("mr.update.label_only");
    moved["changes"] = json!({"target_branch": {"previous": "main", "current": "next"}});
    let Request::Review { trigger, .. } = delivery(GitlabHeaders::default(), &moved).request else {
        panic!("retargeted");
    };
    assert_eq!(trigger, Trigger::Retargeted);
}

#[test]
fn comments_give_commands_and_nothing_else_does() {
    let said = |change: &dyn Fn(&mut Value)| {
        let mut body = example("note.on_mr");
        body["object_attributes"]["note"] = json!("/mirilla review");
        change(&mut body);
        parse(GitlabHeaders::default(), &body)
    };
    let place = |parsed: Parsed| match parsed {
        Parsed::Delivery(delivery) => match delivery.request {
            Request::Command {
                pr,
                comment,
                place,
                verb: Verb::Review,
                author,
            } => {
                assert_eq!((pr, comment), (PrNumber::new(7), CommentId::new(551)));
                assert_eq!(author.unwrap().get(), 3);
                place
            }
            other => panic!("{other:?}"),
        },
        Parsed::Ignored(reason) => panic!("{}", reason.as_str()),
    };
    assert_eq!(place(said(&|_| {})), CommentPlace::Conversation);
    let on_line = said(&|body| body["object_attributes"]["type"] = json!("DiffNote"));
    assert_eq!(place(on_line), CommentPlace::Line);
    // Before 14 nobody says what happened to the note.
    let old = said(&|body| {
        body["object_attributes"]["action"] = Value::Null;
    });
    assert_eq!(place(old), CommentPlace::Conversation);

    let ignored: [(Edit<'_>, IgnoreReason); 5] = [
        (
            &|body| body["object_attributes"]["action"] = json!("update"),
            IgnoreReason::Action,
        ),
        (
            &|body| body["object_attributes"]["system"] = json!(true),
            IgnoreReason::Bot,
        ),
        (
            &|body| body["object_attributes"]["note"] = json!("> /mirilla review"),
            IgnoreReason::NoCommand,
        ),
        (
            &|body| body["object_attributes"]["noteable_type"] = json!("Issue"),
            IgnoreReason::NotAPullRequest,
        ),
        (
            &|body| body["object_kind"] = json!("emoji"),
            IgnoreReason::Event,
        ),
    ];
    for (change, reason) in ignored {
        assert_eq!(said(change), Parsed::Ignored(reason));
    }
}

#[test]
fn label_edits_and_unknown_kinds_are_ignored_and_broken_bodies_name_the_field() {
    let none = GitlabHeaders::default();
    for name in ["mr.update.label_only", "mr.update.legacy_12"] {
        let mut body = example(name);
        body["object_attributes"]
            .as_object_mut()
            .unwrap()
            .remove("oldrev");
        assert_eq!(
            parse(none, &body),
            Parsed::Ignored(IgnoreReason::Action),
            "{name}"
        );
    }
    for kind in ["push", "pipeline", "emoji", "something_new"] {
        let body = json!({"object_kind": kind});
        assert_eq!(parse(none, &body), Parsed::Ignored(IgnoreReason::Event));
    }
    let mut body = example("mr.open");
    body["object_attributes"]["last_commit"]["id"] = json!("master");
    let error = parse_gitlab(none, &serde_json::to_vec(&body).unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the field `object_attributes.last_commit.id` is malformed"
    );
    for body in ["", "[]", "{}", "{\"object_kind\":1}", "nonsense"] {
        assert!(parse_gitlab(none, body.as_bytes()).is_err(), "{body}");
    }
}
