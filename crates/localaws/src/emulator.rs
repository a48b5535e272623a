//! One AWS emulator, started and stopped with a value.

mod kept;

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use crate::Venv;
use crate::venv::project_root;

/// The account everything in the emulator belongs to.
pub const ACCOUNT_ID: &str = "000000000000";
/// The region everything in the emulator is in.
pub const REGION: &str = "us-east-1";
/// The key id the emulator takes for the account's root. Made up.
pub const TEST_ACCESS_KEY_ID: &str = "test";
/// The secret that belongs to [`TEST_ACCESS_KEY_ID`]. Made up.
pub const TEST_SECRET_ACCESS_KEY: &str = "test";

/// The launcher, relative to the project's root.
const LAUNCHER: &str = "infra/local-aws/emulator.py";
/// How long the emulator may take until it answers; it takes under a second on a quiet machine.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// The pause between two looks whether it answers.
const START_PAUSE: Duration = Duration::from_millis(20);
/// How often a port that somebody else took meanwhile is replaced by another.
const PORT_TRIES: u32 = 5;
/// How much of the log a failed test shows.
const LOG_TAIL_BYTES: usize = 8 * 1024;

/// How the emulator is to run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Whether IAM policies are evaluated; otherwise every well-formed credential may do anything.
    pub auth: bool,
    /// Further variables of the emulator's environment. The functions it runs inherit them.
    pub environment: Vec<(String, String)>,
}

/// A running emulator. Dropped, it is killed, together with every function it started.
#[derive(Debug)]
pub struct Emulator {
    child: Child,
    port: u16,
    folder: TempDir,
}

impl Emulator {
    /// Starts an emulator on a free loopback port and waits until it answers.
    ///
    /// It ends with the value, and also when this process ends without dropping it.
    ///
    /// # Errors
    ///
    /// When its packages cannot be installed, or when it ends or stays silent at its start; then with
    /// the end of its log.
    pub fn start(options: &Options) -> Result<Self> {
        let venv = Venv::ensure()?;
        let mut last = None;
        for _ in 0..PORT_TRIES {
            match Self::try_start(&venv, options) {
                Ok(emulator) => return Ok(emulator),
                Err(Failed::PortTaken(error)) => last = Some(error),
                Err(Failed::Broken(error)) => return Err(error),
            }
        }
        Err(last.unwrap_or_else(|| anyhow::anyhow!("the emulator was not tried")))
    }

    /// Returns the address of every service, such as `http://127.0.0.1:41000`.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the port on loopback.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Returns its process id, which is its process group's too.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the emulator's log: its own lines, not those of functions.
    pub fn log_path(&self) -> PathBuf {
        self.folder.path().join("emulator.log")
    }

    fn try_start(venv: &Venv, options: &Options) -> Result<Self, Failed> {
        let runs = project_root().join(".cache/local-aws/run");
        let folder = fs::create_dir_all(&runs)
            .and_then(|()| TempDir::new_in(&runs))
            .with_context(|| format!("could not create a folder in {}", runs.display()))?;
        let port = free_port()?;
        let log = folder.path().join("emulator.log");
        // Recognises this very emulator in what answers on the port.
        let edition = folder
            .path()
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let child = spawn(venv, options, folder.path(), &log, port, &edition)?;
        let mut emulator = Self {
            child,
            port,
            folder,
        };
        emulator.wait(&edition)?;
        Ok(emulator)
    }

    fn wait(&mut self, edition: &str) -> Result<(), Failed> {
        let tries = START_TIMEOUT.as_millis() / START_PAUSE.as_millis();
        for _ in 0..tries {
            if let Some(status) = self.child.try_wait().context("could not ask for its end")? {
                let log = self.log_tail();
                let error = anyhow::anyhow!("the emulator ended with {status}:\n{log}");
                return Err(if log.contains("already in use") {
                    Failed::PortTaken(error)
                } else {
                    Failed::Broken(error)
                });
            }
            if health(self.port).is_ok_and(|answer| answer.contains(edition)) {
                return Ok(());
            }
            thread::sleep(START_PAUSE);
        }
        Err(Failed::Broken(anyhow::anyhow!(
            "the emulator did not answer within {} s:\n{}",
            START_TIMEOUT.as_secs(),
            self.log_tail()
        )))
    }

    fn log_tail(&self) -> String {
        let bytes = fs::read(self.log_path()).unwrap_or_default();
        let tail = bytes
            .get(bytes.len().saturating_sub(LOG_TAIL_BYTES)..)
            .unwrap_or_default();
        String::from_utf8_lossy(tail).into_owned()
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // One that ended by itself took its group along, and its number may be another's by now.
        if matches!(self.child.try_wait(), Ok(None)) {
            // Its end of the pipe closes with the wait, so it ends even if the signal failed.
            kill_process_group(Pid::from_child(&self.child), Signal::KILL).unwrap_or_default();
            drop(self.child.wait());
        }
        if thread::panicking() {
            #[expect(clippy::print_stderr, reason = "the test that failed shows it")]
            {
                eprintln!("---- end of the emulator's log\n{}", self.log_tail());
            }
        }
    }
}

/// Why a start failed.
enum Failed {
    /// Another port may do.
    PortTaken(anyhow::Error),
    /// It will not work.
    Broken(anyhow::Error),
}

impl From<anyhow::Error> for Failed {
    fn from(error: anyhow::Error) -> Self {
        Self::Broken(error)
    }
}

fn spawn(
    venv: &Venv,
    options: &Options,
    folder: &Path,
    log: &Path,
    port: u16,
    edition: &str,
) -> Result<Child> {
    let output =
        File::create(log).with_context(|| format!("could not create {}", log.display()))?;
    let errors = output.try_clone().context("could not share the log")?;
    Command::new(venv.python())
        .arg(project_root().join(LAUNCHER))
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", folder)
        .env("TMPDIR", folder)
        .env("PYTHONUNBUFFERED", "1")
        // Its default is every interface.
        .env("BIND_HOST", "127.0.0.1")
        .env("GATEWAY_PORT", port.to_string())
        // The functions it runs find the emulator through this.
        .env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}"))
        .env("AWS_ACCESS_KEY_ID", TEST_ACCESS_KEY_ID)
        .env("AWS_SECRET_ACCESS_KEY", TEST_SECRET_ACCESS_KEY)
        .env("AWS_DEFAULT_REGION", REGION)
        .env("AUTH", if options.auth { "true" } else { "false" })
        .env("MINISTACK_EDITION", edition)
        .env("LAMBDA_EXECUTOR", "local")
        // No containers, even where there is a daemon; no listeners beside the one port.
        .env("DOCKER_HOST", "unix:///nonexistent")
        .env("IOT_MTLS_ENABLED", "0")
        .env("SFTP_ENABLED", "0")
        .envs(options.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(output)
        .stderr(errors)
        .process_group(0)
        .spawn()
        .context("could not start the emulator")
}

/// Returns a port nobody listens on at the moment.
fn free_port() -> Result<u16> {
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no loopback port is free")?;
    Ok(listener
        .local_addr()
        .context("a listener has no address")?
        .port())
}

/// Returns what the health address answers.
fn health(port: u16) -> Result<String> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let timeout = Duration::from_secs(2);
    let mut stream = TcpStream::connect_timeout(&address, timeout)?;
    stream.set_read_timeout(Some(timeout))?;
    stream.write_all(
        b"GET /_ministack/health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    if !answer.starts_with("HTTP/1.1 200") {
        bail!("not ready");
    }
    Ok(answer)
}
