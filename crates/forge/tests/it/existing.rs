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
