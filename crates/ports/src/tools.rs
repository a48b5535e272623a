//! What a model may look up while it answers.

use async_trait::async_trait;
use serde_json::Value;

/// A tool as the model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name, `[a-z_]{1,64}`.
    pub name: &'static str,
    /// What it does, when to use it, and what it answers.
    pub description: &'static str,
    /// The JSON Schema of its arguments, an object.
    pub input_schema: Value,
}

impl ToolSpec {
    /// Returns the bytes of everything that is sent of it as text.
    pub fn bytes(&self) -> u64 {
        let schema = self.input_schema.to_string().len();
        let text = self.name.len().saturating_add(self.description.len());
        u64::try_from(text.saturating_add(schema)).unwrap_or(u64::MAX)
    }
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    /// The text for the model. Where it holds anything from a repository, it is fenced already.
    pub text: String,
    /// Whether it says why there is no answer.
    pub is_error: bool,
}

impl ToolOutput {
    /// Returns an answer.
    pub fn answer(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_error: false,
        }
    }

    /// Returns the reason why there is none, and what to ask instead.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_error: true,
        }
    }
}

/// A fixed set of tools, the same for every question, so that what is sent before them stays cached.
///
/// How often it is called, how many calls run at a time, how long one may take and how much text it may
/// bring are bounded by the conversation ([`Limits`](crate::model::Limits)): an output that does not fit is
/// replaced as a whole by an error that says so, never cut, because a cut would open its fence.
#[async_trait]
pub trait Toolbox: Send + Sync {
    /// Returns the tools, always in the same order.
    fn specs(&self) -> &[ToolSpec];

    /// Runs one tool. A name that is not there, bad arguments and a file that is missing are answers
    /// with [`ToolOutput::is_error`], never a failure.
    async fn call(&self, name: &str, input: &Value) -> ToolOutput;
}

/// No tools: for a question that is answered from what it shows.
#[derive(Debug, Clone, Copy)]
pub struct NoTools;

#[async_trait]
impl Toolbox for NoTools {
    fn specs(&self) -> &[ToolSpec] {
        &[]
    }

    async fn call(&self, _name: &str, _input: &Value) -> ToolOutput {
        ToolOutput::error("There are no tools.")
    }
}
