//! No token, path, query or text shows in logs or errors.

use std::io;
use std::sync::{Arc, Mutex};

use mirilla_ports::{ForgeRead as _, ForgeWrite as _};
use serde_json::json;

use crate::cases_writes::{comment, review};
use crate::support::{MemoryWriter, Reply, Script, TestClock, pull, pull_json, repo, writer};

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl io::Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn logs_and_errors_hold_numbers_and_templates_only() {
    let captured = Captured::default();
    let sink = captured.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || sink.clone())
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);

    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    let text = "SENTINEL text of a person";
    let said = json!({"message": text, "errors": [text], "documentation_url": text});
    let path = "/repos/acme/shop/pulls/7";
    let bad_sha = pull_json(&json!({"title": text, "head": {"sha": text}}));
    server.add(
        "GET",
        path,
        None,
        vec![
            Reply::json(200, &pull_json(&json!({"title": text, "body": text}))),
            Reply::json(200, &bad_sha),
            Reply::json(200, &json!({"number": text})),
            Reply::json(403, &said),
            Reply::json(502, &said),
        ],
    );
    server.add(
        "POST",
        &format!("{path}/reviews"),
        None,
        vec![
            Reply::json(200, &json!({"id": 1, "body": text})),
            Reply::json(200, &json!({"id": text})),
            Reply::json(422, &said),
            Reply::json(403, &said),
            Reply::dropped(),
        ],
    );
    let zipball = format!("/repos/acme/shop/zipball/{}", "b".repeat(40));
    let elsewhere = "https://evil.test/SENTINEL_path?token=SENTINEL_query";
    let moved = Reply::json(302, &said).with("location", elsewhere);
    server.add("GET", &zipball, None, vec![moved]);

    let half = writer(&server.base, &clock);
    let mut shown = format!("{half:?}");
    for _ in 0..5 {
        match half.reader().pull_request(&repo(), &pull(1).id).await {
            Ok(read) => assert!(read.title.contains("SENTINEL")),
            Err(error) => shown += &chain(&error),
        }
        let mut review = review(vec![comment("src/SENTINEL_path.rs", 1)]);
        review.body = text.to_owned();
        if let Err(error) = half.create_review(&repo(), pull(1).id.pr, &review).await {
            shown += &chain(&error);
        }
    }
    let (sink, _) = MemoryWriter::within(1 << 20);
    let error = half
        .reader()
        .archive(&repo(), &pull(1).head, sink)
        .await
        .unwrap_err();
    shown += &chain(&error);
    drop(guard);

    let logs = String::from_utf8(captured.0.lock().unwrap().clone()).unwrap();
    assert!(
        logs.contains("POST /repos/{owner}/{repo}/pulls/{number}/reviews"),
        "{logs}"
    );
    assert!(
        logs.contains("http_status=422") && logs.contains("write-token"),
        "{logs}"
    );
    for (what, text) in [("logs", logs), ("errors", shown)] {
        for secret in ["SENTINEL", "acme/shop", "Bearer"] {
            assert!(!text.contains(secret), "{secret} in {what}: {text}");
        }
    }
    server.finish();
}

/// Returns an error with all its causes, as both of its forms show them.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes
        .map(|error| format!("{error} {error:?}\n"))
        .collect::<Vec<_>>()
        .concat()
}
