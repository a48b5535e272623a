//! No check is left hanging, whoever stops a review, wherever the gate is asked for and whatever it is
//! written as.

use mirilla_sim::Role;

use super::*;

/// The same gate, asked for by the repository and not by the operator.
const BY_REPOSITORY: Story = Story {
    base: &[
        ("b/orders.py", "def none():\n    return 0\n"),
        (".mirilla.toml", "gate = \"high\"\n"),
    ],
    head: CLEAN.head,
};

async fn says_to(host: &Host, body: &str) {
    let github = host.sim.github();
    github.set_role(REPO, "wanda", Role::Write).unwrap();
    let (delivery, _) = host.said("wanda", body);
    let gate = Arc::new(Gate::open());
    assert_eq!(host.deliver(&gate, &delivery).await.text, "queued");
    assert_eq!(host.run(&gate).await, Ended::Quiet);
}

#[tokio::test]
async fn paused_pull_request_has_a_check_that_is_over_until_it_is_resumed() {
    for host in [gated(CLEAN), Host::new(BY_REPOSITORY)] {
        settled(&host).await;
        assert_eq!(newest(&host), says("Mirilla", "success"));
        says_to(&host, "/mirilla pause").await;
        host.push("again", &[("b/orders.py", "def none():\n    return 1\n")]);
        settled(&host).await;
        assert_eq!(newest(&host), says("Mirilla", "failure"));
        assert_eq!(ended(&host, &head(&host)).len(), 1);
        says_to(&host, "/mirilla resume").await;
        assert_eq!(newest(&host), says("Mirilla", "success"));
    }
}

#[tokio::test]
async fn check_that_runs_is_over_when_its_review_is_paused() {
    let mut host = gated(CLEAN);
    host.policy.on_inconclusive = OnInconclusive::Allow;
    begun(&host).await;
    says_to(&host, "/mirilla pause").await;
    assert_eq!(newest(&host), says("Mirilla", "neutral"));
    assert_eq!(ended(&host, &head(&host)).len(), 1);
}

/// Loses every message of a stage for as long as the sweeper tries.
async fn nobody_works(host: &Host) {
    let gate = Arc::new(Gate::open());
    host.deliver(&gate, &host.deliveries()[0]).await;
    for _ in 0..12 {
        for name in [QueueName::Collect, QueueName::Review, QueueName::Post] {
            host.lose(name).await;
        }
        host.advance(Duration::from_secs(3 * 60 * 60));
        host.sweep(&gate, false).await;
        if host.job().await.unwrap().state.is_terminal() {
            return;
        }
    }
    panic!("the sweeper never gave up");
}

#[tokio::test]
async fn job_that_nobody_ever_collected_gets_its_check_if_the_settings_ask_for_one() {
    for (host, asked) in [
        (gated(CLEAN), true),
        (Host::new(BY_REPOSITORY), true),
        (Host::new(CLEAN), false),
    ] {
        nobody_works(&host).await;
        let gate = Arc::new(Gate::open());
        assert_eq!(host.run(&gate).await, Ended::Quiet);
        assert!(!host.job().await.unwrap().is_check_open());
        if asked {
            assert_eq!(newest(&host), says("Mirilla", "failure"));
        } else {
            assert!(ended(&host, &head(&host)).is_empty());
        }
    }
}

#[tokio::test]
async fn given_up_without_a_snapshot_it_is_judged_by_the_repositorys_settings() {
    let host = Host::new(BY_REPOSITORY);
    let gate = Arc::new(Gate::open());
    host.deliver(&gate, &host.deliveries()[0]).await;
    while host.job().await.unwrap().tries < 3 {
        host.lose(QueueName::Collect).await;
        host.advance(Duration::from_secs(3 * 60 * 60));
        host.sweep(&gate, false).await;
    }
    host.lose(QueueName::Collect).await;
    host.advance(Duration::from_secs(3 * 60 * 60));
    host.sweep(&gate, false).await;
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    assert_eq!(host.job().await.unwrap().state, JobState::Posted);
    assert_eq!(newest(&host), says("Mirilla", "failure"));
}

#[tokio::test]
async fn status_of_a_head_that_moved_does_not_stay_pending() {
    let mut host = gated(CLEAN);
    let permissions = [
        ("contents", "read"),
        ("pull_requests", "write"),
        ("statuses", "write"),
    ];
    let github = host.sim.github();
    let token = github.create_pat("robot", &permissions, None).unwrap();
    github.set_role(REPO, "robot", Role::Write).unwrap();
    host.plain_token = Some(("robot".to_owned(), token));
    let newest = |host: &Host, sha: &str| {
        let all = host.sim.github().statuses(REPO, sha).unwrap();
        all.last()
            .map(|(context, state, _)| (context.clone(), state.clone()))
    };
    let gate = Arc::new(Gate::open());
    host.deliver(&gate, &host.deliveries()[0]).await;
    let before = head(&host);
    while newest(&host, &before) != Some(says("Mirilla", "pending")) {
        host.one_step(&gate).await;
    }
    host.push("again", &[("b/orders.py", "def none():\n    return 1\n")]);
    settled(&host).await;
    assert_eq!(newest(&host, &before), Some(says("Mirilla", "failure")));
    assert_eq!(
        newest(&host, &head(&host)),
        Some(says("Mirilla", "success"))
    );
}
