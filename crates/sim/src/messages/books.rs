//! What the provider's books say: every call with its usage and what it is charged.
//!
//! **Invariant:** the books do not depend on whether the answer arrived.

use std::sync::Arc;

use serde_json::{Value, json};

use super::cache::Split;
use super::models::ModelFacts;
use super::prompt::Prompt;

/// Tokens of one call, or of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModelUsage {
    /// Prompt tokens neither read from nor written to the cache.
    pub input: u64,
    /// Answer tokens, thinking included.
    pub output: u64,
    /// Prompt tokens read from the cache.
    pub cache_read: u64,
    /// Prompt tokens written to the cache for five minutes.
    pub cache_write_5m: u64,
    /// Prompt tokens written to the cache for an hour.
    pub cache_write_1h: u64,
}

impl ModelUsage {
    pub(super) fn new(split: Split, output: u64) -> Self {
        Self {
            input: split.uncached,
            output,
            cache_read: split.read,
            cache_write_5m: split.written_5m,
            cache_write_1h: split.written_1h,
        }
    }

    /// Returns all prompt tokens.
    pub fn prompt(&self) -> u64 {
        let written = self.cache_write_5m.saturating_add(self.cache_write_1h);
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(written)
    }

    fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write_5m: self.cache_write_5m.saturating_add(other.cache_write_5m),
            cache_write_1h: self.cache_write_1h.saturating_add(other.cache_write_1h),
        }
    }

    /// Returns the `usage` of an answer.
    pub(super) fn body(&self, thinking: u64) -> Value {
        json!({
            "input_tokens": self.input,
            "cache_creation_input_tokens": self.cache_write_5m.saturating_add(self.cache_write_1h),
            "cache_read_input_tokens": self.cache_read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.cache_write_5m,
                "ephemeral_1h_input_tokens": self.cache_write_1h,
            },
            "output_tokens": self.output,
            "output_tokens_details": {"thinking_tokens": thinking},
            "server_tool_use": null, "service_tier": "standard", "inference_geo": null,
            "speed": null,
        })
    }
}

/// One accepted request for an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCall {
    /// What was asked.
    pub prompt: Arc<Prompt>,
    /// Status of the scripted reply; 0 if the connection was dropped. A fault from the fault script
    /// can still replace it on its way.
    pub status: u16,
    /// Why the answer stopped, if there was one.
    pub stop: Option<String>,
    /// What is charged; `None` if nothing is.
    pub usage: Option<ModelUsage>,
    /// The charge in 10⁻¹² dollars.
    pub pico_usd: u64,
}

impl ModelCall {
    pub(super) fn new(prompt: Arc<Prompt>) -> Self {
        Self {
            prompt,
            status: 0,
            stop: None,
            usage: None,
            pico_usd: 0,
        }
    }

    pub(super) fn charge(&mut self, model: &ModelFacts, usage: ModelUsage) {
        let prices = model.prices_for(usage.prompt());
        let parts = [
            (usage.input, prices.input),
            (usage.output, prices.output),
            (usage.cache_read, prices.read),
            (usage.cache_write_5m, prices.write_5m),
            (usage.cache_write_1h, prices.write_1h),
        ];
        let cost = |(tokens, price): (u64, u64)| tokens.saturating_mul(price);
        self.pico_usd = parts.into_iter().map(cost).fold(0, u64::saturating_add);
        self.usage = Some(usage);
    }
}

/// What the provider would bill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Charged {
    /// How many calls are charged.
    pub calls: u64,
    /// Their tokens.
    pub usage: ModelUsage,
    /// Their price in 10⁻¹² dollars.
    pub pico_usd: u64,
}

impl Charged {
    pub(super) fn of(calls: &[ModelCall]) -> Self {
        let charged = calls
            .iter()
            .filter_map(|call| Some((call.usage?, call.pico_usd)));
        charged.fold(Self::default(), |sum, (usage, pico_usd)| Self {
            calls: sum.calls.saturating_add(1),
            usage: sum.usage.plus(usage),
            pico_usd: sum.pico_usd.saturating_add(pico_usd),
        })
    }
}
