//! The port over HTTP.
//!
//! **Invariant:** one host is ever contacted, the operator's endpoint; redirects are not followed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use mirilla_domain::ids::Timestamp;
use mirilla_http::{Client, HttpError, Request, Sent};
use mirilla_ports::clock::{Clock, Entropy};
use mirilla_ports::model::{Answer, Conversation, Model, ModelError, Unanswered};
use url::Url;

use crate::capability::Capability;
use crate::conversation::{Provider, converse};
use crate::retry::Terms;
use crate::settings::{AnthropicSettings, SettingsError};
use crate::wire::{Asked, Failure, Lost, ModelName, Reply, ReplyHead, TurnRequest};
use crate::wire::{read_failure, read_reply};

/// Largest answer that is read: 128,000 tokens of text stay well below it.
const MAX_ANSWER_BYTES: u64 = 8 * 1024 * 1024;

/// Claude over the Messages API.
pub struct AnthropicModel {
    settings: AnthropicSettings,
    capability: &'static Capability,
    url: Url,
    http: Client,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl AnthropicModel {
    /// Checks the settings and sets the client up; contacts nothing.
    pub fn new(
        settings: AnthropicSettings,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, SettingsError> {
        let capability = settings.check()?;
        let url = settings.messages_url();
        let http = settings.client(settings.request_timeout, MAX_ANSWER_BYTES)?;
        Ok(Self {
            settings,
            capability,
            url,
            http,
            clock,
            entropy,
        })
    }

    /// Returns what the model can do.
    pub fn capability(&self) -> &'static Capability {
        self.capability
    }

    /// Makes one call of at most `limit`.
    async fn send(&self, body: Bytes, asked: Asked, limit: Duration) -> Result<Reply, Failure> {
        let request = Request::post(self.url.clone())
            .body("application/json", body)
            .timeout(limit);
        let request = self.settings.with_key(request);
        let response = self.http.send(request).await.map_err(no_reply)?;
        let head = ReplyHead::read(response.status().as_u16(), self.clock.now(), |name| {
            response.header(name)
        });
        let body = response.bytes().await;
        if head.status != 200 {
            tracing::debug!(
                http_status = head.status,
                request_id = head.request_id.as_deref(),
                "the model's provider answered with an error"
            );
            // The status alone decides if the error's body does not arrive.
            return Err(read_failure(&head, &body.unwrap_or_default()));
        }
        let body = body.map_err(|error| Failure::Lost(Lost::Broken(error.into()).into()))?;
        read_reply(
            &body,
            head.content_type.as_deref(),
            head.request_id.as_deref(),
            asked,
        )
        .map_err(Failure::Lost)
    }
}

/// Tells what certainly was not sent from what may have been.
fn no_reply(error: HttpError) -> Failure {
    match error {
        HttpError::Denied { .. } => Failure::Rejected {
            status: 0,
            kind: "endpoint-refused".to_owned(),
            hint: "the endpoint's host resolves to an address that is not allowed",
        },
        HttpError::InvalidRequest { .. } => Failure::Rejected {
            status: 0,
            kind: "invalid-request".to_owned(),
            hint: "check the model key and the API version for stray characters",
        },
        error if error.sent() == Sent::No => Failure::Unprocessed {
            status: 0,
            retry_after: None,
            give_up: false,
        },
        HttpError::Lost {
            timed_out: true, ..
        } => Failure::Lost(Lost::TimedOut.into()),
        error => Failure::Lost(Lost::Broken(error.into()).into()),
    }
}

impl Provider for AnthropicModel {
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
        let send = |body, asked, limit| self.send(body, asked, limit);
        terms
            .reply(
                ModelName::InBody(self.capability.id),
                request,
                deadline,
                send,
            )
            .await
    }
}

#[async_trait]
impl Model for AnthropicModel {
    fn id(&self) -> &str {
        self.capability.id
    }

    async fn converse(&self, conversation: Conversation<'_>) -> Result<Answer, Unanswered> {
        converse(self, conversation).await
    }
}

impl fmt::Debug for AnthropicModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnthropicModel")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
