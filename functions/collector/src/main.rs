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
use mirilla_forge::{Access, TokensFrom};
use mirilla_lambda::{Environment, Settings, TokenPlace};
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
    let place = settings.forge();
    let tokens = settings.required_tokens("MIRILLA_MINTER_FUNCTION", "MIRILLA_READ_TOKEN_ARN");
    settings.finish(())?;

    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let entropy = Arc::new(OsEntropy::open()?);
    let aws = Aws::connect(CredentialSource::Environment).await?;
    let tokens = match tokens {
        TokenPlace::Minter(function) => {
            TokensFrom::Minter(Arc::new(MinterFunction::new(aws.lambda(), function)))
        }
        TokenPlace::Secret(secret) => {
            TokensFrom::Fixed(SecretStore::new(aws.secrets()).text(&secret).await?)
        }
    };
    let forge = Access::of_operator(
        &place,
        Arc::clone(&clock),
        Arc::<OsEntropy>::clone(&entropy),
    )
    .with_context(|| format!("{} cannot be used", place.variable()))?;
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
        forge,
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
