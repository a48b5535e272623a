//! Asking a model one question.

use std::time::Duration;

use async_trait::async_trait;
use mirilla_domain::ids::Timestamp;
use mirilla_domain::money::Usage;
use serde::{Deserialize, Serialize};

pub use mirilla_domain::prompt::{Block, Question};

/// Why the model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// It said all it had to say.
    EndTurn,
    /// The answer was cut at `max_tokens`.
    MaxTokens,
    /// Prompt and answer do not fit the window.
    ContextExceeded,
    /// It declined; the category is the provider's, if any.
    Refusal(Option<String>),
    /// Anything else; its name as the provider gives it.
    Other(String),
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The text blocks, joined. Untrusted.
    pub text: String,
    /// Why it stopped.
    pub stop: StopReason,
    /// What it used.
    pub usage: Usage,
    /// The model as the provider names it.
    pub model: String,
    /// The provider's id of the request, for support.
    pub request_id: String,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The provider is overloaded, limits us or fails; the request was not processed.
    #[error("the model is not available at the moment ({status})")]
    Unavailable {
        /// HTTP status, or 0 when no connection was made.
        status: u16,
        /// When to try again, if the provider said so.
        retry_after: Option<Duration>,
    },
    /// The request was sent and its answer lost: it may have been charged.
    #[error("the model's answer was lost after the request had been sent")]
    AnswerLost {
        /// What broke.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The prompt does not fit the model's window; not charged.
    #[error("the prompt is longer than the model accepts")]
    PromptTooLong,
    /// The provider refuses the request as it is: a wrong key, an unknown model, no credit.
    #[error("the provider rejected the request ({status} {kind}); {hint}")]
    Rejected {
        /// HTTP status.
        status: u16,
        /// The provider's error type.
        kind: String,
        /// What to do.
        hint: &'static str,
    },
}

/// A model.
#[async_trait]
pub trait Model: Send + Sync {
    /// Returns the model's id, as priced.
    fn id(&self) -> &str;

    /// Asks. Retries what was certainly not processed, until `deadline`.
    async fn ask(&self, question: &Question, deadline: Timestamp) -> Result<Answer, ModelError>;
}
