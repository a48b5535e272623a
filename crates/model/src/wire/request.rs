//! From a question to the bytes of a request.
//!
//! **Invariant:** the same question gives the same bytes, because the provider's cache compares
//! them; and the body has no field beyond those here.

use mirilla_ports::model::{Block, Question};
use serde::Serialize;

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
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    anthropic_version: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<TextBlock<'a>>,
    messages: [Turn<'a>; 1],
    output_config: OutputConfig<'a>,
}

#[derive(Serialize)]
struct Turn<'a> {
    role: &'static str,
    content: Vec<TextBlock<'a>>,
}

#[derive(Serialize)]
struct TextBlock<'a> {
    r#type: &'static str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct CacheControl {
    r#type: &'static str,
}

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
    question: &Question,
    model: ModelName<'_>,
    effort: Option<Effort>,
    limit: u32,
) -> Result<Vec<u8>, BadQuestion> {
    check(question, limit)?;
    let (model, anthropic_version) = match model {
        ModelName::InBody(name) => (Some(name), None),
        ModelName::InUrl => (None, Some(BEDROCK_VERSION)),
    };
    let body = Body {
        anthropic_version,
        model,
        max_tokens: question.max_tokens,
        system: texts(&question.system),
        messages: [Turn {
            role: "user",
            content: texts(&question.user),
        }],
        output_config: OutputConfig {
            effort: effort.map(Effort::as_str),
            format: Format {
                r#type: "json_schema",
                schema: &question.schema,
            },
        },
    };
    // Strings, numbers and a JSON value: there is nothing here that JSON cannot say.
    serde_json::to_vec(&body).map_err(|_never| BadQuestion::Schema)
}

fn check(question: &Question, limit: u32) -> Result<(), BadQuestion> {
    let blocks = || question.system.iter().chain(&question.user);
    if question.user.is_empty() {
        return Err(BadQuestion::Empty);
    }
    // The API counts white space alone as empty too.
    if blocks().any(|block| block.text.trim().is_empty()) {
        return Err(BadQuestion::EmptyBlock);
    }
    let count = blocks().filter(|block| block.cache).count();
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

fn texts(blocks: &[Block]) -> Vec<TextBlock<'_>> {
    blocks
        .iter()
        .map(|block| TextBlock {
            r#type: "text",
            text: &block.text,
            cache_control: block.cache.then_some(CacheControl {
                r#type: "ephemeral",
            }),
        })
        .collect()
}
