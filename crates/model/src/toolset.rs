//! Tools with typed arguments.
//!
//! A [`Toolset`] reads the arguments before a tool sees them; what does not fit the type is answered
//! with what is wrong, and the tool is not run.
//!
//! **Invariant:** nothing that a model sends is a failure of the program.

use std::fmt;
use std::pin::Pin;

use async_trait::async_trait;
use mirilla_ports::tools::{ToolOutput, ToolSpec, Toolbox};
use serde::de::DeserializeOwned;
use serde_json::Value;

type Running = Pin<Box<dyn Future<Output = ToolOutput> + Send>>;
type Run = Box<dyn Fn(&Value) -> Result<Running, serde_json::Error> + Send + Sync>;

/// A fixed list of tools with typed arguments.
#[derive(Default)]
pub struct Toolset {
    specs: Vec<ToolSpec>,
    runs: Vec<Run>,
}

impl Toolset {
    /// Returns a set without tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool. `A` is the type of its arguments, which `spec.input_schema` describes to the model;
    /// let it deny unknown fields, so that a misspelt one is told to the model instead of ignored.
    #[must_use]
    pub fn with<A, F, Fut>(mut self, spec: ToolSpec, run: F) -> Self
    where
        A: DeserializeOwned,
        F: Fn(A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ToolOutput> + Send + 'static,
    {
        self.specs.push(spec);
        self.runs.push(Box::new(move |input| {
            let arguments = A::deserialize(input)?;
            Ok(Box::pin(run(arguments)))
        }));
        self
    }
}

impl fmt::Debug for Toolset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.specs.iter().map(|spec| spec.name);
        f.debug_list().entries(names).finish()
    }
}

#[async_trait]
impl Toolbox for Toolset {
    fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    async fn call(&self, name: &str, input: &Value) -> ToolOutput {
        let at = self.specs.iter().position(|spec| spec.name == name);
        let Some(run) = at.and_then(|at| self.runs.get(at)) else {
            return ToolOutput::error("There is no tool of this name.");
        };
        match run(input) {
            Ok(running) => running.await,
            Err(error) => ToolOutput::error(format!("The arguments do not fit: {error}.")),
        }
    }
}
