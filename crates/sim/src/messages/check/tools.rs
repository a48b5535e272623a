//! Tool definitions and the choice among them.

use serde_json::{Map, Value};

use super::super::cache::CacheBlock;
use super::super::models::ModelFacts;
use super::super::refusal::Refusal;
use super::{cache_block, mark, object, one_of, only_known, schema};

/// Longest name of a tool.
const MAX_NAME_BYTES: usize = 64;

/// Most tools with `strict`.
const MAX_STRICT: usize = 20;

const FIELDS: &[&str] = &[
    "name",
    "description",
    "input_schema",
    "strict",
    "cache_control",
    "input_examples",
    "eager_input_streaming",
    "defer_loading",
    "type",
];

/// Checks tools and choice; returns the tools as the first blocks of the prompt.
pub(super) fn check(
    fields: &Map<String, Value>,
    model: &ModelFacts,
    thinks: bool,
    frowned: &mut Vec<&'static str>,
) -> Result<Vec<CacheBlock>, Refusal> {
    let tools = match fields.get("tools") {
        None => &[],
        Some(tools) => tools
            .as_array()
            .ok_or_else(|| Refusal::invalid("tools: Input should be a valid list"))?
            .as_slice(),
    };
    let mut blocks = Vec::new();
    let mut strict = 0_usize;
    for (at, tool) in tools.iter().enumerate() {
        let at = format!("tools.{at}");
        let tool = object(tool, &at)?;
        only_known(tool, FIELDS, &format!("{at}."))?;
        let kind = tool.get("type").and_then(Value::as_str).unwrap_or("custom");
        if kind != "custom" {
            return Err(Refusal::not_simulated("a server tool"));
        }
        check_name(tool, &at)?;
        let input = tool
            .get("input_schema")
            .ok_or_else(|| Refusal::invalid(format!("{at}.input_schema: Field required")))?;
        if tool.get("strict") == Some(&Value::Bool(true)) {
            strict = strict.saturating_add(1);
            schema::check(input)?;
        }
        let text = Value::Object(tool.clone()).to_string();
        blocks.push(cache_block(tool, &text, mark(tool, &at)?));
    }
    if strict > MAX_STRICT {
        return Err(Refusal::invalid(format!(
            "Too many strict tools ({strict}). The maximum number of strict tools is {MAX_STRICT}."
        )));
    }
    check_choice(
        fields.get("tool_choice"),
        tools.is_empty(),
        model,
        thinks,
        frowned,
    )?;
    Ok(blocks)
}

fn check_name(tool: &Map<String, Value>, at: &str) -> Result<(), Refusal> {
    let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(plain) {
        return Err(Refusal::invalid(format!(
            "{at}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'"
        )));
    }
    Ok(())
}

fn check_choice(
    choice: Option<&Value>,
    no_tools: bool,
    model: &ModelFacts,
    thinks: bool,
    frowned: &mut Vec<&'static str>,
) -> Result<(), Refusal> {
    let Some(choice) = choice else { return Ok(()) };
    let choice = object(choice, "tool_choice")?;
    let known = ["type", "name", "disable_parallel_tool_use"];
    only_known(choice, &known, "tool_choice.")?;
    let kinds = ["auto", "any", "tool", "none"];
    let kind = one_of(
        choice.get("type").unwrap_or(&Value::Null),
        &kinds,
        "tool_choice.type",
    )?;
    if no_tools {
        return Err(Refusal::invalid(
            "tool_choice: may only be specified while providing tools",
        ));
    }
    if matches!(kind, "any" | "tool") {
        frowned.push("a forced tool");
        if !model.forced_tool {
            return Err(Refusal::invalid(format!(
                "tool_choice.type \"{kind}\" is not supported for this model"
            )));
        }
        if thinks {
            return Err(Refusal::invalid(
                "Thinking may not be enabled when tool_choice forces tool use.",
            ));
        }
    }
    Ok(())
}
