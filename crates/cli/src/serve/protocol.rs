//! What supervisor and children tell each other, one JSON object a line over the child's own socket.
//!
//! The socket is the child's standard input, handed over at birth: nothing else can connect to it, so
//! which line a request comes in on says which child asks.
//!
//! **Invariant:** secrets travel here and never in an environment or on a command line, and a child
//! is told only those it needs.

use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use mirilla_domain::ids::AttemptNo;
use mirilla_domain::ids::{Forge, InstallationId, JobId, RepoId};
use mirilla_domain::money::CappedPurse;
use mirilla_ports::deliveries::{DeliveriesAnswer, DeliveriesRequest};
use mirilla_ports::tokens::{MintRequest, NoToken};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use crate::settings::Secret;
use crate::settings::{
    AppSettings, CollectorSettings, IntakeChildSettings, MinterSettings, PosterSettings,
    ReviewerSettings, SweeperSettings,
};

/// Longest line either side accepts; a child that sends more is ended.
const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

/// Everything a child is told at birth.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "child", rename_all = "kebab-case")]
pub(crate) enum ChildSettings {
    /// Takes webhooks.
    Intake(IntakeChildSettings),
    /// Takes snapshots.
    Collector(CollectorSettings),
    /// Reads one snapshot and ends.
    Reviewer(ReviewerSettings),
    /// Posts.
    Poster(PosterSettings),
    /// Restarts what died.
    Sweeper(SweeperSettings),
    /// Makes tokens for one stage from the App's key.
    Minter(MinterSettings),
    /// Asks the forge about its webhooks with the App's key.
    Deliveries(AppSettings),
}

impl ChildSettings {
    /// Returns the name of the child's process, as `mirilla stage NAME`.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Intake(_) => "intake",
            Self::Collector(_) => "collector",
            Self::Reviewer(_) => "reviewer",
            Self::Poster(_) => "poster",
            Self::Sweeper(_) => "sweeper",
            Self::Minter(settings) => super::tokens::process_name(settings.reach),
            Self::Deliveries(_) => super::tokens::DELIVERIES,
        }
    }
}

/// From the supervisor to a child.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum ToChild {
    /// The first line.
    Start {
        /// What to be.
        settings: Box<ChildSettings>,
    },
    /// Answer to [`FromChild::NeedToken`] and [`FromChild::NeedResolveToken`].
    Token {
        /// The token, or why there is none.
        token: Result<Secret, NoToken>,
    },
    /// Make a token (minters only).
    Mint {
        /// For this repository.
        forge: Forge,
        /// Its number.
        repo: RepoId,
        /// Its installation.
        installation: InstallationId,
        /// Not the cached one: the forge refused it.
        fresh: bool,
    },
    /// Ask the forge about its webhooks (the child that does that only).
    AskDeliveries(DeliveriesRequest),
    /// Answer to [`FromChild::NeedDeliveries`].
    Deliveries(DeliveriesAnswer),
    /// The head being read is not the newest any more (reviewer only).
    Superseded,
}

/// From a child to the supervisor.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum FromChild {
    /// It works; intake says where it listens.
    Ready {
        /// The bound address.
        address: Option<SocketAddr>,
    },
    /// It needs a token for a job's repository.
    NeedToken(MintRequest),
    /// It needs a token that resolves threads of a job's pull request (poster only, if the operator opted
    /// into it).
    NeedResolveToken(MintRequest),
    /// It wants to know about the forge's webhooks (sweeper only).
    NeedDeliveries(DeliveriesRequest),
    /// Answer to [`ToChild::AskDeliveries`].
    Deliveries(DeliveriesAnswer),
    /// Answer to [`ToChild::Mint`].
    Minted {
        /// The token, or why there is none.
        token: Result<Secret, NoToken>,
    },
    /// The review is done, one way or the other (reviewer only).
    Reviewed {
        /// What to do with the message.
        verdict: ReviewVerdict,
    },
}

/// What a reviewer says about its message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub(crate) enum ReviewVerdict {
    /// Its findings are written.
    Done,
    /// Bring it back.
    Retry {
        /// After so many milliseconds.
        after_ms: u64,
    },
    /// It can never be read.
    Reject,
}

/// The review message with what a reviewer needs beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReviewOrder {
    /// The job.
    pub(crate) job: JobId,
    /// The try.
    pub(crate) attempt: AttemptNo,
    /// Who pays.
    pub(crate) purses: Vec<CappedPurse>,
    /// How often the message was received, this time included.
    pub(crate) receive_count: u32,
    /// Whether this is the message's last receipt: an outcome is written in any case.
    pub(crate) last_try: bool,
    /// The meter's database.
    pub(crate) meter: PathBuf,
    /// The artifact directory.
    pub(crate) artifacts: PathBuf,
    /// The head's archive, below that directory, if one was kept.
    pub(crate) archive: PathBuf,
}

/// One end of the socket between supervisor and child.
#[derive(Debug)]
pub(crate) struct Link {
    lines: BufReader<OwnedReadHalf>,
    /// What was read of the next line: kept here, so that waiting for a line can be given up.
    partial: Vec<u8>,
    out: OwnedWriteHalf,
}

impl Link {
    /// Takes one end of a socket pair.
    pub(crate) fn new(stream: StdUnixStream) -> Result<Self> {
        stream
            .set_nonblocking(true)
            .context("the supervisor's socket cannot be prepared")?;
        let stream =
            UnixStream::from_std(stream).context("the supervisor's socket cannot be used")?;
        let (read, out) = stream.into_split();
        Ok(Self {
            lines: BufReader::new(read),
            partial: Vec::new(),
            out,
        })
    }

    /// Takes this process's standard input, which the supervisor made a socket.
    pub(crate) fn from_stdin() -> Result<Self> {
        let fd = std::io::stdin().as_fd().try_clone_to_owned().context(
            "standard input cannot be used; `mirilla stage` is started by `mirilla serve`",
        )?;
        Self::new(StdUnixStream::from(fd)).context(
            "standard input is not a socket; `mirilla stage` is started by `mirilla serve`",
        )
    }

    /// Sends one line.
    pub(crate) async fn send<T: Serialize>(&mut self, value: &T) -> Result<()> {
        let mut line = serde_json::to_vec(value).context("a line cannot be written")?;
        line.push(b'\n');
        self.out
            .write_all(&line)
            .await
            .context("the other side is gone")?;
        Ok(())
    }

    /// Returns the next line; `None` once the other side is gone.
    pub(crate) async fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        loop {
            let available = self
                .lines
                .fill_buf()
                .await
                .context("the other side is gone")?;
            if available.is_empty() {
                return Ok(None);
            }
            let (taken, complete) = match available.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at.saturating_add(1), true),
                None => (available.len(), false),
            };
            self.partial
                .extend_from_slice(available.get(..taken).unwrap_or_default());
            self.lines.consume(taken);
            anyhow::ensure!(
                self.partial.len() <= MAX_LINE_BYTES,
                "a line is longer than {MAX_LINE_BYTES} bytes"
            );
            if complete {
                let line = std::mem::take(&mut self.partial);
                return serde_json::from_slice(&line)
                    .map(Some)
                    .context("a line is not of the protocol");
            }
        }
    }
}
