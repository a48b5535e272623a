//! Asking a model a question, and answering what it asks back.
//!
//! A question begins a conversation: the model may look things up with the tools it is given, and
//! ends with its answer. Without tools the conversation is one call. The loop belongs to the adapter; money,
//! checkpoints and everything else that belongs to each call are the caller's, through [`CallGate`].

use std::time::Duration;

use async_trait::async_trait;
use mirilla_domain::ids::Timestamp;
use mirilla_domain::money::Usage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tools::{ToolOutput, Toolbox};

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
    /// It wants to look something up. As the end of a conversation: it asked for a tool where only the
    /// answer was left to give, so there is none.
    ToolUse,
    /// The provider paused its turn; it goes on when it is sent its turn back.
    Paused,
    /// Anything else; its name as the provider gives it.
    Other(String),
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The text blocks of the last turn, joined. Untrusted.
    pub text: String,
    /// Why it stopped.
    pub stop: StopReason,
    /// What this one call used.
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

/// Bounds of a conversation. They are checked between turns: a turn that began is finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most calls, the one that answers included. One, or none, leaves only the answer: the tools are
    /// named and cannot be used.
    pub turns: u32,
    /// The most tools run in one turn; further calls are answered with an error.
    pub calls_per_turn: usize,
    /// The most tools that run at the same time.
    pub at_once: usize,
    /// The most bytes of results that one turn may bring.
    pub turn_bytes: u64,
    /// The most bytes of results that all turns together may bring.
    pub total_bytes: u64,
    /// The longest one tool may take.
    pub tool_time: Duration,
    /// The time kept for the answer: with less than this left, nothing is looked up any more.
    pub answer_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            turns: 8,
            calls_per_turn: 16,
            at_once: 4,
            turn_bytes: 48 * 1024,
            total_bytes: 128 * 1024,
            tool_time: Duration::from_secs(20),
            answer_time: Duration::from_secs(60),
        }
    }
}

/// A call that is about to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextCall {
    /// Which call of the conversation, from 1.
    pub turn: u32,
    /// Bytes of everything it sends as text, all earlier turns and results included: what
    /// [`token_bound`](mirilla_domain::chunk::token_bound) is applied to.
    pub bytes: u64,
    /// The most tokens its answer may have.
    pub max_tokens: u32,
    /// Whether only the answer can follow.
    pub last: bool,
    /// About the most bytes that a call after it can send, if it is not the last.
    pub next_bytes: u64,
}

/// How a call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Go {
    /// As it is.
    On,
    /// As the last one: nothing further can be looked up.
    Last,
}

/// The caller ends the conversation, for a reason that it keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

/// One call of a tool that was answered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LookUp<'a> {
    /// In which turn, from 1.
    pub turn: u32,
    /// The tool, as we name it; `None` if the model asked for one that does not exist.
    pub tool: Option<&'static str>,
    /// Its arguments. Written by the model.
    pub input: &'a Value,
    /// What the model is told.
    pub output: &'a ToolOutput,
}

/// What a caller does around each call of a conversation.
#[async_trait]
pub trait CallGate: Send {
    /// Asked before each call is sent; a repetition of one that certainly was not processed is the same
    /// call.
    async fn before(&mut self, call: &NextCall) -> Result<Go, Stopped>;

    /// Told what became of the call that `before` let pass, once for each.
    async fn after(&mut self, outcome: Result<&Answer, &ModelError>) -> Result<(), Stopped>;

    /// Told of each tool call, in the order the model made them.
    fn looked_up(&mut self, _look_up: &LookUp<'_>) {}

    /// Returns what is wrong with an answer that ends the conversation; the model is told so and asked
    /// once more, at most once in a conversation.
    fn objection(&mut self, _answer: &Answer) -> Option<String> {
        None
    }
}

/// Everything a conversation needs.
pub struct Conversation<'a> {
    /// What is asked.
    pub question: &'a Question,
    /// What may be looked up.
    pub tools: &'a dyn Toolbox,
    /// How far it may go.
    pub limits: Limits,
    /// When the last call must be over.
    pub deadline: Timestamp,
    /// What is done around each call.
    pub gate: &'a mut dyn CallGate,
}

impl std::fmt::Debug for Conversation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversation")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Why a conversation has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// The caller ended it.
    #[error("the caller ended the conversation")]
    Stopped,
    /// One of its calls failed.
    #[error(transparent)]
    Model(#[from] ModelError),
}

impl From<Stopped> for Unanswered {
    fn from(Stopped: Stopped) -> Self {
        Self::Stopped
    }
}

/// A model.
#[async_trait]
pub trait Model: Send + Sync {
    /// Returns the model's id, as priced.
    fn id(&self) -> &str;

    /// Asks, answers what the model looks up, and returns the answer that ended the conversation.
    ///
    /// Each call is repeated only if it certainly was not processed, until the deadline.
    async fn converse(&self, conversation: Conversation<'_>) -> Result<Answer, Unanswered>;
}
