//! The simulator with a repository, a pull request and the App installed, and the halves beside it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mirilla_domain::ids::{Forge, InstallationId, PrNumber, PullRequestRef, RepoId, Timestamp};
use mirilla_forge::WriteGate;
use mirilla_forge::github::{
    AppAuth, GithubReader, GithubSettings, GithubWriter, Identity, Minter, Whoami,
};
use mirilla_ports::Clock;
use mirilla_sim::{
    AccountKind, Commit, Github, GithubOptions, InstallOptions, OpenPull, RepoOptions, Sim,
    SimClock, SimOptions, TEST_APP_KEY,
};

use super::Fixed;

pub(crate) const REPO: &str = "acme/shop";

/// The simulator's clock as the port.
#[derive(Debug, Clone)]
pub(crate) struct SimTime(SimClock);

#[async_trait]
impl Clock for SimTime {
    fn now(&self) -> Timestamp {
        Timestamp::new(self.0.now().timestamp_millis())
    }

    async fn sleep(&self, duration: Duration) {
        self.0.advance(duration);
    }
}

/// Returns a simulator's clock as the port.
pub(crate) fn sim_time(sim: &Sim) -> Arc<SimTime> {
    Arc::new(SimTime(sim.clock().clone()))
}

pub(crate) struct World {
    pub(crate) sim: Sim,
    pub(crate) id: PullRequestRef,
    pub(crate) installation: InstallationId,
}

/// Twenty lines, with some changed.
pub(crate) fn numbered(changed: &[(usize, &str)]) -> String {
    (1..=20)
        .map(|n| {
            let text = changed.iter().find(|(at, _)| *at == n);
            text.map_or_else(|| format!("line {n}\n"), |(_, text)| format!("{text}\n"))
        })
        .collect()
}

/// The App's account.
fn us() -> Whoami {
    Whoami::Known(Identity::of_app("mirilla"))
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(GithubOptions::default())
    }

    pub(crate) fn with(github: GithubOptions) -> Self {
        let options = SimOptions {
            start_at: Some("2026-11-30T09:00:00Z".parse().unwrap()),
            github,
            ..SimOptions::default()
        };
        let sim = Sim::start(options).unwrap();
        let gh = sim.github();
        gh.add_account("acme", AccountKind::Organization);
        let repo = gh
            .create_repo(
                REPO,
                &RepoOptions {
                    private: true,
                    ..RepoOptions::default()
                },
            )
            .unwrap();
        let start = Commit::by("alice", "Start")
            .write("src/pay.rs", numbered(&[]))
            .write(".mirilla.toml", "max-comments = 5\n")
            .write("REVIEW.md", "Mind the money.\n")
            .write(".mirilla/rules/sql.md", "No string-built SQL.\n")
            .write(".mirilla/rules/deep/ignored.md", "Not asked for.\n");
        gh.commit(REPO, "main", &start).unwrap();
        let installation = gh.install("acme", InstallOptions::default()).unwrap();
        let change = Commit::by("bob", "Change")
            .write("src/pay.rs", numbered(&[(10, "changed 10")]))
            .write("src/new.rs", "fn new() {}\n")
            .write(".mirilla.toml", "max-comments = 500\n");
        gh.commit(REPO, "feature", &change).unwrap();
        // The base moves on, so that its tip is not the merge base.
        gh.commit(
            REPO,
            "main",
            &Commit::by("alice", "Later").write("other.txt", "x\n"),
        )
        .unwrap();
        let pull = gh
            .open_pull(REPO, OpenPull::new("bob", "feature", "Pay faster"))
            .unwrap();
        let id = PullRequestRef {
            forge: Forge::Github,
            repo: RepoId::new(repo),
            pr: PrNumber::new(pull),
        };
        Self {
            sim,
            id,
            installation: InstallationId::new(installation),
        }
    }

    pub(crate) fn gh(&self) -> &Github {
        self.sim.github()
    }

    pub(crate) fn settings(&self) -> Arc<GithubSettings> {
        let mut settings = GithubSettings::parse(&self.sim.github_api_url()).unwrap();
        let archives: url::Url = self.gh().archive_url().parse().unwrap();
        settings.archive_hosts = vec![format!("127.0.0.1:{}", archives.port().unwrap())];
        Arc::new(settings)
    }

    pub(crate) fn clock(&self) -> Arc<SimTime> {
        sim_time(&self.sim)
    }

    pub(crate) fn minter(&self) -> Arc<Minter> {
        let settings = self.settings();
        let client = settings.client().unwrap();
        let app = AppAuth::with_pem("4242", &TEST_APP_KEY.into()).unwrap();
        Arc::new(Minter::new(
            client,
            settings,
            app,
            self.clock(),
            Arc::new(Fixed),
        ))
    }

    pub(crate) fn reader(&self) -> GithubReader {
        let settings = self.settings();
        let tokens = self.minter().source(self.id.repo, self.installation);
        GithubReader::new(
            settings.client().unwrap(),
            settings,
            Arc::new(tokens),
            us(),
            self.clock(),
            Arc::new(Fixed),
        )
    }

    pub(crate) fn writer(&self) -> GithubWriter {
        let settings = self.settings();
        let tokens = self.minter().source(self.id.repo, self.installation);
        GithubWriter::new(
            settings.client().unwrap(),
            settings,
            Arc::new(tokens),
            us(),
            Arc::new(WriteGate::default()),
            self.clock(),
            Arc::new(Fixed),
        )
    }

    /// Returns the calls so far: status, credential and route.
    pub(crate) fn calls(&self) -> Vec<String> {
        let calls = self.gh().calls();
        calls
            .iter()
            .map(|call| format!("{} {} ({})", call.status, call.route, call.token_kind))
            .collect()
    }
}
