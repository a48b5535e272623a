//! The models of the simulated provider: what they accept, how much they hold, what they cost.
//!
//! Kept apart from the product's own tables on purpose, so that a slip there shows here. Read in
//! November 2026 from the provider's model, pricing and caching pages.

use serde_json::{Value, json};

/// Prices in 10⁻¹² dollars per token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Prices {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) write_5m: u64,
    pub(crate) write_1h: u64,
    pub(crate) read: u64,
}

/// Returns prices from thousandths of a dollar per million tokens; writes cost 1.25 and 2 times the
/// input.
const fn prices(input: u64, output: u64, read: u64) -> Prices {
    Prices {
        input: input * 1_000,
        output: output * 1_000,
        write_5m: input * 1_250,
        write_1h: input * 2_000,
        read: read * 1_000,
    }
}

/// Which `thinking` settings a model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thinking {
    /// Thinks always; neither `enabled` nor `disabled` is accepted.
    Adaptive,
    /// The same, and `between_tools` switches thinking before the first tool off.
    AdaptiveOrBetweenTools,
    /// Thinks by itself unless `disabled`.
    CanBeDisabled,
    /// Thinks only when `enabled` with a budget.
    Budget,
}

/// One model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ModelFacts {
    pub(crate) id: &'static str,
    pub(crate) window: u64,
    pub(crate) max_output: u64,
    /// Shortest prefix that is cached. For the 5.5 family no figure is published; 1,024 is assumed.
    pub(crate) min_cache: u64,
    pub(crate) thinking: Thinking,
    pub(crate) effort: bool,
    /// Whether non-default sampling parameters are accepted under the older API version.
    pub(crate) sampling: bool,
    /// Whether the last message may be the assistant's.
    pub(crate) prefill: bool,
    /// Whether a tool may be forced.
    pub(crate) forced_tool: bool,
    /// Whether a prompt that leaves no room for `max_tokens` is accepted.
    pub(crate) overflow: bool,
    pub(crate) prices: Prices,
    /// From how many prompt tokens on other prices hold for the whole request.
    pub(crate) long: Option<(u64, Prices)>,
}

const fn modern(id: &'static str, min_cache: u64, prices: Prices) -> ModelFacts {
    ModelFacts {
        id,
        window: 1_000_000,
        max_output: 128_000,
        min_cache,
        thinking: Thinking::CanBeDisabled,
        effort: true,
        sampling: false,
        prefill: false,
        forced_tool: true,
        overflow: true,
        prices,
        long: None,
    }
}

/// The 5.5 generation and what follows it: always thinking, no forced tool.
const fn newest(id: &'static str, min_cache: u64, prices: Prices) -> ModelFacts {
    ModelFacts {
        thinking: Thinking::Adaptive,
        forced_tool: false,
        ..modern(id, min_cache, prices)
    }
}

const fn older(id: &'static str, min_cache: u64, prices: Prices) -> ModelFacts {
    ModelFacts {
        sampling: true,
        ..modern(id, min_cache, prices)
    }
}

const fn haiku_4_5(id: &'static str) -> ModelFacts {
    ModelFacts {
        window: 200_000,
        max_output: 64_000,
        thinking: Thinking::Budget,
        effort: false,
        prefill: true,
        overflow: false,
        ..older(id, 4_096, prices(1_000, 5_000, 100))
    }
}

const MODELS: &[ModelFacts] = &[
    newest("claude-opus-5-5", 1_024, prices(4_000, 20_000, 200)),
    modern("claude-opus-5", 512, prices(5_000, 25_000, 500)),
    ModelFacts {
        thinking: Thinking::AdaptiveOrBetweenTools,
        ..newest("claude-sonnet-5-5", 1_024, prices(2_000, 10_000, 100))
    },
    modern("claude-sonnet-5", 1_024, prices(2_000, 10_000, 200)),
    ModelFacts {
        long: Some((100_000, prices(500, 2_500, 50))),
        ..newest("claude-haiku-5-5", 1_024, prices(100, 500, 10))
    },
    newest("claude-fable-5-1", 1_024, prices(10_000, 50_000, 250)),
    newest("claude-fable-5", 512, prices(10_000, 50_000, 1_000)),
    modern("claude-opus-4-8", 1_024, prices(5_000, 25_000, 500)),
    modern("claude-opus-4-7", 2_048, prices(5_000, 25_000, 500)),
    older("claude-opus-4-6", 4_096, prices(5_000, 25_000, 500)),
    ModelFacts {
        window: 200_000,
        thinking: Thinking::Budget,
        prefill: true,
        overflow: false,
        ..older("claude-opus-4-5", 4_096, prices(5_000, 25_000, 500))
    },
    older("claude-sonnet-4-6", 2_048, prices(3_000, 15_000, 300)),
    haiku_4_5("claude-haiku-4-5"),
    haiku_4_5("claude-haiku-4-5-20251001"),
];

/// Returns the model of that id.
pub(crate) fn find(id: &str) -> Option<&'static ModelFacts> {
    MODELS.iter().find(|model| model.id == id)
}

/// Returns the answer to `GET /v1/models`.
pub(crate) fn list() -> Value {
    let data: Vec<Value> = MODELS.iter().map(ModelFacts::described).collect();
    let id = |model: Option<&ModelFacts>| model.map(|m| m.id);
    json!({
        "data": data, "has_more": false,
        "first_id": id(MODELS.first()), "last_id": id(MODELS.last()),
    })
}

impl ModelFacts {
    /// Returns the prices for a prompt of so many tokens.
    pub(crate) fn prices_for(&self, prompt_tokens: u64) -> Prices {
        match self.long {
            Some((from, prices)) if prompt_tokens > from => prices,
            _ => self.prices,
        }
    }

    /// Returns whether a message's content begins with a thinking block.
    pub(crate) fn thinks_unasked(&self) -> bool {
        self.thinking != Thinking::Budget
    }

    /// Returns the model as `GET /v1/models/{id}` has it.
    pub(crate) fn described(&self) -> Value {
        let supported = |yes: bool| json!({ "supported": yes });
        let kind = self.thinking;
        let budget = kind == Thinking::Budget;
        let effort = supported(self.effort);
        json!({
            "type": "model", "id": self.id, "display_name": self.id,
            "created_at": "2026-01-01T00:00:00Z",
            "max_input_tokens": self.window, "max_tokens": self.max_output,
            "lifecycle": "active", "retires_at": null,
            "capabilities": {
                "batch": supported(true),
                "structured_outputs": supported(true),
                "effort": {
                    "supported": self.effort,
                    "low": effort, "medium": effort, "high": effort, "xhigh": effort, "max": effort,
                },
                "thinking": {"supported": true, "types": {
                    "adaptive": supported(!budget),
                    "between_tools": supported(kind == Thinking::AdaptiveOrBetweenTools),
                    "disabled": supported(budget || kind == Thinking::CanBeDisabled),
                    "enabled": supported(budget),
                }},
            },
        })
    }
}
