//! What GitHub enforces when a review is created, and what happens to it afterwards.

use mirilla_sim::{GithubOptions, Wording};
use serde_json::{Value, json};

use crate::client::Answer;
use crate::material::error;
use crate::world::{REPO, World};

fn create(world: &World, body: Value) -> Answer {
    world.call("POST", &world.at("/reviews"), Some(body))
}

/// Posts a review with one comment.
fn comment(world: &World, comment: Value) -> Answer {
    let mut comment = comment;
    comment["body"] = json!("Hm.");
    create(
        world,
        json!({ "event": "COMMENT", "body": "See below.", "comments": [comment] }),
    )
}

fn older() -> World {
    World::with(GithubOptions {
        wording: Wording::Older,
        ..GithubOptions::default()
    })
}

/// Checks that a review was refused with exactly this body, and that nothing was posted.
fn refused(world: &World, answer: &Answer, file: &str) {
    assert_eq!(answer.status, 422);
    assert_eq!(answer.json(), error(file));
    assert!(world.gh().reviews(REPO, world.pull).unwrap().is_empty());
    assert!(world.gh().threads(REPO, world.pull).unwrap().is_empty());
}

#[test]
fn line_off_the_diff_is_refused_in_both_wordings() {
    let off = json!({ "path": "src/pay.rs", "line": 2, "side": "RIGHT" });
    let world = World::new();
    refused(
        &world,
        &comment(&world, off.clone()),
        "422.review.line_unresolved.json",
    );
    let world = older();
    refused(
        &world,
        &comment(&world, off),
        "422.review.line_not_in_diff.json",
    );
}

#[test]
fn file_off_the_diff_is_refused() {
    let world = World::new();
    let off = json!({ "path": "README.md", "line": 1 });
    refused(
        &world,
        &comment(&world, off),
        "422.review.path_unresolved.json",
    );
}

#[test]
fn one_bad_comment_refuses_all_without_naming_it() {
    let world = World::new();
    let good = json!({ "path": "src/pay.rs", "line": 10, "body": "Good." });
    let bad = json!({ "path": "src/pay.rs", "line": 1, "body": "Bad." });
    let review = json!({ "event": "COMMENT", "body": "Two.", "comments": [good, bad] });
    let answer = create(&world, review);
    assert!(!answer.text().contains("pay.rs") && !answer.text().contains("Bad"));
    refused(&world, &answer, "422.review.line_unresolved.json");
}

#[test]
fn start_line_must_precede_the_line() {
    let world = World::new();
    let equal = json!({ "path": "src/pay.rs", "start_line": 10, "line": 10 });
    refused(
        &world,
        &comment(&world, equal),
        "422.review.start_equals_line.json",
    );
}

#[test]
fn several_lines_must_lie_in_one_hunk() {
    let world = older();
    let off = json!({ "path": "src/pay.rs", "start_line": 1, "line": 2 });
    refused(
        &world,
        &comment(&world, off),
        "422.review.multi_line_hunk.json",
    );
    let start_off = json!({ "path": "src/pay.rs", "start_line": 2, "line": 10 });
    assert_eq!(comment(&world, start_off).status, 422);
    let fine = json!({ "path": "src/pay.rs", "start_line": 8, "line": 10 });
    assert_eq!(comment(&world, fine).status, 200);
    let seen = world.gh().reviews(REPO, world.pull).unwrap();
    assert_eq!(seen[0].comments[0].original_start_line, Some(8));
}

#[test]
fn position_counts_below_the_first_hunk_header() {
    let world = World::new();
    // @@ -7,7 +7,7 @@: three lines of context, then -10, then +10.
    let answer = comment(&world, json!({ "path": "src/pay.rs", "position": 5 }));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let seen = world.gh().reviews(REPO, world.pull).unwrap();
    assert_eq!(seen[0].comments[0].original_line, Some(10));
    for off in [0, 9, 5000] {
        let answer = comment(&world, json!({ "path": "src/pay.rs", "position": off }));
        assert_eq!(answer.json(), error("422.review.position_invalid.json"));
    }
    let neither = comment(&world, json!({ "path": "src/pay.rs" }));
    assert_eq!(neither.json(), error("422.review.position_invalid.json"));
}

#[test]
fn removed_and_context_lines_can_be_addressed_on_the_left() {
    let world = World::new();
    for (side, line) in [("LEFT", 10), ("LEFT", 9), ("RIGHT", 13), ("RIGHT", 7)] {
        let answer = comment(
            &world,
            json!({ "path": "src/pay.rs", "line": line, "side": side }),
        );
        assert_eq!(answer.status, 200, "{side} {line}: {}", answer.text());
    }
    let hunk = world.get(&world.at("/comments")).json()[0]["diff_hunk"].clone();
    assert_eq!(
        hunk, "@@ -7,7 +7,7 @@ line 6\n line 7\n line 8\n line 9\n-line 10",
        "quoted up to the removed line"
    );
    world.gh().reviews(REPO, world.pull).unwrap();
    world.sim.finish().unwrap();
}

#[test]
fn comment_event_needs_a_body() {
    let world = World::new();
    for body in [
        json!({ "event": "COMMENT" }),
        json!({ "event": "COMMENT", "body": " \n" }),
    ] {
        assert_eq!(create(&world, body).status, 422);
    }
    let review = json!({
        "event": "COMMENT",
        "comments": [{ "path": "src/pay.rs", "line": 10, "body": "x" }],
    });
    assert_eq!(create(&world, review).status, 422);
    assert_eq!(
        create(&world, json!({ "event": "NONSENSE", "body": "x" })).status,
        422
    );
}

#[test]
fn bodies_over_the_limit_are_refused() {
    let world = World::new();
    let fits = "\u{e9}".repeat(65_536);
    let answer = create(&world, json!({ "event": "COMMENT", "body": fits }));
    assert_eq!(answer.status, 200, "characters count, not bytes");
    let answer = create(
        &world,
        json!({ "event": "COMMENT", "body": format!("{fits}x") }),
    );
    assert_eq!(answer.status, 422);
    assert!(
        answer
            .text()
            .contains("Body is too long (maximum is 65536 characters)")
    );
    let review = json!({
        "event": "COMMENT", "body": "x",
        "comments": [{ "path": "src/pay.rs", "line": 10, "body": format!("{fits}x") }],
    });
    assert_eq!(create(&world, review).status, 422);
    let long = Some(json!({ "body": "x".repeat(65_537) }));
    let path = format!("/repos/{REPO}/issues/{}/comments", world.pull);
    let answer = world.call("POST", &path, long);
    assert_eq!(answer.json(), error("422.body_too_long.json"));
}

#[test]
fn one_pending_review_per_user() {
    let world = World::new();
    let pending = json!({ "comments": [{ "path": "src/pay.rs", "line": 10, "body": "Draft" }] });
    let made = create(&world, pending).json();
    assert_eq!(made["state"], "PENDING");
    assert!(made.get("submitted_at").is_none());
    let second = create(&world, json!({ "event": "COMMENT", "body": "x" }));
    assert_eq!(second.json(), error("422.review.pending_exists.json"));
    // Another identity may, and does not see the draft.
    let alice = world
        .gh()
        .create_pat("alice", &[("pull_requests", "write")], None)
        .unwrap();
    let hers = Some(json!({ "event": "COMMENT", "body": "Hello" }));
    assert_eq!(
        world
            .call_as(&alice, "POST", &world.at("/reviews"), hers)
            .status,
        200
    );
    let listed = world
        .call_as(&alice, "GET", &world.at("/reviews"), None)
        .json();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(world.get(&world.at("/comments")).json(), json!([]));

    let id = made["id"].as_u64().unwrap();
    let submit = Some(json!({ "event": "COMMENT", "body": "Now." }));
    let done = world.call("POST", &world.at(&format!("/reviews/{id}/events")), submit);
    assert_eq!(done.json()["state"], "COMMENTED");
    assert_eq!(
        world
            .get(&world.at("/comments"))
            .json()
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        world
            .call("DELETE", &world.at(&format!("/reviews/{id}")), None)
            .status,
        422
    );
}

#[test]
fn pending_review_can_be_deleted() {
    let world = World::new();
    let pending = json!({ "comments": [{ "path": "src/pay.rs", "line": 10, "body": "Draft" }] });
    let id = create(&world, pending).json()["id"].as_u64().unwrap();
    assert_eq!(
        world
            .call("DELETE", &world.at(&format!("/reviews/{id}")), None)
            .status,
        200
    );
    assert!(world.gh().threads(REPO, world.pull).unwrap().is_empty());
    assert_eq!(
        create(&world, json!({ "event": "COMMENT", "body": "x" })).status,
        200
    );
}

#[test]
fn own_pull_request_cannot_be_judged() {
    let world = World::new();
    let bob = world
        .gh()
        .create_pat("bob", &[("pull_requests", "write")], None)
        .unwrap();
    let request = Some(json!({ "event": "REQUEST_CHANGES", "body": "No" }));
    let answer = world.call_as(&bob, "POST", &world.at("/reviews"), request);
    assert_eq!(answer.json(), error("422.review.own_pr.json"));
    let approve = Some(json!({ "event": "APPROVE" }));
    let answer = world.call_as(&bob, "POST", &world.at("/reviews"), approve);
    assert!(
        answer
            .text()
            .contains("Review Can not approve your own pull request")
    );
}

#[test]
fn review_body_is_edited_in_place() {
    let world = World::new();
    let id = create(&world, json!({ "event": "COMMENT", "body": "First" })).json()["id"].clone();
    world.gh().reviews(REPO, world.pull).unwrap();
    assert!(world.gh().unread().is_empty());
    let path = world.at(&format!("/reviews/{id}"));
    let answer = world.call("PUT", &path, Some(json!({ "body": "Second" })));
    assert_eq!(
        (answer.status, answer.json()["body"].as_str()),
        (200, Some("Second"))
    );
    assert_eq!(world.gh().unread().len(), 1, "an edit is news to the test");
    let alice = world
        .gh()
        .create_pat("alice", &[("pull_requests", "write")], None)
        .unwrap();
    let foreign = world.call_as(&alice, "PUT", &path, Some(json!({ "body": "Mine" })));
    assert_eq!(foreign.status, 422);
    assert_eq!(
        world.gh().reviews(REPO, world.pull).unwrap()[0].body,
        "Second"
    );
    world.sim.finish().unwrap();
}

#[test]
fn comments_of_a_review_are_listed_apart() {
    let world = World::new();
    let first = comment(&world, json!({ "path": "src/pay.rs", "line": 10 })).json();
    comment(&world, json!({ "path": "src/new.rs", "line": 1 }));
    let own = world
        .get(&world.at(&format!("/reviews/{}/comments", first["id"])))
        .json();
    assert_eq!(own.as_array().unwrap().len(), 1);
    assert_eq!(
        (&own[0]["path"], &own[0]["position"]),
        (&json!("src/pay.rs"), &json!(5))
    );
    assert!(own[0].get("line").is_none(), "the poorer shape");
    assert!(world.get(&world.at("/reviews/1/comments")).status == 404);
    world.gh().reviews(REPO, world.pull).unwrap();
}

#[test]
fn commit_must_belong_to_the_pull_request() {
    let world = World::new();
    let old = world.head();
    let main = world.gh().tip(REPO, "main").unwrap();
    let other = json!({ "event": "COMMENT", "body": "x", "commit_id": main });
    assert_eq!(create(&world, other).status, 422);
    // A head that was pushed over still belongs to it.
    let commit = mirilla_sim::Commit::by("bob", "Again").write("src/new.rs", "fn newer() {}\n");
    world.gh().commit(REPO, "feature", &commit).unwrap();
    let stale = json!({
        "event": "COMMENT", "body": "x", "commit_id": old,
        "comments": [{ "path": "src/new.rs", "line": 1, "body": "y" }],
    });
    assert_eq!(create(&world, stale).status, 200);
    let seen = world.gh().reviews(REPO, world.pull).unwrap();
    assert!(seen[0].comments[0].outdated, "that line has changed since");
}

#[test]
fn unknown_field_in_a_request_fails_the_test() {
    let world = World::new();
    let review = json!({ "event": "COMMENT", "body": "x", "comments": [], "subject": "y" });
    assert_eq!(create(&world, review).status, 422);
    assert!(world.sim.finish().is_err());
}

#[test]
fn dismissing_takes_a_verdict_back() {
    let world = World::new();
    let judged = world
        .gh()
        .submit_review(REPO, world.pull, "alice", "CHANGES_REQUESTED", "No");
    let path = world.at(&format!("/reviews/{}/dismissals", judged.unwrap()));
    let answer = world.call("PUT", &path, Some(json!({ "message": "Outdated" })));
    assert_eq!(answer.json()["state"], "DISMISSED");
    let again = world.call("PUT", &path, Some(json!({ "message": "Outdated" })));
    assert_eq!(again.status, 422);
}
