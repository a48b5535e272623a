//! `mirilla webhook send`: a payload, signed as the forge signs it.

mod proof;

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use mirilla_domain::ids::Forge;
use mirilla_domain::webhook::WebhookSecret;
use mirilla_http::{Client, ClientSettings, Method, Request};
use mirilla_ports::Entropy as _;

pub(crate) use proof::Proof;

use crate::arguments::{ForgeName, Send};
use crate::failure::Failure;
use crate::input::read;
use crate::output;

/// Sends one webhook and prints the answer.
pub(crate) fn send(arguments: &Send) -> Result<ExitCode> {
    let body = read(&arguments.payload)?;
    if let Err(error) = serde_json::from_slice::<serde_json::Value>(&body) {
        output::note(&format!(
            "note: the payload is not JSON ({error}); it is sent as it is"
        ));
    }
    let delivery = match &arguments.delivery {
        Some(id) => id.clone(),
        None => mirilla_system::OsEntropy::open()?.hex(16),
    };
    let proof = proof(arguments)?;
    let event = arguments.event.as_deref().unwrap_or(match proof.forge() {
        Forge::Github => "pull_request",
        Forge::Gitlab => "Merge Request Hook",
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (status, text) = runtime.block_on(async {
        let client = client(&arguments.url)?;
        let request = Request::new(Method::POST, arguments.url.clone());
        let request = proof
            .headers(event, &delivery, &body)
            .into_iter()
            .fold(request, |request, (name, value)| {
                request.header(name, value)
            })
            .body("application/json", body);
        let response = client
            .send(request)
            .await
            .context("the webhook could not be delivered")?;
        let status = response.status();
        let text = String::from_utf8_lossy(&response.bytes().await?)
            .trim()
            .to_owned();
        Ok::<_, anyhow::Error>((status, text))
    })?;
    output::data_line(&format!(
        "{} {}",
        status.as_u16(),
        mirilla_domain::escape::terminal(&text)
    ));
    output::note(&format!("delivery {delivery}"));
    if status.is_success() {
        Ok(ExitCode::SUCCESS)
    } else {
        Err(Failure::new(format!(
            "the receiver refused the webhook with {}",
            status.as_u16()
        ))
        .hint(hint(proof.forge(), status.as_u16()))
        .into())
    }
}

/// Returns what the receiver shall believe the webhook by.
fn proof(arguments: &Send) -> Result<Proof> {
    let missing = |what: &str| Failure::usage(format!("{what} is missing"));
    let secret = arguments.secret.as_deref();
    Ok(match arguments.forge {
        ForgeName::Github => {
            let secret = secret.ok_or_else(|| missing("--secret or MIRILLA_WEBHOOK_SECRET"))?;
            Proof::Github(WebhookSecret::parse(secret)?)
        }
        ForgeName::Gitlab => {
            let signing = arguments.signing_token.as_deref();
            if secret.is_none() && signing.is_none() {
                return Err(missing("--secret or --signing-token").into());
            }
            Proof::Gitlab {
                token: secret.map(ToOwned::to_owned),
                signing: signing
                    .map(WebhookSecret::parse_signing_token)
                    .transpose()?,
            }
        }
    })
}

const fn hint(forge: Forge, status: u16) -> &'static str {
    match (status, forge) {
        (400, _) => {
            "the payload lacks a field that the event must have, or is another event's; the answer names it"
        }
        (401, Forge::Github) => {
            "the secret is not the receiver's: compare MIRILLA_WEBHOOK_SECRET on both sides"
        }
        (401, Forge::Gitlab) => {
            "the secret is not the receiver's: compare MIRILLA_WEBHOOK_SECRET and MIRILLA_GITLAB_SIGNING_TOKEN on both sides"
        }
        (404, Forge::Github) => "the path is /webhooks/github, and the receiver serves no GitLab",
        (404, Forge::Gitlab) => {
            "the path is /webhooks/gitlab, and the receiver has MIRILLA_GITLAB_URL"
        }
        _ => "look into the receiver's log",
    }
}

fn client(url: &url::Url) -> Result<Client> {
    let host = url
        .host_str()
        .ok_or_else(|| Failure::usage("the URL names no host"))?;
    let host = url
        .port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let mut settings = ClientSettings::new([host], concat!("mirilla/", env!("CARGO_PKG_VERSION")));
    settings.allow_plain_loopback = url.scheme() == "http";
    settings.allow_private_addresses = true;
    Ok(Client::new(settings)?)
}
