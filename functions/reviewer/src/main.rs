//! Wires the reviewer to AWS and to the model.

use std::convert::Infallible;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use mirilla_aws::{
    Aws, BucketClient, CredentialSource, DynamoHeads, DynamoMeter, OwnQueue, QueueUrls,
    SecretStore, SignedArtifacts, SqsQueues,
};
use mirilla_domain::price::PriceTable;
use mirilla_domain::redact::Redactor;
use mirilla_lambda::{Environment, Settings};
use mirilla_model::{AnthropicModel, AnthropicSettings};
use mirilla_ports::queue::QueueName;
use mirilla_ports::{Artifacts, Clock, Grants};
use mirilla_reviewer::{OpenGranted, State, VARIABLES, handle};
use mirilla_stages::review::ReviewSettings;
use mirilla_system::{OsEntropy, SystemClock};
use mirilla_telemetry::Telemetry;
use secrecy::ExposeSecret as _;

/// The longest a review may take; the function's own time-out bounds it further.
const REVIEW_LIMIT: Duration = Duration::from_secs(600);

fn main() -> ExitCode {
    mirilla_lambda::start("reviewer", run)
}

async fn run(environment: Environment, telemetry: Telemetry) -> Result<()> {
    environment.refuse_strangers(VARIABLES)?;
    let mut settings = Settings::of(&environment);
    let [heads, meter, bucket, key] = [
        "MIRILLA_HEADS_TABLE",
        "MIRILLA_METER_TABLE",
        "MIRILLA_BUCKET",
        "MIRILLA_MODEL_KEY_ARN",
    ]
    .map(|name| settings.required(name));
    let urls = QueueUrls {
        review: Some(settings.required("MIRILLA_REVIEW_QUEUE_URL")),
        ..QueueUrls::default()
    };
    let endpoint = settings
        .optional("MIRILLA_MODEL_URL")
        .unwrap_or_else(|| "https://api.anthropic.com".to_owned());
    let policy = settings.policy();
    settings.finish(())?;

    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let entropy = Arc::new(OsEntropy::open()?);
    let aws = Aws::connect(CredentialSource::Environment).await?;
    let key = SecretStore::new(aws.secrets()).text(&key).await?;
    let mut known = vec![("model-key", key.expose_secret().to_owned())];
    known.extend(environment.own_credentials());
    let mut anthropic = AnthropicSettings::new(
        endpoint.parse().context("MIRILLA_MODEL_URL is not a URL")?,
        key,
        policy.model.clone(),
    );
    anthropic.max_tokens = policy.max_tokens;
    let model = AnthropicModel::new(
        anthropic,
        Arc::clone(&clock),
        Arc::<OsEntropy>::clone(&entropy),
    )?;
    let meter = Arc::new(DynamoMeter::new(aws.dynamodb(), meter, Arc::clone(&clock)));
    let state = State {
        granted: Arc::new(Granted {
            bucket: BucketClient::new(&aws, &bucket)?,
            clock: Arc::clone(&clock),
        }),
        meter: Arc::<DynamoMeter>::clone(&meter),
        leases: meter,
        heads: Arc::new(DynamoHeads::new(aws.dynamodb(), heads, Arc::clone(&clock))),
        put_back: Arc::new(OwnQueue::new(
            SqsQueues::new(aws.sqs(), urls),
            QueueName::Review,
        )),
        model: Arc::new(model),
        settings: ReviewSettings {
            policy,
            prices: PriceTable::shipped(),
            redactor: Redactor::new(known.iter().map(|(name, value)| (*name, value.as_str()))),
            limit: REVIEW_LIMIT,
        },
        clock,
        entropy,
        telemetry,
    };
    let handle = async |state: &State, event| Ok::<_, Infallible>(handle(state, event).await);
    Ok(mirilla_lambda::serve(state, handle).await?)
}

/// The bucket, as far as signed addresses lead into it.
struct Granted {
    bucket: BucketClient,
    clock: Arc<dyn Clock>,
}

impl OpenGranted for Granted {
    fn open(&self, grants: Grants) -> Box<dyn Artifacts> {
        Box::new(SignedArtifacts::new(
            self.bucket.clone(),
            grants,
            Arc::clone(&self.clock),
        ))
    }
}
