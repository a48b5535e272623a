//! Listing what stands on a pull request, within bounds.

use mirilla_ports::ForgeRead as _;
use mirilla_ports::ForgeWrite as _;
use mirilla_ports::forge::NewReview;
use serde_json::json;

use crate::cases_writes::comment;
use crate::support::{REPO, Reply, Script, TestClock, World, pull, reader, repo};

#[tokio::test]
async fn flood_of_comments_costs_thirty_pages_and_is_said() {
    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    server.get("/repos/acme/shop/pulls/7/reviews", &json!([]));
    let comment =
        |n: u64| json!({"id": n, "user": {"login": "flooder", "id": 5}, "body": "!", "path": "x"});
    let page: Vec<_> = (0..100).map(comment).collect();
    let path = "/repos/acme/shop/pulls/7/comments";
    let next = format!("<{}{path}?page=2&per_page=100>; rel=\"next\"", server.base);
    let endless = Reply::json(200, &json!(page)).with("link", &next);
    server.add("GET", path, None, vec![endless]);
    let existing = reader(&server.base, &clock)
        .existing(&repo(), pull(1).id.pr)
        .await
        .unwrap();
    assert!(existing.truncated);
    assert_eq!(existing.comments.len(), 3_000);
    assert_eq!(server.count("GET /pulls/7/comments"), 30);
    server.finish();
}

#[tokio::test]
async fn page_of_giant_comments_is_read_in_small_ones() {
    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    server.get("/repos/acme/shop/pulls/7/reviews", &json!([]));
    let path = "/repos/acme/shop/pulls/7/comments";
    let giant = |n: u64| {
        json!({"id": n, "user": {"login": "flooder", "id": 5}, "path": "x", "body": "ü".repeat(65_536),
               "diff_hunk": "x".repeat(200_000)})
    };
    let all: Vec<_> = (1..=23).map(giant).collect();
    let whole = Reply::raw(200, "application/json", " ".repeat(13 * 1024 * 1024));
    server.add(
        "GET",
        &format!("{path}?per_page=100&page=1"),
        None,
        vec![whole],
    );
    for (page, part) in (1..).zip(all.chunks(10)) {
        let mut reply = Reply::json(200, &json!(part));
        if page < 3 {
            let next = format!(
                "<{}{path}?per_page=10&page={}>; rel=\"next\"",
                server.base,
                page + 1
            );
            reply = reply.with("link", next);
        }
        server.add(
            "GET",
            &format!("{path}?per_page=10&page={page}"),
            None,
            vec![reply],
        );
    }
    let existing = reader(&server.base, &clock)
        .existing(&repo(), pull(1).id.pr)
        .await
        .unwrap();
    let ids: Vec<_> = existing.comments.iter().map(|c| c.id.get()).collect();
    assert_eq!(ids, (1..=23).collect::<Vec<_>>());
    assert!(!existing.truncated);
    // Whoever floods does not fill the memory: another's text is kept in part.
    assert!(
        existing
            .comments
            .iter()
            .all(|c| c.body == "ü".repeat(2_000))
    );
    server.finish();
}

#[tokio::test]
async fn older_schema_costs_the_threads_and_not_the_list() {
    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    server.get("/repos/acme/shop/pulls/7/reviews", &json!([]));
    let ours = json!([{"id": 1, "user": {"login": "reviewbot[bot]", "id": 4242}, "path": "x", "line": 1,
                       "body": "y".repeat(60_000)}]);
    server.get("/repos/acme/shop/pulls/7/comments", &ours);
    let unknown =
        json!({"errors": [{"message": "Field 'fullDatabaseId' doesn't exist on type 'X'"}]});
    server.add("POST", "/graphql", None, vec![Reply::json(200, &unknown)]);
    let existing = reader(&server.base, &clock)
        .existing(&repo(), pull(1).id.pr)
        .await
        .unwrap();
    assert_eq!((existing.comments.len(), existing.threads.len()), (1, 0));
    assert_eq!(
        existing.comments[0].body.len(),
        60_000,
        "our own text is whole"
    );
    server.finish();
}

#[tokio::test]
async fn threads_tell_who_resolved_what() {
    let world = World::new();
    let (writer, pr) = (world.writer(), world.id.pr);
    let live = writer
        .reader()
        .pull_request(&repo(), &world.id)
        .await
        .unwrap();
    let review = NewReview {
        commit: live.head.clone(),
        body: "Two.".to_owned(),
        comments: vec![comment("src/pay.rs", 10), comment("src/new.rs", 1)],
    };
    writer.create_review(&repo(), pr, &review).await.unwrap();
    let before = writer.reader().existing(&repo(), pr).await.unwrap();
    let first = before.comments[0].id;
    world
        .gh()
        .reply(REPO, first.get(), "carol", "Not so.")
        .unwrap();
    assert!(before.threads.iter().all(|t| !t.resolved));
    world
        .gh()
        .resolve_thread(REPO, first.get(), "carol")
        .unwrap();
    let after = world.reader().existing(&repo(), pr).await.unwrap();
    let thread = after
        .threads
        .iter()
        .find(|t| t.comments.contains(&first))
        .unwrap();
    assert!(thread.resolved && !thread.resolved_by_us && thread.complete);
    assert_eq!(
        (thread.resolved_by.as_deref(), thread.comments.len()),
        (Some("carol"), 2)
    );
    let answer = after
        .comments
        .iter()
        .find(|c| c.in_reply_to == Some(first))
        .unwrap();
    assert!(!answer.ours && answer.author.as_deref() == Some("carol"));
    let other = after
        .threads
        .iter()
        .find(|t| !t.comments.contains(&first))
        .unwrap();
    assert!(!other.resolved && other.resolved_by.is_none());
    world.gh().reviews(REPO, pr.get()).unwrap();
    world.sim.finish().unwrap();
}

#[tokio::test]
async fn outdated_comment_keeps_its_first_line() {
    let world = World::new();
    let (writer, pr) = (world.writer(), world.id.pr);
    let live = writer
        .reader()
        .pull_request(&repo(), &world.id)
        .await
        .unwrap();
    let review = NewReview {
        commit: live.head.clone(),
        body: "One.".to_owned(),
        comments: vec![comment("src/new.rs", 1)],
    };
    writer.create_review(&repo(), pr, &review).await.unwrap();
    let rewrite = mirilla_sim::Commit::by("bob", "Again").write("src/new.rs", "other\n");
    world.gh().commit(REPO, "feature", &rewrite).unwrap();
    let existing = world.reader().existing(&repo(), pr).await.unwrap();
    let [outdated] = &*existing.comments else {
        panic!("{existing:?}")
    };
    assert_eq!((outdated.line, outdated.original_line), (None, Some(1)));
    assert!(outdated.ours && existing.threads[0].outdated);
    world.gh().reviews(REPO, pr.get()).unwrap();
    world.sim.finish().unwrap();
}
