//! This host, as `mirilla serve` would find it.

use std::path::Path;

use mirilla_domain::forge_place::ForgePlace;
use mirilla_domain::ids::RepoName;
use mirilla_domain::webhook::WebhookSecret;
use mirilla_forge::Access;
use url::Url;

use super::report::Report;
use super::webhook::{self, Door};
use super::{github, gitlab, model};
use crate::serve::child;
use crate::settings::{
    self, Credentials, Environment, HookSettings, HostSettings, Secret, WebhookSecrets,
};
use crate::webhook::Proof;

/// Checks the settings, and then everything they name.
pub(super) async fn examine(
    environment: &Environment,
    project: Option<&RepoName>,
    report: &mut Report,
) {
    let settings = match settings::host(environment) {
        Ok(settings) => settings,
        Err(problems) => {
            for problem in problems {
                report.fail(
                    "settings",
                    problem,
                    "`mirilla serve --variables` lists every variable",
                );
            }
            return;
        }
    };
    report.ok("settings", "every variable is well-formed");
    data(&settings.data_dir, report);
    forge(&settings, project, report).await;
    door(&settings, report).await;
    model::price(&settings.policy, report);
    match &settings.model {
        Some(access) => {
            model::reach(
                &access.endpoint,
                &access.api_key.to_secret_string(),
                &settings.policy.model,
                "set ANTHROPIC_API_KEY to a key of the provider's console",
                report,
            )
            .await;
        }
        None => report.warn(
            "model",
            "no key is set: only the deterministic checks run",
            "set ANTHROPIC_API_KEY",
        ),
    }
}

/// Checks that the data directory, or the place where it would be made, can be written.
fn data(dir: &Path, report: &mut Report) {
    const CHECK: &str = "data";
    let exists = dir.exists();
    let place = dir
        .ancestors()
        .map(|one| {
            if one.as_os_str().is_empty() {
                Path::new(".")
            } else {
                one
            }
        })
        .find(|one| one.exists())
        .unwrap_or(Path::new("."));
    // A file that is gone with its handle.
    match tempfile::tempfile_in(place) {
        Ok(_file) if exists => report.ok(CHECK, format!("{} can be written", dir.display())),
        Ok(_file) => report.ok(CHECK, format!("{} can be made", dir.display())),
        Err(error) => report.fail(
            CHECK,
            format!("{} cannot be written: {error}", place.display()),
            "set MIRILLA_DATA_DIR to a directory of the user that runs `mirilla serve`",
        ),
    }
}

/// Rings at this host's own door, if somebody is behind it.
async fn door(settings: &HostSettings, report: &mut Report) {
    const CHECK: &str = "webhook";
    const FIX: &str = "look into the lines of `mirilla serve`";
    let (proof, path) = match proof(&settings.hooks) {
        Ok(found) => found,
        Err((error, fix)) => {
            report.fail(CHECK, format!("{error:#}"), fix);
            return;
        }
    };
    let mut address = settings.listen;
    if address.ip().is_unspecified() {
        address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    if tokio::net::TcpStream::connect(address).await.is_err() {
        report.warn(
            CHECK,
            format!("nobody listens on {address}"),
            "start `mirilla serve`, and run the doctor again beside it",
        );
        return;
    }
    let Ok(url) = Url::parse(&format!("http://{address}{path}")) else {
        return;
    };
    if !address.ip().is_loopback() {
        report.warn(
            CHECK,
            format!("{address} is not tried: only this machine's own addresses are spoken to without TLS"),
            "run `mirilla webhook send` against the address that the forge has",
        );
        return;
    }
    let door = Door { url, through: None };
    webhook::examine(&door, proof.forge(), Some(&proof), FIX, report).await;
}

/// Returns what this host's door believes a ping by, and the door's path; else what is wrong and what to set.
fn proof(hooks: &HookSettings) -> Result<(Proof, &'static str), (anyhow::Error, &'static str)> {
    match hooks {
        HookSettings::Github(told) => {
            let secret = WebhookSecret::parse(told.current.reveal())
                .map_err(|error| (error.into(), "set MIRILLA_WEBHOOK_SECRET"))?;
            Ok((Proof::Github(secret), "/webhooks/github"))
        }
        HookSettings::Gitlab { token, signing } => {
            let key = |told: &WebhookSecrets| {
                WebhookSecret::parse_signing_token(told.current.reveal())
                    .map_err(|error| (error.into(), "set MIRILLA_GITLAB_SIGNING_TOKEN"))
            };
            let proof = Proof::Gitlab {
                token: token.as_ref().map(|told| told.current.reveal().to_owned()),
                signing: signing.as_ref().map(key).transpose()?,
            };
            Ok((proof, "/webhooks/gitlab"))
        }
    }
}

/// Checks the forge that is served.
async fn forge(settings: &HostSettings, project: Option<&RepoName>, report: &mut Report) {
    match (&settings.forge, &settings.credentials) {
        (ForgePlace::Github(place), _) => {
            report.no_project(project);
            github::examine(settings, place, report).await;
        }
        (forge, Credentials::Tokens { read, write, .. }) => match child::access(forge) {
            Ok(Access::Gitlab(access)) => {
                let tokens = [read, write].map(Secret::to_secret_string);
                let settings = gitlab::Settings::Host;
                gitlab::examine(&access, tokens, project, settings, report).await;
            }
            Ok(Access::Github(_)) => {}
            Err(error) => report.fail(
                "gitlab",
                format!("{error:#}"),
                "set MIRILLA_GITLAB_URL, and MIRILLA_GITLAB_CA_FILE for an authority of your own",
            ),
        },
        // Settings of GitLab always have tokens.
        (ForgePlace::Gitlab(_), Credentials::App { .. }) => {}
    }
}
