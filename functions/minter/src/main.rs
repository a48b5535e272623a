//! Wires a minter to AWS.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use lambda_runtime::LambdaEvent;
use mirilla_aws::{Aws, CredentialSource, DynamoLedger, KmsSigner, SecretStore};
use mirilla_domain::forge_place::GITHUB_API_URL;
use mirilla_forge::github::{Access, AppAuth, SignRs256};
use mirilla_forge::token::BoxError;
use mirilla_lambda::{Environment, Settings};
use mirilla_minter::{State, Work, handle};
use mirilla_ports::Clock;
use mirilla_stages::mint::Reach;
use mirilla_system::{OsEntropy, SystemClock};
use mirilla_telemetry::Telemetry;
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use serde_json::Value;

/// What `MIRILLA_MINTER_STAGE` may say.
#[derive(Clone, Copy)]
enum Stage {
    Tokens(Reach),
    Deliveries,
}

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
    let [key, app] =
        ["MIRILLA_APP_KEY_ID", "MIRILLA_APP_SECRET_ARN"].map(|name| settings.required(name));
    let stage = settings.parsed(
        "MIRILLA_MINTER_STAGE",
        None,
        "`read`, `write`, `resolve` or `deliveries`",
        |text| match text {
            "read" => Some(Some(Stage::Tokens(Reach::Read))),
            "write" => Some(Some(Stage::Tokens(Reach::Write))),
            "resolve" => Some(Some(Stage::Tokens(Reach::Resolve))),
            "deliveries" => Some(Some(Stage::Deliveries)),
            _ => None,
        },
    );
    // Whose token it is, only the ledger says; the last makes none.
    let ledger = match stage {
        Some(Stage::Deliveries) => String::new(),
        _ => settings.required("MIRILLA_LEDGER_TABLE"),
    };
    let place = settings.github();
    let stage = settings
        .finish(stage)?
        .context("MIRILLA_MINTER_STAGE is missing: the template sets it")?;

    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let aws = Aws::connect(CredentialSource::Environment).await?;
    let app = SecretStore::new(aws.secrets()).text(&app).await?;
    let app: App = serde_json::from_str(app.expose_secret())
        .context("the App's description cannot be read: run `mirilla app create` again")?;
    let signer = Arc::new(Kms(KmsSigner::new(aws.kms(), key)));
    let entropy = Arc::new(OsEntropy::open()?);
    let access = Access::of_operator(&place, Arc::clone(&clock), entropy)
        .with_context(|| format!("{GITHUB_API_URL} cannot be used"))?;
    let minter = access.minter(AppAuth::with_signer(app.client_id, signer));
    let work = match stage {
        Stage::Tokens(reach) => Work::Tokens {
            ledger: Arc::new(DynamoLedger::new(
                aws.dynamodb(),
                ledger,
                Arc::clone(&clock),
            )),
            minter,
            reach,
        },
        Stage::Deliveries => Work::Deliveries(minter.deliveries()),
    };
    let state = State {
        work,
        clock,
        telemetry,
    };
    let handle = async |state: &State, event: LambdaEvent<Value>| {
        let answer = handle(state, &event.payload).await;
        answer.map_err(lambda_runtime::Error::from)
    };
    Ok(mirilla_lambda::serve(state, handle).await?)
}

/// The App's key, which stays in KMS.
struct Kms(KmsSigner);

#[async_trait]
impl SignRs256 for Kms {
    async fn sign(&self, message: &[u8]) -> Result<Vec<u8>, BoxError> {
        Ok(self.0.sign(message).await?)
    }
}
