//! The whole way once: token, pull request, diff, archive, review, read back.

use mirilla_sim::{Fault, GithubOptions, Limits};
use serde_json::json;

use crate::client::send;
use crate::world::{REPO, World};

#[test]
fn bot_reviews_a_pull_request() {
    let world = World::new();
    let mint = format!("/app/installations/{}/access_tokens", world.installation);
    let minted = world.call_as(&world.jwt(), "POST", &mint, None);
    assert_eq!(minted.status, 201, "{}", minted.text());
    let token = minted.json()["token"].as_str().unwrap().to_owned();
    assert!(
        token.starts_with("ghs_4242_") && token.len() > 400,
        "{token}"
    );

    let pull = world.call_as(&token, "GET", &world.at(""), None).json();
    assert_eq!(pull["head"]["sha"], world.head());
    assert_eq!(
        (&pull["changed_files"], &pull["additions"]),
        (&json!(2), &json!(2))
    );

    let diff = world
        .get_as(&world.at(""), "application/vnd.github.diff")
        .text();
    assert!(
        diff.contains("+changed 10\n") && diff.starts_with("diff --git a/src/new.rs"),
        "{diff}"
    );

    let zip = world.get(&format!("/repos/{REPO}/zipball/{}", world.head()));
    assert_eq!(zip.status, 302);
    let location = zip.header("location").unwrap();
    let archive = send("GET", location, &[("user-agent", "t")], b"").unwrap();
    assert_eq!(
        (archive.status, archive.header("content-length")),
        (200, None)
    );
    assert!(archive.body.starts_with(b"PK"));

    let review = world.call(
        "POST",
        &world.at("/reviews"),
        Some(json!({
            "commit_id": world.head(), "event": "COMMENT", "body": "One thing.",
            "comments": [{ "path": "src/pay.rs", "line": 10, "side": "RIGHT", "body": "Hm." }],
        })),
    );
    assert_eq!(review.status, 200, "{}", review.text());
    assert_eq!(review.json()["user"]["login"], "mirilla[bot]");

    let seen = world.gh().reviews(REPO, world.pull).unwrap();
    assert_eq!(seen[0].body, "One thing.");
    assert_eq!(seen[0].comments[0].line, Some(10));
    let page = world.gh().pull_request_page(REPO, world.pull).unwrap();
    let line = page.files[1]
        .lines
        .iter()
        .find(|line| line.text == "changed 10")
        .unwrap();
    assert_eq!(line.threads[0].comments[0].body, "Hm.");
    world.sim.finish().unwrap();
}

#[test]
fn many_callers_at_once_are_served_one_by_one() {
    let world = World::with(GithubOptions {
        limits: Limits::none(),
        ..GithubOptions::default()
    });
    std::thread::scope(|scope| {
        for caller in 0..8 {
            let world = &world;
            scope.spawn(move || {
                for n in 0..12 {
                    let body = json!({ "body": format!("{caller} {n}") });
                    let path = format!("/repos/{REPO}/issues/{}/comments", world.pull);
                    let bearer = format!("Bearer {}", world.token);
                    let headers = [("user-agent", "t"), ("authorization", &*bearer)];
                    let url = format!("{}{path}", world.sim.github_api_url());
                    let text = body.to_string();
                    assert_eq!(
                        send("POST", &url, &headers, text.as_bytes())
                            .unwrap()
                            .status,
                        201
                    );
                    world
                        .gh()
                        .comment(REPO, world.pull, "alice", "meanwhile")
                        .unwrap();
                }
            });
        }
    });
    let comments = world.gh().comments(REPO, world.pull).unwrap();
    let ids: std::collections::BTreeSet<u64> = comments.iter().map(|c| c.id).collect();
    assert_eq!((comments.len(), ids.len()), (192, 192));
    world.sim.finish().unwrap();
}

#[test]
fn stalled_answer_comes_after_its_pause() {
    let world = World::new();
    let pause = std::time::Duration::from_millis(50);
    world
        .gh()
        .faults()
        .on_next("GET /meta", Fault::stall(pause));
    #[expect(clippy::disallowed_methods, reason = "the pause is a real one")]
    let before = std::time::Instant::now();
    assert_eq!(world.get("/meta").status, 200);
    assert!(before.elapsed() >= pause);
}
