//! What the minter answers, of each stage and to each kind of request.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

use std::sync::Arc;

use mirilla_contract::{ManualClock, sample};
use mirilla_forge::github::{AppAuth, GithubSettings, Minter};
use mirilla_local::{DataDir, LocalLedger};
use mirilla_minter::{State, Work, handle};
use mirilla_ports::Clock;
use mirilla_sim::{
    AccountKind, Commit, InstallOptions, OpenPull, RepoOptions, Sim, SimOptions, WebhookDelivery,
};
use mirilla_stages::mint::Reach;
use mirilla_system::OsEntropy;
use mirilla_telemetry::Telemetry;
use serde_json::{Value, json};

const REPO: &str = "acme/shop";

struct World {
    sim: Sim,
    lost: WebhookDelivery,
    dir: tempfile::TempDir,
}

impl World {
    /// An App whose host answered the one webhook of a pull request with 502.
    fn new() -> Self {
        let options = SimOptions {
            start_at: Some("2026-11-29T10:00:00Z".parse().unwrap()),
            ..SimOptions::default()
        };
        let sim = Sim::start(options).unwrap();
        let github = sim.github();
        github.add_account("acme", AccountKind::Organization);
        github.create_repo(REPO, &RepoOptions::default()).unwrap();
        github.install("acme", InstallOptions::default()).unwrap();
        for (branch, text) in [("main", "1\n"), ("change", "2\n")] {
            let commit = Commit::by("dana", branch).write("a.txt", text);
            github.commit(REPO, branch, &commit).unwrap();
        }
        drop(github.take_deliveries());
        let pull = OpenPull::new("dana", "change", "A change");
        github.open_pull(REPO, pull).unwrap();
        let lost = github.take_deliveries().remove(0);
        github.record_answer(lost.id, 502).unwrap();
        Self {
            sim,
            lost,
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn minter(&self) -> Minter {
        let settings = Arc::new(GithubSettings::parse(&self.sim.github_api_url()).unwrap());
        let key = mirilla_sim::TEST_APP_KEY.to_owned().into();
        Minter::new(
            settings.client().unwrap(),
            settings,
            AppAuth::with_pem("4242", &key).unwrap(),
            self.clock(),
            Arc::new(OsEntropy::open().unwrap()),
        )
    }

    fn clock(&self) -> Arc<dyn Clock> {
        let now = self.sim.clock().now().timestamp();
        Arc::new(ManualClock::at(sample::at(now)))
    }

    fn state(&self, work: Work) -> State {
        State {
            work,
            clock: self.clock(),
            telemetry: Telemetry::silent(),
        }
    }

    fn deliveries(&self) -> State {
        self.state(Work::Deliveries(self.minter().deliveries()))
    }

    fn tokens(&self, reach: Reach) -> State {
        let data = DataDir::create(&self.dir.path().join("data")).unwrap();
        self.state(Work::Tokens {
            ledger: Arc::new(LocalLedger::open(&data.ledger()).unwrap()),
            minter: self.minter(),
            reach,
        })
    }
}

/// The function's answer as the caller gets it.
async fn ask(state: &State, request: &Value) -> Value {
    serde_json::to_value(handle(state, request).await.unwrap()).unwrap()
}

#[tokio::test]
async fn deliveries_are_listed_shown_and_asked_for_again() {
    let world = World::new();
    let state = world.deliveries();
    let page = ask(&state, &json!({"ask": "page", "cursor": null})).await;
    assert_eq!(page["answer"], "page");
    let listed: Value = serde_json::from_str(page["body"].as_str().unwrap()).unwrap();
    assert_eq!(listed[0]["guid"], world.lost.guid);
    assert_eq!(listed[0]["status_code"], 502);

    let id = world.lost.id;
    let shown = ask(&state, &json!({"ask": "detail", "id": id, "from": 0})).await;
    let piece = shown["piece"].as_str().unwrap();
    assert_eq!(shown["total"], piece.len());
    let shown: Value = serde_json::from_str(piece).unwrap();
    assert_eq!(shown["request"]["payload"]["action"], "opened");

    let asked = ask(&state, &json!({"ask": "redeliver", "id": id})).await;
    assert_eq!(asked, json!({"answer": "asked"}));
    let again = world.sim.github().take_deliveries();
    assert_eq!(again.len(), 1);
    assert_eq!(
        (&again[0].guid, again[0].redelivery),
        (&world.lost.guid, true)
    );
}

#[tokio::test]
async fn what_the_forge_refuses_is_an_answer_and_no_failure() {
    let world = World::new();
    let state = world.deliveries();
    let unknown = ask(&state, &json!({"ask": "redeliver", "id": 1})).await;
    assert_eq!(unknown, json!({"answer": "failed", "why": "not-found"}));
    assert_eq!(world.sim.github().take_deliveries(), []);
}

#[tokio::test]
async fn minter_answers_no_other_stages_request_and_quotes_none() {
    let world = World::new();
    let job = sample::job('a', sample::at(0)).id;
    let mint = json!({"job": job, "fresh": false});
    let page = json!({"ask": "page", "cursor": null});
    let stages = [
        ("read", world.tokens(Reach::Read), &mint, &page),
        ("write", world.tokens(Reach::Write), &mint, &page),
        ("resolve", world.tokens(Reach::Resolve), &mint, &page),
        ("deliveries", world.deliveries(), &page, &mint),
    ];
    let before = world.sim.github().calls().len();
    for (stage, state, own, other) in &stages {
        let stranger = json!({"job": "gh pr review", "ask": "gh pr review", "id": "x"});
        for request in [*other, &stranger, &json!({}), &json!("page"), &Value::Null] {
            let error = handle(state, request).await.unwrap_err().to_string();
            assert!(error.contains(&format!("stage `{stage}`")), "{error}");
            assert!(error.contains("MIRILLA_MINTER_FUNCTION"), "{error}");
            assert!(!error.contains("gh pr"), "{error}");
        }
        assert_eq!(world.sim.github().calls().len(), before, "{stage}");
        // The control: its own is answered.
        assert!(handle(state, own).await.is_ok(), "{stage}");
        if *stage != "deliveries" {
            let answer = ask(state, own).await;
            assert_eq!(answer, json!({"no-token": {"why": "no-job"}}), "{stage}");
        }
    }
    assert!(world.sim.github().calls().len() > before);
}
