//! Starting children, and ending them with their parent.
//!
//! **Invariant:** a child inherits no environment variable but those named here, and no file but its
//! socket, standard output and standard error.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result};

use super::protocol::{ChildSettings, Link, ToChild};

/// Variables that a child may inherit: how it prints, nothing about what it may do.
const INHERITED: &[&str] = &["MIRILLA_LOG", "NO_COLOR", "TZ"];

/// How to start a child.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    /// This very program.
    path: PathBuf,
    /// Inherited variables, taken once.
    environment: Vec<(String, String)>,
    /// Whether the children's lines are collected instead of shown.
    lines_to: LinesTo,
}

/// Where the lines of the children go.
#[derive(Debug, Clone)]
pub(crate) enum LinesTo {
    /// To this process's standard error.
    Stderr,
    /// To a file, appended.
    File(PathBuf),
}

impl Program {
    /// Returns this program, with its children's lines going to `lines_to`.
    pub(crate) fn this(
        environment: &crate::settings::Environment,
        lines_to: LinesTo,
    ) -> Result<Self> {
        let path = std::env::current_exe().context("the program's own file cannot be found")?;
        let environment = INHERITED
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), environment.get(*name)?.clone())))
            .collect();
        Ok(Self {
            path,
            environment,
            lines_to,
        })
    }

    /// Returns where the children's machine-readable lines go: shown, unless their lines are collected.
    fn metrics(&self) -> Stdio {
        match &self.lines_to {
            LinesTo::Stderr => Stdio::inherit(),
            LinesTo::File(_) => Stdio::null(),
        }
    }

    fn lines(&self) -> Result<Stdio> {
        match &self.lines_to {
            LinesTo::Stderr => Ok(Stdio::inherit()),
            LinesTo::File(path) => {
                let file = File::options()
                    .create(true)
                    .append(true)
                    .open(path)
                    .with_context(|| format!("{} cannot be written", path.display()))?;
                Ok(Stdio::from(file))
            }
        }
    }
}

/// A running child; dropped, it is killed.
#[derive(Debug)]
pub(crate) struct Child {
    /// The socket to it.
    pub(crate) link: Link,
    process: tokio::process::Child,
}

impl Child {
    /// Starts a child and tells it what to be.
    pub(crate) async fn start(program: &Program, settings: ChildSettings) -> Result<Self> {
        let (ours, theirs) = StdUnixStream::pair().context("no socket for a child")?;
        let name = settings.name();
        let process = tokio::process::Command::new(&program.path)
            .arg("stage")
            .arg(name)
            .env_clear()
            .envs(
                program
                    .environment
                    .iter()
                    .map(|(name, value)| (name, value)),
            )
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(program.metrics())
            .stderr(program.lines()?)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("the {name} process cannot be started"))?;
        let mut link = Link::new(ours)?;
        link.send(&ToChild::Start {
            settings: Box::new(settings),
        })
        .await?;
        Ok(Self { link, process })
    }

    /// Waits for its end.
    pub(crate) async fn wait(&mut self) -> Result<std::process::ExitStatus> {
        self.process
            .wait()
            .await
            .context("a child cannot be waited for")
    }
}

/// Lets this process end when its parent does, however the parent ends.
#[cfg(target_os = "linux")]
pub(crate) fn end_with_parent() -> Result<()> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    let parent = getppid();
    set_parent_process_death_signal(Some(Signal::KILL))
        .context("the parent's end cannot be watched")?;
    // It may have ended before the signal was asked for.
    anyhow::ensure!(
        getppid() == parent && parent.is_some(),
        "the supervisor is gone"
    );
    Ok(())
}

/// Elsewhere a child notices its parent's end at its closed socket.
#[cfg(not(target_os = "linux"))]
pub(crate) fn end_with_parent() -> Result<()> {
    Ok(())
}

/// Takes the data directory for this supervisor alone; held until the file is closed.
pub(crate) fn only_supervisor(data: &Path) -> Result<File> {
    let path = data.join("supervisor.lock");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .with_context(|| format!("{} cannot be opened", path.display()))?;
    rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).with_context(
        || {
            format!(
                "another `mirilla serve` works on {}; stop it, or choose another MIRILLA_DATA_DIR",
                data.display()
            )
        },
    )?;
    Ok(file)
}
