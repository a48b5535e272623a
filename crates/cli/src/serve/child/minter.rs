//! A minter's process: the App's key, and nothing that a stranger wrote.

use anyhow::Result;
use mirilla_domain::ids::Forge;
use mirilla_forge::github::AppAuth;
use mirilla_ports::NoToken;

use super::super::protocol::{FromChild, Link, ToChild};
use super::github;
use mirilla_stages::mint::Reach;

use crate::settings::{MinterSettings, Secret};

/// Runs a minter of one stage.
pub(super) async fn run(mut link: Link, settings: MinterSettings) -> Result<()> {
    let app = AppAuth::with_pem(
        settings.app.app_id.clone(),
        &settings.app.key.to_secret_string(),
    )?;
    let minter = github(&settings.app.github)?.minter(app);
    link.send(&FromChild::Ready { address: None }).await?;
    while let Some(order) = link.next::<ToChild>().await? {
        let ToChild::Mint {
            forge,
            repo,
            installation,
            fresh,
        } = order
        else {
            anyhow::bail!("the supervisor asked a minter for something else than a token");
        };
        let token = match (forge, settings.reach) {
            (Forge::Gitlab, _) => Err(NoToken::unavailable(
                "GitLab has no Apps to mint tokens for",
            )),
            (Forge::Github, Reach::Read) => minter
                .read(repo, installation, fresh)
                .await
                .map(|token| secret(token.secret()))
                .map_err(|error| NoToken::from(&error)),
            (Forge::Github, Reach::Write) => minter
                .write(repo, installation, fresh)
                .await
                .map(|token| secret(token.secret()))
                .map_err(|error| NoToken::from(&error)),
            (Forge::Github, Reach::Resolve) => minter
                .resolve(repo, installation)
                .await
                .map(|token| secret(token.secret()))
                .map_err(|error| NoToken::from(&error)),
        };
        link.send(&FromChild::Minted { token }).await?;
    }
    Ok(())
}

fn secret(token: &secrecy::SecretString) -> Secret {
    use secrecy::ExposeSecret as _;
    Secret::new(token.expose_secret())
}
