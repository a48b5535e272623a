//! What a child process does once it has been told what to be.
//!
//! **Invariant:** a child opens only the stores of its stage, and never reads its environment for
//! anything it may do.

mod collector;
mod confine;
mod github;
mod intake;
mod minter;
mod poster;
mod reviewer;
mod sweeper;

use std::sync::Arc;

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use mirilla_domain::ids::JobId;
use mirilla_forge::{TokenError, TokenSource};
use mirilla_local::{OsEntropy, SystemClock};
use mirilla_ports::{Clock, Entropy};
use secrecy::SecretString;
use tokio::sync::Mutex;

use super::process;
use super::protocol::{ChildSettings, FromChild, Link, NoToken, ToChild};
use crate::settings::{Environment, Secret, TokenFrom};

/// Runs one stage; returns when the supervisor is gone or the stage is done.
pub(crate) fn run(name: &str, environment: &Environment) -> Result<()> {
    if name == "reviewer" {
        reviewer::refuse_forge_credentials(environment)?;
    }
    process::end_with_parent()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the runtime cannot be started")?;
    runtime.block_on(async {
        let mut link = Link::from_stdin()?;
        let Some(ToChild::Start { settings }) = link.next().await? else {
            anyhow::bail!(
                "the supervisor said nothing; `mirilla stage` is started by `mirilla serve`"
            );
        };
        anyhow::ensure!(
            settings.name() == name,
            "this process was started as another stage"
        );
        let json = environment
            .get("MIRILLA_LOG")
            .is_some_and(|format| format == "json");
        let format = if json {
            mirilla_telemetry::Format::Json
        } else {
            mirilla_telemetry::Format::Human
        };
        mirilla_telemetry::init(settings.name(), format, "info")?;
        match *settings {
            ChildSettings::Intake(settings) => intake::run(link, settings).await,
            ChildSettings::Collector(settings) => collector::run(link, settings).await,
            ChildSettings::Reviewer(settings) => reviewer::run(link, settings).await,
            ChildSettings::Poster(settings) => poster::run(link, settings).await,
            ChildSettings::Sweeper(settings) => sweeper::run(link, settings).await,
            ChildSettings::Minter(settings) => minter::run(link, settings).await,
        }
    })
}

/// The clock and the randomness that adapters take.
pub(crate) fn surroundings() -> Result<(Arc<dyn Clock>, Arc<dyn Entropy>)> {
    Ok((Arc::new(SystemClock), Arc::new(OsEntropy::open()?)))
}

/// Tokens for one job, from wherever this stage gets them.
#[derive(Clone)]
pub(crate) struct JobTokens {
    from: TokenFrom,
    link: Arc<Mutex<Link>>,
    job: JobId,
}

impl JobTokens {
    /// Returns the tokens of a job.
    pub(crate) const fn new(from: TokenFrom, link: Arc<Mutex<Link>>, job: JobId) -> Self {
        Self { from, link, job }
    }

    async fn secret(&self, fresh: bool) -> Result<SecretString, TokenError> {
        match &self.from {
            TokenFrom::Fixed(_) if fresh => Err(TokenError::NoFresh),
            TokenFrom::Fixed(token) => Ok(token.to_secret_string()),
            TokenFrom::Minter => match self.minted(fresh).await {
                Ok(Ok(token)) => Ok(token.to_secret_string()),
                Ok(Err(NoToken::NotInstalled)) => Err(TokenError::NotInstalled),
                Ok(Err(NoToken::NotGranted)) => Err(TokenError::NotGranted),
                Ok(Err(reason @ NoToken::Unavailable { .. })) => Err(TokenError::Unavailable {
                    source: reason.into(),
                }),
                Err(error) => Err(TokenError::Unavailable {
                    source: error.into(),
                }),
            },
        }
    }

    async fn minted(&self, fresh: bool) -> Result<Result<Secret, NoToken>> {
        let mut link = self.link.lock().await;
        link.send(&FromChild::NeedToken {
            job: self.job.clone(),
            fresh,
        })
        .await?;
        match link.next::<ToChild>().await? {
            Some(ToChild::Token { token }) => Ok(token),
            _ => anyhow::bail!("the supervisor did not answer with a token"),
        }
    }
}

#[async_trait]
impl TokenSource<mirilla_forge::ReadToken> for JobTokens {
    async fn token(&self, fresh: bool) -> Result<mirilla_forge::ReadToken, TokenError> {
        self.secret(fresh)
            .await
            .map(mirilla_forge::ReadToken::minted)
    }
}

#[async_trait]
impl TokenSource<mirilla_forge::WriteToken> for JobTokens {
    async fn token(&self, fresh: bool) -> Result<mirilla_forge::WriteToken, TokenError> {
        self.secret(fresh)
            .await
            .map(mirilla_forge::WriteToken::minted)
    }
}
