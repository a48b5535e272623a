//! Merge queues, and all checks of a commit run again.

use mirilla_domain::merge_queue::Progress;
use mirilla_ports::Ledger as _;

use super::*;

const LIST: &str = "GET /repos/{owner}/{repo}/commits/{ref}/check-runs";

/// What GitHub sent about the queue.
fn group(host: &Host) -> WebhookDelivery {
    let mut sent = host.sim.github().take_deliveries();
    sent.retain(|delivery| delivery.event == "merge_group");
    assert_eq!(sent.len(), 1);
    sent.remove(0)
}

/// Puts the pull request into the merge queue and works off what follows; returns the queue's commit.
async fn queued(host: &Host) -> String {
    drop(host.sim.github().take_deliveries());
    let sha = host.sim.github().enqueue(REPO, host.pr, "dana").unwrap();
    let gate = Arc::new(Gate::open());
    assert_eq!(host.deliver(&gate, &group(host)).await.text, "queued");
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    sha
}

/// The one check on a commit: its name and how it ended.
fn only(host: &Host, sha: &str) -> (String, String) {
    let runs = ended(host, sha);
    assert_eq!(runs.len(), 1, "{runs:#?}");
    (runs[0].name.clone(), runs[0].conclusion.clone().unwrap())
}

async fn progress(host: &Host, sha: &str) -> Option<Progress> {
    let id = host.key(0).pull_request();
    let record = host.ledger().pull_request(&id).await.unwrap()?;
    let sha = mirilla_domain::ids::CommitSha::parse(sha).unwrap();
    record.queued.find(&sha).map(|entry| entry.progress)
}

/// What a story's verdict is on its pull request and in the queue.
async fn repeats(host: &Host, conclusion: &str) {
    settled(host).await;
    assert_eq!(newest(host), says("Mirilla", conclusion));
    let asked = host.sim.messages().model_calls().len();
    let sha = queued(host).await;
    assert_eq!(only(host, &sha), says("Mirilla", conclusion));
    assert_eq!(
        host.sim.messages().model_calls().len(),
        asked,
        "nothing is read again"
    );
    assert_eq!(
        ended(host, &head(host)).len(),
        1,
        "the head's check is left alone"
    );
}

#[tokio::test]
async fn queue_gets_the_pull_requests_own_verdict() {
    repeats(&gated(CLEAN), "success").await;
    repeats(&gated(TWO_DEFECTS), "failure").await;
}

#[tokio::test]
async fn verdict_that_is_still_made_is_written_once_it_is_known() {
    let host = gated(CLEAN);
    let gate = Arc::new(Gate::open());
    host.deliver(&gate, &host.deliveries()[0]).await;
    host.until(&gate, JobState::Collected).await;
    // Its reviewer dies, so that the queue asks in the middle.
    host.lose(QueueName::Review).await;
    let sha = host.sim.github().enqueue(REPO, host.pr, "dana").unwrap();
    host.deliver(&gate, &group(&host)).await;
    while progress(&host, &sha).await != Some(Progress::Begun) {
        host.one_step(&gate).await;
        assert_ne!(progress(&host, &sha).await, Some(Progress::Done));
    }
    let runs = host.sim.github().check_runs(REPO, &sha).unwrap();
    assert_eq!((runs.len(), runs[0].status.as_str()), (1, "in_progress"));
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    assert_eq!(only(&host, &sha), says("Mirilla", "success"));
}

#[tokio::test]
async fn verdict_that_nobody_knows_is_inconclusive_as_the_settings_say() {
    for (on_inconclusive, conclusion) in [
        (OnInconclusive::Block, "failure"),
        (OnInconclusive::Allow, "neutral"),
    ] {
        let mut host = gated(CLEAN);
        host.policy.on_inconclusive = on_inconclusive;
        let sha = queued(&host).await;
        assert_eq!(only(&host, &sha), says("Mirilla", conclusion));
        let summary = ended(&host, &sha)[0].summary.clone().unwrap();
        assert!(summary.contains("no-verdict"), "{summary}");
    }
}

#[tokio::test]
async fn without_a_gate_a_queue_gets_no_check_and_is_not_asked_about_again() {
    let host = Host::new(CLEAN);
    settled(&host).await;
    let sha = queued(&host).await;
    assert!(ended(&host, &sha).is_empty());
    assert_eq!(progress(&host, &sha).await, Some(Progress::Done));
}

#[tokio::test]
async fn failing_twin_of_the_head_fails_in_the_queue_too() {
    let mut host = gated(CLEAN);
    settled(&host).await;
    branch(&host, "release");
    host.policy.trusted_bases = vec!["release".to_owned()];
    model_down(&host);
    let second = OpenPull {
        base: "release".to_owned(),
        ..OpenPull::new("eve", "change", "Same head")
    };
    host.sim.github().open_pull(REPO, second).unwrap();
    settled(&host).await;
    let sha = queued(&host).await;
    assert_eq!(only(&host, &sha), says("Mirilla", "failure"));
}

/// Delivers what was sent with another commit, branch or base in it, and says whether a check was written
/// on that commit.
async fn forged(host: &Host, change: impl Fn(&mut serde_json::Value)) -> Vec<CheckView> {
    drop(host.sim.github().take_deliveries());
    let queued = host.sim.github().enqueue(REPO, host.pr, "dana").unwrap();
    let delivery = group(host);
    let mut body: serde_json::Value = serde_json::from_slice(&delivery.body).unwrap();
    change(&mut body);
    let forged = host.signed(delivery, &body);
    let gate = Arc::new(Gate::open());
    host.deliver(&gate, &forged).await;
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    assert!(ended(host, &queued).is_empty());
    ended(host, body["merge_group"]["head_sha"].as_str().unwrap())
}

#[tokio::test]
async fn whoever_can_sign_webhooks_gets_no_pass_for_a_commit_that_is_in_no_queue() {
    let host = gated(CLEAN);
    settled(&host).await;
    branch(&host, "evil");
    let evil = host.sim.github().tip(REPO, "evil").unwrap();
    let found = forged(&host, |body| {
        body["merge_group"]["head_sha"] = evil.clone().into();
    })
    .await;
    assert!(found.is_empty(), "{found:#?}");
    let name = format!("refs/heads/gh-readonly-queue/main/pr-{}-{evil}", host.pr);
    let found = forged(&host, |body| {
        body["merge_group"]["head_sha"] = evil.clone().into();
        body["merge_group"]["head_ref"] = name.clone().into();
    })
    .await;
    assert!(found.is_empty(), "{found:#?}");
}

#[tokio::test]
async fn queue_of_another_base_and_one_that_is_gone_get_nothing() {
    let host = gated(CLEAN);
    settled(&host).await;
    branch(&host, "release");
    drop(host.sim.github().take_deliveries());
    let sha = host.sim.github().enqueue(REPO, host.pr, "dana").unwrap();
    let sent = group(&host);
    let github = host.sim.github();
    github.dequeue(REPO, host.pr, "dana", "dequeued").unwrap();
    let destroyed = group(&host);
    let gate = Arc::new(Gate::open());
    assert_eq!(host.deliver(&gate, &destroyed).await.status, 200);
    host.deliver(&gate, &sent).await;
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    assert!(ended(&host, &sha).is_empty());
    assert_eq!(progress(&host, &sha).await, Some(Progress::Done));
    // Retargeted after it was queued: the verdict is about another diff.
    let sha = host.sim.github().enqueue(REPO, host.pr, "dana").unwrap();
    let sent = group(&host);
    host.sim
        .github()
        .retarget(REPO, host.pr, "release", "dana")
        .unwrap();
    host.deliver(&gate, &sent).await;
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    assert!(ended(&host, &sha).is_empty());
}

#[tokio::test]
async fn queue_that_the_forge_shows_late_is_answered_all_the_same() {
    let host = gated(CLEAN);
    settled(&host).await;
    drop(host.sim.github().take_deliveries());
    let github = host.sim.github();
    let sha = github.enqueue(REPO, host.pr, "dana").unwrap();
    let (gate, sent) = (Arc::new(Gate::open()), group(&host));
    let body: serde_json::Value = serde_json::from_slice(&sent.body).unwrap();
    let name = body["merge_group"]["head_ref"].as_str().unwrap();
    let name = name.strip_prefix("refs/heads/").unwrap();
    github.delete_branch(REPO, name, "dana").unwrap();
    host.deliver(&gate, &sent).await;
    host.one_step(&gate).await;
    assert_eq!(progress(&host, &sha).await, Some(Progress::Waiting));
    github.push(REPO, name, &sha, "dana").unwrap();
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    assert_eq!(only(&host, &sha), says("Mirilla", "success"));
}

#[tokio::test]
async fn entry_whose_message_was_lost_is_answered_by_the_next_sweep() {
    let host = gated(CLEAN);
    settled(&host).await;
    drop(host.sim.github().take_deliveries());
    let sha = host.sim.github().enqueue(REPO, host.pr, "dana").unwrap();
    let (gate, sent) = (Arc::new(Gate::open()), group(&host));
    host.deliver(&gate, &sent).await;
    host.lose(QueueName::Post).await;
    host.advance(Duration::from_secs(120));
    host.sweep(&gate, true).await;
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    assert_eq!(only(&host, &sha), says("Mirilla", "success"));
    assert_eq!(host.deliver(&gate, &sent).await.text, "duplicate");
    let id = host.key(0).pull_request();
    let request = MintRequest {
        job: host.key(0).id(),
        fresh: false,
        pull_request: Some(id),
    };
    let place = mint::place(host.ledger(), &request, Reach::Write, host.now()).await;
    assert_eq!(place, Err(NoToken::NoJob), "nothing is owed any more");
    // Nor for one that nobody ever answered.
    host.sim.github().enqueue(REPO, host.pr, "dana").unwrap();
    host.deliver(&gate, &group(&host)).await;
    let may_write = async || {
        let place = mint::place(host.ledger(), &request, Reach::Write, host.now()).await;
        place.is_ok()
    };
    assert!(may_write().await);
    host.advance(Duration::from_secs(24 * 60 * 60));
    assert!(!may_write().await, "it lapses");
}

#[tokio::test]
async fn answer_to_the_queue_that_is_lost_is_written_once() {
    for fault in [Fault::DropAfterEffect, Fault::LandLater { calls: 2 }] {
        let host = gated(CLEAN);
        settled(&host).await;
        let faults = host.sim.github().faults();
        faults.on(CREATE, faults.count(CREATE) + 1, fault);
        let sha = queued(&host).await;
        assert_eq!(only(&host, &sha), says("Mirilla", "success"));
        assert!(host.sim.github().faults().count(LIST) > 0);
    }
}

/// Presses "re-run all" on the head and works off what follows; says what intake answered.
async fn rerun_all(host: &Host) -> String {
    let sha = head(host);
    let press = |github: &Github| github.rerun_all_checks(REPO, &sha, "dana").unwrap();
    let (delivery, answer) = pressed(host, press).await;
    assert_eq!(delivery.event, "check_suite");
    let again = host.deliver(&Arc::new(Gate::open()), &delivery).await;
    assert_ne!(
        again.text, "queued",
        "the same delivery asks for nothing new"
    );
    answer
}

#[tokio::test]
async fn rerun_of_all_checks_reads_the_change_anew() {
    let host = gated(CLEAN);
    model_down(&host);
    settled(&host).await;
    assert_eq!(newest(&host), says("Mirilla", "failure"));
    host.sim.messages().faults().clear();
    assert_eq!(rerun_all(&host).await, "queued");
    assert_eq!(newest(&host), says("Mirilla", "success"));
}

#[tokio::test]
async fn rerun_of_all_checks_is_for_every_pull_request_with_that_head() {
    let mut host = gated(CLEAN);
    branch(&host, "release");
    host.policy.trusted_bases = vec!["release".to_owned()];
    let second = OpenPull {
        base: "release".to_owned(),
        ..OpenPull::new("eve", "change", "Same head")
    };
    model_down(&host);
    host.sim.github().open_pull(REPO, second).unwrap();
    settled(&host).await;
    let before = ended(&host, &head(&host));
    assert!(
        before
            .iter()
            .all(|run| run.conclusion.as_deref() == Some("failure"))
    );
    host.sim.messages().faults().clear();
    assert_eq!(rerun_all(&host).await, "queued");
    let after = ended(&host, &head(&host));
    assert_eq!(after.len(), before.len() + 2, "{after:#?}");
    let fresh = &after[before.len()..];
    assert!(
        fresh
            .iter()
            .all(|run| run.conclusion.as_deref() == Some("success")),
        "{after:#?}"
    );
}

#[tokio::test]
async fn rerun_of_checks_that_are_not_ours_is_ignored() {
    let host = Host::new(CLEAN);
    settled(&host).await;
    assert_eq!(rerun_all(&host).await, "ignored");
}
