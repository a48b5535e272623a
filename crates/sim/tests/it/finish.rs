//! What `finish` finds.

use serde_json::json;

use crate::client::send;
use crate::world::{REPO, World};

fn problems(world: World) -> String {
    world.sim.finish().unwrap_err().to_string()
}

#[test]
fn unknown_route_fails_the_test_by_name() {
    let world = World::new();
    let answer = world.call("POST", "/repos/acme/shop/dispatches", Some(json!({})));
    assert_eq!(answer.status, 404);
    assert_eq!(world.call("GET", "/graphql/x", None).status, 404);
    let found = problems(world);
    assert!(
        found.contains("unknown route: POST /repos/acme/shop/dispatches"),
        "{found}"
    );
    assert!(found.contains("unknown route: GET /graphql/x"), "{found}");
}

#[test]
fn what_nobody_read_fails_the_test() {
    let world = World::new();
    let review = json!({
        "event": "COMMENT", "body": "Unseen body",
        "comments": [{ "path": "src/pay.rs", "line": 10, "body": "Unseen line" }],
    });
    world.call("POST", &world.at("/reviews"), Some(review));
    let path = format!("/repos/{REPO}/issues/{}/comments", world.pull);
    world.call("POST", &path, Some(json!({ "body": "Unseen whole" })));
    // What people say is none of the test's business.
    world
        .gh()
        .comment(REPO, world.pull, "alice", "Mine")
        .unwrap();
    let found = problems(world);
    for what in ["Unseen body", "Unseen line", "Unseen whole"] {
        assert!(found.contains(what), "{found}");
    }
    assert!(!found.contains("Mine") && found.starts_with("the simulator saw 3 problem(s)"));
}

#[test]
fn reading_the_page_reads_everything() {
    let world = World::new();
    let review = json!({
        "event": "COMMENT", "body": "Seen",
        "comments": [{ "path": "src/pay.rs", "line": 10, "side": "LEFT", "body": "Seen, too" }],
    });
    world.call("POST", &world.at("/reviews"), Some(review));
    let path = format!("/repos/{REPO}/issues/{}/comments", world.pull);
    world.call("POST", &path, Some(json!({ "body": "And this" })));
    let page = world.gh().pull_request_page(REPO, world.pull).unwrap();
    assert_eq!(
        (page.title.as_str(), page.author.as_str()),
        ("Pay faster", "bob")
    );
    assert_eq!(page.comments[0].body, "And this");
    let lines = &page.files[1].lines;
    assert_eq!(lines[0].text, "@@ -7,7 +7,7 @@ line 6");
    let commented: Vec<_> = lines.iter().filter(|l| !l.threads.is_empty()).collect();
    assert_eq!(
        (commented[0].sign, commented[0].old, commented.len()),
        ('-', Some(10), 1)
    );
    assert!(page.outdated.is_empty());
    world.sim.finish().unwrap();
}

#[test]
fn secret_in_a_body_or_url_fails_the_test() {
    let secret = "made-up-model-key-0123456789";
    for part in [
        "made-up-model-key-0123456789",
        "-key-012",
        "bWFkZS11cC1tb2RlbC1rZXk",
    ] {
        let world = World::new();
        world.sim.sentinel(secret);
        let review = json!({ "event": "COMMENT", "body": format!("Found {part} here") });
        world.call("POST", &world.at("/reviews"), Some(review));
        world.gh().reviews(REPO, world.pull).unwrap();
        let found = problems(world);
        assert!(
            found.contains("secret leaked: in POST /repos/acme/shop/pulls/1/reviews"),
            "{found}"
        );
    }
    let world = World::new();
    world.sim.sentinel(secret);
    assert_eq!(
        world
            .get(&format!("/repos/{REPO}/contents/x?ref={secret}"))
            .status,
        404
    );
    assert!(problems(world).contains("secret leaked"));
    let world = World::new();
    world.sim.sentinel(secret);
    let review = json!({ "event": "COMMENT", "body": "Nothing of that kind here" });
    world.call("POST", &world.at("/reviews"), Some(review));
    world.gh().reviews(REPO, world.pull).unwrap();
    world.sim.finish().unwrap();
}

#[test]
fn calls_are_logged_in_order() {
    let world = World::new();
    world.call_as(&world.jwt(), "GET", "/app", None);
    let files = world.get(&format!("{}?per_page=5", world.at("/files")));
    let calls = world.gh().calls();
    assert_eq!(
        (calls[0].token_kind, calls[0].route.as_str()),
        ("app", "GET /app")
    );
    let call = &calls[1];
    assert_eq!(call.route, "GET /repos/{o}/{r}/pulls/{n}/files");
    assert_eq!(call.path, format!("{}?per_page=5", world.at("/files")));
    assert_eq!(
        (call.status, call.token_kind, call.bytes),
        (200, "installation", files.body.len())
    );
}

#[test]
fn unprovoked_world_is_without_problems() {
    World::new().sim.finish().unwrap();
}

#[test]
fn simulator_stops_when_it_is_dropped() {
    let world = World::new();
    let url = format!("{}/meta", world.sim.github_api_url());
    assert_eq!(
        send("GET", &url, &[("user-agent", "t")], b"")
            .unwrap()
            .status,
        200
    );
    let address = url
        .trim_start_matches("http://")
        .split('/')
        .next()
        .unwrap()
        .to_owned();
    let directory = world.gh().git_dir(REPO).unwrap();
    drop(world);
    assert!(std::net::TcpStream::connect(address).is_err());
    assert!(!directory.exists(), "its repositories are gone");
}
