//! The host of the demo: simulators, supervisor and its children, all on loopback.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use mirilla_domain::forge_place::{ForgePlace, GithubPlace};
use mirilla_domain::ids::{
    BranchName, CommitSha, Forge as ForgeKind, Generation, PrNumber, RepoId,
};
use mirilla_domain::job::{Job, JobKey, JobState};
use mirilla_domain::settings::OperatorPolicy;
use mirilla_http::{Client, ClientSettings, Method, Request};
use mirilla_local::{DataDir, LocalLedger};
use mirilla_ports::Ledger as _;
use mirilla_sim::{GithubOptions, Otherwise, Sim, SimOptions};
use mirilla_telemetry::Telemetry;
use tokio::sync::watch;

use super::Forge;
use crate::failure::Failure;
use crate::serve;
use crate::serve::process::{LinesTo, Program};
use crate::settings::{
    Credentials, Environment, HookSettings, HostSettings, ModelAccess, Secret, Timings,
    WebhookSecrets,
};

/// Longest time the stages may take to start, on a busy machine too.
const START_PATIENCE: Duration = Duration::from_secs(60);

/// A running host with its simulators.
pub(super) struct Loopback {
    sim: Sim,
    data: tempfile::TempDir,
    address: SocketAddr,
    client: Client,
    stop: watch::Sender<bool>,
    supervisor: Option<std::thread::JoinHandle<Result<()>>>,
    told: usize,
}

impl Loopback {
    /// Starts everything.
    pub(super) fn start(environment: &Environment) -> Result<Self> {
        let options = SimOptions {
            github: GithubOptions::default(),
            ..SimOptions::default()
        };
        let secret = options.github.app.hook_secret.clone();
        let app_id = options.github.app.client_id.clone();
        let login = format!("{}[bot]", options.github.app.slug);
        let sim = Sim::start(options)?;
        sim.messages().otherwise(Otherwise::Reviewer);
        let data = tempfile::tempdir().context("no temporary directory")?;
        let settings = HostSettings {
            data_dir: data.path().join("data"),
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            listen_beyond_loopback: false,
            allowed_accounts: vec!["acme".to_owned()],
            hooks: HookSettings::Github(WebhookSecrets {
                current: Secret::new(secret),
                previous: None,
            }),
            forge: ForgePlace::Github(GithubPlace {
                api_url: sim.github_api_url(),
                archive_hosts: vec![
                    sim.github()
                        .archive_url()
                        .trim_start_matches("http://")
                        .to_owned(),
                ],
                extra_ca_pem: None,
                login: Some(login),
            }),
            credentials: Credentials::App {
                id: app_id,
                key: Secret::new(mirilla_sim::TEST_APP_KEY),
            },
            resolve_threads: false,
            model: Some(ModelAccess {
                endpoint: sim.messages().url().parse()?,
                api_key: Secret::new(sim.messages().api_key()),
            }),
            policy: OperatorPolicy::default(),
            concurrent_reviews: 1,
            timings: timings(),
        };
        let lines = data.path().join("workers.log");
        let program = Program::this(environment, LinesTo::File(lines))?;
        let (stop, stopped) = watch::channel(false);
        let (ready, is_ready) = mpsc::channel();
        let supervisor = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(serve::run(
                &settings,
                &program,
                stopped,
                Telemetry::silent(),
                move |address| {
                    // Nobody waits any more once the demo is over.
                    let _unheard = ready.send(address);
                },
            ))
        });
        let Ok(address) = is_ready.recv_timeout(START_PATIENCE) else {
            let said = std::fs::read_to_string(data.path().join("workers.log")).unwrap_or_default();
            return Err(Failure::new("the stages did not start")
                .hint(format!(
                    "what they said:
{said}"
                ))
                .into());
        };
        let mut client = ClientSettings::new([address.to_string()], "GitHub-Hookshot/simulated");
        client.allow_plain_loopback = true;
        Ok(Self {
            sim,
            data,
            address,
            client: Client::new(client)?,
            stop,
            supervisor: Some(supervisor),
            told: 0,
        })
    }

    /// Returns the simulated GitHub.
    pub(super) fn github(&self) -> Forge {
        self.sim.github().clone()
    }

    /// Returns the directory of the host's databases and objects.
    pub(super) fn data(&self) -> DataDir {
        DataDir::at(&self.data.path().join("data"))
    }

    /// Posts a webhook; returns status and body of the answer.
    pub(super) async fn deliver(
        &self,
        headers: &[(String, String)],
        body: &[u8],
    ) -> Result<(u16, String)> {
        let url = format!("http://{}/webhooks/github", self.address).parse()?;
        let mut request = Request::new(Method::POST, url);
        let mut content_type = "application/json";
        for (name, value) in headers {
            if name.eq_ignore_ascii_case("content-type") {
                content_type = value;
            } else if !name.eq_ignore_ascii_case("user-agent")
                && !name.eq_ignore_ascii_case("content-length")
            {
                request = request.header(name.parse()?, value);
            }
        }
        let response = self
            .client
            .send(request.body(content_type, body.to_vec()))
            .await?;
        let status = response.status().as_u16();
        let text = String::from_utf8_lossy(&response.bytes().await?)
            .trim()
            .to_owned();
        Ok((status, text))
    }

    /// Waits until the review of a head is posted; hands every worker line to `line` as it comes.
    pub(super) async fn reviewed(
        &mut self,
        repo: &str,
        number: u64,
        head: &str,
        patience: Duration,
        line: impl Fn(&str),
    ) -> Result<()> {
        let key = JobKey {
            forge: ForgeKind::Github,
            repo: RepoId::new(self.sim.github().repo_id(repo)?),
            pr: PrNumber::new(number),
            head: CommitSha::parse(head)?,
            base_ref: BranchName::parse("main")?,
            generation: Generation::new(0),
        };
        let ledger = LocalLedger::open(&self.data().ledger())?;
        let until = tokio::time::Instant::now() + patience;
        loop {
            let job = ledger.job(&key.id()).await?;
            self.tell_new(&line);
            match job {
                Some(Job {
                    state: JobState::Posted,
                    ..
                }) => {
                    // The line about the posting is written after the row.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    self.tell_new(&line);
                    return Ok(());
                }
                Some(Job {
                    state, end_reason, ..
                }) if state.is_terminal() => {
                    anyhow::bail!("the review ended as {}: {end_reason:?}", state.as_str());
                }
                _ => {}
            }
            anyhow::ensure!(
                tokio::time::Instant::now() < until,
                "no review within {} seconds; the simulators saw: {:?} {:?}",
                patience.as_secs(),
                self.sim.github().take_problems(),
                self.sim.messages().take_problems()
            );
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
    }

    fn tell_new(&mut self, line: &impl Fn(&str)) {
        let log = self.log();
        // What the intake said is shown as its answer already.
        for new in log
            .iter()
            .skip(self.told)
            .filter(|line| !line.starts_with("intake: "))
        {
            line(new);
        }
        self.told = log.len();
    }

    /// Returns everything the workers said.
    pub(super) fn log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.lines_file()).unwrap_or_default();
        // A line that is still being written is left for the next look.
        let complete = text
            .rfind('\n')
            .and_then(|end| text.get(..end))
            .unwrap_or_default();
        complete
            .lines()
            .filter(|line| !line.is_empty())
            .map(ToOwned::to_owned)
            .collect()
    }

    fn lines_file(&self) -> PathBuf {
        self.data.path().join("workers.log")
    }

    /// Ends everything.
    pub(super) fn stop(mut self) -> Result<()> {
        let _already_ended = self.stop.send(true);
        if let Some(supervisor) = self.supervisor.take() {
            match supervisor.join() {
                Ok(ended) => ended?,
                Err(_panicked) => anyhow::bail!("the supervisor panicked"),
            }
        }
        // Strict services: what they refuse, the real ones would refuse too.
        self.sim
            .finish()
            .context("the simulated services saw what they must not see")
    }
}

/// Waiting times for somebody who watches.
fn timings() -> Timings {
    Timings {
        debounce_first: Duration::from_millis(100),
        debounce_busy: Duration::from_millis(100),
        poll: Duration::from_millis(20),
        ..Timings::default()
    }
}
