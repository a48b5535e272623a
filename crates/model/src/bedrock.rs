//! The port over Amazon Bedrock's `InvokeModel`, signed by the AWS SDK.
//!
//! The model is named twice: [`BedrockSettings::model_id`] is what Bedrock is called with, free in form,
//! because profiles and their ids come and go; [`BedrockSettings::model`] is what it is, by which it is
//! priced and bounded. Where the first names a known model, the two must agree.
//!
//! **Invariant:** the SDK itself repeats nothing, because only [`Terms::reply`] knows whether a call may
//! be repeated without paying twice; and only a call that certainly did not leave is called unprocessed.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;
use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_bedrockruntime::Client;
use aws_sdk_bedrockruntime::config::http::HttpResponse;
use aws_sdk_bedrockruntime::error::{ConnectorError, SdkError};
use aws_sdk_bedrockruntime::operation::RequestId as _;
use aws_sdk_bedrockruntime::operation::invoke_model::InvokeModelError;
use aws_sdk_bedrockruntime::primitives::Blob;
use mirilla_domain::ids::Timestamp;
use mirilla_domain::price::plain_name;
use mirilla_ports::clock::{Clock, Entropy};
use mirilla_ports::model::{Answer, Conversation, Model, ModelError, Unanswered};

use crate::capability::{Capability, check_model};
use crate::conversation::{Provider, converse};
use crate::retry::Terms;
use crate::settings::{Effort, SettingsError, check_timeouts};
use crate::wire::{Asked, Failure, Lost, ModelName, Reply, ReplyHead, TurnRequest};
use crate::wire::{read_bedrock_failure, read_reply};

/// Longest ARN that Bedrock takes.
const MAX_ID_BYTES: usize = 2_048;

/// What is called, and how long.
#[derive(Debug, Clone)]
pub struct BedrockSettings {
    /// The id or ARN of a model or an inference profile, as Bedrock knows it.
    pub model_id: String,
    /// The model's plain id, as priced: `claude-sonnet-5-5`.
    pub model: String,
    /// How much the model thinks; `None` leaves it to the model's default.
    pub effort: Option<Effort>,
    /// The longest answer any question may ask for, thinking included; 4,000.
    pub max_tokens: u32,
    /// How long making a connection may take; 5 s.
    pub connect_timeout: Duration,
    /// How long one call may take altogether; 300 s. A first call with a new answer schema can take
    /// minutes. The deadline of a question can be shorter.
    pub request_timeout: Duration,
    /// How often a call that was not processed is tried again; 2.
    pub max_retries: u32,
}

impl BedrockSettings {
    /// Returns settings with the defaults named at the fields.
    pub fn new(model_id: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            model_id: model_id.into(),
            model: model.into(),
            effort: None,
            max_tokens: 4_000,
            connect_timeout: Duration::from_secs(5),
            request_timeout: Duration::from_secs(300),
            max_retries: 2,
        }
    }

    /// Checks everything that can be checked without a call; returns what the model can do.
    pub fn check(&self) -> Result<&'static Capability, SettingsError> {
        let capability = check_model(&self.model)?;
        let allowed =
            |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b':' | b'/' | b'_' | b'-');
        let id = self.model_id.as_str();
        if id.is_empty() || id.len() > MAX_ID_BYTES || !id.bytes().all(allowed) {
            let shown = id.chars().filter(|c| !c.is_control());
            return Err(SettingsError::BedrockId {
                id: shown.take(80).collect(),
            });
        }
        // An application's own profile has an id that says nothing; then the operator's word counts.
        if id.contains("anthropic.") {
            let named = check_model(plain_name(id))?;
            if plain_name(named.id) != plain_name(capability.id) {
                return Err(SettingsError::OtherModel {
                    named: named.id.to_owned(),
                    model: capability.id.to_owned(),
                });
            }
        }
        capability.check_question(self.effort, self.max_tokens)?;
        check_timeouts(self.connect_timeout, self.request_timeout)?;
        Ok(capability)
    }
}

/// Claude on Amazon Bedrock.
pub struct BedrockModel {
    settings: BedrockSettings,
    capability: &'static Capability,
    client: Client,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl BedrockModel {
    /// Checks the settings and sets the client up; contacts nothing.
    ///
    /// Region, credentials, connections and, in trials, the endpoint are those of `aws`; its time-outs
    /// and retries are not.
    pub fn new(
        settings: BedrockSettings,
        aws: &SdkConfig,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, SettingsError> {
        let capability = settings.check()?;
        // Nothing arrives while the model thinks, so silence is bounded like the whole call.
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(settings.connect_timeout)
            .read_timeout(settings.request_timeout)
            .operation_attempt_timeout(settings.request_timeout)
            .operation_timeout(settings.request_timeout)
            .build();
        let config = aws_sdk_bedrockruntime::config::Builder::from(aws)
            .timeout_config(timeouts)
            .retry_config(RetryConfig::disabled())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .build();
        Ok(Self {
            settings,
            capability,
            client: Client::from_conf(config),
            clock,
            entropy,
        })
    }

    /// Returns what the model can do.
    pub fn capability(&self) -> &'static Capability {
        self.capability
    }

    /// Makes one call.
    async fn send(&self, body: Blob, asked: Asked) -> Result<Reply, Failure> {
        let sent = self
            .client
            .invoke_model()
            .model_id(&self.settings.model_id)
            .content_type("application/json")
            .accept("application/json")
            .body(body)
            .send()
            .await;
        match sent {
            Ok(output) => {
                let kind = Some(output.content_type.as_str()).filter(|kind| !kind.is_empty());
                read_reply(output.body.as_ref(), kind, output.request_id(), asked)
                    .map_err(Failure::Lost)
            }
            Err(error) => Err(self.failure(error)),
        }
    }

    fn failure(&self, error: SdkError<InvokeModelError, HttpResponse>) -> Failure {
        match error {
            SdkError::ConstructionFailure(_) => Failure::Rejected {
                status: 0,
                kind: "invalid-request".to_owned(),
                hint: "check the Bedrock model id and the region",
            },
            SdkError::TimeoutError(_) => Failure::Lost(Lost::TimedOut.into()),
            SdkError::DispatchFailure(failure) => match failure.as_connector_error() {
                Some(error) if never_left(error) => Failure::Unprocessed {
                    status: 0,
                    retry_after: None,
                    give_up: false,
                },
                Some(error) if error.is_timeout() => Failure::Lost(Lost::TimedOut.into()),
                _ => Failure::Lost(
                    Lost::Broken(Box::new(
                        SdkError::<InvokeModelError, HttpResponse>::DispatchFailure(failure),
                    ))
                    .into(),
                ),
            },
            SdkError::ServiceError(service) => {
                let raw = service.raw();
                let head = ReplyHead::read(raw.status().as_u16(), self.clock.now(), |name| {
                    raw.headers().get(name)
                });
                let kind = raw.headers().get("x-amzn-errortype");
                let body = raw.body().bytes().unwrap_or_default();
                tracing::debug!(
                    http_status = head.status,
                    request_id = raw.headers().get("x-amzn-requestid"),
                    "Bedrock answered with an error"
                );
                read_bedrock_failure(&head, kind, body)
            }
            other => Failure::Lost(Lost::Broken(Box::new(other)).into()),
        }
    }
}

/// Tells the failures to connect, and to find credentials to sign with, from those after which an answer
/// may be under way. What is not known to be one of the first counts as one of the second.
fn never_left(error: &ConnectorError) -> bool {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        let connecting = error.downcast_ref::<io::Error>().is_some_and(|error| {
            matches!(
                error.kind(),
                io::ErrorKind::ConnectionRefused
                    | io::ErrorKind::HostUnreachable
                    | io::ErrorKind::NetworkUnreachable
                    | io::ErrorKind::AddrNotAvailable
            )
        });
        let named = error.to_string();
        if connecting
            || named.starts_with("HTTP connect timeout")
            || named.starts_with("failed to lookup address")
            || named.starts_with("failed to perform DNS")
        {
            return true;
        }
        cause = error.source();
    }
    false
}

impl Provider for BedrockModel {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    async fn call(
        &self,
        request: &TurnRequest<'_>,
        deadline: Timestamp,
    ) -> Result<Reply, ModelError> {
        let terms = Terms {
            clock: self.clock.as_ref(),
            entropy: self.entropy.as_ref(),
            effort: self.settings.effort,
            max_tokens: self.settings.max_tokens,
            max_retries: self.settings.max_retries,
            call_limit: self.settings.request_timeout,
        };
        let send = |body, asked, _limit| self.send(Blob::new(body), asked);
        terms.reply(ModelName::InUrl, request, deadline, send).await
    }
}

#[async_trait]
impl Model for BedrockModel {
    fn id(&self) -> &str {
        self.capability.id
    }

    async fn converse(&self, conversation: Conversation<'_>) -> Result<Answer, Unanswered> {
        converse(self, conversation).await
    }
}

impl fmt::Debug for BedrockModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BedrockModel")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
