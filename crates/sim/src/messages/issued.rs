//! What the provider said, so that it knows its own turns when they come back.
//!
//! The real API signs thinking and refuses it changed. That the rest of a turn, the tools and everything
//! before stay as they were is the client's own interest, because a change makes the provider's cache
//! useless: here it is a problem of the test.
//!
//! **Invariant:** a turn that is told by one of its tool uses is compared as a whole.

use serde_json::Value;

use super::refusal::Refusal;

/// One turn as it was sent.
#[derive(Debug)]
struct Turn {
    content: Vec<Value>,
    /// The tools of the request it answers.
    tools: Value,
    /// The messages of the request it answers, without cache marks.
    before: Vec<Value>,
    paused: bool,
}

/// Every turn so far.
#[derive(Debug, Default)]
pub(super) struct Issued(Vec<Turn>);

impl Issued {
    /// Keeps a turn.
    pub(super) fn keep(&mut self, request: &Value, content: &[Value], stop: &str) {
        self.0.push(Turn {
            content: content.to_vec(),
            tools: request.get("tools").cloned().unwrap_or_default(),
            before: messages(request).iter().map(unmarked).collect(),
            paused: stop == "pause_turn",
        });
    }

    /// Returns whether a request ends with a turn that was paused, as it was sent.
    pub(super) fn resumes(&self, request: &Value) -> bool {
        let last = messages(request).last();
        let content = last.filter(|last| role(last) == "assistant").map(content);
        content.is_some_and(|content| {
            self.0
                .iter()
                .any(|turn| turn.paused && turn.content == content)
        })
    }

    /// Compares the model's turns in a request with what was sent; returns what the client should not
    /// have done.
    pub(super) fn check(&self, request: &Value) -> Result<Vec<&'static str>, Refusal> {
        let mut frowned = Vec::new();
        for (at, message) in messages(request).iter().enumerate() {
            if role(message) == "assistant" {
                frowned.extend(self.check_turn(request, at, content(message))?);
            }
        }
        Ok(frowned)
    }

    fn check_turn(
        &self,
        request: &Value,
        at: usize,
        content: &[Value],
    ) -> Result<Option<&'static str>, Refusal> {
        let issued = self.0.iter().find(|turn| {
            turn.content == content || uses(&turn.content).any(|id| uses(content).any(|i| i == id))
        });
        let Some(turn) = issued else {
            let Some(block) = content.iter().position(is_thinking) else {
                return Ok(None);
            };
            return Err(Refusal::invalid(format!(
                "messages.{at}.content.{block}: Invalid `signature` in `thinking` block"
            )));
        };
        let thinking = |blocks: &[Value]| -> Vec<Value> {
            blocks.iter().filter(|b| is_thinking(b)).cloned().collect()
        };
        if thinking(content) != thinking(&turn.content) {
            return Err(Refusal::invalid(format!(
                "messages.{at}.content: `thinking` or `redacted_thinking` blocks in the latest assistant \
                 message cannot be modified. These blocks must remain as they were in the original response."
            )));
        }
        if turn.content != content {
            return Ok(Some("a turn of the model's that was changed"));
        }
        if *request.get("tools").unwrap_or(&Value::Null) != turn.tools {
            return Ok(Some("other tools than earlier in the conversation"));
        }
        let before = messages(request).iter().take(at).map(unmarked);
        if !before.eq(turn.before.iter().cloned()) {
            return Ok(Some("a conversation whose beginning was changed"));
        }
        Ok(None)
    }
}

fn messages(request: &Value) -> &[Value] {
    let list = request.get("messages").and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

fn role(message: &Value) -> &str {
    let role = message.get("role").and_then(Value::as_str);
    role.unwrap_or_default()
}

fn content(message: &Value) -> &[Value] {
    let list = message.get("content").and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

fn is_thinking(block: &Value) -> bool {
    let kind = block.get("type").and_then(Value::as_str);
    matches!(kind, Some("thinking" | "redacted_thinking"))
}

fn uses(content: &[Value]) -> impl Iterator<Item = &str> {
    let uses = content
        .iter()
        .filter(|block| block.get("type").and_then(Value::as_str) == Some("tool_use"));
    uses.filter_map(|block| block.get("id")?.as_str())
}

/// Returns a message without cache marks: they may move.
fn unmarked(message: &Value) -> Value {
    let mut message = message.clone();
    let blocks = message.get_mut("content").and_then(Value::as_array_mut);
    for block in blocks.into_iter().flatten() {
        if let Some(block) = block.as_object_mut() {
            block.remove("cache_control");
        }
    }
    message
}
