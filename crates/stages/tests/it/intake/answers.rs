//! One test per row of intake's table, and the generations.

use std::time::Duration;

use mirilla_contract::sample;
use mirilla_domain::ids::{Forge, Generation};
use mirilla_domain::job::{Claim, DEBOUNCE_BUSY, DEBOUNCE_FIRST, Job, JobState, Stage};
use mirilla_domain::webhook::{MAX_BODY_BYTES, sign_github};
use mirilla_ports::Ledger as _;
use mirilla_ports::ledger::Claimed;
use mirilla_stages::intake::{IncomingWebhook, IntakeSettings, IntakeSettingsError};
use serde_json::json;

use super::world::{World, block_on, head, payload, request, secret, signed};

fn queued() -> (u16, String) {
    (202, "queued".to_owned())
}

fn duplicate() -> (u16, String) {
    (200, "duplicate".to_owned())
}

#[test]
fn new_delivery_is_recorded_and_queued() {
    let world = World::new();
    assert_eq!(world.deliver("d-1", "opened", &head('a')), queued());
    let job = world.the_job();
    assert_eq!(job.state, JobState::Accepted);
    assert_eq!(job.key.head, sample::sha('a'));
    assert_eq!(job.due_at, world.now().plus(DEBOUNCE_FIRST));
    assert_eq!(job.installation.unwrap().get(), 31);
    let record = world.record();
    assert_eq!(record.last_job.as_ref(), Some(&job.id));
    assert_eq!(record.last_push, Some(world.now()));
    assert_eq!(world.drain(), [job.id]);
}

#[test]
fn message_waits_until_the_job_is_due() {
    use mirilla_ports::Queue as _;
    use mirilla_ports::queue::QueueName::Collect;

    let world = World::new();
    world.deliver("d-1", "opened", &head('a'));
    let receive = || block_on(world.queue.receive(Collect, Duration::ZERO)).unwrap();
    assert_eq!(receive(), None);
    world
        .clock
        .pass(DEBOUNCE_FIRST.saturating_sub(Duration::from_millis(1)));
    assert_eq!(receive(), None);
    world.clock.pass(Duration::from_millis(1));
    assert!(receive().is_some());
}

#[test]
fn pushes_in_a_row_wait_longer() {
    let world = World::new();
    world.deliver("d-1", "opened", &head('a'));
    world.clock.pass(Duration::from_secs(299));
    world.deliver("d-2", "synchronize", &head('b'));
    world.clock.pass(Duration::from_secs(300));
    world.deliver("d-3", "synchronize", &head('c'));
    let jobs = world.open_jobs();
    let wait = |job: &Job| job.due_at.since(job.created_at);
    assert_eq!(
        jobs.iter().map(wait).collect::<Vec<_>>(),
        [DEBOUNCE_FIRST, DEBOUNCE_BUSY, DEBOUNCE_FIRST]
    );
}

#[test]
fn same_delivery_and_same_job_are_duplicates() {
    let world = World::new();
    world.deliver("d-1", "opened", &head('a'));
    assert_eq!(world.deliver("d-1", "opened", &head('a')), duplicate());
    assert_eq!(world.deliver("d-2", "synchronize", &head('a')), duplicate());
    let job = world.the_job();
    world.post(&job.id);
    assert_eq!(world.deliver("d-3", "synchronize", &head('a')), duplicate());
    assert_eq!(world.deliver("d-1", "opened", &head('a')), duplicate());
    assert_eq!(world.drain(), [job.id]);
}

#[test]
fn job_that_ended_without_a_review_starts_again() {
    for state in [JobState::Failed, JobState::Superseded, JobState::Skipped] {
        for id in ["d-1", "d-2"] {
            let world = World::new();
            world.deliver("d-1", "opened", &head('a'));
            let job = world.the_job();
            world.end(&job.id, state);
            assert_eq!(
                world.deliver(id, "opened", &head('a')),
                queued(),
                "{state:?} {id}"
            );
            let again = world.the_job();
            assert_eq!(again.id, job.id);
            assert_eq!(again.state, JobState::Accepted);
            assert_eq!(again.attempt, job.attempt.next());
            assert_eq!(world.drain(), [job.id.clone(), job.id]);
            assert_eq!(world.deliver(id, "opened", &head('a')), duplicate());
        }
    }
}

#[test]
fn other_events_actions_and_kinds_are_ignored() {
    let world = World::new();
    let comment = json!({
        "action": "created",
        "issue": {"number": 7, "pull_request": {}},
        "comment": {"id": 9, "body": "/mirilla dismiss known", "user": {"type": "User"}},
        "repository": {"id": 2, "full_name": "acme/shop"},
    });
    let mut edited = payload("edited", &head('a'));
    edited["changes"] = json!({"title": {"from": "x"}});
    for (event, body, reason) in [
        ("ping", json!({"zen": "x", "hook_id": 1}), "ping"),
        ("push", json!({}), "event"),
        ("pull_request", payload("labeled", &head('a')), "action"),
        ("pull_request", edited, "action"),
        ("pull_request", payload("closed", &head('a')), "kind"),
        ("issue_comment", comment, "no-command"),
    ] {
        let answer = world.take(&signed(event, "d-1", &body));
        assert_eq!(
            (answer.status, answer.text.as_str()),
            (200, "ignored"),
            "{event}"
        );
        assert_eq!(answer.reason, reason);
    }
    assert!(world.open_jobs().is_empty() && world.drain().is_empty());
}

#[test]
fn accounts_that_are_not_listed_are_ignored_before_any_write() {
    let world = World::new();
    let mut body = payload("opened", &head('a'));
    body["repository"]["full_name"] = json!("stranger/shop");
    let answer = world.take(&signed("pull_request", "d-1", &body));
    assert_eq!((answer.status, answer.reason), (200, "account"));
    assert!(world.open_jobs().is_empty());
    // Not even the delivery's id is taken.
    assert_eq!(world.deliver("d-1", "opened", &head('a')), queued());

    for settings in [
        IntakeSettings::new([]),
        IntakeSettings::new(["acme", "a/b"]),
    ] {
        let error = settings.unwrap_err();
        assert!(error.to_string().contains("allowed_accounts"), "{error}");
    }
    assert_eq!(
        IntakeSettings::new([]),
        Err(IntakeSettingsError::NoAccounts)
    );
}

#[test]
fn body_that_is_not_understood_names_the_field() {
    let world = World::new();
    let mut body = payload("opened", &head('a'));
    body["pull_request"]["head"]["sha"] = json!("HEAD");
    let answer = world.take(&signed("pull_request", "d-1", &body));
    assert_eq!(answer.status, 400);
    assert_eq!(
        answer.text,
        "the field `pull_request.head.sha` is malformed"
    );
    let answer = world.take(&signed(
        "issue_comment",
        "d-1",
        &payload("opened", &head('a')),
    ));
    assert_eq!(answer.status, 400);
    let bytes = b"not json".to_vec();
    let signature = sign_github(&secret(), &bytes);
    let answer = world.take(&request("pull_request", "d-1", bytes, Some(&signature)));
    assert_eq!(
        (answer.status, answer.text.as_str()),
        (400, "the body is not a JSON object")
    );
    assert!(world.open_jobs().is_empty());
}

#[test]
fn body_above_the_cap_is_refused_before_it_is_hashed() {
    let world = World::new();
    let answer = world.take(&request(
        "push",
        "d-1",
        vec![b' '; MAX_BODY_BYTES + 1],
        None,
    ));
    assert_eq!((answer.status, answer.reason), (413, "too-large"));
}

#[test]
fn gitlab_has_no_address_yet() {
    let world = World::new();
    let headers: [(&str, &str); 0] = [];
    let http = IncomingWebhook::from_parts(Forge::Gitlab, headers, Vec::new(), false).unwrap();
    assert_eq!(world.take(&http).status, 404);
}

#[test]
fn reopening_what_was_posted_raises_the_generation_once_per_delivery() {
    for action in ["reopened", "ready_for_review"] {
        let world = World::new();
        world.deliver("d-1", "opened", &head('a'));
        let first = world.the_job();
        world.post(&first.id);
        assert_eq!(world.deliver("d-2", action, &head('a')), queued());
        assert_eq!(world.deliver("d-2", action, &head('a')), duplicate());
        let second = world.the_job();
        assert_eq!(second.key.generation, Generation::new(1));
        assert_eq!(world.record().generation, Generation::new(1));
        assert_eq!(world.drain(), [first.id, second.id]);
    }
}

/// Ids are not signed: whoever captured one body could send it for ever under new ones.
#[test]
fn captured_body_under_a_hundred_ids_raises_one_generation() {
    let world = World::new();
    world.deliver("d-1", "opened", &head('a'));
    world.post(&world.the_job().id);
    let captured = payload("reopened", &head('a'));
    for number in 0..100 {
        let id = format!("r-{number}");
        let answer = world.take(&signed("pull_request", &id, &captured));
        assert_eq!(answer.status, if number == 0 { 202 } else { 200 });
        for job in world.open_jobs() {
            world.post(&job.id);
        }
    }
    assert_eq!(world.record().generation, Generation::new(1));
}

#[test]
fn ready_joins_a_job_that_nobody_has_read_for() {
    let world = World::new();
    world.deliver("d-1", "opened", &head('a'));
    assert_eq!(
        world.deliver("d-2", "ready_for_review", &head('a')),
        duplicate()
    );
    let job = world.the_job();
    assert_eq!(job.key.generation, Generation::new(0));
    assert_eq!(world.drain(), [job.id]);
}

#[test]
fn ready_does_not_join_a_job_that_may_have_seen_the_draft() {
    let world = World::new();
    world.deliver("d-1", "opened", &head('a'));
    let draft = world.the_job();
    let claim = Claim {
        stage: Stage::Collect,
        token: "collector".to_owned(),
        until: world.now().plus(Duration::from_secs(300)),
    };
    let claimed = block_on(world.ledger.claim(
        &draft.id,
        &[JobState::Accepted],
        claim,
        world.now(),
    ))
    .unwrap();
    assert!(matches!(claimed, Claimed::Granted(_)));
    assert_eq!(
        world.deliver("d-2", "ready_for_review", &head('a')),
        queued()
    );
    // The collector ends its job as a draft, as it read it; the other one is there.
    world.end(&draft.id, JobState::Skipped);
    let ready = world.the_job();
    assert_eq!(ready.key.generation, Generation::new(1));
    assert!(world.drain().contains(&ready.id));
}

/// The other order: the collector's claim comes after the event was decided on and before it is
/// written. Then the touched row is stale and the event is decided anew.
#[test]
fn joining_a_job_makes_a_claim_upon_the_old_row_stale() {
    let world = World::new();
    world.deliver("d-1", "opened", &head('a'));
    let before = world.the_job();
    world.clock.pass(Duration::from_secs(1));
    world.deliver("d-2", "ready_for_review", &head('a'));
    let after = world.the_job();
    assert_eq!(after.version, before.version + 1);
    assert_eq!(after.state, before.state);
}

#[test]
fn head_that_returns_after_another_was_posted_is_read_again() {
    let world = World::new();
    world.deliver("d-1", "opened", &head('a'));
    let a = world.the_job();
    world.post(&a.id);
    world.deliver("d-2", "synchronize", &head('b'));
    let b = world.the_job();
    // While nothing else was posted, the last review is still of this head.
    assert_eq!(world.deliver("d-3", "synchronize", &head('a')), duplicate());
    world.post(&b.id);
    assert_eq!(world.deliver("d-4", "synchronize", &head('a')), queued());
    let again = world.the_job();
    assert_eq!(
        (again.key.head.clone(), again.key.generation),
        (a.key.head, Generation::new(1))
    );
    assert_eq!(world.deliver("d-5", "synchronize", &head('a')), duplicate());
}

#[test]
fn head_whose_job_was_superseded_is_armed_when_it_returns() {
    let world = World::new();
    world.deliver("d-1", "opened", &head('a'));
    let a = world.the_job();
    world.end(&a.id, JobState::Superseded);
    world.deliver("d-2", "synchronize", &head('b'));
    assert_eq!(world.deliver("d-3", "synchronize", &head('a')), queued());
    assert_eq!(world.job(&a.id).state, JobState::Accepted);
}

#[test]
fn another_base_is_another_job() {
    let world = World::new();
    world.deliver("d-1", "opened", &head('a'));
    let mut body = payload("edited", &head('a'));
    body["changes"] = json!({"base": {"ref": {"from": "main"}, "sha": {"from": head('0')}}});
    body["pull_request"]["base"]["ref"] = json!("release");
    let answer = world.take(&signed("pull_request", "d-2", &body));
    assert_eq!(answer.status, 202);
    let bases: Vec<_> = world
        .open_jobs()
        .into_iter()
        .map(|job| job.key.base_ref.to_string())
        .collect();
    assert_eq!(bases.len(), 2);
    assert!(bases.contains(&"main".to_owned()) && bases.contains(&"release".to_owned()));
}
