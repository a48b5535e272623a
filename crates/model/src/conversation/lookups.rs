//! Runs the tools of one turn.
//!
//! **Invariant:** there is one result for each use, in the order of the uses, whatever the tools do; and
//! the results together have no more bytes than the limits leave, our own words about that aside.

use std::time::Duration;

use futures_util::stream::{self, StreamExt as _};
use mirilla_ports::model::{Limits, LookUp};
use mirilla_ports::tools::{ToolOutput, ToolSpec, Toolbox};

use crate::wire::{ToolResult, ToolUse};

/// The bytes of results that are left.
pub(super) struct Budget {
    turn: u64,
    left: u64,
}

impl Budget {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            turn: limits.turn_bytes,
            left: limits.total_bytes,
        }
    }

    /// Returns what is left for all further turns.
    pub(super) fn left(&self) -> u64 {
        self.left.min(self.turn)
    }

    /// Returns the most that the next turn may bring.
    pub(super) fn of_a_turn(&self) -> u64 {
        self.left.min(self.turn)
    }

    fn take(&mut self, bytes: u64) {
        self.left = self.left.saturating_sub(bytes);
    }
}

/// One use with its result.
pub(super) struct Looked<'a> {
    tool: Option<&'static str>,
    tool_use: &'a ToolUse,
    output: ToolOutput,
}

impl Looked<'_> {
    pub(super) fn told(&self, turn: u32) -> LookUp<'_> {
        LookUp {
            turn,
            tool: self.tool,
            input: &self.tool_use.input,
            output: &self.output,
        }
    }
}

impl From<Looked<'_>> for ToolResult {
    fn from(looked: Looked<'_>) -> Self {
        Self {
            id: looked.tool_use.id.clone(),
            text: looked.output.text,
            is_error: looked.output.is_error,
        }
    }
}

/// Runs the uses, some at a time, and bounds what they bring.
pub(super) async fn run<'a>(
    tools: &dyn Toolbox,
    limits: &Limits,
    time: Duration,
    budget: &mut Budget,
    uses: &'a [ToolUse],
) -> Vec<Looked<'a>> {
    let specs = tools.specs();
    // Not `map`: a closure that borrows is not known to be `Send` for every lifetime.
    let mut running = Vec::with_capacity(uses.len());
    for (at, tool_use) in uses.iter().enumerate() {
        running.push(one(tools, specs, limits, time, at, tool_use));
    }
    let mut looked: Vec<Looked<'a>> = stream::iter(running)
        .buffered(limits.at_once.max(1))
        .collect()
        .await;
    let mut left = budget.of_a_turn();
    for look in &mut looked {
        let bytes = u64::try_from(look.output.text.len()).unwrap_or(u64::MAX);
        if let Some(rest) = left.checked_sub(bytes) {
            left = rest;
            budget.take(bytes);
        } else {
            look.output = ToolOutput::error(format!(
                "The result has {bytes} bytes and {left} are left for this turn's results. Ask for less of it, \
                 or answer with what you know."
            ));
        }
    }
    looked
}

async fn one<'a>(
    tools: &dyn Toolbox,
    specs: &[ToolSpec],
    limits: &Limits,
    time: Duration,
    at: usize,
    tool_use: &'a ToolUse,
) -> Looked<'a> {
    let spec = specs.iter().find(|spec| spec.name == tool_use.name);
    let mut output = match spec {
        None => ToolOutput::error(format!(
            "There is no tool of this name. The tools are: {}.",
            names(specs)
        )),
        Some(_) if at >= limits.calls_per_turn => ToolOutput::error(format!(
            "Not run: at most {} tools run in one turn. Call it again if it is still needed.",
            limits.calls_per_turn
        )),
        Some(spec) => {
            let call = tools.call(spec.name, &tool_use.input);
            tokio::time::timeout(time, call)
                .await
                .unwrap_or_else(|_elapsed| {
                    ToolOutput::error("It took too long and was ended. Ask for less.")
                })
        }
    };
    if output.text.trim().is_empty() {
        // The API takes no blank text.
        "(nothing)".clone_into(&mut output.text);
    }
    Looked {
        tool: spec.map(|spec| spec.name),
        tool_use,
        output,
    }
}

fn names(specs: &[ToolSpec]) -> String {
    let names: Vec<&str> = specs.iter().map(|spec| spec.name).collect();
    names.join(", ")
}
