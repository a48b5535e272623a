//! The recorded cases of kind 9 in which a pull request changes under a review, or a check is left behind.

use mirilla_casekit::{Case, Expected};
use mirilla_domain::code::EndReason;
use mirilla_domain::money::PicoUsd;
use mirilla_ports::Ledger as _;
use mirilla_sim::{Role, Scripted};
use serde_json::Value;

use super::*;

fn case(number: &str) -> (Case, Expected) {
    let mut cases = mirilla_casekit::cases("tests/fixtures/cases", |name| name.starts_with(number));
    let case = cases.remove(0);
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "behaviour/1");
    (case, expected)
}

/// Works until a reviewer has the pull request's snapshot.
async fn collected(host: &Host) -> Arc<Gate> {
    let gate = Arc::new(Gate::open());
    for delivery in host.deliveries() {
        host.deliver(&gate, &delivery).await;
    }
    host.until(&gate, JobState::Collected).await;
    gate
}

#[tokio::test]
async fn case_152_a_head_that_moves_gets_a_review_of_its_own() {
    let (_, mut expected) = case("152");
    let host = gated(TWO_DEFECTS);
    collected(&host).await;
    let (first, first_job) = (head(&host), host.key(0).id());
    // What the first head is told would be about code that the second no longer has.
    host.push(
        "S2",
        &[
            ("a/Pay.java", "class Pay {\n}\n"),
            ("b/orders.py", "def none():\n    return 1\n"),
        ],
    );
    let second = head(&host);
    let record = async || {
        let id = host.key(0).pull_request();
        host.ledger().pull_request(&id).await.unwrap().unwrap()
    };
    assert!(record().await.last_posted.is_none());
    assert_eq!(expected.need("last_reviewed_not"), "S2 until analysed");
    settled(&host).await;

    let reviews = host.sim.github().reviews(REPO, host.pr).unwrap();
    assert_eq!(reviews.len(), 1, "{reviews:#?}");
    assert_eq!(reviews[0].commit, second);
    assert!(reviews[0].comments.is_empty(), "{reviews:#?}");
    let only = serde_json::json!({"S2": "only from S2's own analysis"});
    assert_eq!(expected.need("reviews_with_commit"), only);
    let old = host.ledger().job(&first_job).await.unwrap().unwrap();
    assert_eq!(old.end_reason, Some(EndReason::HeadMoved));
    assert_eq!(expected.need("check_run_sha"), "S1 for S1's result");
    let named = |sha| -> Vec<String> {
        let runs = ended(&host, sha).into_iter();
        runs.map(|run| run.external_id).collect()
    };
    assert_eq!(named(&first), [first_job.as_str()]);
    assert_eq!(named(&second), [host.key(0).id().as_str()]);
    assert_eq!(record().await.last_posted.unwrap().head.as_str(), second);
    expected.finish();
}

#[tokio::test]
async fn case_156_a_pull_request_that_is_merged_meanwhile_is_left_alone() {
    let (_, mut expected) = case("156");
    let host = gated(CLEAN);
    let job = host.key(0).id();
    let before = head(&host);
    let gate = collected(&host).await;
    while host.spent_on_review().await == PicoUsd::ZERO {
        host.one_step(&gate).await;
    }
    host.sim.github().merge(REPO, host.pr, "dana").unwrap();
    settled(&host).await;
    let reviews = host.sim.github().reviews(REPO, host.pr).unwrap();
    assert_eq!(Value::from(reviews.len()), expected.need("reviews"));
    let runs = ended(&host, &before);
    assert_eq!(runs.len(), 1, "{runs:#?}");
    assert_eq!(Value::from(runs[0].status.as_str()), expected.need("check"));
    assert_eq!(runs[0].conclusion.as_deref(), Some("failure"));
    let spent = host.spent_on_review().await;
    assert_eq!(
        Value::from(spent > PicoUsd::ZERO),
        expected.need("cost_recorded")
    );
    let job = host.ledger().job(&job).await.unwrap().unwrap();
    assert_eq!(job.end_reason, Some(EndReason::Closed));
    expected.finish();
}

/// Brings about what a path of the case names; returns the commit whose check it is about.
async fn brought_about(host: &mut Host, path: &str) -> String {
    let sha = head(host);
    let github = host.sim.github();
    match path {
        "reviewed clean" => {}
        "findings at or above gate" => {
            let text = "def find(db, text):\n    return db.execute(\"SELECT id FROM t WHERE n = '\" + text + \"'\")\n";
            host.push("defect", &[("b/orders.py", text)]);
            settled(host).await;
            return head(host);
        }
        "skipped: draft" => github.set_draft(REPO, host.pr, true, "dana").unwrap(),
        "skipped: nothing reviewable" => {
            let back = host.sim.github().tip(REPO, "main").unwrap();
            let commit = Commit::by("dana", "lock").write("Cargo.lock", "version = 4\n");
            let lock = github.write_commit(REPO, &[&back], &commit).unwrap();
            github.push(REPO, "change", &lock, "dana").unwrap();
            settled(host).await;
            return head(host);
        }
        // There is no policy about forks; what is closest is the share of those who are new.
        "skipped: fork policy" => {
            host.policy.outsider_percent = 0;
            let github = host.sim.github();
            github.close(REPO, host.pr, "dana").unwrap();
            let by = OpenPull::new("mallory", "change", "Of a newcomer");
            github.open_pull(REPO, by).unwrap();
        }
        "config invalid" => {
            let broken = Commit::by("dana", "broken").write(".mirilla.toml", "ignore = [\n");
            github.commit(REPO, "main", &broken).unwrap();
        }
        "model refused" => {
            host.sim.messages().answer_all_when(
                "refuses",
                |_| true,
                |_| Scripted::refusal(Some("cyber")),
            );
        }
        "budget stop" => host.policy.max_usd = PicoUsd::from_micro(10_000),
        "worker killed" => {
            collected(host).await;
            for _ in 0..3 {
                host.lose(QueueName::Review).await;
                host.advance(Duration::from_secs(3 * 60 * 60));
                let gate = Arc::new(Gate::open());
                host.sweep(&gate, false).await;
            }
            model_down(host);
        }
        "posting failed" => {
            let refused = r#"{"message":"Resource not accessible by integration","status":"403"}"#;
            for call in 1..=100 {
                let route = "POST /repos/{owner}/{repo}/pulls/{number}/reviews";
                github.faults().on(route, call, Fault::status(403, refused));
            }
        }
        "superseded by new push" => {
            begun(host).await;
            host.push("again", &[("b/orders.py", "def none():\n    return 1\n")]);
        }
        "webhook lost for this sha" => {
            settled(host).await;
            host.push("unheard", &[("b/orders.py", "def none():\n    return 1\n")]);
            drop(host.deliveries());
            let gate = Arc::new(Gate::open());
            host.advance(Duration::from_secs(10 * 60));
            host.sweep(&gate, true).await;
            settled(host).await;
            return head(host);
        }
        other => panic!("{other}: not known here"),
    }
    settled(host).await;
    sha
}

/// What the case calls a conclusion, under `block` and under `allow`. Where it allows `neutral`, `allow` says
/// so; `block`, which is the default, refuses what nobody has read.
fn wanted(words: &str) -> [&'static str; 2] {
    match words {
        "success" | "success or neutral" | "re-run path exists" => ["success", "success"],
        "failure" => ["failure", "failure"],
        "neutral/skipped"
        | "neutral/action_required"
        | "failure/action_required"
        | "not success"
        | "completed by a sweeper, not success"
        | "cancelled/neutral on the old sha" => ["failure", "neutral"],
        other => panic!("{other}: not known here"),
    }
}

#[tokio::test]
async fn case_158_every_recorded_head_ends_with_a_check_that_is_over() {
    let (case, mut expected) = case("158");
    let conclusions = expected.need("conclusion");
    let paths = case.json("paths.json");
    for path in paths.as_array().unwrap() {
        let path = path.as_str().unwrap();
        let wanted = wanted(conclusions[path].as_str().unwrap());
        let both = [OnInconclusive::Block, OnInconclusive::Allow];
        for (on_inconclusive, wanted) in both.into_iter().zip(wanted) {
            let mut host = gated(CLEAN);
            host.policy.on_inconclusive = on_inconclusive;
            host.sim
                .github()
                .set_role(REPO, "dana", Role::Write)
                .unwrap();
            let sha = brought_about(&mut host, path).await;
            let runs = ended(&host, &sha);
            let last = runs.last().unwrap_or_else(|| panic!("{path}: no check"));
            assert_eq!(
                last.conclusion.as_deref(),
                Some(wanted),
                "{path}: {runs:#?}"
            );
        }
    }
    expected.finish();
}
