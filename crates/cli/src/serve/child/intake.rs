//! The intake's process: the webhook's secrets, the ledger and the queue.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use mirilla::intake_http::{self, Door, Limits};
use mirilla_domain::ids::Timestamp;
use mirilla_domain::job::Debounce;
use mirilla_domain::webhook::{GitlabSecrets, HookSecrets, PreviousSecret, Secrets, WebhookSecret};
use mirilla_local::{DataDir, LocalLedger, LocalQueue};
use mirilla_stages::intake::{FixedSecrets, IntakeSettings, SecretCache};
use mirilla_telemetry::Telemetry;

use super::super::protocol::{FromChild, Link, ToChild};
use super::surroundings;
use crate::settings::{HookSettings, IntakeChildSettings, WebhookSecrets};

/// Runs the intake.
pub(super) async fn run(
    mut link: Link,
    settings: IntakeChildSettings,
    telemetry: Telemetry,
) -> Result<()> {
    let (clock, _entropy) = surroundings()?;
    let data = DataDir::at(&settings.data_dir);
    let ledger = LocalLedger::open(&data.ledger())?;
    let queue = LocalQueue::open(&data.queue(), Arc::clone(&clock))?;
    let secrets = hook_secrets(&settings.hooks, settings.grace)?;
    let secrets = Arc::new(FixedSecrets(secrets));
    let secrets = SecretCache::open(secrets, clock.now()).await?;
    let mut stage = IntakeSettings::new(settings.allowed_accounts.iter().map(String::as_str))?;
    stage.debounce = Debounce {
        first: settings.timings.debounce_first,
        busy: settings.timings.debounce_busy,
    };
    let listener = intake_http::bind(settings.listen, settings.listen_beyond_loopback).await?;
    let address = listener
        .local_addr()
        .context("the listener has no address")?;
    let door = Door::new(
        Arc::new(ledger),
        Arc::new(queue),
        clock,
        secrets,
        stage,
        Limits::default(),
    )
    .with_metrics(telemetry);
    link.send(&FromChild::Ready {
        address: Some(address),
    })
    .await?;
    let gone = async {
        // The supervisor says nothing more to an intake; its end is the end of the line.
        while let Ok(Some(_)) = link.next::<ToChild>().await {}
    };
    intake_http::serve(listener, Arc::new(door), gone).await;
    Ok(())
}

fn hook_secrets(told: &HookSettings, grace: Duration) -> Result<HookSecrets> {
    let plain = |text: &str| Ok(WebhookSecret::parse(text)?);
    let key = |text: &str| Ok(WebhookSecret::parse_signing_token(text)?);
    Ok(match told {
        HookSettings::Github(told) => secrets(told, grace, plain)
            .context("MIRILLA_WEBHOOK_SECRET")?
            .into(),
        HookSettings::Gitlab { token, signing } => {
            let token = token.as_ref().map(|told| secrets(told, grace, plain));
            let token = token.transpose().context("MIRILLA_WEBHOOK_SECRET")?;
            let signing = signing.as_ref().map(|told| secrets(told, grace, key));
            let signing = signing
                .transpose()
                .context("MIRILLA_GITLAB_SIGNING_TOKEN")?;
            GitlabSecrets::new(token, signing)?.into()
        }
    })
}

fn secrets(
    told: &WebhookSecrets,
    grace: Duration,
    parse: impl Fn(&str) -> Result<WebhookSecret>,
) -> Result<Secrets> {
    let current = parse(told.current.reveal())?;
    let previous = told
        .previous
        .as_ref()
        .map(|(secret, replaced_at)| {
            let secret = parse(secret.reveal()).context("the one before it")?;
            Ok::<_, anyhow::Error>(PreviousSecret {
                secret,
                replaced_at: Timestamp::new(*replaced_at),
            })
        })
        .transpose()?;
    Ok(Secrets {
        current,
        previous,
        grace,
    })
}
