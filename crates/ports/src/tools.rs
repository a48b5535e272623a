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

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    /// The text for the model. Where it holds anything from a repository, it is fenced already.
    pub text: String,
    /// Whether it says why there is no answer.
    pub is_error: bool,
}

/// A fixed set of tools, the same for every question, so that what is sent before them stays cached.
#[async_trait]
pub trait Toolbox: Send + Sync {
    /// Returns the tools, always in the same order.
    fn specs(&self) -> &[ToolSpec];

    /// Runs one tool. A name that is not there, bad arguments and a file that is missing are answers
    /// with [`ToolOutput::is_error`], never a failure.
    async fn call(&self, name: &str, input: &Value) -> ToolOutput;
}
