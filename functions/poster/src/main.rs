//! Wires the poster to AWS.

use std::convert::Infallible;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use mirilla_aws::{
    Aws, CredentialSource, DynamoLedger, MinterFunction, OwnQueue, QueueUrls, S3Artifacts,
    SecretError, SecretStore, SqsQueues,
};
use mirilla_domain::marker::MarkerKey;
use mirilla_domain::redact::Redactor;
use mirilla_forge::{Access, TokensFrom};
use mirilla_lambda::{Environment, Settings, TokenPlace};
use mirilla_ports::Clock;
use mirilla_ports::queue::QueueName;
use mirilla_poster::{State, handle};
use mirilla_stages::post::{KeepRuns, PostSettings};
use mirilla_system::{OsEntropy, SystemClock};
use mirilla_telemetry::Telemetry;
use secrecy::ExposeSecret as _;

/// How long a write whose answer was lost may still land.
const WRITE_GRACE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    mirilla_lambda::start("poster", run)
}

async fn run(environment: Environment, telemetry: Telemetry) -> Result<()> {
    let mut settings = Settings::of(&environment);
    let [ledger, bucket, marker_key] = [
        "MIRILLA_LEDGER_TABLE",
        "MIRILLA_BUCKET",
        "MIRILLA_MARKER_KEY_ARN",
    ]
    .map(|name| settings.required(name));
    let urls = QueueUrls {
        collect: Some(settings.required("MIRILLA_COLLECT_QUEUE_URL")),
        post: Some(settings.required("MIRILLA_POST_QUEUE_URL")),
        ..QueueUrls::default()
    };
    let policy = settings.policy();
    // Without its record: the role reads nothing under `work/`, where the reviewer wrote it.
    let keep_runs = settings.parsed(
        "MIRILLA_KEEP_RUNS",
        KeepRuns::No,
        "`true` or `false`",
        |value| match value {
            "true" => Some(KeepRuns::WithoutRecord),
            "false" => Some(KeepRuns::No),
            _ => None,
        },
    );
    let place = settings.forge();
    let tokens = settings.required_tokens("MIRILLA_MINTER_FUNCTION", "MIRILLA_WRITE_TOKEN_ARN");
    let resolve = settings.tokens(
        "MIRILLA_RESOLVE_MINTER_FUNCTION",
        "MIRILLA_RESOLVE_TOKEN_ARN",
    );
    settings.finish(())?;

    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let entropy = Arc::new(OsEntropy::open()?);
    let aws = Aws::connect(CredentialSource::Environment).await?;
    let secrets = SecretStore::new(aws.secrets());
    let marker_key = secrets.text(&marker_key).await?;
    let mut known = vec![("marker-key", marker_key.expose_secret().to_owned())];
    known.extend(environment.own_credentials());
    let mut tokens_from = async |name: &'static str, place| match place {
        TokenPlace::Minter(function) => {
            let minter = MinterFunction::new(aws.lambda(), function);
            Ok::<_, SecretError>(TokensFrom::Minter(Arc::new(minter)))
        }
        TokenPlace::Secret(secret) => {
            let token = secrets.text(&secret).await?;
            known.push((name, token.expose_secret().to_owned()));
            Ok(TokensFrom::Fixed(token))
        }
    };
    let tokens = tokens_from("forge-token", tokens).await?;
    let resolve = match resolve {
        Some(place) => Some(tokens_from("resolve-token", place).await?),
        None => None,
    };
    let forge = Access::of_operator(
        &place,
        Arc::clone(&clock),
        Arc::<OsEntropy>::clone(&entropy),
    )
    .with_context(|| format!("{} cannot be used", place.variable()))?;
    let queues = SqsQueues::new(aws.sqs(), urls);
    let state = State {
        ledger: Arc::new(DynamoLedger::new(
            aws.dynamodb(),
            ledger,
            Arc::clone(&clock),
        )),
        artifacts: Arc::new(S3Artifacts::new(aws.s3(), &bucket, Arc::clone(&clock))),
        bucket,
        queue: Arc::new(queues.clone()),
        put_back: Arc::new(OwnQueue::new(queues, QueueName::Post)),
        forge,
        tokens,
        resolve,
        settings: PostSettings {
            policy,
            marker_key: MarkerKey::new(marker_key.expose_secret().as_bytes())
                .context("the marker key cannot be used")?,
            redactor: Redactor::new(known.iter().map(|(name, value)| (*name, value.as_str()))),
            write_grace: WRITE_GRACE,
            keep_runs,
        },
        clock,
        entropy,
        telemetry,
    };
    let handle = async |state: &State, event| Ok::<_, Infallible>(handle(state, event).await);
    Ok(mirilla_lambda::serve(state, handle).await?)
}
