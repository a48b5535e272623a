//! Tokens as o200k counts them.

use std::sync::LazyLock;

use mirilla_domain::money::Usage;
use mirilla_domain::price::PriceTable;
use mirilla_sim::ModelCall;
use serde_json::Value;
use tiktoken_rs::CoreBPE;

static O200K: LazyLock<Option<CoreBPE>> = LazyLock::new(|| tiktoken_rs::o200k_base().ok());

/// Longest piece that is counted at once: the encoder needs more than linear time for a line of megabytes.
const PIECE_CHARS: usize = 20_000;

/// Returns the tokens of a text.
pub(crate) fn count(text: &str) -> u64 {
    let Some(encoder) = O200K.as_ref() else {
        return 0;
    };
    let mut tokens = 0_usize;
    let mut piece = String::new();
    for line in text.split_inclusive('\n') {
        piece.push_str(line);
        if piece.len() > PIECE_CHARS {
            tokens = tokens.saturating_add(encoder.encode_ordinary(&piece).len());
            piece.clear();
        }
    }
    tokens = tokens.saturating_add(encoder.encode_ordinary(&piece).len());
    u64::try_from(tokens).unwrap_or(u64::MAX)
}

/// Returns the input tokens of a call, and what they weigh: a token that is read from the cache, or written
/// to it, counts as much as its price is of a plain one's.
pub(crate) fn of_call(call: &ModelCall, prices: &PriceTable) -> (u64, u64) {
    let body = &call.prompt.body;
    let mut all = 0_u64;
    let mut add = |text: &str| all = all.saturating_add(count(text));
    for part in ["/system", "/messages"] {
        texts(body.pointer(part).unwrap_or(&Value::Null), &mut add);
    }
    for part in ["/tools", "/output_config/format/schema"] {
        if let Some(json) = body.pointer(part) {
            add(&json.to_string());
        }
    }
    let Some(usage) = &call.usage else {
        return (all, all);
    };
    let split = Usage {
        input_tokens: usage.input,
        cache_read_tokens: usage.cache_read,
        cache_write_5m_tokens: usage.cache_write_5m,
        cache_write_1h_tokens: usage.cache_write_1h,
        ..Usage::default()
    };
    let plain = Usage {
        input_tokens: usage.prompt(),
        ..Usage::default()
    };
    let model = &call.prompt.model;
    let (Ok(paid), Ok(full)) = (prices.cost(model, &split), prices.cost(model, &plain)) else {
        return (all, all);
    };
    let weighted = u128::from(all).saturating_mul(u128::from(paid.get()));
    let weighted = weighted.checked_div(u128::from(full.get())).unwrap_or(0);
    (all, u64::try_from(weighted).unwrap_or(u64::MAX))
}

/// Passes every text that is sent: a block's own, or what a tool brought; calls of tools as JSON.
fn texts(value: &Value, add: &mut dyn FnMut(&str)) {
    match value {
        Value::Array(all) => all.iter().for_each(|one| texts(one, add)),
        Value::Object(fields) => {
            if let Some(input) = fields.get("input") {
                add(&input.to_string());
            }
            for name in ["text", "content"] {
                match fields.get(name) {
                    Some(Value::String(text)) => add(text),
                    Some(inner) => texts(inner, add),
                    None => {}
                }
            }
        }
        Value::String(text) => add(text),
        _ => {}
    }
}
