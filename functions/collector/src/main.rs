//! Wires the collector to AWS.

use std::convert::Infallible;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use mirilla_aws::{
    Aws, CredentialSource, DynamoHeads, DynamoLedger, MinterFunction, OwnQueue, QueueUrls,
    S3Artifacts, SecretStore, SqsQueues,
};
use mirilla_collector::{State, handle};
use mirilla_forge::TokensFrom;
use mirilla_forge::github::{Access, GithubSettings};
use mirilla_lambda::{Environment, Settings};
use mirilla_ports::Clock;
use mirilla_ports::queue::QueueName;
use mirilla_stages::collect::CollectSettings;
use mirilla_system::{OsEntropy, SystemClock};
use mirilla_telemetry::Telemetry;

fn main() -> ExitCode {
    mirilla_lambda::start("collector", run)
}

async fn run(environment: Environment, telemetry: Telemetry) -> Result<()> {
    let mut settings = Settings::of(&environment);
    let [ledger, heads, bucket] = [
        "MIRILLA_LEDGER_TABLE",
        "MIRILLA_HEADS_TABLE",
        "MIRILLA_BUCKET",
    ]
    .map(|name| settings.required(name));
    let urls = QueueUrls {
        collect: Some(settings.required("MIRILLA_COLLECT_QUEUE_URL")),
        review: Some(settings.required("MIRILLA_REVIEW_QUEUE_URL")),
        post: Some(settings.required("MIRILLA_POST_QUEUE_URL")),
    };
    let policy = settings.policy();
    let place = settings.github();
    let minter = settings.optional("MIRILLA_MINTER_FUNCTION");
    let token = settings.optional("MIRILLA_GITHUB_READ_TOKEN_ARN");
    settings.finish(())?;

    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let entropy = Arc::new(OsEntropy::open()?);
    let aws = Aws::connect(CredentialSource::Environment).await?;
    let tokens = match (minter, token) {
        (Some(function), _) => {
            TokensFrom::Minter(Arc::new(MinterFunction::new(aws.lambda(), function)))
        }
        (None, Some(secret)) => {
            TokensFrom::Fixed(SecretStore::new(aws.secrets()).text(&secret).await?)
        }
        (None, None) => anyhow::bail!(
            "neither MIRILLA_MINTER_FUNCTION nor MIRILLA_GITHUB_READ_TOKEN_ARN is set: the template sets one"
        ),
    };
    let github = GithubSettings::of_operator(&place.api_url, place.archive_hosts, place.ca_pem)
        .context("MIRILLA_GITHUB_API_URL cannot be used")?;
    let artifacts = Arc::new(S3Artifacts::new(aws.s3(), bucket, Arc::clone(&clock)));
    let queues = SqsQueues::new(aws.sqs(), urls);
    let state = State {
        ledger: Arc::new(DynamoLedger::new(
            aws.dynamodb(),
            ledger,
            Arc::clone(&clock),
        )),
        heads: Arc::new(DynamoHeads::new(aws.dynamodb(), heads, Arc::clone(&clock))),
        artifacts: Arc::<S3Artifacts>::clone(&artifacts),
        grants: artifacts,
        queue: Arc::new(queues.clone()),
        put_back: Arc::new(OwnQueue::new(queues, QueueName::Collect)),
        github: Access::new(
            github,
            place.login,
            Arc::clone(&clock),
            Arc::<OsEntropy>::clone(&entropy),
        )?,
        tokens,
        settings: CollectSettings {
            keep_archive: true,
            policy,
        },
        clock,
        entropy,
        telemetry,
    };
    let handle = async |state: &State, event| Ok::<_, Infallible>(handle(state, event).await);
    Ok(mirilla_lambda::serve(state, handle).await?)
}
