//! The process that asks the forge about its webhooks: the App's key, and nothing that a stranger wrote
//! is looked into.

use anyhow::Result;
use mirilla_forge::github::AppAuth;
use mirilla_ports::AskDeliveries as _;

use super::super::protocol::{FromChild, Link, ToChild};
use super::github;
use crate::settings::AppSettings;

/// Answers until the supervisor is gone.
pub(super) async fn run(mut link: Link, settings: AppSettings) -> Result<()> {
    let app = AppAuth::with_pem(settings.app_id.clone(), &settings.key.to_secret_string())?;
    let deliveries = github(&settings.github)?.minter(app).deliveries();
    link.send(&FromChild::Ready { address: None }).await?;
    while let Some(order) = link.next::<ToChild>().await? {
        let ToChild::AskDeliveries(request) = order else {
            anyhow::bail!("the supervisor asked for something else than webhooks");
        };
        let answer = deliveries.ask(&request).await;
        link.send(&FromChild::Deliveries(answer)).await?;
    }
    Ok(())
}
