//! System text and messages.

use serde_json::{Map, Value};

use super::super::cache::CacheBlock;
use super::super::models::ModelFacts;
use super::super::refusal::Refusal;
use super::{cache_block, mark, object, one_of, only_known};

/// Most messages of a request.
const MAX_MESSAGES: usize = 100_000;

/// The prompt's text, in order.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) system: Vec<String>,
    pub(super) user: Vec<String>,
    pub(super) blocks: Vec<CacheBlock>,
}

/// Checks `system` and `messages`.
pub(super) fn check(
    fields: &Map<String, Value>,
    model: &ModelFacts,
    resumes: bool,
    frowned: &mut Vec<&'static str>,
) -> Result<Content, Refusal> {
    let mut content = Content::default();
    for (at, block) in blocks_of(fields.get("system"), "system")?
        .iter()
        .enumerate()
    {
        let at = format!("system.{at}");
        let text = content.text_block(block, &at)?;
        content.system.push(text);
    }
    let messages = fields
        .get("messages")
        .ok_or_else(|| Refusal::invalid("messages: Field required"))?
        .as_array()
        .ok_or_else(|| Refusal::invalid("messages: Input should be a valid list"))?;
    if messages.is_empty() || messages.len() > MAX_MESSAGES {
        return Err(Refusal::invalid(format!(
            "messages: between 1 and {MAX_MESSAGES} messages are required"
        )));
    }
    let mut last = "";
    // Ids of the tool calls that the next message has to answer.
    let mut open: Vec<String> = Vec::new();
    let mut has_tool_blocks = false;
    for (at, message) in messages.iter().enumerate() {
        let path = format!("messages.{at}");
        let message = object(message, &path)?;
        only_known(message, &["role", "content"], &format!("{path}."))?;
        let role = message.get("role").unwrap_or(&Value::Null);
        last = one_of(role, &["user", "assistant"], &format!("{path}.role"))?;
        if at == 0 && last != "user" {
            return Err(Refusal::invalid(
                "messages: first message must use the \"user\" role",
            ));
        }
        let answered = content.message(message, last, &path)?;
        if open.iter().any(|id| !answered.results.contains(id)) {
            return Err(Refusal::invalid(format!(
                "{path}: `tool_use` ids were found without `tool_result` blocks immediately after"
            )));
        }
        if answered.results.iter().any(|id| !open.contains(id)) {
            return Err(Refusal::invalid(format!(
                "{path}: unexpected `tool_use_id` found in `tool_result` blocks"
            )));
        }
        for (what, ids) in [
            ("tool_use", &answered.uses),
            ("tool_result", &answered.results),
        ] {
            if let Some(id) = twice(ids) {
                return Err(Refusal::invalid(format!(
                    "{path}: each tool_use must have a single result. Found multiple `{what}` blocks with \
                     id: {id}"
                )));
            }
        }
        has_tool_blocks |= !answered.results.is_empty() || !answered.uses.is_empty();
        open = answered.uses;
    }
    let tools = fields.get("tools").and_then(Value::as_array);
    if has_tool_blocks && tools.is_none_or(Vec::is_empty) {
        return Err(Refusal::invalid(
            "Requests which include `tool_use` or `tool_result` blocks must define tools",
        ));
    }
    if last == "assistant" && !resumes {
        frowned.push("a prefilled answer");
        if !model.prefill || has_format(fields) {
            return Err(Refusal::invalid(
                "This model does not support assistant message prefill. The conversation must end \
                 with a user message.",
            ));
        }
    }
    Ok(content)
}

/// Returns an id that stands in the list more than once.
fn twice(ids: &[String]) -> Option<&String> {
    let mut rest = ids;
    while let Some((first, others)) = rest.split_first() {
        if others.contains(first) {
            return Some(first);
        }
        rest = others;
    }
    None
}

fn has_format(fields: &Map<String, Value>) -> bool {
    let config = fields.get("output_config");
    config.and_then(|c| c.get("format")).is_some()
}

/// Returns content as blocks; a plain text is one block.
fn blocks_of(content: Option<&Value>, at: &str) -> Result<Vec<Value>, Refusal> {
    match content {
        None => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![serde_json::json!({"type": "text", "text": text})]),
        Some(Value::Array(blocks)) => Ok(blocks.clone()),
        Some(_) => Err(Refusal::invalid(format!(
            "{at}: Input should be a valid list"
        ))),
    }
}

/// Ids of tool calls made and answered in one message.
#[derive(Default)]
struct ToolIds {
    uses: Vec<String>,
    results: Vec<String>,
}

impl Content {
    fn message(
        &mut self,
        message: &Map<String, Value>,
        role: &str,
        path: &str,
    ) -> Result<ToolIds, Refusal> {
        let blocks = blocks_of(message.get("content"), &format!("{path}.content"))?;
        if blocks.is_empty() {
            return Err(Refusal::invalid(format!(
                "{path}: content must not be empty"
            )));
        }
        let mut ids = ToolIds::default();
        let mut text_seen = false;
        for (at, block) in blocks.iter().enumerate() {
            let at = format!("{path}.content.{at}");
            let kind = block
                .get("type")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let id = |key: &str| {
                let id = block.get(key).and_then(Value::as_str);
                id.map(str::to_owned)
                    .ok_or_else(|| Refusal::invalid(format!("{at}.{key}: Field required")))
            };
            match (role, kind) {
                (_, "text") => {
                    text_seen = true;
                    let text = self.text_block(block, &at)?;
                    if role == "user" {
                        self.user.push(text);
                    }
                }
                ("user", "tool_result") => {
                    if text_seen {
                        return Err(Refusal::invalid(format!(
                            "{at}: `tool_result` blocks must come before text"
                        )));
                    }
                    ids.results.push(id("tool_use_id")?);
                    self.tool_result(block, &at)?;
                }
                ("assistant", "tool_use") => {
                    ids.uses.push(id("id")?);
                    self.raw_block(block, &at)?;
                }
                ("assistant", "thinking" | "redacted_thinking") => {
                    if block.get("cache_control").is_some() {
                        return Err(Refusal::invalid(format!(
                            "{at}: thinking blocks cannot carry cache_control"
                        )));
                    }
                    self.raw_block(block, &at)?;
                }
                (_, "image" | "document" | "search_result") => {
                    return Err(Refusal::not_simulated("an image or document"));
                }
                _ => {
                    return Err(Refusal::invalid(format!(
                        "{at}: Input tag '{kind}' does not match any of the expected tags"
                    )));
                }
            }
        }
        Ok(ids)
    }

    fn text_block(&mut self, block: &Value, at: &str) -> Result<String, Refusal> {
        let block = object(block, at)?;
        let known = ["type", "text", "cache_control", "citations"];
        only_known(block, &known, &format!("{at}."))?;
        let kind = block.get("type").unwrap_or(&Value::Null);
        one_of(kind, &["text"], &format!("{at}.type"))?;
        let text = block
            .get("text")
            .and_then(Value::as_str)
            .ok_or_else(|| Refusal::invalid(format!("{at}.text: Field required")))?;
        if text.is_empty() {
            let what = at.split('.').next().unwrap_or(at);
            return Err(Refusal::invalid(format!(
                "{what}: text content blocks must be non-empty"
            )));
        }
        if text.trim().is_empty() {
            return Err(Refusal::invalid(format!(
                "{at}: text content blocks must contain non-whitespace text"
            )));
        }
        if block.get("citations").is_some_and(|c| !c.is_null()) {
            return Err(Refusal::not_simulated("citations"));
        }
        self.blocks.push(cache_block(block, text, mark(block, at)?));
        Ok(text.to_owned())
    }

    /// Takes what a tool returned; its text is the user's as far as the model sees.
    fn tool_result(&mut self, block: &Value, at: &str) -> Result<(), Refusal> {
        let texts = blocks_of(block.get("content"), &format!("{at}.content"))?;
        for text in &texts {
            let text = text.get("text").and_then(Value::as_str);
            self.user.extend(text.map(str::to_owned));
        }
        self.raw_block(block, at)
    }

    fn raw_block(&mut self, block: &Value, at: &str) -> Result<(), Refusal> {
        let block = object(block, at)?;
        let mark = mark(block, at)?;
        let mut bare = block.clone();
        bare.remove("cache_control");
        let text = Value::Object(bare).to_string();
        self.blocks.push(cache_block(block, &text, mark));
        Ok(())
    }
}
