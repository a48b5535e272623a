//! `mirilla webhook send`: a payload, signed as GitHub signs it.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use mirilla_domain::webhook::{self, WebhookSecret};
use mirilla_http::{Client, ClientSettings, HeaderName, Method, Request};
use mirilla_ports::Entropy as _;

use crate::arguments::Send;
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
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (status, text) = runtime.block_on(async {
        let client = client(&arguments.url)?;
        let signature = webhook::sign_github(&WebhookSecret::parse(&arguments.secret)?, &body);
        let request = Request::new(Method::POST, arguments.url.clone())
            .header(
                HeaderName::from_static("x-github-event"),
                arguments.event.as_str(),
            )
            .header(
                HeaderName::from_static("x-github-delivery"),
                delivery.as_str(),
            )
            .header(HeaderName::from_static("x-hub-signature-256"), signature)
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
        .hint(hint(status.as_u16()))
        .into())
    }
}

const fn hint(status: u16) -> &'static str {
    match status {
        400 => {
            "the payload lacks a field that the event must have, or is another event's; the answer names it"
        }
        401 => "the secret is not the receiver's: compare MIRILLA_WEBHOOK_SECRET on both sides",
        404 => "the path is /webhooks/github",
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
