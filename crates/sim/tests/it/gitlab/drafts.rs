//! Drafts and their publishing in one mail.

use mirilla_sim::{GitlabOptions, GitlabVersion, MisplacedDrafts};
use serde_json::json;

use crate::gitlab::world::{Lab, PROJECT};

const FRESH: (&str, &str) = ("fresh.go", "fresh.go");

#[test]
fn drafts_are_published_together_in_one_mail() {
    for version in [GitlabVersion::V17_5, GitlabVersion::CURRENT] {
        let lab = Lab::of(version);
        for (line, text) in [(1, "First"), (2, "Second")] {
            let position = lab.position(FRESH, None, Some(line));
            let made = lab.post(
                "/draft_notes",
                json!({ "note": text, "position": position }),
            );
            assert_eq!(made.status, 201, "{}", made.text());
            assert!(made.json()["line_code"].is_string());
        }
        // Nobody sees them before.
        assert_eq!(lab.get(&lab.at("/discussions")).json(), json!([]));
        let alice = lab.gl().create_token("alice", mirilla_sim::Scope::Api);
        assert_eq!(
            lab.call_as(&alice, "GET", &lab.at("/draft_notes"), None)
                .json(),
            json!([])
        );
        assert_eq!(lab.post("/draft_notes/bulk_publish", json!({})).status, 204);
        let page = lab.gl().merge_request_page(PROJECT, lab.iid).unwrap();
        assert_eq!((page.discussions.len(), page.notifications), (2, 1));
        assert_eq!(page.discussions[1].notes[0].body, "Second");
        assert_eq!(lab.get(&lab.at("/draft_notes")).json(), json!([]));
        lab.sim.finish().unwrap();
    }
}

#[test]
fn draft_answers_a_thread_and_resolves_it() {
    let lab = Lab::of(GitlabVersion::CURRENT);
    let thread = lab.thread("Hm");
    let answer = json!({
        "note": "Settled", "in_reply_to_discussion_id": thread["id"], "resolve_discussion": true,
    });
    let made = lab.post("/draft_notes", answer).json();
    let one = lab.at(&format!("/draft_notes/{}", made["id"]));
    let edited = lab.call("PUT", &one, Some(json!({ "note": "Settled now" })));
    assert_eq!(edited.json()["note"], "Settled now");
    assert_eq!(lab.call("PUT", &format!("{one}/publish"), None).status, 204);
    let page = lab.gl().merge_request_page(PROJECT, lab.iid).unwrap();
    assert!(page.discussions[0].resolved);
    assert_eq!(page.discussions[0].notes[1].body, "Settled now");
    let gone = json!({ "note": "x", "in_reply_to_discussion_id": "0".repeat(40) });
    assert_eq!(lab.post("/draft_notes", gone).status, 400);
    lab.sim.finish().unwrap();
}

#[test]
fn misplaced_draft_shows_only_when_it_is_published() {
    for (handling, status, kept) in [
        (MisplacedDrafts::FailPublish, 500, 0),
        (MisplacedDrafts::Vanish, 204, 1),
    ] {
        let lab = Lab::with(GitlabOptions {
            misplaced_drafts: handling,
            ..GitlabOptions::default()
        });
        for (line, text) in [(1, "Good"), (99, "Lost")] {
            let position = lab.position(FRESH, None, Some(line));
            let made = lab.post(
                "/draft_notes",
                json!({ "note": text, "position": position }),
            );
            assert_eq!(made.status, 201, "{}", made.text());
        }
        assert_eq!(
            lab.post("/draft_notes/bulk_publish", json!({})).status,
            status
        );
        let page = lab.gl().merge_request_page(PROJECT, lab.iid).unwrap();
        assert_eq!(page.discussions.len(), kept);
        assert_eq!(page.drafts.len(), if kept == 0 { 2 } else { 0 });
        lab.sim.finish().unwrap();
    }
}

#[test]
fn draft_can_be_thrown_away() {
    let lab = Lab::of(GitlabVersion::V17_5);
    let made = lab.post("/draft_notes", json!({ "note": "No" })).json();
    let one = lab.at(&format!("/draft_notes/{}", made["id"]));
    assert_eq!(lab.get(&one).json()["note"], "No");
    assert_eq!(lab.call("DELETE", &one, None).status, 204);
    assert_eq!(lab.get(&one).status, 404);
    lab.sim.finish().unwrap();
}

#[test]
fn draft_that_stays_behind_fails_the_test() {
    let lab = Lab::of(GitlabVersion::CURRENT);
    lab.post("/draft_notes", json!({ "note": "Forgotten" }));
    let found = lab.sim.finish().unwrap_err().to_string();
    assert!(
        found.contains("posted but not read: draft") && found.contains("Forgotten"),
        "{found}"
    );
}
