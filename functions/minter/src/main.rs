//! Wires a minter to AWS.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow};
use async_trait::async_trait;
use lambda_runtime::{LambdaEvent, service_fn};
use mirilla_aws::{Aws, CredentialSource, DynamoLedger, KmsSigner, SecretStore};
use mirilla_forge::github::{Access, AppAuth, GithubSettings, SignRs256};
use mirilla_forge::token::BoxError;
use mirilla_lambda::{Environment, Settings};
use mirilla_minter::{State, handle};
use mirilla_ports::Clock;
use mirilla_ports::tokens::MintRequest;
use mirilla_stages::mint::Reach;
use mirilla_system::{OsEntropy, SystemClock};
use mirilla_telemetry::Telemetry;
use secrecy::ExposeSecret as _;
use serde::Deserialize;

/// What `mirilla app create` stores about the App.
#[derive(Deserialize)]
struct App {
    client_id: String,
}

fn main() -> ExitCode {
    mirilla_lambda::start("minter", run)
}

async fn run(environment: Environment, telemetry: Telemetry) -> Result<()> {
    let mut settings = Settings::of(&environment);
    let [ledger, key, app] = [
        "MIRILLA_LEDGER_TABLE",
        "MIRILLA_APP_KEY_ID",
        "MIRILLA_APP_SECRET_ARN",
    ]
    .map(|name| settings.required(name));
    let reach = settings.parsed(
        "MIRILLA_MINTER_STAGE",
        None,
        "`read` or `write`",
        |text| match text {
            "read" => Some(Some(Reach::Read)),
            "write" => Some(Some(Reach::Write)),
            _ => None,
        },
    );
    let place = settings.github();
    let reach = settings
        .finish(reach)?
        .context("MIRILLA_MINTER_STAGE is missing: the template sets it")?;

    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let aws = Aws::connect(CredentialSource::Environment).await?;
    let app = SecretStore::new(aws.secrets()).text(&app).await?;
    let app: App = serde_json::from_str(app.expose_secret())
        .context("the App's description cannot be read: run `mirilla app create` again")?;
    let signer = Arc::new(Kms(KmsSigner::new(aws.kms(), key)));
    let github = GithubSettings::of_operator(&place.api_url, place.archive_hosts, place.ca_pem)
        .context("MIRILLA_GITHUB_API_URL cannot be used")?;
    let access = Access::new(
        github,
        place.login,
        Arc::clone(&clock),
        Arc::new(OsEntropy::open()?),
    )?;
    let state = Arc::new(State {
        ledger: Arc::new(DynamoLedger::new(
            aws.dynamodb(),
            ledger,
            Arc::clone(&clock),
        )),
        minter: access.minter(AppAuth::with_signer(app.client_id, signer)),
        reach,
        clock,
        telemetry,
    });
    let service = service_fn(move |event: LambdaEvent<MintRequest>| {
        let state = Arc::clone(&state);
        async move { Ok::<_, std::convert::Infallible>(handle(&state, &event.payload).await) }
    });
    lambda_runtime::run(service)
        .await
        .map_err(|error| anyhow!(error))
}

/// The App's key, which stays in KMS.
struct Kms(KmsSigner);

#[async_trait]
impl SignRs256 for Kms {
    async fn sign(&self, message: &[u8]) -> Result<Vec<u8>, BoxError> {
        Ok(self.0.sign(message).await?)
    }
}
