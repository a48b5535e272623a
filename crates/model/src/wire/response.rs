//! From the bytes of a 200 to an answer, and to what a further turn needs of it.
//!
//! **Invariant:** a status of 200 proves nothing. What is not a whole message is a lost answer,
//! never an empty one.

use std::error::Error;
use std::fmt;

use mirilla_domain::money::Usage;
use mirilla_ports::model::{Answer, StopReason};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::failure::plain_name;
use super::usage::{Asked, known_usage, read_usage};

/// Longest id or model name that is kept.
const MAX_NAME_CHARS: usize = 128;

/// What became of an answer that did not arrive.
#[derive(Debug, thiserror::Error)]
pub enum Lost {
    /// The time was up before the answer was there.
    #[error("no answer came in time")]
    TimedOut,
    /// The connection broke, or the body was cut or too long.
    #[error("the connection broke before the whole answer was there")]
    Broken(#[source] Box<dyn Error + Send + Sync>),
    /// A page or other text instead of JSON.
    #[error("the answer is not JSON")]
    NotJson,
    /// JSON, but not a message.
    #[error("the answer is JSON but not a message")]
    NotAMessage,
    /// An error where an answer was announced.
    #[error("the answer broke off with the provider's error `{kind}`")]
    ErrorInside {
        /// The provider's error type.
        kind: String,
    },
    /// An error that does not say whether the request was processed.
    #[error("status {status} does not say whether the request was processed")]
    Unclear {
        /// The HTTP status.
        status: u16,
    },
}

/// A lost answer with what is known about its cost.
#[derive(Debug)]
pub struct LostAnswer {
    /// What happened.
    pub lost: Lost,
    /// What the provider had reported before it broke off: a lower bound.
    pub usage: Option<Usage>,
}

impl fmt::Display for LostAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lost.fmt(f)
    }
}

impl Error for LostAnswer {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.lost.source()
    }
}

impl From<Lost> for LostAnswer {
    fn from(lost: Lost) -> Self {
        Self { lost, usage: None }
    }
}

/// One tool that the model wants to be run.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolUse {
    /// The provider's id of this use; its result carries it.
    pub id: String,
    /// The tool's name, as the model gives it.
    pub name: String,
    /// Its arguments, as the model gives them.
    pub input: Value,
}

/// A whole reply.
#[derive(Debug, Clone)]
pub struct Reply {
    /// What it says, and what it used.
    pub answer: Answer,
    /// Its content as it came, a JSON list: sent back byte for byte, thinking included, because the
    /// provider checks that nobody changed it. An empty list if it cannot be sent back, because a tool use
    /// in it lacks what its result needs.
    pub said: Box<RawValue>,
    /// The tools it wants to be run, in order; all of them need a result if the turn is sent back.
    pub tool_uses: Vec<ToolUse>,
}

/// Reads the body of a reply with status 200.
///
/// `content_type` and `request_id` are the headers of these names. Text blocks are found by their
/// type and joined; thinking comes first on some models, and unknown block types may come anywhere.
pub fn read_reply(
    body: &[u8],
    content_type: Option<&str>,
    request_id: Option<&str>,
    asked: Asked,
) -> Result<Reply, LostAnswer> {
    if content_type.is_some_and(|kind| kind.trim_start().starts_with("text/event-stream")) {
        return Err(read_broken_stream(body));
    }
    if content_type.is_some_and(|kind| !is_json(kind)) {
        return Err(Lost::NotJson.into());
    }
    // A parser's message can quote what it read, so it is not kept.
    let Ok(message) = serde_json::from_slice::<Value>(body) else {
        return Err(Lost::NotJson.into());
    };
    let kind = message.get("type").and_then(Value::as_str);
    if let Some(error) = message.get("error").filter(|error| error.is_object()) {
        return Err(error_inside(error, message.get("usage")));
    }
    let not_a_message = || LostAnswer {
        lost: Lost::NotAMessage,
        usage: message.get("usage").and_then(known_usage),
    };
    let content = message.get("content").and_then(Value::as_array);
    let (Some(content), None | Some("message")) = (content, kind) else {
        return Err(not_a_message());
    };
    let raw: Raw<'_> = serde_json::from_slice(body).map_err(|_parser| not_a_message())?;
    let (said, tool_uses) = match tool_uses(content) {
        Some(tool_uses) => (raw.content.to_owned(), tool_uses),
        None => (nothing_said(), Vec::new()),
    };
    let text: String = content
        .iter()
        .filter(|block| block.get("type").and_then(Value::as_str) == Some("text"))
        .filter_map(|block| block.get("text").and_then(Value::as_str))
        .collect();
    let request_id = request_id.or_else(|| message.get("request_id").and_then(Value::as_str));
    let answer = Answer {
        text,
        stop: read_stop(&message),
        usage: read_usage(message.get("usage"), asked, !content.is_empty()),
        model: short(message.get("model").and_then(Value::as_str)),
        request_id: short(request_id),
    };
    Ok(Reply {
        answer,
        said,
        tool_uses,
    })
}

/// The content as it stands in the body.
#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(borrow)]
    content: &'a RawValue,
}

fn nothing_said() -> Box<RawValue> {
    // Known to be JSON.
    RawValue::from_string("[]".to_owned()).unwrap_or_default()
}

/// Returns the tool uses; `None` if one of them could not be answered, for want of an id of its own or a
/// name.
fn tool_uses(content: &[Value]) -> Option<Vec<ToolUse>> {
    let mut uses: Vec<ToolUse> = Vec::new();
    for block in content {
        if block.get("type").and_then(Value::as_str) != Some("tool_use") {
            continue;
        }
        let text = |key: &str| block.get(key).and_then(Value::as_str);
        let (id, name) = (text("id")?, text("name")?);
        if uses.iter().any(|other| other.id == id) {
            return None;
        }
        uses.push(ToolUse {
            id: id.to_owned(),
            name: name.to_owned(),
            input: block.get("input").cloned().unwrap_or_default(),
        });
    }
    Some(uses)
}

fn is_json(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    let kind = kind.to_ascii_lowercase();
    kind == "application/json" || kind.ends_with("+json")
}

fn read_stop(message: &Value) -> StopReason {
    let reason = message.get("stop_reason").and_then(Value::as_str);
    match reason {
        Some("end_turn") => StopReason::EndTurn,
        Some("max_tokens") => StopReason::MaxTokens,
        Some("model_context_window_exceeded") => StopReason::ContextExceeded,
        Some("tool_use") => StopReason::ToolUse,
        Some("pause_turn") => StopReason::Paused,
        Some("refusal") => {
            let details = message.get("stop_details");
            let category = details.and_then(|d| d.get("category"));
            StopReason::Refusal(category.and_then(Value::as_str).map(plain_name))
        }
        Some(other) => StopReason::Other(plain_name(other)),
        None => StopReason::Other("missing".to_owned()),
    }
}

fn short(text: Option<&str>) -> String {
    let visible = text.unwrap_or_default().chars();
    visible
        .filter(char::is_ascii_graphic)
        .take(MAX_NAME_CHARS)
        .collect()
}

fn error_inside(error: &Value, usage: Option<&Value>) -> LostAnswer {
    let kind = error.get("type").and_then(Value::as_str);
    LostAnswer {
        lost: Lost::ErrorInside {
            kind: plain_name(kind.unwrap_or("unknown")),
        },
        usage: usage.and_then(known_usage),
    }
}

/// Reads what a stream nobody asked for said about its usage and its end.
///
/// Requests never ask for a stream, so one that comes is a failed call, whatever it holds.
fn read_broken_stream(body: &[u8]) -> LostAnswer {
    let text = String::from_utf8_lossy(body);
    let events = text
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .filter_map(|data| serde_json::from_str::<Value>(data).ok());
    let mut found = LostAnswer::from(Lost::NotJson);
    for event in events {
        let started = event.get("message").and_then(|m| m.get("usage"));
        let usage = started.or_else(|| event.get("usage")).and_then(known_usage);
        if let Some(usage) = usage {
            found.usage = Some(merge(found.usage, usage));
        }
        if let Some(error) = event.get("error") {
            let usage = found.usage;
            found = error_inside(error, None);
            found.usage = usage;
        }
    }
    found
}

/// Counts in a stream are running totals, so the larger one holds.
fn merge(seen: Option<Usage>, new: Usage) -> Usage {
    let seen = seen.unwrap_or_default();
    Usage {
        input_tokens: seen.input_tokens.max(new.input_tokens),
        output_tokens: seen.output_tokens.max(new.output_tokens),
        cache_read_tokens: seen.cache_read_tokens.max(new.cache_read_tokens),
        cache_write_5m_tokens: seen.cache_write_5m_tokens.max(new.cache_write_5m_tokens),
        cache_write_1h_tokens: seen.cache_write_1h_tokens.max(new.cache_write_1h_tokens),
        estimated: true,
    }
}
