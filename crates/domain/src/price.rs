//! What tokens cost, exactly, and what a call can cost at worst.
//!
//! Prices are whole units of 10⁻¹² dollars per token, so that a cost is a sum of products of whole
//! numbers: no rounding until an amount is booked.
//!
//! **Invariant:** a model without a price is an error with the list of those that have one, never free;
//! and no call costs more than its [`PriceTable::worst_case`] if its tokens stay within the bounds
//! given.

mod bill;
mod read;

use std::collections::BTreeMap;

use crate::chunk::token_bound;
use crate::money::{PicoUsd, Usage};
use crate::prompt::SYSTEM;
use crate::rules::MAX_RULES_BYTES;
use crate::settings::Policy;

pub use bill::{Bill, BillError, BillLine, bill, estimated_usage, usage};
pub use read::PriceError;

/// The table that ships with this version.
const SHIPPED: &str = include_str!("../../../infra/prices.toml");
/// Tokens a provider adds to what we send: the grammar of the answer's schema, and tool definitions.
pub const REQUEST_OVERHEAD_TOKENS: u64 = 2_048;
/// A review that cannot ask this often at the worst price is not worth starting.
pub const MIN_CALLS_PER_REVIEW: u64 = 3;

/// Prices of models.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PriceTable {
    /// The day the figures were taken, if the file says so.
    pub as_of: Option<String>,
    models: BTreeMap<String, Prices>,
}

/// What one model's tokens cost.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Prices {
    base: Rates,
    /// Ascending by bound.
    tiers: Vec<(u64, Rates)>,
}

/// Prices per token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// An input token that is neither read from nor written to the cache.
    pub input: PicoUsd,
    /// An output token, thinking included.
    pub output: PicoUsd,
    /// An input token written to the cache for five minutes.
    pub cache_write_5m: PicoUsd,
    /// An input token written to the cache for an hour.
    pub cache_write_1h: PicoUsd,
    /// An input token read from the cache.
    pub cache_read: PicoUsd,
}

impl Rates {
    /// Returns the exact cost of a usage.
    pub fn cost(&self, usage: &Usage) -> PicoUsd {
        [
            self.input.times(usage.input_tokens),
            self.output.times(usage.output_tokens),
            self.cache_read.times(usage.cache_read_tokens),
            self.cache_write_5m.times(usage.cache_write_5m_tokens),
            self.cache_write_1h.times(usage.cache_write_1h_tokens),
        ]
        .into_iter()
        .fold(PicoUsd::ZERO, PicoUsd::plus)
    }

    /// The dearest an input token can be: read, or written for five minutes. The cache of an hour is never
    /// asked for.
    fn dearest_input(&self) -> PicoUsd {
        self.input.max(self.cache_write_5m).max(self.cache_read)
    }
}

impl Prices {
    /// Returns the rates of a request: those of the last tier whose bound its input is above.
    fn rates(&self, input_tokens: u64) -> &Rates {
        self.tiers
            .iter()
            .rfind(|(above, _)| input_tokens > *above)
            .map_or(&self.base, |(_, rates)| rates)
    }
}

/// A model that has no price.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the model `{model}` has no price; known are {}", known.join(", "))]
pub struct UnknownModel {
    /// The model asked for.
    pub model: String,
    /// The models that have one.
    pub known: Vec<String>,
}

/// A cap that pays for too few calls.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a cap of {cap} per review is below {MIN_CALLS_PER_REVIEW} calls at the worst price of {call} each; \
     set it to {least} or more, or lower max-tokens or chunk-tokens"
)]
pub struct CapTooLow {
    /// The cap.
    pub cap: PicoUsd,
    /// What one call can cost.
    pub call: PicoUsd,
    /// The least cap that will do.
    pub least: PicoUsd,
}

/// Why a policy cannot be paid for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BudgetError {
    /// The model has no price.
    #[error(transparent)]
    Model(#[from] UnknownModel),
    /// The cap is too low.
    #[error(transparent)]
    Cap(#[from] CapTooLow),
}

impl PriceTable {
    /// Returns the table that ships.
    pub fn shipped() -> Self {
        // A test reads the file; if it were broken every model would be unknown, which stops the start.
        Self::parse(SHIPPED).unwrap_or_default()
    }

    /// Reads a price file: TOML as in `infra/prices.toml`, or JSON of one model as
    /// `{"model": "…", "usd_per_mtok": {"input": "3.00", …}}`.
    pub fn parse(text: &str) -> Result<Self, PriceError> {
        read::table(text)
    }

    /// Returns this table with the entries of `other` added or put in place.
    pub fn overridden(mut self, other: Self) -> Self {
        self.as_of = other.as_of.or(self.as_of);
        self.models.extend(other.models);
        self
    }

    /// Lists the models that have a price.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        self.models.keys().map(String::as_str)
    }

    /// Returns what a request with this much input costs per token.
    pub fn rates(&self, model: &str, input_tokens: u64) -> Result<&Rates, UnknownModel> {
        Ok(self.find(model)?.rates(input_tokens))
    }

    /// Returns the exact cost of one request.
    pub fn cost(&self, model: &str, usage: &Usage) -> Result<PicoUsd, UnknownModel> {
        Ok(self.rates(model, usage.total_input())?.cost(usage))
    }

    /// Returns the most that one request can cost: all input at its dearest price, all output that is
    /// allowed, in the dearest tier it can fall into.
    pub fn worst_case(
        &self,
        model: &str,
        input_token_bound: u64,
        max_tokens: u32,
    ) -> Result<PicoUsd, UnknownModel> {
        let prices = self.find(model)?;
        let reached = prices
            .tiers
            .iter()
            .filter(|(above, _)| input_token_bound > *above);
        let worst = reached
            .map(|(_, rates)| rates)
            .chain([&prices.base])
            .map(|rates| {
                let input = rates.dearest_input().times(input_token_bound);
                input.plus(rates.output.times(u64::from(max_tokens)))
            })
            .max();
        Ok(worst.unwrap_or(PicoUsd::ZERO))
    }

    /// Returns the most that a call about a full chunk can cost, by the policy's own sizes.
    ///
    /// A chunk's size is an estimate of tokens; the reservation of a real call counts its bytes.
    pub fn typical_call(&self, policy: &Policy) -> Result<PicoUsd, UnknownModel> {
        let fixed = SYSTEM.len().saturating_add(MAX_RULES_BYTES.div_ceil(4));
        let input = token_bound(u64::try_from(fixed).unwrap_or(u64::MAX))
            .saturating_add(u64::from(policy.chunk_tokens))
            .saturating_add(REQUEST_OVERHEAD_TOKENS);
        self.worst_case(&policy.model, input, policy.max_tokens)
    }

    /// Checks that a policy's model has a price and that its cap pays for at least
    /// [`MIN_CALLS_PER_REVIEW`] calls.
    pub fn check(&self, policy: &Policy) -> Result<(), BudgetError> {
        let call = self.typical_call(policy)?;
        let least = call.times(MIN_CALLS_PER_REVIEW);
        if policy.max_usd < least {
            return Err(CapTooLow {
                cap: policy.max_usd,
                call,
                least,
            }
            .into());
        }
        Ok(())
    }

    fn find(&self, model: &str) -> Result<&Prices, UnknownModel> {
        self.models
            .get(model)
            .or_else(|| self.models.get(plain_name(model)))
            .ok_or_else(|| UnknownModel {
                model: model.to_owned(),
                known: self.models.keys().cloned().collect(),
            })
    }
}

/// Returns how many calls at `worst` fit into what is left of a purse.
pub fn calls_affordable(left: PicoUsd, worst: PicoUsd) -> u64 {
    left.get().checked_div(worst.get()).unwrap_or(u64::MAX)
}

/// Returns a Bedrock model id, or an ARN that ends in one, as the plain name that prices are listed under.
pub fn plain_name(model: &str) -> &str {
    let model = model.rsplit_once('/').map_or(model, |(_, id)| id);
    let name = ["us.", "eu.", "apac.", "au.", "ca.", "jp.", "global."]
        .iter()
        .find_map(|region| model.strip_prefix(region))
        .unwrap_or(model);
    let name = name.strip_prefix("anthropic.").unwrap_or(name);
    let is_digits = |text: &str, most: usize| {
        (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let name = match name.rsplit_once("-v") {
        Some((before, version)) if version.split(':').all(|part| is_digits(part, 2)) => before,
        _ => name,
    };
    match name.rsplit_once('-') {
        Some((before, date)) if date.len() == 8 && is_digits(date, 8) => before,
        _ => name,
    }
}
