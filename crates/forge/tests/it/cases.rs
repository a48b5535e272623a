//! The recorded cases about reading: pages, absent patches, nulls, deleted forks.

use std::collections::BTreeSet;

use mirilla_diff::parse;
use mirilla_ports::ForgeRead as _;
use serde_json::{Value, json};

use crate::support::{Reply, Script, TestClock, case, pull, pull_json, reader, repo, writer};

const DIFF: Option<&str> = Some("application/vnd.github.diff");

fn too_large() -> Reply {
    let body = json!({
        "message": "Sorry, the diff exceeded the maximum number of files (300).",
        "errors": [{"resource": "PullRequest", "field": "diff", "code": "too_large"}],
    });
    Reply::json(406, &body)
}

fn add_merge_base(server: &Script) {
    let path = format!(
        "/repos/acme/shop/compare/{}...{}",
        "a".repeat(40),
        "b".repeat(40)
    );
    server.get(
        &path,
        &json!({"merge_base_commit": {"sha": "c".repeat(40)}}),
    );
}

fn paths(bytes: &[u8]) -> Vec<String> {
    let parsed = parse(bytes);
    assert!(parsed.is_complete(), "{:?}", parsed.problems);
    parsed
        .files
        .iter()
        .map(|file| file.path_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn case_054_every_page_of_files_is_read_once() {
    let (case, clock) = (case("054"), TestClock::new());
    let mut expected = case.expected();
    let server = Script::of_case(&case.json("script.json"), &clock).await;
    server.add("GET", "/repos/acme/shop/pulls/7", DIFF, vec![too_large()]);
    add_merge_base(&server);
    let fetched = reader(&server.base, &clock).diff(&pull(237)).await.unwrap();
    let seen = paths(&fetched.bytes);
    let distinct: BTreeSet<_> = seen.iter().collect();
    assert_eq!(expected.need("files_seen"), json!(distinct.len()));
    assert_eq!(
        expected.need("duplicates"),
        json!(seen.len() - distinct.len())
    );
    assert!(distinct.contains(&"src/f237.txt".to_owned()));
    assert_eq!(fetched.missing, []);
    // A remark about the script.
    assert!(expected.need("note").is_string());
    assert_eq!(expected.need("schema"), "behaviour/1");
    expected.finish();
    server.finish();
}

#[tokio::test]
async fn case_055_own_comment_on_the_second_page_is_seen() {
    let (case, clock) = (case("055"), TestClock::new());
    let mut expected = case.expected();
    let server = Script::of_case(&case.json("script.json"), &clock).await;
    server.get("/repos/acme/shop/pulls/7/reviews", &json!([]));
    add_threads(&server, &json!([]));
    let existing = reader(&server.base, &clock)
        .existing(&repo(), pull(1).id.pr)
        .await
        .unwrap();
    let ours: Vec<_> = existing.comments.iter().filter(|c| c.ours).collect();
    assert_eq!(
        (existing.comments.len(), ours.len(), existing.truncated),
        (101, 1, false)
    );
    assert!(ours[0].body.contains("OWN-MARKER for finding A"));
    // The one finding of the case stands already, so nothing is left to post.
    let findings = case.json("findings.json");
    let new = findings.as_array().unwrap().iter().filter(|finding| {
        !ours.iter().any(|c| {
            c.path == finding["path"] && c.line == finding["line"].as_u64().map(|n| n as u32)
        })
    });
    assert_eq!(expected.need("new_comments"), json!(new.count()));
    assert_eq!(expected.need("schema"), "behaviour/1");
    expected.finish();
    server.finish();
}

fn add_threads(server: &Script, nodes: &Value) {
    let threads = json!({"pageInfo": {"hasNextPage": false, "endCursor": null}, "nodes": nodes});
    let data = json!({"data": {"repository": {"pullRequest": {"reviewThreads": threads}}}});
    server.add("POST", "/graphql", None, vec![Reply::json(200, &data)]);
}

#[tokio::test]
async fn case_057_absent_patch_is_fetched_again_then_named_missing() {
    let (case, clock) = (case("057"), TestClock::new());
    let mut expected = case.expected();
    let server = Script::start(&clock).await;
    server.add("GET", "/repos/acme/shop/pulls/7", DIFF, vec![too_large()]);
    add_merge_base(&server);
    let files = case.json("files.json");
    server.get("/repos/acme/shop/pulls/7/files?per_page=100&page=1", &files);
    // Alone, the second file has its patch; the first stays without.
    let mut small = files[1].clone();
    small["patch"] = json!("@@ -1,2 +1,3 @@\n-a\n+b\n+c\n d");
    server.get(
        "/repos/acme/shop/pulls/7/files?per_page=1&page=1",
        &json!([files[0]]),
    );
    let again = "/repos/acme/shop/pulls/7/files?per_page=1&page=2";
    server.add(
        "GET",
        again,
        None,
        vec![
            Reply::json(200, &json!([files[1]])),
            Reply::json(200, &json!([small])),
        ],
    );
    let half = reader(&server.base, &clock);
    let fetched = half.diff(&pull(4)).await.unwrap();
    let missing: Vec<_> = fetched.missing.iter().map(|m| m.path.clone()).collect();
    assert_eq!(expected.need("needs_other_source"), json!(missing));
    let parsed = parse(&fetched.bytes);
    let no_text: Vec<_> = parsed.files.iter().map(|f| f.path_str().unwrap()).collect();
    assert_eq!(expected.need("no_text"), json!(no_text));
    assert!(parsed.is_complete());
    assert!(parsed.files.iter().all(|f| f.hunks.is_empty()));
    assert!(parsed.files[0].binary && !parsed.files[1].binary);
    // Not crashed, and neither file is in the diff, where it would count as read.
    assert_eq!(expected.need("must_not").as_array().unwrap().len(), 2);
    assert_eq!(expected.need("schema"), "behaviour/1");
    expected.finish();

    let fetched = half.diff(&pull(4)).await.unwrap();
    let missing: Vec<_> = fetched.missing.iter().map(|m| m.path.as_str()).collect();
    assert_eq!(missing, ["big.sql"]);
    assert_eq!(
        paths(&fetched.bytes),
        ["logo.png", "new/name.rs", "small.py"],
        "what was asked for again comes last"
    );
    server.finish();
}

#[tokio::test]
async fn case_058_refused_diff_is_rebuilt_and_says_what_is_missing() {
    let (case, clock) = (case("058"), TestClock::new());
    let mut expected = case.expected();
    let server = Script::of_case(&case.json("script.json"), &clock).await;
    add_merge_base(&server);
    let alone = "/repos/acme/shop/pulls/7/files?per_page=1&page=2";
    server.get(alone, &json!([]));
    let fetched = reader(&server.base, &clock).diff(&pull(2)).await.unwrap();
    assert_eq!(expected.need("reviewed"), json!(paths(&fetched.bytes)));
    let missing: Vec<_> = fetched.missing.iter().map(|m| m.path.clone()).collect();
    assert_eq!(expected.need("not_reviewed"), json!(missing));
    assert_eq!(expected.need("complete"), json!(fetched.missing.is_empty()));
    assert_eq!(fetched.merge_base.as_str(), "c".repeat(40));
    assert_eq!(expected.need("schema"), "behaviour/1");
    expected.finish();
    server.finish();
}

#[tokio::test]
async fn case_060_comment_that_hangs_nowhere_is_not_counted_as_posted() {
    // The case's mutation is one that this crate never sends; what it stands for is a comment that was
    // accepted and is shown nowhere, which the read-back must not count.
    use mirilla_ports::ForgeWrite as _;
    let (case, clock) = (case("060"), TestClock::new());
    let mut expected = case.expected();
    let thread = &case.json("reply.json")["data"]["addPullRequestReviewThread"]["thread"];
    let nowhere =
        json!([{"id": 9, "path": "svc/main.go", "line": thread, "position": thread, "body": "x"}]);
    let server = Script::start(&clock).await;
    server.get("/repos/acme/shop/pulls/7/reviews/5/comments", &nowhere);
    let asked = 1;
    let posted = writer(&server.base, &clock)
        .review_comments(
            &repo(),
            pull(1).id.pr,
            mirilla_domain::ids::ReviewId::new(5),
        )
        .await
        .unwrap();
    assert_eq!(expected.need("posted"), json!(posted.len()));
    assert_eq!(expected.need("demoted"), json!(asked - posted.len()));
    assert_eq!(expected.need("schema"), "behaviour/1");
    expected.finish();
    server.finish();
}

#[tokio::test]
async fn case_076_outdated_and_ghost_comments_are_read() {
    let (case, clock) = (case("076"), TestClock::new());
    let mut expected = case.expected();
    let server = Script::start(&clock).await;
    server.get("/repos/acme/shop/pulls/7/reviews", &json!([]));
    server.get(
        "/repos/acme/shop/pulls/7/comments",
        &case.json("comments.json"),
    );
    add_threads(&server, &json!([]));
    let existing = reader(&server.base, &clock)
        .existing(&repo(), pull(1).id.pr)
        .await
        .unwrap();
    assert_eq!(expected.need("parsed"), json!(existing.comments.len()));
    let own: Vec<_> = existing
        .comments
        .iter()
        .filter(|c| c.ours)
        .map(|c| c.id.get())
        .collect();
    assert_eq!(expected.need("own"), json!(own));
    assert_eq!(existing.comments[0].line, None);
    assert_eq!(existing.comments[0].original_line, Some(5));
    assert_eq!(existing.comments[2].author, None);
    assert_eq!(expected.need("schema"), "behaviour/1");
    expected.finish();
    server.finish();
}

#[tokio::test]
async fn case_149_deleted_fork_is_untrusted_and_its_diff_comes_from_the_base() {
    let (case, clock) = (case("149"), TestClock::new());
    let mut expected = case.expected();
    let server = Script::start(&clock).await;
    let live = pull_json(&case.json("webhook.json")["pull_request"]);
    assert_eq!(live["head"]["repo"], Value::Null);
    let path = "/repos/acme/shop/pulls/7";
    server.get(path, &live);
    let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
    server.add(
        "GET",
        path,
        DIFF,
        vec![Reply::raw(200, "text/plain; charset=utf-8", diff)],
    );
    add_merge_base(&server);
    let half = reader(&server.base, &clock);
    let read = half.pull_request(&repo(), &pull(1).id).await;
    assert_eq!(expected.need("crash"), json!(read.is_err()));
    let read = read.unwrap();
    assert_eq!(expected.need("trusted"), json!(!read.from_fork));
    assert_eq!(half.diff(&read).await.unwrap().bytes, diff.as_bytes());
    let from: Vec<_> = server.seen().iter().map(|seen| seen.path.clone()).collect();
    assert!(
        from.iter().all(|p| p.starts_with("/repos/acme/shop/")),
        "{from:?}"
    );
    assert_eq!(from.iter().filter(|p| *p == path).count(), 2);
    assert_eq!(expected.need("diff_from"), "base repository pull endpoint");
    assert_eq!(expected.need("schema"), "behaviour/1");
    expected.finish();
    server.finish();
}

#[tokio::test]
async fn case_150_diff_is_the_pull_requests_own_three_dot_one() {
    let (case, clock) = (case("150"), TestClock::new());
    let mut expected = case.expected();
    let server = Script::start(&clock).await;
    let plain = |file| Reply::raw(200, "text/plain; charset=utf-8", case.bytes(file));
    // Whoever compares the two tips gets the two-dot diff.
    let two_dot = format!(
        "/repos/acme/shop/compare/{}..{}",
        "a".repeat(40),
        "b".repeat(40)
    );
    server.add("GET", &two_dot, None, vec![plain("two_dot.diff")]);
    server.add(
        "GET",
        "/repos/acme/shop/pulls/7",
        DIFF,
        vec![plain("three_dot.diff")],
    );
    add_merge_base(&server);
    let fetched = reader(&server.base, &clock).diff(&pull(1)).await.unwrap();
    let files = paths(&fetched.bytes);
    assert_eq!(expected.need("files_in_review"), json!(files));
    for unwanted in expected.need("must_not_contain").as_array().unwrap() {
        assert!(!files.iter().any(|file| unwanted == file));
    }
    assert_eq!(expected.need("schema"), "behaviour/1");
    expected.finish();
    server.finish();
}
