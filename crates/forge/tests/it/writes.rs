//! Writes: what is sent, how often, and what is known when the answer is lost.

use std::time::Duration;

use mirilla_domain::ids::ReviewId;
use mirilla_domain::review::Side;
use mirilla_ports::forge::{ForgeError, NewComment, NewReview};
use mirilla_ports::{ForgeRead as _, ForgeWrite as _};
use mirilla_sim::Fault;
use serde_json::json;

use crate::cases_writes::{comment, review};
use crate::support::{REPO, Reply, Script, TestClock, World, pull, repo, writer};

const CREATE: &str = "POST /repos/{o}/{r}/pulls/{n}/reviews";

#[tokio::test]
async fn review_is_sent_as_a_comment_with_its_anchors() {
    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    let path = "/repos/acme/shop/pulls/7/reviews";
    server.add(
        "POST",
        path,
        None,
        vec![Reply::json(200, &json!({"id": 5}))],
    );
    let range = |start_line, line| NewComment {
        start_line: Some(start_line),
        side: Side::Left,
        ..comment("a", line)
    };
    let comments = vec![comment("a", 3), range(2, 4), range(4, 4), range(6, 4)];
    let half = writer(&server.base, &clock);
    half.create_review(&repo(), pull(1).id.pr, &review(comments))
        .await
        .unwrap();
    let left = |start: u32, line: u32| {
        json!({"path": "a", "body": "text", "line": line, "side": "LEFT",
               "start_line": start, "start_side": "LEFT"})
    };
    assert_eq!(
        server.seen()[0].json(),
        json!({
            "commit_id": "b".repeat(40), "event": "COMMENT",
            "body": "summary\n<!-- OWN-MARKER run -->",
            "comments": [
                {"path": "a", "body": "text", "line": 3, "side": "RIGHT"},
                left(2, 4),
                {"path": "a", "body": "text", "line": 4, "side": "LEFT"},
                left(4, 6),
            ],
        })
    );
    server.finish();
}

#[tokio::test]
async fn writes_follow_each_other_a_second_apart() {
    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    let one = "/repos/acme/shop/pulls/7/reviews/1";
    server.add("PUT", one, None, vec![Reply::json(200, &json!({"id": 1}))]);
    server.add(
        "DELETE",
        one,
        None,
        vec![Reply::json(200, &json!({"id": 1}))],
    );
    let (half, pr) = (writer(&server.base, &clock), pull(1).id.pr);
    let (repo, id) = (repo(), ReviewId::new(1));
    let edits = (0..3).map(|_| half.edit_review(&repo, pr, id, "text"));
    let edits = futures_join(edits.collect()).await;
    assert!(edits.iter().all(Result::is_ok));
    half.delete_pending_review(&repo, pr, id).await.unwrap();
    let times: Vec<_> = server.seen().iter().map(|seen| seen.at).collect();
    assert!(
        times
            .windows(2)
            .all(|w| w[1].since(w[0]) >= Duration::from_secs(1)),
        "{times:?}"
    );
    assert_eq!(
        clock.waits(),
        [Duration::from_secs(1); 3],
        "the first does not wait"
    );
    assert_eq!(server.seen()[0].json(), json!({"body": "text"}));
    server.finish();
}

/// Runs futures side by side.
async fn futures_join<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut pinned: Vec<_> = futures.into_iter().map(Box::pin).collect();
    let mut done: Vec<Option<F::Output>> = pinned.iter().map(|_| None).collect();
    std::future::poll_fn(|cx| {
        for (future, done) in pinned.iter_mut().zip(&mut done) {
            if done.is_none() {
                if let std::task::Poll::Ready(output) = future.as_mut().poll(cx) {
                    *done = Some(output);
                }
            }
        }
        if done.iter().all(Option::is_some) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    done.into_iter().flatten().collect()
}

#[tokio::test]
async fn lost_answers_are_unknown_and_the_write_is_not_repeated() {
    for (fault, landed) in [
        (Fault::DropBeforeEffect, 0),
        (Fault::DropAfterEffect, 1),
        (Fault::CutBody { bytes: 10 }, 1),
        (Fault::HtmlInsteadOfJson, 1),
        (Fault::status(502, r#"{"message":"Server Error"}"#), 0),
        (Fault::status(500, "{}"), 0),
    ] {
        let world = World::new();
        let (writer, pr) = (world.writer(), world.id.pr);
        let live = writer
            .reader()
            .pull_request(&repo(), &world.id)
            .await
            .unwrap();
        let name = format!("{fault:?}");
        world.gh().faults().on_next(CREATE, fault);
        let review = NewReview {
            commit: live.head.clone(),
            body: "Body.".to_owned(),
            comments: vec![comment("src/pay.rs", 10)],
        };
        let error = writer
            .create_review(&repo(), pr, &review)
            .await
            .unwrap_err();
        assert!(
            matches!(error, ForgeError::Unknown { .. }),
            "{name}: {error:?}"
        );
        let posts = world.calls().iter().filter(|c| c.contains(CREATE)).count();
        assert_eq!(posts, 1, "{name}");
        // What the stage does next: it reads.
        let existing = writer.reader().existing(&repo(), pr).await.unwrap();
        assert_eq!(
            existing.reviews.iter().filter(|r| r.ours).count(),
            landed,
            "{name}"
        );
        world.gh().reviews(REPO, pr.get()).unwrap();
        world.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn write_that_lands_later_is_unknown_at_first() {
    let world = World::new();
    let (writer, pr) = (world.writer(), world.id.pr);
    let live = writer
        .reader()
        .pull_request(&repo(), &world.id)
        .await
        .unwrap();
    world
        .gh()
        .faults()
        .on_next(CREATE, Fault::LandLater { calls: 2 });
    let review = NewReview {
        commit: live.head,
        body: "Body.".to_owned(),
        comments: vec![],
    };
    let error = writer
        .create_review(&repo(), pr, &review)
        .await
        .unwrap_err();
    assert!(matches!(error, ForgeError::Unknown { .. }), "{error:?}");
    let early = writer.reader().existing(&repo(), pr).await.unwrap();
    let late = writer.reader().existing(&repo(), pr).await.unwrap();
    assert_eq!((early.reviews.len(), late.reviews.len()), (0, 1));
    world.gh().reviews(REPO, pr.get()).unwrap();
    world.sim.finish().unwrap();
}

#[tokio::test]
async fn refusals_of_the_simulator_are_understood() {
    use mirilla_ports::forge::Refusal::{Anchor, TooLong};
    let world = World::new();
    let (writer, pr) = (world.writer(), world.id.pr);
    let live = writer
        .reader()
        .pull_request(&repo(), &world.id)
        .await
        .unwrap();
    let review = |body: &str, comments| NewReview {
        commit: live.head.clone(),
        body: body.to_owned(),
        comments,
    };
    for (review, want) in [
        (review("b", vec![comment("src/pay.rs", 20)]), Anchor),
        (
            review(
                "b",
                vec![comment("src/pay.rs", 10), comment("no/such.rs", 1)],
            ),
            Anchor,
        ),
        (review(&"x".repeat(65_537), vec![]), TooLong),
    ] {
        let error = writer
            .create_review(&repo(), pr, &review)
            .await
            .unwrap_err();
        let ForgeError::Unprocessable { reason, .. } = error else {
            panic!("{want:?}: {error:?}");
        };
        assert_eq!(reason, want);
    }
    let existing = writer.reader().existing(&repo(), pr).await.unwrap();
    assert_eq!(existing.reviews, []);
    world.gh().take_problems();
    world.sim.finish().unwrap();
}

#[tokio::test]
async fn edited_review_keeps_its_number() {
    let world = World::new();
    let (writer, pr) = (world.writer(), world.id.pr);
    let live = writer
        .reader()
        .pull_request(&repo(), &world.id)
        .await
        .unwrap();
    let review = NewReview {
        commit: live.head,
        body: "First.".to_owned(),
        comments: vec![],
    };
    let id = writer.create_review(&repo(), pr, &review).await.unwrap();
    writer
        .edit_review(&repo(), pr, id, "Second.")
        .await
        .unwrap();
    let shown = world.gh().reviews(REPO, pr.get()).unwrap();
    assert_eq!(
        (shown.len(), &*shown[0].body, shown[0].state),
        (1, "Second.", "COMMENTED")
    );
    assert_eq!(shown[0].id, id.get());
    world.sim.finish().unwrap();
}

#[tokio::test]
async fn token_that_expired_meanwhile_is_replaced() {
    let world = World::new();
    let (writer, pr) = (world.writer(), world.id.pr);
    let live = writer
        .reader()
        .pull_request(&repo(), &world.id)
        .await
        .unwrap();
    // The forge forgets the token early.
    let revoked = r#"{"message":"Bad credentials"}"#;
    world
        .gh()
        .faults()
        .on_next(CREATE, Fault::status(401, revoked));
    let review = NewReview {
        commit: live.head,
        body: "Body.".to_owned(),
        comments: vec![],
    };
    writer.create_review(&repo(), pr, &review).await.unwrap();
    let mints = world
        .calls()
        .iter()
        .filter(|c| c.contains("access_tokens"))
        .count();
    assert_eq!(mints, 2);
    assert_eq!(world.gh().reviews(REPO, pr.get()).unwrap().len(), 1);
    world.sim.finish().unwrap();
}
