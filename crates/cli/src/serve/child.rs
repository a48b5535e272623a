//! What a child process does once it has been told what to be.
//!
//! **Invariant:** a child opens only the stores of its stage, and never reads its environment for
//! anything it may do.

mod collector;
mod deliveries;
mod intake;
mod minter;
mod poster;
mod reviewer;
mod sweeper;

use std::sync::Arc;

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use mirilla_domain::forge_place::{ForgePlace, GITHUB_API_URL, GithubPlace};
use mirilla_forge::{Access, TokensFrom, github};
use mirilla_ports::deliveries::{
    AskDeliveries, DeliveriesAnswer, DeliveriesFailure, DeliveriesRequest,
};
use mirilla_ports::tokens::{MintRequest, MintTokens, NoToken};
use mirilla_ports::{Clock, Entropy};
use mirilla_system::{OsEntropy, SystemClock};
use secrecy::SecretString;
use tokio::sync::Mutex;

use super::process;
use super::protocol::{ChildSettings, FromChild, Link, ToChild};
use crate::confine;
use crate::settings::{Environment, TokenFrom};

/// Runs one stage; returns when the supervisor is gone or the stage is done.
pub(crate) fn run(name: &str, environment: &Environment) -> Result<()> {
    if name == "reviewer" {
        confine::refuse_forge_credentials(environment)?;
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
        let telemetry = mirilla_telemetry::init(settings.name(), format, "info")?;
        match *settings {
            ChildSettings::Intake(settings) => intake::run(link, settings, telemetry).await,
            ChildSettings::Collector(settings) => collector::run(link, settings, telemetry).await,
            ChildSettings::Reviewer(settings) => reviewer::run(link, settings, telemetry).await,
            ChildSettings::Poster(settings) => poster::run(link, settings, telemetry).await,
            ChildSettings::Sweeper(settings) => sweeper::run(link, settings, telemetry).await,
            ChildSettings::Minter(settings) => minter::run(link, settings).await,
            ChildSettings::Deliveries(settings) => deliveries::run(link, settings).await,
        }
    })
}

/// The clock and the randomness that adapters take.
pub(crate) fn surroundings() -> Result<(Arc<dyn Clock>, Arc<dyn Entropy>)> {
    Ok((Arc::new(SystemClock), Arc::new(OsEntropy::open()?)))
}

/// Returns what calls the operator's GitHub.
pub(crate) fn github(place: &GithubPlace) -> Result<github::Access> {
    let (clock, entropy) = surroundings()?;
    github::Access::of_operator(place, clock, entropy)
        .with_context(|| format!("{GITHUB_API_URL} cannot be used"))
}

/// Returns what a stage calls its forge with.
pub(crate) fn access(place: &ForgePlace) -> Result<Access> {
    let (clock, entropy) = surroundings()?;
    Access::of_operator(place, clock, entropy)
        .with_context(|| format!("{} cannot be used", place.variable()))
}

/// Returns where a stage's tokens come from.
fn tokens_from(told: &TokenFrom, link: &Arc<Mutex<Link>>) -> TokensFrom {
    match told {
        TokenFrom::Fixed(token) => TokensFrom::Fixed(token.to_secret_string()),
        TokenFrom::Minter => TokensFrom::Minter(Arc::new(Supervisor(Arc::clone(link)))),
    }
}

/// Returns where tokens come from that resolve threads.
fn resolve_tokens_from(told: &TokenFrom, link: &Arc<Mutex<Link>>) -> TokensFrom {
    match told {
        TokenFrom::Fixed(token) => TokensFrom::Fixed(token.to_secret_string()),
        TokenFrom::Minter => TokensFrom::Minter(Arc::new(ResolveDesk(Arc::clone(link)))),
    }
}

/// The supervisor, asked for tokens that resolve threads.
struct ResolveDesk(Arc<Mutex<Link>>);

#[async_trait]
impl MintTokens for ResolveDesk {
    async fn mint(&self, request: &MintRequest) -> Result<SecretString, NoToken> {
        ask_for_token(&self.0, &FromChild::NeedResolveToken(request.clone())).await
    }
}

/// The supervisor, asked for tokens and about webhooks.
struct Supervisor(Arc<Mutex<Link>>);

#[async_trait]
impl AskDeliveries for Supervisor {
    async fn ask(&self, request: &DeliveriesRequest) -> DeliveriesAnswer {
        let answer = async {
            let mut link = self.0.lock().await;
            link.send(&FromChild::NeedDeliveries(request.clone()))
                .await?;
            match link.next::<ToChild>().await? {
                Some(ToChild::Deliveries(answer)) => Ok(answer),
                _ => anyhow::bail!("the supervisor did not answer about webhooks"),
            }
        };
        answer.await.unwrap_or_else(|error| {
            let reason = format!("{error:#}");
            DeliveriesAnswer::Failed(DeliveriesFailure::Unavailable { reason })
        })
    }
}

#[async_trait]
impl MintTokens for Supervisor {
    async fn mint(&self, request: &MintRequest) -> Result<SecretString, NoToken> {
        ask_for_token(&self.0, &FromChild::NeedToken(request.clone())).await
    }
}

async fn ask_for_token(link: &Mutex<Link>, need: &FromChild) -> Result<SecretString, NoToken> {
    let answer = async {
        let mut link = link.lock().await;
        link.send(need).await?;
        match link.next::<ToChild>().await? {
            Some(ToChild::Token { token }) => Ok(token),
            _ => anyhow::bail!("the supervisor did not answer with a token"),
        }
    };
    match answer.await {
        Ok(answer) => answer.map(|token| token.to_secret_string()),
        Err(error) => Err(NoToken::unavailable(format!("{error:#}"))),
    }
}
