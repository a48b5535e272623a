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
use mirilla_model::settings::DEFAULT_ENDPOINT;
use mirilla_model::{AnthropicModel, AnthropicSettings, BedrockModel, BedrockSettings};
use mirilla_ports::queue::QueueName;
use mirilla_ports::{Artifacts, Clock, Grants, Model};
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
    let [heads, meter, bucket] = [
        "MIRILLA_HEADS_TABLE",
        "MIRILLA_METER_TABLE",
        "MIRILLA_BUCKET",
    ]
    .map(|name| settings.required(name));
    let provider = match settings.optional("MIRILLA_BEDROCK_MODEL_ID") {
        Some(model_id) => Provider::Bedrock { model_id },
        None => Provider::Anthropic {
            key: settings.required("MIRILLA_MODEL_KEY_ARN"),
            endpoint: settings
                .optional("MIRILLA_MODEL_URL")
                .unwrap_or_else(|| DEFAULT_ENDPOINT.to_owned()),
        },
    };
    let urls = QueueUrls {
        review: Some(settings.required("MIRILLA_REVIEW_QUEUE_URL")),
        ..QueueUrls::default()
    };
    let policy = settings.policy();
    settings.finish(())?;

    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let entropy = Arc::new(OsEntropy::open()?);
    let aws = Aws::connect(CredentialSource::Environment).await?;
    let mut known = environment.own_credentials();
    let (clock_too, entropy_too) = (Arc::clone(&clock), Arc::<OsEntropy>::clone(&entropy));
    let model: Arc<dyn Model> = match provider {
        Provider::Bedrock { model_id } => {
            let mut bedrock = BedrockSettings::new(model_id, policy.model.clone());
            bedrock.max_tokens = policy.max_tokens;
            Arc::new(BedrockModel::new(
                bedrock,
                aws.config(),
                clock_too,
                entropy_too,
            )?)
        }
        Provider::Anthropic { key, endpoint } => {
            let key = SecretStore::new(aws.secrets()).text(&key).await?;
            known.push(("model-key", key.expose_secret().to_owned()));
            let endpoint = endpoint.parse().context("MIRILLA_MODEL_URL is not a URL")?;
            let mut anthropic = AnthropicSettings::new(endpoint, key, policy.model.clone());
            anthropic.max_tokens = policy.max_tokens;
            Arc::new(AnthropicModel::new(anthropic, clock_too, entropy_too)?)
        }
    };
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
        model,
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
    Ok(Box::pin(mirilla_lambda::serve(state, handle)).await?)
}

/// Who is asked, and what it takes.
enum Provider {
    /// The Messages API, with the key in this secret.
    Anthropic { key: String, endpoint: String },
    /// Bedrock, with the function's own role.
    Bedrock { model_id: String },
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
