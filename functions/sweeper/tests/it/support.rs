//! A sweeper over local stores, and the minter as the other end of its line.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use mirilla_domain::ids::Timestamp;
use mirilla_forge::github::{AppAuth, DeliveryLog, GithubSettings, Minter};
use mirilla_local::{DataDir, DirArtifacts, LocalLedger, LocalMeter, LocalQueue};
use mirilla_minter::Work;
use mirilla_ports::deliveries::{DeliveriesAnswer, DeliveriesRequest};
use mirilla_ports::{AskDeliveries, Clock, Ledger as _};
use mirilla_sim::{
    AccountKind, Commit, InstallOptions, OpenPull, RepoOptions, Sim, SimClock, SimOptions,
    WebhookDelivery,
};
use mirilla_stages::intake::IntakeSettings;
use mirilla_stages::sweep::{SweepSettings, Swept};
use mirilla_sweeper::{Record, State, handle};
use mirilla_system::OsEntropy;
use mirilla_telemetry::Telemetry;

pub(crate) const REPO: &str = "acme/shop";

/// The simulated clock as everybody's clock.
struct TestClock(SimClock);

#[async_trait]
impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::new(self.0.now().timestamp_millis())
    }
    async fn sleep(&self, duration: Duration) {
        self.0.advance(duration);
    }
}

/// The simulated GitHub and one stack's stores.
pub(crate) struct World {
    pub(crate) sim: Sim,
    _dir: tempfile::TempDir,
    data: DataDir,
}

impl World {
    /// An App on `acme`, and no pull request.
    pub(crate) fn new() -> Self {
        let options = SimOptions {
            start_at: Some("2026-11-29T10:00:00Z".parse().unwrap()),
            ..SimOptions::default()
        };
        let sim = Sim::start(options).unwrap();
        let github = sim.github();
        github.add_account("acme", AccountKind::Organization);
        github.create_repo(REPO, &RepoOptions::default()).unwrap();
        github.install("acme", InstallOptions::default()).unwrap();
        let start = Commit::by("dana", "start").write("a.txt", "1\n");
        github.commit(REPO, "main", &start).unwrap();
        drop(github.take_deliveries());
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::create(&dir.path().join("data")).unwrap();
        Self {
            sim,
            _dir: dir,
            data,
        }
    }

    /// Opens a pull request, whose webhook was answered with `code`.
    pub(crate) fn open_pull(&self, branch: &str, code: u16) -> WebhookDelivery {
        let github = self.sim.github();
        let commit = Commit::by("dana", branch).write("a.txt", format!("{branch}\n"));
        github.commit(REPO, branch, &commit).unwrap();
        let pull = OpenPull::new("dana", branch, "A change");
        github.open_pull(REPO, pull).unwrap();
        let mut sent = self.sent();
        assert_eq!(sent.len(), 1);
        let delivery = sent.remove(0);
        github.record_answer(delivery.id, code).unwrap();
        delivery
    }

    /// What GitHub sent about pull requests since the last look.
    pub(crate) fn sent(&self) -> Vec<WebhookDelivery> {
        let mut sent = self.sim.github().take_deliveries();
        sent.retain(|delivery| delivery.event == "pull_request");
        sent
    }

    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(TestClock(self.sim.clock().clone()))
    }

    pub(crate) fn advance(&self, minutes: u64) {
        let duration = Duration::from_secs(minutes * 60);
        self.sim.clock().advance(duration);
    }

    pub(crate) fn ledger(&self) -> LocalLedger {
        LocalLedger::open(&self.data.ledger()).unwrap()
    }

    /// How many jobs are open.
    pub(crate) async fn jobs(&self) -> usize {
        let soon = self.clock().now().plus(Duration::from_secs(1));
        self.ledger().unfinished(soon, 10).await.unwrap().len()
    }

    /// A sweeper that serves `accounts` and asks through `line`; `None`: a stack without an App.
    pub(crate) fn sweeper(&self, accounts: &[&str], line: Option<Arc<dyn AskDeliveries>>) -> State {
        let meter = Arc::new(LocalMeter::open(&self.data.meter()).unwrap());
        let queue = Arc::new(LocalQueue::open(&self.data.queue(), self.clock()).unwrap());
        State {
            ledger: Arc::new(self.ledger()),
            meter: Arc::<LocalMeter>::clone(&meter),
            leases: meter,
            queue: Arc::<LocalQueue>::clone(&queue),
            depth: queue,
            artifacts: Arc::new(DirArtifacts::open(&self.data.artifacts()).unwrap()),
            bookmarks: Arc::new(self.ledger()),
            record: line.map(|line| Record {
                deliveries: Arc::new(DeliveryLog::new(line)),
                intake: IntakeSettings::new(accounts.iter().copied()).unwrap(),
            }),
            settings: SweepSettings {
                lost_after: Duration::from_secs(120),
                stalled_after: Duration::from_secs(75 * 60),
                probe_window: Duration::from_secs(24 * 60 * 60),
                limit: 500,
                keep_runs: None,
            },
            clock: self.clock(),
            telemetry: Telemetry::silent(),
        }
    }

    /// One minute later, one run.
    pub(crate) async fn next_run(&self, sweeper: &State) -> Swept {
        self.advance(1);
        handle(sweeper).await.unwrap()
    }

    /// The line to this App's minter.
    pub(crate) fn line(&self) -> Arc<Line> {
        let settings = Arc::new(GithubSettings::parse(&self.sim.github_api_url()).unwrap());
        let key = mirilla_sim::TEST_APP_KEY.to_owned().into();
        let minter = Minter::new(
            settings.client().unwrap(),
            settings,
            AppAuth::with_pem("4242", &key).unwrap(),
            self.clock(),
            Arc::new(OsEntropy::open().unwrap()),
        );
        Arc::new(Line {
            minter: mirilla_minter::State {
                work: Work::Deliveries(minter.deliveries()),
                clock: self.clock(),
                telemetry: Telemetry::silent(),
            },
            said: Mutex::default(),
            asked: AtomicUsize::new(0),
            meanwhile: Mutex::default(),
        })
    }
}

/// An invocation of `minter-deliveries`: JSON there, JSON back.
pub(crate) struct Line {
    minter: mirilla_minter::State,
    /// Everything that went over it.
    pub(crate) said: Mutex<String>,
    /// How often it was asked.
    pub(crate) asked: AtomicUsize,
    /// A sweeper that runs while the answer to the first question is on its way.
    pub(crate) meanwhile: Mutex<Option<State>>,
}

#[async_trait]
impl AskDeliveries for Line {
    async fn ask(&self, request: &DeliveriesRequest) -> DeliveriesAnswer {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let question = serde_json::to_value(request).unwrap();
        let answer = mirilla_minter::handle(&self.minter, &question).await;
        let answer = serde_json::to_string(&answer.unwrap()).unwrap();
        let said = format!("{question}\n{answer}\n");
        self.said.lock().unwrap().push_str(&said);
        let other = self.meanwhile.lock().unwrap().take();
        if let Some(other) = other {
            handle(&other).await.unwrap();
        }
        serde_json::from_str(&answer).unwrap()
    }
}
