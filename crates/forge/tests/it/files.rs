//! Settings and rules: one query, one commit, and what is not text.

use mirilla_ports::ForgeRead as _;
use mirilla_ports::forge::ForgeError;
use mirilla_sim::{Commit, Fault};
use serde_json::json;

use crate::support::{REPO, Reply, Script, TestClock, World, pull, reader, repo};

#[tokio::test]
async fn branch_and_commit_give_the_same_files_and_the_commit() {
    let world = World::new();
    let reader = world.reader();
    let tip = world.gh().tip(REPO, "main").unwrap();
    let asked = &[
        "REVIEW.md",
        "absent.md",
        ".mirilla/rules/",
        "no/folder/",
        "src/",
    ];
    let by_branch = reader.files(&repo(), "main", asked).await.unwrap();
    let by_commit = reader.files(&repo(), &tip, asked).await.unwrap();
    assert_eq!(by_branch, by_commit);
    assert_eq!(by_branch.commit.as_str(), tip);
    let paths: Vec<_> = by_branch.files.iter().map(|f| f.path.as_str()).collect();
    assert_eq!(paths, ["REVIEW.md", ".mirilla/rules/sql.md", "src/pay.rs"]);
    let queries = world
        .calls()
        .iter()
        .filter(|c| c.contains("graphql"))
        .count();
    assert_eq!(queries, 2, "one query each");
    world.sim.finish().unwrap();
}

#[tokio::test]
async fn absent_revision_and_absent_repository_are_not_found() {
    let world = World::new();
    let reader = world.reader();
    for rev in ["no-such-branch", &"e".repeat(40)] {
        let error = reader
            .files(&repo(), rev, &["REVIEW.md"])
            .await
            .unwrap_err();
        assert!(
            matches!(error, ForgeError::NotFound { .. }),
            "{rev}: {error:?}"
        );
    }
    let other = "acme/other".parse().unwrap();
    let error = reader
        .files(&other, "main", &["REVIEW.md"])
        .await
        .unwrap_err();
    assert!(matches!(error, ForgeError::NotFound { .. }), "{error:?}");
    world.sim.finish().unwrap();
}

#[tokio::test]
async fn settings_that_are_no_text_are_broken_and_not_absent() {
    let world = World::new();
    let binary = Commit::by("alice", "Odd").write(".mirilla.toml", b"\x00\xff\x00\xfe");
    world.gh().commit(REPO, "main", &binary).unwrap();
    let files = world
        .reader()
        .files(&repo(), "main", &[".mirilla.toml"])
        .await
        .unwrap();
    let [settings] = &*files.files else {
        panic!("{files:?}")
    };
    assert!(settings.text.contains('\u{fffd}'));
    world.sim.finish().unwrap();
}

#[tokio::test]
async fn live_head_is_read_with_the_files() {
    let world = World::new();
    let reader = world.reader();
    let first = reader.pull_request(&repo(), &world.id).await.unwrap();
    let pushed = Commit::by("bob", "More").write("src/new.rs", "fn newer() {}\n");
    let head = world.gh().commit(REPO, "feature", &pushed).unwrap();
    world
        .gh()
        .set_draft(REPO, world.id.pr.get(), true, "bob")
        .unwrap();
    world
        .gh()
        .label(REPO, world.id.pr.get(), "wip", "bob")
        .unwrap();
    world
        .gh()
        .set_body(REPO, world.id.pr.get(), Some("Because."), "bob")
        .unwrap();
    let (_, live) = reader
        .files_and_pull_request(&first, "main", &["REVIEW.md"])
        .await
        .unwrap();
    assert_ne!(live.head, first.head);
    assert_eq!(live.head.as_str(), head);
    assert!(live.draft && live.open);
    assert_eq!(
        (live.labels.clone(), &*live.description),
        (vec!["wip".to_owned()], "Because.")
    );
    let rest = reader.pull_request(&repo(), &world.id).await.unwrap();
    assert_eq!(live, rest);
    world.gh().close(REPO, world.id.pr.get(), "bob").unwrap();
    let (_, live) = reader
        .files_and_pull_request(&first, "main", &["REVIEW.md"])
        .await
        .unwrap();
    assert!(!live.open);
    world.sim.finish().unwrap();
}

#[tokio::test]
async fn repository_that_took_over_the_name_is_not_the_one_meant() {
    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    let other = json!({"id": 3, "full_name": "acme/shop", "default_branch": "main"});
    let taken = crate::support::pull_json(&json!({"base": {"repo": other}}));
    server.get("/repos/acme/shop/pulls/7", &taken);
    let repository = json!({"data": {"repository": {
        "commit": {"oid": "a".repeat(40)}, "p0": null, "databaseId": 3, "nameWithOwner": "acme/shop",
        "defaultBranchRef": {"name": "main"}, "pullRequest": {
            "state": "OPEN", "isDraft": false, "isCrossRepository": false, "title": "", "body": "",
            "headRefOid": "b".repeat(40), "baseRefName": "main", "baseRefOid": "a".repeat(40),
            "changedFiles": 1, "author": null, "labels": null}}}});
    server.add(
        "POST",
        "/graphql",
        None,
        vec![Reply::json(200, &repository)],
    );
    let half = reader(&server.base, &clock);
    let rest = half.pull_request(&repo(), &pull(1).id).await;
    assert!(matches!(rest, Err(ForgeError::NotFound { .. })), "{rest:?}");
    let both = half.files_and_pull_request(&pull(1), "main", &["x"]).await;
    assert!(matches!(both, Err(ForgeError::NotFound { .. })), "{both:?}");
    server.finish();
}

#[tokio::test]
async fn graphql_failures_keep_their_kind() {
    let world = World::new();
    let reader = world.reader();
    let faults = world.gh().faults();
    let says = |kind: &str, message: &str| {
        let error = json!({"type": kind, "message": message, "path": ["repository"]});
        Fault::status(200, json!({"data": null, "errors": [error]}).to_string())
    };
    for (fault, want) in [
        (
            says("FORBIDDEN", "Resource not accessible by integration"),
            "forbidden",
        ),
        (says("NOT_FOUND", "Could not resolve"), "not-found"),
        (says("RATE_LIMITED", "API rate limit exceeded"), "limited"),
        (says("MAX_NODE_LIMIT_EXCEEDED", "x"), "unavailable"),
        (
            Fault::status(200, r#"{"data":{"repository":7}}"#),
            "unavailable",
        ),
        (Fault::status(200, r#"{"data":null}"#), "unavailable"),
    ] {
        faults.on_next("POST /graphql", fault);
        let error = reader
            .files(&repo(), "main", &["REVIEW.md"])
            .await
            .unwrap_err();
        let got = match error {
            ForgeError::Forbidden { .. } => "forbidden",
            ForgeError::NotFound { .. } => "not-found",
            ForgeError::RateLimited { .. } => "limited",
            ForgeError::Unavailable { .. } => "unavailable",
            other => panic!("{other:?}"),
        };
        assert_eq!(got, want);
    }
    world.sim.finish().unwrap();
}
