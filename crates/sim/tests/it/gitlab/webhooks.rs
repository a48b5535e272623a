//! Deliveries: headers by version, and bodies like the samples.

use mirilla_sim::{
    Commit, GitlabDelivery, GitlabFeature, GitlabOptions, GitlabVersion, HookOptions, HookTimes,
    OpenMerge, gitlab_signature,
};
use serde_json::{Value, json};

use crate::gitlab::world::{Lab, PROJECT, material};
use crate::material::lacking;

/// Made up for tests: 32 bytes that say so.
const SIGNING: &str = "whsec_dGVzdHRlc3R0ZXN0dGVzdHRlc3R0ZXN0dGVzdHRlc3Q=";

fn payload(delivery: &GitlabDelivery) -> Value {
    serde_json::from_slice(&delivery.body).unwrap()
}

/// Takes the only new delivery.
fn only(lab: &Lab) -> GitlabDelivery {
    let mut taken = lab.gl().take_deliveries();
    assert_eq!(taken.len(), 1, "{taken:?}");
    taken.remove(0)
}

/// Checks a delivery against a sample.
fn like(delivery: &GitlabDelivery, file: &str) {
    let sample = material(file);
    let mut found = Vec::new();
    lacking(&sample, &payload(delivery), "", &[], &mut found);
    // What else changed at that moment is another matter.
    found.retain(|what| !what.starts_with("/changes/updated_at"));
    assert!(found.is_empty(), "{file}: {found:#?}");
    let action = |value: &Value| value.pointer("/object_attributes/action").cloned();
    assert_eq!(action(&payload(delivery)), action(&sample), "{file}");
}

#[test]
fn signature_agrees_with_the_vector() {
    let vector = material("signing_vector.json");
    let text = |name: &str| vector[name].as_str().unwrap();
    let signature = gitlab_signature(
        text("signing_token"),
        text("webhook-id"),
        text("webhook-timestamp"),
        text("body").as_bytes(),
    );
    assert_eq!(signature.as_deref(), Some(text("webhook-signature")));
    assert_eq!(gitlab_signature("not one", "a", "1", b""), None);
}

#[test]
fn headers_are_those_of_the_version() {
    for version in GitlabVersion::PLAYED {
        let lab = Lab::of(version);
        let opened = only(&lab);
        assert_eq!(opened.header("X-Gitlab-Event"), Some("Merge Request Hook"));
        assert_eq!(opened.header("X-Gitlab-Token"), Some("made-up-hook-token"));
        for (header, feature) in [
            ("X-Gitlab-Event-UUID", GitlabFeature::EventUuid),
            ("X-Gitlab-Instance", GitlabFeature::InstanceHeader),
            ("X-Gitlab-Webhook-UUID", GitlabFeature::WebhookUuid),
            ("Idempotency-Key", GitlabFeature::IdempotencyKey),
            ("webhook-id", GitlabFeature::SigningToken),
            ("webhook-timestamp", GitlabFeature::SigningToken),
        ] {
            let there = opened.header(header).is_some();
            assert_eq!(there, version.has(feature), "{header} in {version}");
        }
        // Only a signing token makes a signature.
        assert_eq!(opened.header("webhook-signature"), None);
        lab.sim.finish().unwrap();
    }
}

#[test]
fn signing_token_signs_where_it_exists() {
    for version in GitlabVersion::PLAYED {
        let lab = Lab::of(version);
        let hook = HookOptions {
            token: None,
            signing_token: Some(SIGNING.to_owned()),
        };
        lab.gl().set_hook(PROJECT, hook).unwrap();
        drop(lab.gl().take_deliveries());
        lab.gl()
            .set_title(PROJECT, lab.iid, "Signed", "bob")
            .unwrap();
        let sent = only(&lab);
        assert_eq!(sent.header("X-Gitlab-Token"), None);
        let signed = sent.header("webhook-signature").map(str::to_owned);
        assert_eq!(
            signed.is_some(),
            version.has(GitlabFeature::SigningToken),
            "{version}"
        );
        if let (Some(id), Some(at)) = (sent.header("webhook-id"), sent.header("webhook-timestamp"))
        {
            assert_eq!(signed, gitlab_signature(SIGNING, id, at, &sent.body));
            assert_eq!(Some(id), sent.header("Idempotency-Key"));
        }
        lab.sim.finish().unwrap();
    }
}

#[test]
fn resending_keeps_the_key_and_shared_uuids_do_not() {
    let lab = Lab::of(GitlabVersion::V17_5);
    let first = only(&lab);
    lab.gl().resend(first.id).unwrap();
    let again = only(&lab);
    assert_eq!(
        first.header("Idempotency-Key"),
        again.header("Idempotency-Key")
    );
    assert_eq!(first.body, again.body);
    lab.gl().share_event_uuid(true);
    lab.gl().set_title(PROJECT, lab.iid, "One", "bob").unwrap();
    lab.gl().set_title(PROJECT, lab.iid, "Two", "bob").unwrap();
    let both = lab.gl().take_deliveries();
    let header = |index: usize, name: &str| both[index].header(name).map(str::to_owned);
    assert_eq!(
        header(0, "X-Gitlab-Event-UUID"),
        header(1, "X-Gitlab-Event-UUID")
    );
    assert_ne!(header(0, "Idempotency-Key"), header(1, "Idempotency-Key"));
    lab.sim.finish().unwrap();
}

#[test]
fn life_of_a_merge_request_is_told_like_gitlab_does() {
    let lab = Lab::of(GitlabVersion::CURRENT);
    let gl = lab.gl();
    like(&only(&lab), "mr.open.json");
    let before = lab.head();
    gl.commit(
        PROJECT,
        "feature",
        &Commit::by("bob", "More").write("x", "1\n"),
    )
    .unwrap();
    let pushed = only(&lab);
    like(&pushed, "mr.update.push_oldrev.json");
    assert_eq!(payload(&pushed)["object_attributes"]["oldrev"], before);
    assert_eq!(
        payload(&pushed)["object_attributes"]["last_commit"]["id"],
        lab.head()
    );
    gl.set_label(PROJECT, lab.iid, ("ai-review", true), "alice")
        .unwrap();
    let labeled = only(&lab);
    like(&labeled, "mr.update.label_only.json");
    assert_eq!(payload(&labeled)["object_attributes"].get("oldrev"), None);
    gl.set_draft(PROJECT, lab.iid, true, "bob").unwrap();
    drop(gl.take_deliveries());
    gl.set_draft(PROJECT, lab.iid, false, "bob").unwrap();
    let ready = only(&lab);
    like(&ready, "mr.update.draft_ready.json");
    assert_eq!(
        payload(&ready)["changes"]["draft"],
        json!({ "previous": true, "current": false })
    );
    gl.close(PROJECT, lab.iid, "bob").unwrap();
    like(&only(&lab), "mr.close.json");
    gl.reopen(PROJECT, lab.iid, "bob").unwrap();
    assert_eq!(only(&lab).action.as_deref(), Some("reopen"));
    gl.merge(PROJECT, lab.iid, "alice").unwrap();
    like(&only(&lab), "mr.merge.json");
    lab.sim.finish().unwrap();
}

#[test]
fn old_version_tells_it_in_the_old_form() {
    let lab = Lab::of(GitlabVersion::V12_10);
    drop(lab.gl().take_deliveries());
    lab.gl().set_draft(PROJECT, lab.iid, true, "bob").unwrap();
    drop(lab.gl().take_deliveries());
    lab.gl()
        .commit(
            PROJECT,
            "feature",
            &Commit::by("bob", "More").write("x", "1\n"),
        )
        .unwrap();
    let pushed = only(&lab);
    like(&pushed, "mr.update.legacy_12.json");
    let body = payload(&pushed);
    assert_eq!(body["object_attributes"]["title"], "WIP: Pay faster");
    for absent in [
        "/event_type",
        "/user/id",
        "/object_attributes/draft",
        "/object_attributes/state_id",
    ] {
        assert_eq!(body.pointer(absent), None, "{absent}");
    }
    lab.sim.finish().unwrap();
}

#[test]
fn conversation_is_told_like_gitlab_does() {
    let lab = Lab::of(GitlabVersion::CURRENT);
    let gl = lab.gl();
    drop(gl.take_deliveries());
    let note = gl
        .comment(PROJECT, lab.iid, "alice", "@review-bot review")
        .unwrap();
    let said = only(&lab);
    like(&said, "note.on_mr.json");
    assert_eq!(said.header("X-Gitlab-Event"), Some("Note Hook"));
    gl.edit_note(PROJECT, lab.iid, note, "alice", "@review-bot stop")
        .unwrap();
    assert_eq!(only(&lab).action.as_deref(), Some("update"));
    gl.award(PROJECT, lab.iid, note, "alice", "thumbsdown")
        .unwrap();
    let award = only(&lab);
    assert_eq!(award.header("X-Gitlab-Event"), Some("Emoji Hook"));
    let body = payload(&award);
    assert_eq!(
        (&body["object_kind"], &body["event_type"]),
        (&json!("emoji"), &json!("award"))
    );
    assert_eq!(
        (
            &body["object_attributes"]["awardable_id"],
            &body["note"]["id"]
        ),
        (&json!(note), &json!(note))
    );
    let line = gl
        .comment_on_line(
            PROJECT,
            lab.iid,
            "alice",
            ("fresh.go", None, Some(1)),
            "Why?",
        )
        .unwrap();
    let body = payload(&only(&lab));
    assert!(
        body["object_attributes"]["line_code"]
            .as_str()
            .unwrap()
            .ends_with("_0_1")
    );
    gl.reply(PROJECT, lab.iid, line, "bob", "Because").unwrap();
    let answer = payload(&only(&lab));
    assert_eq!(
        answer["object_attributes"]["discussion_id"],
        body["object_attributes"]["discussion_id"]
    );

    let old = Lab::of(GitlabVersion::V15_11);
    drop(old.gl().take_deliveries());
    let note = old.gl().comment(PROJECT, old.iid, "alice", "Hm").unwrap();
    assert_eq!(only(&old).action, None);
    old.gl()
        .edit_note(PROJECT, old.iid, note, "alice", "Hmm")
        .unwrap();
    old.gl()
        .award(PROJECT, old.iid, note, "alice", "eyes")
        .unwrap();
    assert_eq!(old.gl().take_deliveries(), []);
    lab.sim.finish().unwrap();
}

#[test]
fn deleted_fork_is_told_like_gitlab_does() {
    let lab = Lab::of(GitlabVersion::CURRENT);
    let gl = lab.gl();
    let fork = gl.fork(PROJECT, "mallory").unwrap();
    let patch = Commit::by("mallory", "Patch").write("x", "1\n");
    gl.commit(&fork, "patch", &patch).unwrap();
    let open = OpenMerge {
        from: Some(fork.clone()),
        ..OpenMerge::new("mallory", "patch", "Patch")
    };
    let iid = gl.open_merge(PROJECT, open).unwrap();
    gl.delete_project(&fork).unwrap();
    drop(gl.take_deliveries());
    gl.set_title(PROJECT, iid, "Orphan", "alice").unwrap();
    let attributes = payload(&only(&lab))["object_attributes"].clone();
    assert_eq!(
        (&attributes["source_project_id"], &attributes["source"]),
        (&Value::Null, &Value::Null)
    );
    lab.sim.finish().unwrap();
}

#[test]
fn refusals_switch_a_hook_off_where_gitlab_does_that() {
    for (version, works) in [
        (GitlabVersion::V13_12, true),
        (GitlabVersion::CURRENT, false),
    ] {
        let lab = Lab::of(version);
        let delivery = only(&lab);
        for _ in 0..4 {
            lab.gl().record_answer(delivery.id, 401).unwrap();
        }
        assert_eq!(lab.gl().hook_works(PROJECT).unwrap(), works);
        lab.gl()
            .set_title(PROJECT, lab.iid, "Heard?", "bob")
            .unwrap();
        assert_eq!(lab.gl().take_deliveries().len(), usize::from(works));
    }
    let lab = Lab::of(GitlabVersion::CURRENT);
    let delivery = only(&lab);
    for _ in 0..4 {
        lab.gl().record_answer(delivery.id, 503).unwrap();
    }
    assert!(!lab.gl().hook_works(PROJECT).unwrap());
    lab.sim.clock().advance(std::time::Duration::from_secs(61));
    assert!(lab.gl().hook_works(PROJECT).unwrap());
}

#[test]
fn times_are_written_in_either_form() {
    let lab = Lab::with(GitlabOptions {
        hook_times: HookTimes::Iso8601,
        ..GitlabOptions::of(GitlabVersion::V17_5)
    });
    let created = |lab: &Lab| payload(&only(lab))["object_attributes"]["created_at"].clone();
    assert_eq!(created(&lab), "2026-11-30T09:00:00Z");
    let usual = Lab::of(GitlabVersion::V17_5);
    assert_eq!(created(&usual), "2026-11-30 09:00:00 UTC");
}
