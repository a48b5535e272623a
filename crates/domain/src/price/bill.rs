//! Prices a recorded usage, whichever way its provider counts cached tokens.
//!
//! Two conventions are in use: cached tokens *beside* `input_tokens` (Anthropic, Bedrock), and cached
//! tokens *inside* `prompt_tokens` (the form of `OpenAI` that proxies speak). Thinking is part of the output in
//! both.

use serde::Serialize;
use serde_json::Value;

use crate::money::{PicoUsd, Usage};
use crate::price::{PriceTable, UnknownModel};

/// Bytes per token at the dense end of what is seen in practice: an estimate on the upper side.
const DENSE_BYTES_PER_TOKEN: u64 = 2;

/// A priced usage document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Bill {
    /// The model.
    pub model: String,
    /// One line per call, in the order of the document.
    pub calls: Vec<BillLine>,
    /// The exact sum in dollars.
    pub usd: String,
    /// The sum in micro-dollars, rounded up once.
    pub micro_usd: u64,
    /// Whether part of it is an estimate.
    pub estimated: bool,
}

/// One call of a bill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BillLine {
    /// The call's name in the document, or its number.
    pub id: String,
    /// What it used.
    pub usage: Usage,
    /// Its exact cost in dollars.
    pub usd: String,
}

/// Why a usage document cannot be priced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BillError {
    /// The model has no price.
    #[error(transparent)]
    Model(#[from] UnknownModel),
    /// Neither an object nor a list of objects.
    #[error(
        "a usage document is an object or a list of objects with token counts; call {0} is neither"
    )]
    Shape(usize),
}

/// Prices a usage document: one call's usage, or a list of calls.
///
/// A call may hold its counts itself or under `usage`; a call without counts costs nothing if nothing says
/// that it was answered (no `text_bytes`), and is estimated from its bytes otherwise.
pub fn bill(document: &Value, table: &PriceTable, model: &str) -> Result<Bill, BillError> {
    let calls: Vec<&Value> = match document {
        Value::Array(calls) => calls.iter().collect(),
        one => vec![one],
    };
    let mut lines = Vec::with_capacity(calls.len());
    let mut sum = PicoUsd::ZERO;
    for (number, call) in (1_usize..).zip(calls) {
        if !call.is_object() {
            return Err(BillError::Shape(number));
        }
        let used = of_call(call);
        let cost = table.cost(model, &used)?;
        sum = sum.plus(cost);
        let id = match call.get("id").or_else(|| call.get("n")) {
            Some(Value::String(id)) => id.clone(),
            Some(Value::Number(id)) => id.to_string(),
            _ => number.to_string(),
        };
        lines.push(BillLine {
            id,
            usage: used,
            usd: cost.exact(),
        });
    }
    Ok(Bill {
        model: model.to_owned(),
        estimated: lines.iter().any(|line| line.usage.estimated),
        calls: lines,
        usd: sum.exact(),
        micro_usd: sum.micro_rounded_up(),
    })
}

fn of_call(call: &Value) -> Usage {
    let counts = call.get("usage").unwrap_or(call);
    let bytes = |key: &str| call.get(key).and_then(Value::as_u64);
    match (bytes("prompt_bytes"), bytes("text_bytes")) {
        (Some(prompt), Some(text)) => estimated_usage(&usage(counts), prompt, text),
        _ => usage(counts),
    }
}

/// Reads a provider's usage object; what is missing counts as zero.
pub fn usage(counts: &Value) -> Usage {
    let count = |keys: &[&str]| -> u64 {
        let mut value = counts;
        for key in keys {
            match value.get(key) {
                Some(inner) => value = inner,
                None => return 0,
            }
        }
        value.as_u64().unwrap_or(0)
    };
    // Cached inside the prompt's count: take it out first.
    let inside = count(&["cached_tokens"]).max(count(&["prompt_tokens_details", "cached_tokens"]));
    let prompt = count(&["prompt_tokens"]);
    let write_1h = count(&["cache_creation", "ephemeral_1h_input_tokens"]);
    let written = count(&["cache_creation_input_tokens"])
        .max(write_1h.saturating_add(count(&["cache_creation", "ephemeral_5m_input_tokens"])));
    Usage {
        input_tokens: count(&["input_tokens"]).saturating_add(prompt.saturating_sub(inside)),
        // Reasoning and thinking are listed beside the total and are part of it.
        output_tokens: count(&["output_tokens"]).max(count(&["completion_tokens"])),
        cache_read_tokens: count(&["cache_read_input_tokens"]).saturating_add(inside.min(prompt)),
        cache_write_5m_tokens: written.saturating_sub(write_1h),
        cache_write_1h_tokens: write_1h,
        estimated: false,
    }
}

/// Completes a usage that a provider reported in part or not at all, from the bytes that went and came.
///
/// A count of zero for a text that is not empty was not counted; it is estimated at two bytes per token,
/// the dense end of what is seen, and the result says so.
pub fn estimated_usage(reported: &Usage, prompt_bytes: u64, text_bytes: u64) -> Usage {
    let mut used = *reported;
    if used.total_input() == 0 && prompt_bytes > 0 {
        used.input_tokens = prompt_bytes.div_ceil(DENSE_BYTES_PER_TOKEN);
        used.estimated = true;
    }
    if used.output_tokens == 0 && text_bytes > 0 {
        used.output_tokens = text_bytes.div_ceil(DENSE_BYTES_PER_TOKEN);
        used.estimated = true;
    }
    used
}
