//! Deliveries: signed, shaped like GitHub's, logged, and repeated on request.

use std::time::Duration;

use mirilla_sim::{
    Commit, GithubOptions, HookEncoding, InstallOptions, OpenPull, Side, WebhookDelivery,
    hook_signature,
};
use serde_json::{Value, json};

use crate::material::{self, lacking};
use crate::world::{REPO, World};

fn header<'a>(delivery: &'a WebhookDelivery, name: &str) -> Option<&'a str> {
    delivery
        .headers
        .iter()
        .find(|(n, _)| n == name)
        .map(|(_, value)| value.as_str())
}

fn payload(delivery: &WebhookDelivery) -> Value {
    serde_json::from_slice(&delivery.body).unwrap()
}

/// Takes the only new delivery.
fn only(world: &World) -> WebhookDelivery {
    let mut taken = world.gh().take_deliveries();
    assert_eq!(
        taken.len(),
        1,
        "{:?}",
        taken
            .iter()
            .map(|d| (&d.event, &d.action))
            .collect::<Vec<_>>()
    );
    taken.remove(0)
}

/// Fields of the samples that depend on settings the simulator does not have.
const OPTIONAL: [&str; 15] = [
    // Merge settings, shown only to those who may change them.
    "allow_auto_merge",
    "allow_merge_commit",
    "allow_rebase_merge",
    "allow_squash_merge",
    "allow_update_branch",
    "delete_branch_on_merge",
    "merge_commit_message",
    "merge_commit_title",
    "squash_merge_commit_message",
    "squash_merge_commit_title",
    "use_squash_pr_title_as_default",
    // Newer than most samples, or on the way out.
    "custom_properties",
    "security_and_analysis",
    "requester",
    "gravatar_id",
];

/// Checks a delivery against a sample of GitHub's.
fn like(delivery: &WebhookDelivery, file: &str) {
    let sample = material::json(&format!("webhooks/{file}"));
    let (event, action) = file
        .trim_start_matches("SYNTHETIC.")
        .split_once('.')
        .unwrap();
    assert_eq!(delivery.event, event);
    let action = action.split('.').next().unwrap();
    assert_eq!(delivery.action.as_deref(), Some(action));
    let mut found = Vec::new();
    lacking(&sample, &payload(delivery), "", &OPTIONAL, &mut found);
    // The sample of a changed base changes the title as well.
    found.retain(|what| what != "/changes/title is missing");
    assert!(found.is_empty(), "{file}: {found:#?}");
}

#[test]
fn signature_agrees_with_githubs_published_vector() {
    assert_eq!(
        hook_signature("It's a Secret to Everybody", b"Hello, World!"),
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    );
}

#[test]
fn delivery_is_signed_over_its_bytes_in_both_encodings() {
    for encoding in [HookEncoding::Json, HookEncoding::Form] {
        let world = World::with(GithubOptions {
            hook_encoding: encoding,
            ..GithubOptions::default()
        });
        let deliveries = world.gh().take_deliveries();
        let opened = deliveries
            .iter()
            .find(|d| d.event == "pull_request")
            .unwrap();
        let secret = GithubOptions::default().app.hook_secret;
        let expected = hook_signature(&secret, &opened.body);
        assert_eq!(
            header(opened, "X-Hub-Signature-256"),
            Some(expected.as_str())
        );
        assert_eq!(
            header(opened, "X-GitHub-Delivery"),
            Some(opened.guid.as_str())
        );
        assert_eq!(
            header(opened, "X-GitHub-Hook-Installation-Target-Type"),
            Some("integration")
        );
        let json = match encoding {
            HookEncoding::Json => opened.body.clone(),
            HookEncoding::Form => {
                let form = opened.body.strip_prefix(b"payload=").unwrap();
                url::form_urlencoded::parse(&[b"payload=", form].concat())
                    .find(|(name, _)| name == "payload")
                    .map(|(_, value)| value.into_owned().into_bytes())
                    .unwrap()
            }
        };
        let value: Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(value["installation"]["id"], world.installation);
    }
}

#[test]
fn life_of_a_pull_request_is_told_like_github_does() {
    let world = World::new();
    let gh = world.gh();
    let installed = gh.take_deliveries();
    like(&installed[0], "installation.created.installation.json");
    like(&installed[1], "pull_request.opened.installation.json");
    gh.commit(
        REPO,
        "feature",
        &Commit::by("bob", "More").write("x", "1\n"),
    )
    .unwrap();
    let pushed = only(&world);
    like(&pushed, "pull_request.synchronize.installation.json");
    let body = payload(&pushed);
    assert_eq!(
        (&body["after"], &body["pull_request"]["head"]["sha"]),
        (&json!(world.head()), &json!(world.head()))
    );
    assert_ne!(body["before"], body["after"]);
    gh.set_draft(REPO, world.pull, true, "bob").unwrap();
    like(
        &only(&world),
        "pull_request.converted_to_draft.installation.json",
    );
    gh.set_draft(REPO, world.pull, false, "bob").unwrap();
    like(
        &only(&world),
        "pull_request.ready_for_review.installation.json",
    );
    gh.label(REPO, world.pull, "urgent", "alice").unwrap();
    like(&only(&world), "pull_request.labeled.installation.json");
    gh.unlabel(REPO, world.pull, "urgent", "alice").unwrap();
    like(&only(&world), "pull_request.unlabeled.installation.json");
    gh.lock(REPO, world.pull, "alice").unwrap();
    like(&only(&world), "pull_request.locked.installation.json");
    gh.push(REPO, "release", &gh.tip(REPO, "main").unwrap(), "alice")
        .unwrap();
    gh.retarget(REPO, world.pull, "release", "bob").unwrap();
    let edited = only(&world);
    like(&edited, "SYNTHETIC.pull_request.edited.base_changed.json");
    assert_eq!(payload(&edited)["changes"]["base"]["ref"]["from"], "main");
    gh.close(REPO, world.pull, "bob").unwrap();
    like(&only(&world), "pull_request.closed.installation.json");
    gh.reopen(REPO, world.pull, "bob").unwrap();
    like(&only(&world), "pull_request.reopened.installation.json");
    gh.merge(REPO, world.pull, "alice").unwrap();
    let closed = only(&world);
    assert_eq!(payload(&closed)["pull_request"]["merged"], true);
    assert_eq!(
        payload(&closed)["pull_request"]["merged_by"]["login"],
        "alice"
    );
}

#[test]
fn conversation_is_told_like_github_does() {
    let world = World::new();
    let gh = world.gh();
    gh.take_deliveries();
    let whole = gh
        .comment(REPO, world.pull, "alice", "/mirilla review")
        .unwrap();
    let created = only(&world);
    like(&created, "SYNTHETIC.issue_comment.created.on_pr.json");
    assert_eq!(payload(&created)["issue"]["number"], world.pull);
    gh.edit_comment(REPO, whole, "alice", "/mirilla pause")
        .unwrap();
    let edited = only(&world);
    like(&edited, "issue_comment.edited.json");
    assert_eq!(
        payload(&edited)["changes"]["body"]["from"],
        "/mirilla review"
    );
    gh.delete_comment(REPO, whole, "alice").unwrap();
    like(&only(&world), "issue_comment.deleted.json");

    let at = ("src/pay.rs", Side::Right, 10);
    let inline = gh
        .comment_on_line(REPO, world.pull, "alice", at, "Why?")
        .unwrap();
    let both = gh.take_deliveries();
    like(&both[0], "pull_request_review.submitted.installation.json");
    like(
        &both[1],
        "pull_request_review_comment.created.installation.json",
    );
    let answer = gh.reply(REPO, inline, "bob", "Because").unwrap();
    let reply = gh.take_deliveries().pop().unwrap();
    assert_eq!(payload(&reply)["comment"]["in_reply_to_id"], inline);
    gh.edit_comment(REPO, answer, "bob", "No reason").unwrap();
    like(
        &only(&world),
        "pull_request_review_comment.edited.installation.json",
    );
    gh.resolve_thread(REPO, inline, "bob").unwrap();
    let resolved = only(&world);
    like(
        &resolved,
        "pull_request_review_thread.resolved.installation.json",
    );
    let thread = gh.threads(REPO, world.pull).unwrap()[0].clone();
    assert_eq!(payload(&resolved)["thread"]["node_id"], thread.node_id);
    assert_eq!(thread.resolved_by.as_deref(), Some("bob"));
    gh.unresolve_thread(REPO, inline, "bob").unwrap();
    like(
        &only(&world),
        "pull_request_review_thread.unresolved.installation.json",
    );
    gh.delete_comment(REPO, answer, "bob").unwrap();
    like(
        &only(&world),
        "pull_request_review_comment.deleted.installation.json",
    );
}

#[test]
fn checks_and_queue_are_told_like_github_does() {
    let world = World::new();
    let gh = world.gh();
    gh.take_deliveries();
    let head = world.head();
    let run = json!({
        "name": "Mirilla", "head_sha": head, "status": "completed", "conclusion": "success",
        "output": { "title": "Fine", "summary": "Nothing found" },
    });
    let made = world
        .call("POST", &format!("/repos/{REPO}/check-runs"), Some(run))
        .json();
    let both = gh.take_deliveries();
    like(&both[0], "check_run.created.json");
    like(&both[1], "check_run.completed.json");
    gh.rerun_check(REPO, made["id"].as_u64().unwrap(), "alice")
        .unwrap();
    like(&only(&world), "check_run.rerequested.installation.json");
    gh.rerun_all_checks(REPO, &head, "alice").unwrap();
    like(&only(&world), "check_suite.rerequested.installation.json");
    let queued = gh.enqueue(REPO, world.pull, "alice").unwrap();
    let group = only(&world);
    like(&group, "merge_group.checks_requested.installation.json");
    assert_eq!(payload(&group)["merge_group"]["head_sha"], queued);
    let name = payload(&group)["merge_group"]["head_ref"].clone();
    let branch = name.as_str().unwrap().trim_start_matches("refs/heads/");
    assert_eq!(gh.tip(REPO, branch).unwrap(), queued);
    gh.dequeue(REPO, world.pull, "alice", "dequeued").unwrap();
    let gone = payload(&only(&world));
    assert_eq!(
        (&gone["action"], &gone["reason"]),
        (&json!("destroyed"), &json!("dequeued"))
    );
    assert!(gh.tip(REPO, branch).is_err());
    gh.set_draft(REPO, world.pull, true, "alice").unwrap();
    assert!(
        gh.enqueue(REPO, world.pull, "alice").is_err(),
        "a draft cannot be queued"
    );
}

#[test]
fn installation_events_are_told_like_github_does() {
    let world = World::new();
    let gh = world.gh();
    gh.take_deliveries();
    gh.suspend(world.installation, true, "alice").unwrap();
    like(&only(&world), "installation.suspend.installation.json");
    gh.suspend(world.installation, false, "alice").unwrap();
    like(&only(&world), "installation.unsuspend.installation.json");
    gh.grant(world.installation, "statuses", "write").unwrap();
    like(
        &only(&world),
        "installation.new_permissions_accepted.installation.json",
    );
    gh.deselect(world.installation, REPO, "alice").unwrap();
    like(
        &only(&world),
        "installation_repositories.removed.installation.json",
    );
    gh.set_title(REPO, world.pull, "Unseen", "bob").unwrap();
    assert!(
        gh.take_deliveries().is_empty(),
        "the App is not installed there any more"
    );
    gh.uninstall(world.installation, "alice").unwrap();
    like(&only(&world), "installation.deleted.installation.json");
    gh.ping();
    let ping = only(&world);
    assert_eq!((ping.event.as_str(), &ping.action), ("ping", &None));
    assert!(payload(&ping)["hook"]["events"].is_array());
}

#[test]
fn fork_and_deleted_fork_are_told_like_github_does() {
    let world = World::new();
    let gh = world.gh();
    let fork = gh.fork(REPO, "mallory").unwrap();
    gh.commit(
        &fork,
        "patch",
        &Commit::by("mallory", "Patch").write("x", "1\n"),
    )
    .unwrap();
    gh.take_deliveries();
    let from = OpenPull {
        from: Some(fork.clone()),
        ..OpenPull::new("mallory", "patch", "Patch")
    };
    let pull = gh.open_pull(REPO, from).unwrap();
    let opened = only(&world);
    like(&opened, "SYNTHETIC.pull_request.opened.fork.json");
    let body = payload(&opened);
    assert_eq!(
        body["pull_request"]["head"]["repo"]["full_name"],
        "mallory/shop"
    );
    assert_eq!(
        body["pull_request"]["author_association"],
        "FIRST_TIME_CONTRIBUTOR"
    );
    gh.commit(
        &fork,
        "patch",
        &Commit::by("mallory", "Again").write("x", "2\n"),
    )
    .unwrap();
    like(&only(&world), "pull_request.synchronize.installation.json");
    gh.delete_repo(&fork).unwrap();
    gh.set_title(REPO, pull, "Orphan", "mallory").unwrap();
    assert_eq!(
        payload(&only(&world))["pull_request"]["head"]["repo"],
        Value::Null
    );
}

#[test]
fn app_sees_its_deliveries_and_has_them_repeated() {
    let world = World::new();
    let gh = world.gh();
    gh.comment(REPO, world.pull, "alice", "Hello").unwrap();
    let taken = gh.take_deliveries();
    let [installed, opened, comment] = taken.as_slice() else {
        panic!("three deliveries")
    };
    gh.record_answer(installed.id, 202).unwrap();
    gh.record_answer(opened.id, 503).unwrap();
    gh.record_timeout(comment.id).unwrap();
    let jwt = world.jwt();
    let list =
        |query: &str| world.call_as(&jwt, "GET", &format!("/app/hook/deliveries{query}"), None);
    let all = list("").json();
    let statuses: Vec<_> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|d| d["status"].clone())
        .collect();
    assert_eq!(
        statuses,
        ["timed out", "Invalid HTTP Response: 503", "OK"],
        "newest first"
    );
    let failures = list("?status=failure").json();
    assert_eq!(
        failures.as_array().unwrap().len(),
        1,
        "a time-out is not among the failures"
    );
    let first = list("?per_page=2");
    let next = first.header("link").unwrap();
    assert!(
        next.contains("cursor=v1_") && next.ends_with("rel=\"next\""),
        "{next}"
    );
    let url = next.trim_start_matches('<').split('>').next().unwrap();
    let rest = world.call_as(&jwt, "GET", url, None);
    assert_eq!(rest.json()[0]["id"], installed.id);
    assert!(rest.header("link").is_none());

    let detail = format!("/app/hook/deliveries/{}", opened.id);
    let detail = world.call_as(&jwt, "GET", &detail, None).json();
    assert_eq!(detail["request"]["payload"]["action"], "opened");
    let again = format!("/app/hook/deliveries/{}/attempts", opened.id);
    assert_eq!(world.call_as(&jwt, "POST", &again, None).status, 202);
    let repeated = only(&world);
    assert_eq!((&repeated.guid, repeated.redelivery), (&opened.guid, true));
    assert_ne!(repeated.id, opened.id);
    assert_eq!(repeated.body, opened.body);
    world
        .sim
        .clock()
        .advance(Duration::from_secs(3 * 24 * 3600 + 1));
    let jwt = world.jwt();
    assert_eq!(
        world.call_as(&jwt, "POST", &again, None).status,
        404,
        "gone after three days"
    );
    world.sim.finish().unwrap();
}

#[test]
fn hook_secret_can_be_rotated() {
    let world = World::new();
    world.gh().take_deliveries();
    let update = json!({ "secret": "another-made-up-secret", "content_type": "form" });
    let jwt = world.jwt();
    let shown = world
        .call_as(&jwt, "PATCH", "/app/hook/config", Some(update))
        .json();
    assert_eq!(
        (&shown["secret"], &shown["content_type"]),
        (&json!("********"), &json!("form"))
    );
    world
        .gh()
        .comment(REPO, world.pull, "alice", "Hello")
        .unwrap();
    let delivery = only(&world);
    let expected = hook_signature("another-made-up-secret", &delivery.body);
    assert_eq!(
        header(&delivery, "X-Hub-Signature-256"),
        Some(expected.as_str())
    );
    assert!(delivery.body.starts_with(b"payload=%7B"));
}

#[test]
fn unwanted_events_and_strange_repositories_are_not_delivered() {
    let mut options = GithubOptions::default();
    options.app.events = vec!["pull_request".to_owned()];
    let world = World::with(options);
    let gh = world.gh();
    gh.take_deliveries();
    gh.comment(REPO, world.pull, "alice", "Hello").unwrap();
    gh.create_repo("rival/shop", &mirilla_sim::RepoOptions::default())
        .unwrap();
    gh.commit(
        "rival/shop",
        "main",
        &Commit::by("eve", "One").write("x", "1"),
    )
    .unwrap();
    gh.commit(
        "rival/shop",
        "topic",
        &Commit::by("eve", "Two").write("x", "2"),
    )
    .unwrap();
    gh.open_pull("rival/shop", OpenPull::new("eve", "topic", "Two"))
        .unwrap();
    assert!(gh.take_deliveries().is_empty());
    gh.install("rival", InstallOptions::default()).unwrap();
    assert_eq!(only(&world).event, "installation");
}
