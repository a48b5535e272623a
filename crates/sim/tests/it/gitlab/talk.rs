//! Notes, threads, answers, resolving and emoji.

use mirilla_sim::{Access, GitlabVersion, Scope};
use serde_json::{Value, json};

use crate::gitlab::world::{Lab, PROJECT};

fn at(thread: &Value, rest: &str) -> String {
    format!("/discussions/{}{rest}", thread["id"].as_str().unwrap())
}

#[test]
fn threads_are_listed_answered_resolved_and_opened_again() {
    for version in GitlabVersion::PLAYED {
        let lab = Lab::of(version);
        let thread = lab.thread("Is this right?");
        assert_eq!(thread["id"].as_str().unwrap().len(), 40);
        let answer = lab.post(&at(&thread, "/notes"), json!({ "body": "An answer" }));
        assert_eq!(
            (answer.status, &answer.json()["type"]),
            (201, &json!("DiffNote"))
        );
        let resolve = |to: bool| {
            let path = lab.at(&at(&thread, &format!("?resolved={to}")));
            lab.call("PUT", &path, None).json()["notes"][0]["resolved"].clone()
        };
        assert_eq!(
            (resolve(true), resolve(false), resolve(true)),
            (json!(true), json!(false), json!(true))
        );
        let listed = lab.get(&lab.at("/discussions")).json();
        assert_eq!(listed[0]["notes"][0]["resolved_by"]["username"], "mirilla");
        // GitLab notes down that the last thread was resolved, twice.
        assert_eq!(listed[1]["notes"][0]["body"], "resolved all threads");
        assert_eq!(
            (
                &listed[1]["individual_note"],
                &listed[1]["notes"][0]["system"]
            ),
            (&json!(true), &json!(true))
        );
        let page = lab.gl().merge_request_page(PROJECT, lab.iid).unwrap();
        assert!(page.discussions[0].resolved);
        lab.sim.finish().unwrap();
    }
}

#[test]
fn only_developers_and_the_author_resolve() {
    let lab = Lab::of(GitlabVersion::CURRENT);
    let gl = lab.gl();
    let thread = lab.thread("Hm");
    let path = lab.at(&at(&thread, "?resolved=true"));
    gl.add_member(PROJECT, "carol", Access::Reporter).unwrap();
    let carol = gl.create_token("carol", Scope::Api);
    assert_eq!(lab.call_as(&carol, "PUT", &path, None).status, 403);
    gl.add_member(PROJECT, "bob", Access::Reporter).unwrap();
    let bob = gl.create_token("bob", Scope::Api);
    assert_eq!(lab.call_as(&bob, "PUT", &path, None).status, 200);
    gl.merge_request_page(PROJECT, lab.iid).unwrap();
    lab.sim.finish().unwrap();
}

#[test]
fn notes_are_written_edited_and_deleted() {
    for version in GitlabVersion::PLAYED {
        let lab = Lab::of(version);
        let made = lab.post("/notes", json!({ "body": "Summary" })).json();
        assert_eq!(
            (&made["type"], &made["resolvable"]),
            (&Value::Null, &json!(false))
        );
        let path = lab.at(&format!("/notes/{}", made["id"]));
        let edited = lab.call("PUT", &path, Some(json!({ "body": "New summary" })));
        assert_eq!(edited.json()["body"], "New summary");
        lab.gl()
            .comment(PROJECT, lab.iid, "alice", "Thanks")
            .unwrap();
        let listed = lab
            .get(&lab.at("/notes?sort=asc&order_by=created_at"))
            .json();
        assert_eq!(
            (&listed[0]["body"], &listed[1]["body"]),
            (&json!("New summary"), &json!("Thanks"))
        );
        let hers = lab.at(&format!("/notes/{}", listed[1]["id"]));
        assert_eq!(lab.call("DELETE", &hers, None).status, 403);
        assert_eq!(lab.call("DELETE", &path, None).status, 204);
        assert_eq!(lab.get(&path).status, 404);
        let page = lab.gl().merge_request_page(PROJECT, lab.iid).unwrap();
        assert_eq!((page.discussions.len(), page.notifications), (1, 2));
        lab.sim.finish().unwrap();
    }
}

#[test]
fn text_and_resolving_exclude_each_other() {
    let lab = Lab::of(GitlabVersion::V15_11);
    let thread = lab.thread("Hm");
    let note = at(&thread, &format!("/notes/{}", thread["notes"][0]["id"]));
    let put = |body: Value| lab.call("PUT", &lab.at(&note), Some(body));
    assert_eq!(put(json!({ "body": "x", "resolved": true })).status, 400);
    assert_eq!(put(json!({})).status, 400);
    assert_eq!(put(json!({ "body": "Better" })).json()["body"], "Better");
    assert_eq!(put(json!({ "resolved": true })).json()["resolved"], true);
    assert_eq!(lab.call("DELETE", &lab.at(&note), None).status, 204);
    assert_eq!(lab.get(&lab.at(&at(&thread, ""))).status, 404);
    lab.sim.finish().unwrap();
}

#[test]
fn empty_and_overlong_texts_are_refused() {
    let lab = Lab::of(GitlabVersion::V17_5);
    let post = |body: Value| lab.post("/notes", body).text();
    assert_eq!(post(json!({})), r#"{"error":"body is missing"}"#);
    assert!(post(json!({ "body": " " })).contains("can't be blank"));
    assert!(
        post(json!({ "body": "x".repeat(1_000_001) })).contains("maximum is 1000000 characters")
    );
    assert_eq!(
        lab.post("/notes", json!({ "body": "x".repeat(1_000_000) }))
            .status,
        201
    );
    lab.gl().merge_request_page(PROJECT, lab.iid).unwrap();
    lab.sim.finish().unwrap();
}

#[test]
fn line_that_commands_gitlab_fails_the_test() {
    let lab = Lab::of(GitlabVersion::CURRENT);
    lab.post(
        "/notes",
        json!({ "body": "See\n```\n/close\n```\nand a/close and /closed" }),
    );
    assert_eq!(lab.gl().take_problems(), []);
    lab.post("/notes", json!({ "body": "Fine.\n/merge" }));
    lab.gl().merge_request_page(PROJECT, lab.iid).unwrap();
    let found = lab.sim.finish().unwrap_err().to_string();
    assert!(found.contains("gives GitLab a command: /merge"), "{found}");
}

#[test]
fn what_nobody_read_fails_the_test() {
    let lab = Lab::of(GitlabVersion::CURRENT);
    lab.thread("Unseen thread");
    lab.post("/notes", json!({ "body": "Unseen note" }));
    lab.gl().comment(PROJECT, lab.iid, "alice", "Mine").unwrap();
    let found = lab.sim.finish().unwrap_err().to_string();
    assert!(
        found.contains("Unseen thread") && found.contains("Unseen note"),
        "{found}"
    );
    assert!(!found.contains("Mine"));
}

#[test]
fn emoji_are_put_listed_and_taken_back() {
    let lab = Lab::of(GitlabVersion::V12_10);
    let note = lab
        .gl()
        .comment(PROJECT, lab.iid, "alice", "/mirilla review")
        .unwrap();
    let path = lab.at(&format!("/notes/{note}/award_emoji"));
    let eyes = Some(json!({ "name": "eyes" }));
    let made = lab.call("POST", &path, eyes.clone());
    assert_eq!(
        (made.status, &made.json()["awardable_type"]),
        (201, &json!("Note"))
    );
    let again = lab.call("POST", &path, eyes);
    assert_eq!(
        again.json()["message"],
        "404 Award Emoji Name has already been taken Not Found"
    );
    assert_eq!(
        lab.call("POST", &path, Some(json!({ "name": "nope" })))
            .status,
        404
    );
    assert_eq!(lab.get(&path).json()[0]["user"]["username"], "mirilla");
    let own = format!("{path}/{}", made.json()["id"]);
    assert_eq!(lab.call("DELETE", &own, None).status, 204);
    assert_eq!(lab.get(&path).json(), json!([]));
    let whole = lab.post("/award_emoji", json!({ "name": "rocket" }));
    assert_eq!(whole.json()["awardable_type"], "MergeRequest");
    lab.sim.finish().unwrap();
}

#[test]
fn threads_that_must_be_resolved_block_the_merge() {
    let lab = Lab::of(GitlabVersion::V15_11);
    let gl = lab.gl();
    gl.protect(PROJECT, true, false).unwrap();
    let thread = lab.thread("Must be settled");
    let status = || lab.get(&lab.at("")).json()["detailed_merge_status"].clone();
    assert_eq!(status(), "discussions_not_resolved");
    gl.merge(PROJECT, lab.iid, "alice").unwrap_err();
    let note = thread["notes"][0]["id"].as_u64().unwrap();
    gl.resolve_thread(PROJECT, lab.iid, note, "bob").unwrap();
    assert_eq!(status(), "mergeable");
    gl.merge(PROJECT, lab.iid, "alice").unwrap();
    assert_eq!(lab.get(&lab.at("")).json()["state"], "merged");
    gl.merge_request_page(PROJECT, lab.iid).unwrap();
    lab.sim.finish().unwrap();
}
