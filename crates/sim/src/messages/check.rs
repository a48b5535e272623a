//! What the real API refuses, refused.
//!
//! Rules without an exact wording in the provider's material carry a wording of our own; clients
//! branch on status and type.
//!
//! **Invariant:** a body that passes has no field this file does not know.

use serde_json::{Map, Value};

use super::cache::{CacheBlock, Lifetime};
use super::models::{self, ModelFacts};
use super::prompt::Prompt;
use super::refusal::Refusal;
use super::tokens;

mod content;
mod headers;
mod schema;
mod thinking;
mod tools;

pub(crate) use headers::check_headers;

/// Largest request body.
pub(crate) const MAX_BODY_BYTES: usize = 32 * 1024 * 1024;

/// Most blocks that may carry a cache mark.
const MAX_CACHE_MARKS: usize = 4;

/// Longest answer that our clients may ask for without a stream.
const MAX_TOKENS_WITHOUT_STREAM: u64 = 21_333;

/// Which of the two endpoints that take a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// `POST /v1/messages`
    Answer,
    /// `POST /v1/messages/count_tokens`
    Count,
}

/// What the caller of a check may change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// The window to use instead of the model's.
    pub(crate) window: Option<u64>,
    /// Whether the request ends with a turn that was paused.
    pub(crate) resumes: bool,
}

/// A request that passed, and what our clients should not have sent all the same.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) prompt: Prompt,
    pub(crate) model: &'static ModelFacts,
    pub(crate) window: u64,
    pub(crate) frowned: Vec<&'static str>,
}

const FIELDS: &[&str] = &[
    "model",
    "messages",
    "max_tokens",
    "system",
    "output_config",
    "thinking",
    "tools",
    "tool_choice",
    "metadata",
    "service_tier",
    "inference_geo",
    "stream",
    "stop_sequences",
    "temperature",
    "top_p",
    "top_k",
    "cache_control",
];

/// Checks a body against the API's rules.
pub(crate) fn check_body(
    body: &[u8],
    version: &str,
    purpose: Purpose,
    limits: impl Fn(&str) -> Limits,
) -> Result<Checked, Refusal> {
    if body.len() > MAX_BODY_BYTES {
        let message = "Request exceeds the maximum size";
        return Err(Refusal::new(413, "request_too_large", message).blameless());
    }
    let body: Value = serde_json::from_slice(body)
        .map_err(|_syntax| Refusal::invalid("The request body is not valid JSON"))?;
    let fields = body
        .as_object()
        .ok_or_else(|| Refusal::invalid("The request body is not a JSON object"))?;
    only_known(fields, FIELDS, "")?;
    let model = find_model(fields)?;
    let limits = limits(model.id);
    let window = limits.window.unwrap_or(model.window);
    let mut frowned = Vec::new();
    check_sampling(fields, version, model, &mut frowned)?;
    let max_tokens = check_max_tokens(fields, model, purpose, &mut frowned)?;
    check_small_fields(fields)?;
    let thinks = thinking::check(
        fields.get("thinking"),
        fields,
        model,
        max_tokens,
        &mut frowned,
    )?;
    let output = OutputConfig::check(fields.get("output_config"), model)?;
    let tools = tools::check(fields, model, thinks, &mut frowned)?;
    let content = content::check(fields, model, limits.resumes, &mut frowned)?;
    let blocks: Vec<CacheBlock> = tools.into_iter().chain(content.blocks).collect();
    check_marks(&blocks, fields.get("cache_control"))?;
    let schema_tokens = output
        .schema
        .as_ref()
        .map_or(0, |s| tokens::count(&s.to_string()));
    let overhead = tokens::REQUEST_TOKENS.saturating_add(schema_tokens);
    let own: u64 = blocks.iter().map(|block| block.tokens).sum();
    let prompt = Prompt {
        model: model.id.to_owned(),
        max_tokens,
        system: content.system,
        user: content.user,
        scope: scope(model, &output),
        schema: output.schema,
        effort: output.effort,
        tokens: overhead.saturating_add(own),
        blocks,
        overhead,
        body,
    };
    if purpose == Purpose::Answer {
        check_window(&prompt, model, window)?;
    }
    Ok(Checked {
        prompt,
        model,
        window,
        frowned,
    })
}

/// The schema is set as text before everything else, so a change of it changes every beginning.
fn scope(model: &ModelFacts, output: &OutputConfig) -> String {
    let schema = output.schema.as_ref().map(Value::to_string);
    format!("{}\n{:?}\n{:?}", model.id, schema, output.effort)
}

fn find_model(fields: &Map<String, Value>) -> Result<&'static ModelFacts, Refusal> {
    let id = fields
        .get("model")
        .ok_or_else(|| Refusal::invalid("model: Field required"))?
        .as_str()
        .ok_or_else(|| Refusal::invalid("model: Input should be a valid string"))?;
    models::find(id).ok_or_else(|| Refusal::new(404, "not_found_error", format!("model: {id}")))
}

fn check_sampling(
    fields: &Map<String, Value>,
    version: &str,
    model: &ModelFacts,
    frowned: &mut Vec<&'static str>,
) -> Result<(), Refusal> {
    for name in ["temperature", "top_p", "top_k"] {
        let Some(value) = fields.get(name) else {
            continue;
        };
        frowned.push("a sampling parameter");
        let default = match name {
            "temperature" => value.as_f64() == Some(1.0),
            "top_p" => value.as_f64().is_some_and(|p| (0.99..=1.0).contains(&p)),
            _ => false,
        };
        if version == headers::NEWEST_VERSION {
            return Err(Refusal::invalid(format!(
                "{name}: Extra inputs are not permitted"
            )));
        }
        if !model.sampling && !default {
            return Err(Refusal::invalid(format!(
                "{name} is not supported for this model"
            )));
        }
    }
    Ok(())
}

fn check_max_tokens(
    fields: &Map<String, Value>,
    model: &ModelFacts,
    purpose: Purpose,
    frowned: &mut Vec<&'static str>,
) -> Result<u64, Refusal> {
    let given = fields.get("max_tokens");
    if purpose == Purpose::Count {
        return match given {
            Some(_) => Err(Refusal::invalid(
                "max_tokens: Extra inputs are not permitted",
            )),
            None => Ok(0),
        };
    }
    let wanted = given
        .ok_or_else(|| Refusal::invalid("max_tokens: Field required"))?
        .as_u64()
        .ok_or_else(|| {
            Refusal::invalid("max_tokens: Input should be a valid integer, at least 0")
        })?;
    if wanted == 0 {
        let formatted = fields.get("output_config").and_then(|o| o.get("format"));
        return Err(if formatted.is_some() {
            Refusal::invalid("max_tokens: 0 cannot be combined with output_config.format")
        } else {
            Refusal::not_simulated("warming the cache with max_tokens 0")
        });
    }
    if wanted > model.max_output {
        return Err(Refusal::invalid(format!(
            "max_tokens: {wanted} > {}, which is the maximum allowed number of output tokens for {}",
            model.max_output, model.id
        )));
    }
    if wanted > MAX_TOKENS_WITHOUT_STREAM {
        frowned.push("an answer too long to wait for without a stream");
    }
    Ok(wanted)
}

fn check_small_fields(fields: &Map<String, Value>) -> Result<(), Refusal> {
    match fields.get("stream") {
        None | Some(Value::Bool(false)) => {}
        Some(Value::Bool(true)) => return Err(Refusal::not_simulated("streaming")),
        Some(_) => return Err(Refusal::invalid("stream: Input should be a valid boolean")),
    }
    if let Some(metadata) = fields.get("metadata") {
        let metadata = object(metadata, "metadata")?;
        only_known(metadata, &["user_id"], "metadata.")?;
        let id = metadata
            .get("user_id")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if id.contains(['@', ' ']) {
            return Err(Refusal::invalid(
                "metadata.user_id: should be an opaque identifier",
            ));
        }
    }
    if let Some(tier) = fields.get("service_tier") {
        one_of(tier, &["auto", "standard_only"], "service_tier")?;
    }
    if fields
        .get("inference_geo")
        .is_some_and(|geo| !geo.is_string())
    {
        return Err(Refusal::invalid(
            "inference_geo: Input should be a valid string",
        ));
    }
    match fields.get("stop_sequences").map(Value::as_array) {
        None => Ok(()),
        Some(Some(list)) if list.is_empty() => Ok(()),
        Some(Some(_)) => Err(Refusal::not_simulated("stop_sequences")),
        Some(None) => Err(Refusal::invalid(
            "stop_sequences: Input should be a valid list",
        )),
    }
}

struct OutputConfig {
    effort: Option<String>,
    schema: Option<Value>,
}

impl OutputConfig {
    fn check(config: Option<&Value>, model: &ModelFacts) -> Result<Self, Refusal> {
        let mut checked = Self {
            effort: None,
            schema: None,
        };
        let Some(config) = config else {
            return Ok(checked);
        };
        let config = object(config, "output_config")?;
        only_known(config, &["effort", "format"], "output_config.")?;
        if let Some(effort) = config.get("effort") {
            let levels = ["low", "medium", "high", "xhigh", "max"];
            let level = one_of(effort, &levels, "output_config.effort")?;
            if !model.effort {
                return Err(Refusal::invalid(
                    "This model does not support the effort parameter.",
                ));
            }
            checked.effort = Some(level.to_owned());
        }
        if let Some(format) = config.get("format") {
            let format = object(format, "output_config.format")?;
            only_known(format, &["type", "schema"], "output_config.format.")?;
            let kind = format.get("type").unwrap_or(&Value::Null);
            one_of(kind, &["json_schema"], "output_config.format.type")?;
            let schema = format
                .get("schema")
                .ok_or_else(|| Refusal::invalid("output_config.format.schema: Field required"))?;
            schema::check(schema)?;
            checked.schema = Some(schema.clone());
        }
        Ok(checked)
    }
}

fn check_marks(blocks: &[CacheBlock], whole: Option<&Value>) -> Result<(), Refusal> {
    if whole.is_some() {
        return Err(Refusal::not_simulated(
            "cache_control for the whole request",
        ));
    }
    let marks: Vec<Lifetime> = blocks.iter().filter_map(|block| block.mark).collect();
    if marks.len() > MAX_CACHE_MARKS {
        return Err(Refusal::invalid(format!(
            "A maximum of {MAX_CACHE_MARKS} blocks with cache_control may be provided. Found {}.",
            marks.len()
        )));
    }
    let first_short = marks.iter().position(|mark| *mark == Lifetime::FiveMinutes);
    let last_long = marks.iter().rposition(|mark| *mark == Lifetime::Hour);
    if let (Some(short), Some(long)) = (first_short, last_long) {
        if short < long {
            return Err(Refusal::invalid(
                "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block",
            ));
        }
    }
    Ok(())
}

fn check_window(prompt: &Prompt, model: &ModelFacts, window: u64) -> Result<(), Refusal> {
    let tokens = prompt.tokens;
    if tokens > window {
        let message = format!("prompt is too long: {tokens} tokens > {window} maximum");
        return Err(Refusal::invalid(message).blameless());
    }
    if !model.overflow && tokens.saturating_add(prompt.max_tokens) > window {
        let message = format!(
            "input length and `max_tokens` exceed context limit: {tokens} + {} > {window}, \
             decrease input length or `max_tokens` and try again",
            prompt.max_tokens
        );
        return Err(Refusal::invalid(message).blameless());
    }
    Ok(())
}

/// Returns the object or refuses.
fn object<'v>(value: &'v Value, at: &str) -> Result<&'v Map<String, Value>, Refusal> {
    value
        .as_object()
        .ok_or_else(|| Refusal::invalid(format!("{at}: Input should be a valid dictionary")))
}

/// Refuses a field that is not known.
fn only_known(fields: &Map<String, Value>, known: &[&str], at: &str) -> Result<(), Refusal> {
    match fields.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(Refusal::invalid(format!(
            "{at}{key}: Extra inputs are not permitted"
        ))),
        None => Ok(()),
    }
}

/// Returns the text if it is one of the known ones, or refuses.
fn one_of<'v>(value: &'v Value, known: &[&str], at: &str) -> Result<&'v str, Refusal> {
    let text = value.as_str().filter(|text| known.contains(text));
    text.ok_or_else(|| Refusal::invalid(format!("{at}: Input should be '{}'", known.join("', '"))))
}

/// Reads a block's `cache_control`.
fn mark(block: &Map<String, Value>, at: &str) -> Result<Option<Lifetime>, Refusal> {
    let Some(control) = block.get("cache_control").filter(|c| !c.is_null()) else {
        return Ok(None);
    };
    let at = format!("{at}.cache_control");
    let control = object(control, &at)?;
    only_known(control, &["type", "ttl"], &format!("{at}."))?;
    let kind = control.get("type").unwrap_or(&Value::Null);
    one_of(kind, &["ephemeral"], &format!("{at}.type"))?;
    match control.get("ttl") {
        None => Ok(Some(Lifetime::FiveMinutes)),
        Some(ttl) => Ok(Some(
            match one_of(ttl, &["5m", "1h"], &format!("{at}.ttl"))? {
                "1h" => Lifetime::Hour,
                _ => Lifetime::FiveMinutes,
            },
        )),
    }
}

/// Makes a block of the prompt's row from a block as it was sent.
fn cache_block(block: &Map<String, Value>, text: &str, mark: Option<Lifetime>) -> CacheBlock {
    let mut bare = block.clone();
    bare.remove("cache_control");
    CacheBlock {
        bytes: Value::Object(bare).to_string(),
        tokens: tokens::count(text).saturating_add(tokens::BLOCK_TOKENS),
        mark,
    }
}
