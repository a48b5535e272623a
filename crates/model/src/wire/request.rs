//! From a question, and what was said since, to the bytes of a request.
//!
//! What stands before a cache point must not change from call to call: the tools come first and are the
//! same ones in every call, then the system text, then the question, then the turns so far. Two points
//! move with the conversation: one on the newest results, which the next call reads, and one on those
//! before, which this call reads.
//!
//! **Invariant:** the same conversation gives the same bytes, because the provider's cache compares
//! them; the model's own turns are sent back as they came; and the body has no field beyond those here.

use mirilla_ports::model::{Block, ModelError, Question};
use mirilla_ports::tools::ToolSpec;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::settings::Effort;

/// The most places at which a request may ask the provider to cache.
pub const MAX_CACHE_POINTS: usize = 4;

/// The version field that Bedrock wants in the body.
const BEDROCK_VERSION: &str = "bedrock-2023-05-31";

/// Where the model's name goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelName<'a> {
    /// Into the body, as the Messages API has it.
    InBody(&'a str),
    /// Into the URL, as Bedrock's `InvokeModel` has it; the body then carries the version.
    InUrl,
}

/// Why a question cannot be asked. The API would refuse it, so it is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadQuestion {
    /// There is nothing to ask about.
    #[error("the question has no user block")]
    Empty,
    /// A block without text.
    #[error("a block of the question is empty")]
    EmptyBlock,
    /// Too many places to cache at.
    #[error("the question has {count} cache points; {MAX_CACHE_POINTS} are allowed")]
    CachePoints {
        /// How many.
        count: usize,
    },
    /// The answer's bound is zero or above the configured one.
    #[error("the question's max_tokens {wanted} is not between 1 and {limit}")]
    MaxTokens {
        /// The question's.
        wanted: u32,
        /// The settings'.
        limit: u32,
    },
    /// The schema is not a JSON object.
    #[error("the question's schema is not an object")]
    Schema,
}

impl BadQuestion {
    /// Returns what to do about it.
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Empty => "put the chunk into a user block",
            Self::EmptyBlock => "leave empty blocks out of the prompt",
            Self::CachePoints { .. } => "mark at most four blocks for the cache",
            Self::MaxTokens { .. } => "lower max_tokens or raise the model's setting",
            Self::Schema => "give the answer's schema as a JSON object",
        }
    }

    /// Returns it as the refusal of a call that was not made.
    pub(crate) fn into_error(self) -> ModelError {
        ModelError::Rejected {
            status: 0,
            kind: self.to_string(),
            hint: self.hint(),
        }
    }
}

/// Whether the model may use its tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it likes.
    Auto,
    /// Not any more: only its answer remains. The tools are named all the same.
    None,
}

/// What a tool answered to one use of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// The id of the use.
    pub id: String,
    /// The text for the model.
    pub text: String,
    /// Whether it says why there is no answer.
    pub is_error: bool,
}

/// A turn of the model's with what it was told after it.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// What it said: [`Reply::said`](super::Reply::said). An empty list is left out.
    pub said: Box<RawValue>,
    /// A result for each of its tool uses, in their order.
    pub results: Vec<ToolResult>,
    /// What it is told beside.
    pub text: Option<String>,
}

impl Exchange {
    /// Returns the bytes of everything that is sent of it.
    fn bytes(&self) -> usize {
        let results = self.results.iter().map(|result| {
            let text = result.text.len().saturating_add(result.id.len());
            text.saturating_add(RESULT_FRAME_BYTES)
        });
        let told = results.fold(
            self.text.as_ref().map_or(0, String::len),
            usize::saturating_add,
        );
        self.said.get().len().saturating_add(told)
    }

    fn is_silent(&self) -> bool {
        self.said
            .get()
            .trim_matches(['[', ']', ' ', '\n', '\t', '\r'])
            .is_empty()
    }
}

/// What stands around a result's text and id.
const RESULT_FRAME_BYTES: usize = 64;

/// One call of a conversation.
#[derive(Debug, Clone, Copy)]
pub struct TurnRequest<'a> {
    /// What the conversation is about.
    pub question: &'a Question,
    /// The tools, always the same.
    pub tools: &'a [ToolSpec],
    /// The turns so far.
    pub exchanges: &'a [Exchange],
    /// Whether the tools may be used.
    pub choice: ToolChoice,
}

impl<'a> TurnRequest<'a> {
    /// Returns a question without tools.
    pub const fn once(question: &'a Question) -> Self {
        Self {
            question,
            tools: &[],
            exchanges: &[],
            choice: ToolChoice::None,
        }
    }

    /// Returns the bytes of everything that is sent as text: the most tokens it can have, but for what
    /// the provider adds.
    pub fn bytes(&self) -> u64 {
        let said = self.exchanges.iter().map(Exchange::bytes);
        let said = said.fold(0, usize::saturating_add);
        let tools = self.tools.iter().map(ToolSpec::bytes);
        tools
            .fold(self.question.bytes(), u64::saturating_add)
            .saturating_add(u64::try_from(said).unwrap_or(u64::MAX))
    }

    /// Returns which exchanges end with a cache point.
    fn marked(&self) -> impl Fn(usize) -> bool {
        let own = blocks(self.question).filter(|block| block.cache).count();
        let free = MAX_CACHE_POINTS.saturating_sub(own);
        let count = self.exchanges.len();
        // Nothing is read after the last call, so nothing is written for it.
        let newest = (self.choice == ToolChoice::Auto).then(|| count.checked_sub(1));
        let points: Vec<usize> = [newest.flatten(), count.checked_sub(2)]
            .into_iter()
            .flatten()
            .take(free)
            .collect();
        move |at| points.contains(&at)
    }
}

fn blocks(question: &Question) -> impl Iterator<Item = &Block> {
    question.system.iter().chain(&question.user)
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    anthropic_version: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolSpecBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Kind>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<UserBlock<'a>>,
    messages: Vec<Turn<'a>>,
    output_config: OutputConfig<'a>,
}

#[derive(Serialize)]
struct ToolSpecBody<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a serde_json::Value,
}

#[derive(Serialize)]
#[serde(tag = "role", content = "content", rename_all = "lowercase")]
enum Turn<'a> {
    User(Vec<UserBlock<'a>>),
    Assistant(&'a RawValue),
}

#[derive(Serialize)]
struct UserBlock<'a> {
    #[serde(flatten)]
    says: Says<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Kind>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Says<'a> {
    Text {
        text: &'a str,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

/// An object that has nothing but its type.
#[derive(Clone, Copy, Serialize)]
struct Kind {
    r#type: &'static str,
}

const EPHEMERAL: Kind = Kind {
    r#type: "ephemeral",
};

#[derive(Serialize)]
struct OutputConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    format: Format<'a>,
}

#[derive(Serialize)]
struct Format<'a> {
    r#type: &'static str,
    schema: &'a serde_json::Value,
}

/// Writes the body of one request; `limit` is the largest `max_tokens` a question may have.
///
/// See <https://platform.claude.com/docs/en/api/messages>.
pub fn request_body(
    request: &TurnRequest<'_>,
    model: ModelName<'_>,
    effort: Option<Effort>,
    limit: u32,
) -> Result<Vec<u8>, BadQuestion> {
    let question = request.question;
    check(question, limit)?;
    let (model, anthropic_version) = match model {
        ModelName::InBody(name) => (Some(name), None),
        ModelName::InUrl => (None, Some(BEDROCK_VERSION)),
    };
    let tools: Vec<ToolSpecBody<'_>> = request
        .tools
        .iter()
        .map(|tool| ToolSpecBody {
            name: tool.name,
            description: tool.description,
            input_schema: &tool.input_schema,
        })
        .collect();
    let choice = Kind {
        r#type: match request.choice {
            ToolChoice::Auto => "auto",
            ToolChoice::None => "none",
        },
    };
    let body = Body {
        anthropic_version,
        model,
        max_tokens: question.max_tokens,
        tool_choice: (!tools.is_empty()).then_some(choice),
        tools,
        system: texts(&question.system),
        messages: messages(request),
        output_config: OutputConfig {
            effort: effort.map(Effort::as_str),
            format: Format {
                r#type: "json_schema",
                schema: &question.schema,
            },
        },
    };
    // Strings, numbers and JSON values: there is nothing here that JSON cannot say.
    serde_json::to_vec(&body).map_err(|_never| BadQuestion::Schema)
}

/// Returns the question and the turns so far. What the model is told after a silent turn joins what it
/// was told before.
fn messages<'a>(request: &TurnRequest<'a>) -> Vec<Turn<'a>> {
    let marked = request.marked();
    let mut messages = Vec::new();
    let mut told = texts(&request.question.user);
    for (at, exchange) in request.exchanges.iter().enumerate() {
        if !exchange.is_silent() {
            if !told.is_empty() {
                messages.push(Turn::User(std::mem::take(&mut told)));
            }
            messages.push(Turn::Assistant(&exchange.said));
        }
        told.extend(exchange.results.iter().map(|result| UserBlock {
            says: Says::ToolResult {
                tool_use_id: &result.id,
                content: &result.text,
                is_error: result.is_error,
            },
            cache_control: None,
        }));
        told.extend(exchange.text.as_deref().map(|text| UserBlock {
            says: Says::Text { text },
            cache_control: None,
        }));
        if let Some(newest) = told.last_mut().filter(|_| marked(at)) {
            newest.cache_control = Some(EPHEMERAL);
        }
    }
    if !told.is_empty() {
        messages.push(Turn::User(told));
    }
    messages
}

fn check(question: &Question, limit: u32) -> Result<(), BadQuestion> {
    if question.user.is_empty() {
        return Err(BadQuestion::Empty);
    }
    // The API counts white space alone as empty too.
    if blocks(question).any(|block| block.text.trim().is_empty()) {
        return Err(BadQuestion::EmptyBlock);
    }
    let count = blocks(question).filter(|block| block.cache).count();
    if count > MAX_CACHE_POINTS {
        return Err(BadQuestion::CachePoints { count });
    }
    if question.max_tokens == 0 || question.max_tokens > limit {
        return Err(BadQuestion::MaxTokens {
            wanted: question.max_tokens,
            limit,
        });
    }
    if !question.schema.is_object() {
        return Err(BadQuestion::Schema);
    }
    Ok(())
}

fn texts(blocks: &[Block]) -> Vec<UserBlock<'_>> {
    blocks
        .iter()
        .map(|block| UserBlock {
            says: Says::Text { text: &block.text },
            cache_control: block.cache.then_some(EPHEMERAL),
        })
        .collect()
}
