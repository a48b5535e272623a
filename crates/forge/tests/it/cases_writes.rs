//! The recorded cases about writing: refusals, lost answers, expired tokens.
//!
//! A case may also state what the stage that posts does; those keys are named here and checked there.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use mirilla_casekit::Expected;
use mirilla_domain::ids::{CommitSha, InstallationId, RepoId};
use mirilla_domain::review::Side;
use mirilla_forge::github::{AppAuth, Minter};
use mirilla_forge::{TokenError, TokenSource, WriteToken};
use mirilla_ports::forge::{ForgeError, NewComment, NewReview, Refusal};
use mirilla_ports::{ForgeRead as _, ForgeWrite as _};
use mirilla_sim::TEST_APP_KEY;
use serde_json::json;

use crate::support::{
    Fixed, Reply, Script, TestClock, case, pull, repo, settings, us, writer, writer_with,
};

pub(crate) fn comment(path: &str, line: u32) -> NewComment {
    NewComment {
        path: path.to_owned(),
        line,
        start_line: None,
        side: Side::Right,
        old_path: None,
        other_line: None,
        range: None,
        body: "text".to_owned(),
    }
}

pub(crate) fn review(comments: Vec<NewComment>) -> NewReview {
    NewReview {
        commit: CommitSha::parse(&"b".repeat(40)).unwrap(),
        body: "summary\n<!-- OWN-MARKER run -->".to_owned(),
        comments,
    }
}

/// Checks `max_requests`.
fn check_max(expected: &mut Expected, server: &Script) {
    let max: BTreeMap<String, usize> =
        serde_json::from_value(expected.need("max_requests")).unwrap();
    for (route, most) in max {
        assert!(
            server.count(&route) <= most,
            "{route}: {}",
            server.count(&route)
        );
    }
}

/// Takes keys that state what the posting stage does with these answers.
fn leave_to_the_stage(expected: &mut Expected, keys: &[&str]) {
    for key in keys {
        drop(expected.need(key));
    }
}

#[tokio::test]
async fn case_046_anchor_refusal_is_told_and_the_second_review_lands() {
    let (case, clock) = (case("046"), TestClock::new());
    let mut expected = case.expected();
    let server = Script::of_case(&case.json("script.json"), &clock).await;
    let half = writer(&server.base, &clock);
    let all = vec![
        comment("svc/main.go", 5),
        comment("svc/main.go", 31),
        comment("svc/util.go", 3),
    ];
    let pr = pull(1).id.pr;
    let refused = half
        .create_review(&repo(), pr, &review(all))
        .await
        .unwrap_err();
    assert!(
        matches!(
            refused,
            ForgeError::Unprocessable {
                reason: Refusal::Anchor,
                ..
            }
        ),
        "{refused:?}"
    );
    let rest = vec![comment("svc/main.go", 5), comment("svc/main.go", 31)];
    let created = half
        .create_review(&repo(), pr, &review(rest))
        .await
        .unwrap();
    assert_eq!(created.get(), 901);
    check_max(&mut expected, &server);
    leave_to_the_stage(
        &mut expected,
        &[
            "second_review_comments",
            "second_review_body_contains",
            "lost_findings",
        ],
    );
    assert_eq!(expected.need("schema"), "behaviour/1");
    expected.finish();
    server.finish();
}

#[tokio::test]
async fn case_048_own_pending_review_is_found_and_removed() {
    let (case, clock) = (case("048"), TestClock::new());
    let mut expected = case.expected();
    let server = Script::of_case(&case.json("script.json"), &clock).await;
    server.get("/repos/acme/shop/pulls/7/comments", &json!([]));
    let (half, pr) = (writer(&server.base, &clock), pull(1).id.pr);
    let refused = half
        .create_review(&repo(), pr, &review(vec![]))
        .await
        .unwrap_err();
    assert!(matches!(
        refused,
        ForgeError::Unprocessable {
            reason: Refusal::PendingReview,
            ..
        }
    ));
    let existing = half.reader().existing(&repo(), pr).await.unwrap();
    for pending in existing.reviews.iter().filter(|r| r.ours && r.pending) {
        half.delete_pending_review(&repo(), pr, pending.id)
            .await
            .unwrap();
    }
    assert_eq!(
        half.create_review(&repo(), pr, &review(vec![]))
            .await
            .unwrap()
            .get(),
        77
    );
    let order: Vec<_> = server
        .seen()
        .iter()
        .map(crate::support::Seen::short)
        .filter(|short| short.contains("/reviews"))
        .collect();
    assert_eq!(expected.need("request_order"), json!(order));
    for forbidden in expected.need("forbidden").as_array().unwrap() {
        assert_eq!(server.count(forbidden.as_str().unwrap()), 0);
    }
    assert_eq!(expected.need("schema"), "behaviour/1");
    expected.finish();
    server.finish();
}

#[tokio::test]
async fn case_049_event_is_comment_and_an_empty_body_is_not_sent() {
    let (case, clock) = (case("049"), TestClock::new());
    let mut expected = case.expected();
    let server = Script::start(&clock).await;
    let path = "/repos/acme/shop/pulls/7/reviews";
    server.add(
        "POST",
        path,
        None,
        vec![Reply::json(200, &json!({"id": 1}))],
    );
    let (half, pr) = (writer(&server.base, &clock), pull(1).id.pr);
    let empty = NewReview {
        body: case.json("summary.json")["summary"]
            .as_str()
            .unwrap()
            .to_owned(),
        ..review(vec![comment("svc/main.go", 5)])
    };
    half.create_review(&repo(), pr, &empty).await.unwrap_err();
    assert_eq!(server.seen().len(), 0);
    half.create_review(&repo(), pr, &review(vec![comment("svc/main.go", 5)]))
        .await
        .unwrap();
    let sent = server.seen()[0].json();
    let mut wanted = expected.take_object("review").unwrap();
    assert_eq!(wanted.need("event"), sent["event"]);
    assert_eq!(
        wanted.need("body_nonempty"),
        json!(!sent["body"].as_str().unwrap().is_empty())
    );
    wanted.finish();
    assert_eq!(expected.need("schema"), "behaviour/1");
    expected.finish();
    server.finish();
}

#[tokio::test]
async fn case_143_lost_post_is_unknown_and_the_review_is_found() {
    let (case, clock) = (case("143"), TestClock::new());
    let mut expected = case.expected();
    let server = Script::of_case(&case.json("script.json"), &clock).await;
    server.get("/repos/acme/shop/pulls/7/comments", &json!([]));
    let (half, pr) = (writer(&server.base, &clock), pull(1).id.pr);
    let lost = half
        .create_review(&repo(), pr, &review(vec![]))
        .await
        .unwrap_err();
    assert!(matches!(lost, ForgeError::Unknown { .. }), "{lost:?}");
    let existing = half.reader().existing(&repo(), pr).await.unwrap();
    let found = existing
        .reviews
        .iter()
        .filter(|r| r.ours && r.body.contains("OWN-MARKER run"));
    assert_eq!(expected.need("reviews_on_pr"), json!(found.count()));
    check_max(&mut expected, &server);
    assert_eq!(expected.need("schema"), "behaviour/1");
    expected.finish();
    server.finish();
}

#[tokio::test]
async fn case_145_page_of_a_proxy_is_a_failed_call() {
    let (case, clock) = (case("145"), TestClock::new());
    let mut expected = case.expected();
    let server = Script::start(&clock).await;
    let page = Reply::raw(200, "text/html", case.bytes("proxy.html"));
    server.add("GET", "/repos/acme/shop/pulls/7", None, vec![page.clone()]);
    server.add(
        "POST",
        "/repos/acme/shop/pulls/7/reviews",
        None,
        vec![page.clone()],
    );
    // The same text under JSON's name.
    let lying = Reply::raw(200, "application/json", case.bytes("proxy.html"));
    server.add(
        "PUT",
        "/repos/acme/shop/pulls/7/reviews/1",
        None,
        vec![page],
    );
    server.add(
        "GET",
        "/repos/acme/shop/pulls/7/comments",
        None,
        vec![lying],
    );
    server.get("/repos/acme/shop/pulls/7/reviews", &json!([]));
    let (half, pr) = (writer(&server.base, &clock), pull(1).id.pr);
    let read = half.reader().pull_request(&repo(), &pull(1).id).await;
    let list = half.reader().existing(&repo(), pr).await;
    let write = half.create_review(&repo(), pr, &review(vec![])).await;
    let mut each = expected.take_object("each").unwrap();
    let failed = matches!(read, Err(ForgeError::Unavailable { .. }))
        && matches!(list, Err(ForgeError::Unavailable { .. }))
        && matches!(write, Err(ForgeError::Unknown { .. }));
    assert_eq!(
        each.need("failed"),
        json!(failed),
        "{read:?} {list:?} {write:?}"
    );
    // The stream and its usage are the model's.
    drop(each.need("usage_counted_if_known"));
    each.finish();
    assert_eq!(expected.need("schema"), "behaviour/1");
    expected.finish();
    server.finish();
}

/// A token that was minted before the test began and has expired since.
struct Stale(Arc<Minter>);

#[async_trait]
impl TokenSource<WriteToken> for Stale {
    async fn token(&self, fresh: bool) -> Result<WriteToken, TokenError> {
        if !fresh {
            return Ok(WriteToken::minted("t1".into()));
        }
        self.0
            .write(RepoId::new(2), InstallationId::new(31), true)
            .await
    }
}

#[tokio::test]
async fn case_146_expired_token_is_renewed_once() {
    let (case, clock) = (case("146"), TestClock::new());
    let mut expected = case.expected();
    let server = Script::of_case(&case.json("script.json"), &clock).await;
    let settings = settings(&server.base);
    let app = AppAuth::with_pem("4242", &TEST_APP_KEY.into()).unwrap();
    let minter = Arc::new(Minter::new(
        settings.client().unwrap(),
        Arc::clone(&settings),
        app,
        Arc::new(clock.clone()),
        Arc::new(Fixed),
    ));
    let half = writer_with(settings, Arc::new(Stale(minter)), us(), &clock);
    let created = half
        .create_review(&repo(), pull(1).id.pr, &review(vec![]))
        .await;
    assert_eq!(
        expected.need("reviews_on_pr"),
        json!(usize::from(created.is_ok()))
    );
    check_max(&mut expected, &server);
    let tokens: Vec<_> = server
        .seen()
        .iter()
        .filter(|seen| seen.path.ends_with("/reviews"))
        .map(|seen| seen.headers["authorization"].clone())
        .collect();
    assert_eq!(tokens, ["Bearer t1", "Bearer t2"]);
    assert_eq!(expected.need("schema"), "behaviour/1");
    expected.finish();
    server.finish();
}

#[tokio::test]
async fn second_401_is_the_end() {
    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    let refused = Reply::json(401, &json!({"message": "Bad credentials"}));
    server.add(
        "GET",
        "/repos/acme/shop/pulls/7",
        None,
        vec![refused.clone()],
    );
    let minted = json!({"token": "t2", "expires_at": "2026-01-01T02:00:00Z"});
    let mint = "/app/installations/31/access_tokens";
    server.add("POST", mint, None, vec![Reply::json(201, &minted)]);
    let settings = settings(&server.base);
    let app = AppAuth::with_pem("4242", &TEST_APP_KEY.into()).unwrap();
    let minter = Arc::new(Minter::new(
        settings.client().unwrap(),
        Arc::clone(&settings),
        app,
        Arc::new(clock.clone()),
        Arc::new(Fixed),
    ));
    let half = writer_with(settings, Arc::new(Stale(minter)), us(), &clock);
    let error = half
        .reader()
        .pull_request(&repo(), &pull(1).id)
        .await
        .unwrap_err();
    assert!(matches!(error, ForgeError::Unauthorized), "{error:?}");
    assert_eq!(server.count("GET /pulls/7"), 2);
    assert_eq!(server.count(&format!("POST {mint}")), 1);
    // A plain token has no fresher one: the call is not even repeated.
    let error = writer(&server.base, &clock)
        .reader()
        .pull_request(&repo(), &pull(1).id)
        .await
        .unwrap_err();
    assert!(matches!(error, ForgeError::Unauthorized), "{error:?}");
    assert_eq!(server.count("GET /pulls/7"), 3);
    server.finish();
}

#[tokio::test]
async fn case_148_all_comments_go_in_one_review() {
    let (case, clock) = (case("148"), TestClock::new());
    let mut expected = case.expected();
    let server = Script::start(&clock).await;
    let path = "/repos/acme/shop/pulls/7/reviews";
    server.add(
        "POST",
        path,
        None,
        vec![Reply::json(200, &json!({"id": 1}))],
    );
    let count = case.json("findings_spec.json")["count"].as_u64().unwrap() as u32;
    assert_eq!(case.json("config.json")["max_comments"], json!(count));
    let comments = (1..=count)
        .map(|line| comment("svc/main.go", line))
        .collect();
    writer(&server.base, &clock)
        .create_review(&repo(), pull(1).id.pr, &review(comments))
        .await
        .unwrap();
    check_max(&mut expected, &server);
    assert_eq!(
        server.seen()[0].json()["comments"]
            .as_array()
            .unwrap()
            .len(),
        65
    );
    assert_eq!(expected.need("schema"), "behaviour/1");
    expected.finish();
    server.finish();
}
