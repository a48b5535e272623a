//! One host: a supervisor and one child process per stage.
//!
//! The supervisor holds every secret and reads nothing that a stranger wrote. Each child starts with
//! an empty environment and is told, over its own socket, the few settings its stage needs. The
//! reviewer's child is born for one message: it sees the meter and that job's files, and nothing else.
//!
//! **Invariant:** a model's key and a forge's token are never told to the same child, and only a
//! minter is told the App's key.

pub(crate) mod child;
pub(crate) mod desk;
pub(crate) mod process;
pub(crate) mod protocol;
pub(crate) mod reviews;
pub(crate) mod tokens;
pub(crate) mod worker;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use mirilla_domain::forge_place::ForgePlace;
use mirilla_domain::signal::{About, Signal};
use mirilla_local::{DataDir, FindingsEvents, LocalLedger, LocalMeter, LocalQueue};
use mirilla_ports::message::Message;
use mirilla_ports::queue::QueueName;
use mirilla_ports::{Clock as _, Entropy as _, QueueSend as _};
use mirilla_system::{OsEntropy, SystemClock};
use mirilla_telemetry::Telemetry;
use tokio::sync::watch;

use crate::settings::{
    AppSettings, CollectorSettings, Credentials, HostSettings, IntakeChildSettings, PosterSettings,
    Secret, SweeperSettings, TokenFrom,
};
use mirilla_ports::tokens::{MintRequest, NoToken};
use mirilla_stages::mint::{self, Reach};
use process::Child;
use protocol::{ChildSettings, FromChild, ToChild};
use tokens::Minters;

/// Longest pause before a child that keeps ending is started again.
const MAX_RESTART_PAUSE: Duration = Duration::from_secs(30);

/// Runs all stages until `stop` changes. `ready` is called once with the address of the intake.
pub(crate) async fn run(
    settings: &HostSettings,
    program: &process::Program,
    mut stop: watch::Receiver<bool>,
    telemetry: Telemetry,
    ready: impl Fn(SocketAddr),
) -> Result<()> {
    let data = DataDir::create(&settings.data_dir)?;
    let _alone = process::only_supervisor(data.root())?;
    recover(&data)?;
    let marker_key = marker_key(&data)?;
    let minters = Minters::default();
    let host = Host {
        settings,
        program,
        data: &data,
        minters: &minters,
        telemetry,
    };

    let minting = async {
        match (&settings.credentials, &settings.forge) {
            (Credentials::App { id, key }, ForgePlace::Github(github)) => {
                let app = AppSettings {
                    github: github.clone(),
                    app_id: id.clone(),
                    key: key.clone(),
                };
                tokens::serve(&host, &app).await;
            }
            _ => std::future::pending().await,
        }
    };
    let stages = async {
        tokio::join!(
            host.keep(May::Nothing, || host.intake(), &ready),
            host.keep(May::Mint(Reach::Read), || host.collector(), &|_| ()),
            host.keep(May::Post, || host.poster(&marker_key), &|_| ()),
            host.keep(May::AskDeliveries, || host.sweeper(), &|_| ()),
            reviews::serve(&host),
            announce(&data),
            minting,
        );
    };
    tokio::select! {
        () = stages => Ok(()),
        _ = stop.changed() => Ok(()),
    }
}

/// What a child may ask the supervisor for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum May {
    /// Nothing.
    Nothing,
    /// Tokens of one reach.
    Mint(Reach),
    /// Tokens that write and, if the operator opted into it, tokens that resolve threads.
    Post,
    /// What the forge knows of its webhooks.
    AskDeliveries,
}

/// What every part of the supervisor looks at.
pub(crate) struct Host<'a> {
    pub(crate) settings: &'a HostSettings,
    pub(crate) program: &'a process::Program,
    pub(crate) data: &'a DataDir,
    pub(crate) minters: &'a Minters,
    /// Where the supervisor's own facts go; the children write theirs.
    pub(crate) telemetry: Telemetry,
}

impl Host<'_> {
    /// Keeps one child alive, and answers what it asks.
    #[expect(clippy::infinite_loop, reason = "it ends with the supervisor")]
    async fn keep(
        &self,
        may: May,
        settings: impl Fn() -> ChildSettings,
        ready: &impl Fn(SocketAddr),
    ) {
        let mut pause = Duration::from_millis(200);
        loop {
            let settings = settings();
            let name = settings.name();
            let started = tokio::time::Instant::now();
            let ended = match Child::start(self.program, settings).await {
                Ok(mut child) => self.converse(&mut child, may, ready).await,
                Err(error) => Err(error),
            };
            if started.elapsed() > MAX_RESTART_PAUSE {
                pause = Duration::from_millis(200);
            }
            match ended {
                Ok(()) => tracing::error!(
                    stage = name,
                    "the {name} process ended; it is started again"
                ),
                Err(error) => tracing::error!(
                    stage = name,
                    error = format!("{error:#}"),
                    "the {name} process failed; it is started again: {error:#}"
                ),
            }
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2).min(MAX_RESTART_PAUSE);
        }
    }

    async fn converse(
        &self,
        child: &mut Child,
        may: May,
        ready: &impl Fn(SocketAddr),
    ) -> Result<()> {
        while let Some(line) = child.link.next::<FromChild>().await? {
            match line {
                FromChild::Ready { address } => {
                    if let Some(address) = address {
                        ready(address);
                    }
                }
                FromChild::NeedToken(request) => {
                    let token = match may {
                        May::Mint(reach) => self.token(reach, &request).await,
                        May::Post => self.token(Reach::Write, &request).await,
                        May::Nothing | May::AskDeliveries => {
                            Err(NoToken::unavailable("this stage needs no token"))
                        }
                    };
                    child.link.send(&ToChild::Token { token }).await?;
                }
                FromChild::NeedResolveToken(request)
                    if may == May::Post && self.settings.resolve_threads =>
                {
                    let token = self.token(Reach::Resolve, &request).await;
                    child.link.send(&ToChild::Token { token }).await?;
                }
                FromChild::NeedDeliveries(request) if may == May::AskDeliveries => {
                    let answer = self.minters.deliveries(request).await;
                    child.link.send(&ToChild::Deliveries(answer)).await?;
                }
                FromChild::NeedResolveToken(_)
                | FromChild::NeedDeliveries(_)
                | FromChild::Deliveries(_)
                | FromChild::Minted { .. }
                | FromChild::Reviewed { .. } => {
                    anyhow::bail!("a stage said what only another one may say");
                }
            }
        }
        Ok(())
    }

    /// Returns a token for a job's repository and nothing else.
    async fn token(&self, reach: Reach, request: &MintRequest) -> Result<Secret, NoToken> {
        let ledger = LocalLedger::open(&self.data.ledger())
            .map_err(|error| NoToken::unavailable(error.to_string()))?;
        let token = match mint::place(&ledger, request, reach, SystemClock.now()).await {
            Ok(place) => self.minters.mint(reach, place, request.fresh).await,
            Err(reason) => Err(reason),
        };
        let stage = tokens::process_name(reach);
        self.count(stage, &About::job_id(&request.job), mint::fact(&token));
        token
    }

    /// Writes facts of a stage whose work the supervisor does.
    pub(crate) fn count(
        &self,
        stage: &'static str,
        about: &About,
        facts: impl IntoIterator<Item = Signal>,
    ) {
        let facts: Vec<Signal> = facts.into_iter().collect();
        self.telemetry
            .of_stage(stage)
            .emit(about, &facts, SystemClock.now());
    }

    fn intake(&self) -> ChildSettings {
        ChildSettings::Intake(IntakeChildSettings {
            data_dir: self.settings.data_dir.clone(),
            listen: self.settings.listen,
            allowed_accounts: self.settings.allowed_accounts.clone(),
            hooks: self.settings.hooks.clone(),
            listen_beyond_loopback: self.settings.listen_beyond_loopback,
            grace: self.settings.forge.webhook_grace(),
            timings: self.settings.timings,
        })
    }

    fn collector(&self) -> ChildSettings {
        ChildSettings::Collector(CollectorSettings {
            data_dir: self.settings.data_dir.clone(),
            forge: self.settings.forge.clone(),
            token: match &self.settings.credentials {
                Credentials::App { .. } => TokenFrom::Minter,
                Credentials::Tokens { read, .. } => TokenFrom::Fixed(read.clone()),
            },
            policy: self.settings.policy.clone(),
            timings: self.settings.timings,
        })
    }

    fn poster(&self, marker_key: &Secret) -> ChildSettings {
        let (token, resolve) = match &self.settings.credentials {
            Credentials::App { .. } => (TokenFrom::Minter, Some(TokenFrom::Minter)),
            Credentials::Tokens { write, resolve, .. } => (
                TokenFrom::Fixed(write.clone()),
                resolve.clone().map(TokenFrom::Fixed),
            ),
        };
        ChildSettings::Poster(PosterSettings {
            data_dir: self.settings.data_dir.clone(),
            forge: self.settings.forge.clone(),
            token,
            resolve: resolve.filter(|_| self.settings.resolve_threads),
            marker_key: marker_key.clone(),
            policy: self.settings.policy.clone(),
            timings: self.settings.timings,
        })
    }

    fn sweeper(&self) -> ChildSettings {
        ChildSettings::Sweeper(SweeperSettings {
            data_dir: self.settings.data_dir.clone(),
            deliveries: matches!(self.settings.credentials, Credentials::App { .. }),
            allowed_accounts: self.settings.allowed_accounts.clone(),
            timings: self.settings.timings,
        })
    }
}

/// Puts back what an earlier supervisor and its children held when they were killed.
///
/// The lock on the data directory proves that nobody else works on it, so every claim, every lease and
/// every hidden message is a dead worker's. Reservations are left: a reviewer that goes on knows which of
/// its calls were answered, and those of the others are booked when they expire.
fn recover(data: &DataDir) -> Result<()> {
    let clock = Arc::new(SystemClock);
    let ledger = LocalLedger::open(&data.ledger())?;
    ledger.release_claims()?;
    LocalMeter::open(&data.meter())?.release_leases()?;
    let queue = LocalQueue::open(&data.queue(), clock)?;
    queue.release_hidden()?;
    Ok(())
}

/// Tells the poster of findings as they appear, at least once each.
#[expect(clippy::infinite_loop, reason = "it ends with the supervisor")]
async fn announce(data: &DataDir) {
    loop {
        if let Err(error) = announce_once(data).await {
            tracing::error!(
                error = format!("{error:#}"),
                "findings could not be announced: {error:#}"
            );
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn announce_once(data: &DataDir) -> Result<()> {
    let events = FindingsEvents::open(&data.artifacts(), &data.announced())?;
    let pending = events.pending().await?;
    if pending.is_empty() {
        return Ok(());
    }
    let queue = LocalQueue::open(&data.queue(), Arc::new(SystemClock))?;
    for key in pending {
        if let Some((job, attempt)) = mirilla_domain::snapshot::Keys::parse_findings(&key) {
            let message = Message::PostV1 {
                job,
                attempt,
                findings: Some(key.clone()),
            };
            queue
                .send(QueueName::Post, &message, Duration::ZERO)
                .await?;
        }
        events.announced(&key).await?;
    }
    Ok(())
}

/// Returns the key that markers are signed with, made at the first start and kept beside the data.
fn marker_key(data: &DataDir) -> Result<Secret> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let path = data.root().join("marker.key");
    match std::fs::read_to_string(&path) {
        Ok(key) if key.trim().len() == 64 => return Ok(Secret::new(key.trim())),
        Ok(_) => anyhow::bail!(
            "{} is not a marker key of 64 hex digits; restore it from a backup, or remove it and accept that earlier comments are not recognised",
            path.display()
        ),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => {
            return Err(error).with_context(|| format!("{} cannot be read", path.display()));
        }
    }
    let key = OsEntropy::open()?.hex(32);
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .with_context(|| format!("{} cannot be written", path.display()))?;
    file.write_all(key.as_bytes())?;
    file.sync_all()?;
    Ok(Secret::new(key))
}

/// Runs `mirilla serve` until it is told to stop.
pub(crate) fn command(
    arguments: &crate::arguments::Serve,
    environment: &crate::settings::Environment,
) -> Result<std::process::ExitCode> {
    let mut settings = crate::settings::host(environment).map_err(|problems| {
        crate::failure::Failure::usage(format!(
            "the settings cannot be used:\n{}",
            problems
                .iter()
                .map(|problem| format!("  - {problem}"))
                .collect::<Vec<_>>()
                .join("\n")
        ))
        .hint("`mirilla serve --variables` lists every variable; README.md shows a complete set")
    })?;
    if let Some(data) = &arguments.data {
        settings.data_dir.clone_from(data);
    }
    if let Some(listen) = arguments.listen {
        settings.listen = listen;
    }
    let json = environment
        .get("MIRILLA_LOG")
        .is_some_and(|format| format == "json");
    let format = if json {
        mirilla_telemetry::Format::Json
    } else {
        mirilla_telemetry::Format::Human
    };
    let telemetry = mirilla_telemetry::init("supervisor", format, "info")?;
    let program = process::Program::this(environment, process::LinesTo::Stderr)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let (stop, stopped) = watch::channel(false);
        let interrupted = async {
            let mut terminated =
                tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
            tokio::select! {
                ended = tokio::signal::ctrl_c() => ended?,
                _ = terminated.recv() => {}
            }
            let _already_ended = stop.send(true);
            Ok::<(), anyhow::Error>(())
        };
        let model = settings.model.is_some();
        let forge = settings.forge.forge();
        let serving = run(&settings, &program, stopped, telemetry, |address| {
            crate::output::note(&format!(
                "mirilla listens on http://{address}/webhooks/{forge}"
            ));
            if !model {
                crate::output::note("no ANTHROPIC_API_KEY: only the deterministic checks run");
            }
        });
        tokio::pin!(serving);
        tokio::select! {
            ended = &mut serving => ended,
            asked = interrupted => {
                asked?;
                crate::output::note("stopping; what was begun goes on at the next start");
                serving.await
            }
        }
    })?;
    Ok(std::process::ExitCode::SUCCESS)
}
