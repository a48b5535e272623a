//! Reads are repeated while that is quick, and handed back when it is not.

use std::sync::Arc;
use std::time::Duration;

use mirilla_forge::ReadToken;
use mirilla_forge::github::Whoami;
use mirilla_ports::ForgeRead as _;
use mirilla_ports::forge::ForgeError;
use serde_json::{Value, json};

use crate::support::{
    READ_TOKEN, Reply, Script, TestClock, pull, pull_json, reader, reader_with, repo, settings,
};

const PULL: &str = "/repos/acme/shop/pulls/7";

fn fine() -> Reply {
    Reply::json(200, &pull_json(&json!({})))
}

async fn read(replies: Vec<Reply>) -> (Result<(), ForgeError>, usize, Vec<Duration>) {
    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    server.add("GET", PULL, None, replies);
    let read = reader(&server.base, &clock)
        .pull_request(&repo(), &pull(1).id)
        .await;
    let calls = server.seen().len();
    server.finish();
    (read.map(drop), calls, clock.waits())
}

#[tokio::test]
async fn what_passes_is_tried_three_times() {
    let error = Reply::json(502, &json!({"message": "Server Error"}));
    let html = Reply::raw(200, "text/html", "<html>unicorn</html>");
    let cut = fine().cut(20);
    for bad in [error, html, cut, Reply::dropped()] {
        let (read, calls, waits) = read(vec![bad.clone(), bad.clone(), fine()]).await;
        assert!(read.is_ok(), "{bad:?}: {read:?}");
        assert_eq!((calls, waits.len()), (3, 2), "{bad:?}");
        let (read, calls, waits) = self::read(vec![bad.clone()]).await;
        assert!(
            matches!(read, Err(ForgeError::Unavailable { .. })),
            "{bad:?}: {read:?}"
        );
        assert_eq!(calls, 3);
        assert!(waits.iter().sum::<Duration>() <= Duration::from_secs(10));
    }
}

#[tokio::test]
async fn what_does_not_pass_is_tried_once() {
    for (reply, want) in [
        (Reply::json(404, &json!({})), "NotFound"),
        (
            Reply::json(
                403,
                &json!({"message": "Resource not accessible by integration"}),
            ),
            "Forbidden",
        ),
        (
            Reply::json(401, &json!({"message": "Bad credentials"})),
            "Unauthorized",
        ),
        (Reply::json(200, &json!({"number": "seven"})), "Unavailable"),
        (
            Reply::json(200, &pull_json(&json!({"head": {"sha": "main"}}))),
            "Unavailable",
        ),
        (Reply::json(418, &json!({})), "Unavailable"),
    ] {
        let (read, calls, _) = read(vec![reply]).await;
        let error = format!("{:?}", read.unwrap_err());
        assert!(error.starts_with(want), "{want}: {error}");
        assert_eq!(calls, 1, "{want}");
    }
}

#[tokio::test]
async fn short_limits_are_waited_out_and_long_ones_handed_back() {
    let limited = |after: &str| {
        let body = json!({"message": "You have exceeded a secondary rate limit"});
        Reply::json(403, &body).with("retry-after", after)
    };
    let (read, calls, waits) = read(vec![limited("4"), limited("5"), fine()]).await;
    assert!(read.is_ok());
    assert_eq!(
        (calls, waits),
        (3, vec![Duration::from_secs(4), Duration::from_secs(5)])
    );
    // The second wait no longer fits into what one read may wait.
    let (read, calls, waits) = self::read(vec![limited("6"), limited("6"), fine()]).await;
    assert!(matches!(read, Err(ForgeError::RateLimited { after }) if after.as_secs() == 6));
    assert_eq!((calls, waits.len()), (2, 1));
    let (read, calls, waits) = self::read(vec![limited("11"), fine()]).await;
    assert!(matches!(read, Err(ForgeError::RateLimited { after }) if after.as_secs() == 11));
    assert_eq!((calls, waits.len()), (1, 0));
}

#[tokio::test]
async fn plain_token_asks_once_whose_it_is() {
    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    let viewer = json!({"data": {"viewer": {"login": "octo-user", "databaseId": 9}}});
    server.add("POST", "/graphql", None, vec![Reply::json(200, &viewer)]);
    let review = |id: u64, login: &str, user: u64| json!({"id": id, "state": "COMMENTED", "body": "", "user": {"login": login, "id": user}});
    let reviews = [
        review(1, "octo-user", 9),
        review(2, "OCTO-USER", 10),
        review(3, "other", 9),
    ];
    server.get(
        "/repos/acme/shop/pulls/7/reviews",
        &Value::from(reviews.to_vec()),
    );
    server.get("/repos/acme/shop/pulls/7/comments", &json!([]));
    let token = Arc::new(ReadToken::plain(READ_TOKEN.into()));
    let half = reader_with(settings(&server.base), token, Whoami::Ask, &clock);
    for _ in 0..2 {
        let existing = half.existing(&repo(), pull(1).id.pr).await.unwrap();
        let ours: Vec<_> = existing.reviews.iter().map(|r| r.ours).collect();
        assert_eq!(
            ours,
            [true, false, false],
            "login and number must both agree"
        );
    }
    assert_eq!(server.count("POST /graphql"), 1);
    server.finish();
}

#[tokio::test]
async fn fields_of_a_pull_request_are_read_with_their_nulls() {
    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    let odd = pull_json(&json!({
        "state": "closed", "draft": true, "title": null, "body": "text", "user": null,
        "labels": [{"name": "a b"}], "changed_files": 3, "head": {"repo": {"id": 77}},
    }));
    server.get(PULL, &odd);
    let half = reader(&server.base, &clock);
    let read = half.pull_request(&repo(), &pull(1).id).await.unwrap();
    assert!(!read.open && read.draft && read.from_fork && !read.author_is_bot);
    assert_eq!(
        (read.author, &*read.title, &*read.description),
        (None, "", "text")
    );
    assert_eq!(
        (read.labels, read.changed_files),
        (vec!["a b".to_owned()], 3)
    );
    server.finish();
}
