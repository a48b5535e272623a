//! Reads price files.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, de};

use crate::money::PicoUsd;
use crate::price::{PriceTable, Prices, Rates};
use crate::settings::usd;

/// A price file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    /// Not the TOML of a price file.
    #[error("the price file is not valid TOML of the expected form")]
    Toml(#[source] toml::de::Error),
    /// Not the JSON of a price file.
    #[error("the price file is not valid JSON of the expected form")]
    Json(#[source] serde_json::Error),
    /// A model stands in the file twice.
    #[error("the model `{0}` stands in the price file twice")]
    Twice(String),
    /// The tiers of a model do not ascend.
    #[error("the tiers of the model `{0}` must ascend in `above-input-tokens`")]
    Tiers(String),
    /// A price of zero would make a model free.
    #[error("the model `{0}` must cost more than nothing for input and output")]
    Free(String),
    /// The file lists no model.
    #[error("the price file lists no model")]
    Empty,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    as_of: Option<String>,
    #[serde(default)]
    model: Vec<Model>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Model {
    id: String,
    input: PerMillion,
    output: PerMillion,
    cache_write_5m: PerMillion,
    cache_write_1h: PerMillion,
    cache_read: PerMillion,
    #[serde(default)]
    tier: Vec<Tier>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Tier {
    above_input_tokens: u64,
    input: PerMillion,
    output: PerMillion,
    cache_write_5m: PerMillion,
    cache_write_1h: PerMillion,
    cache_read: PerMillion,
}

/// One model's prices as JSON, with one price for writing to the cache.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonModel {
    model: String,
    usd_per_mtok: JsonRates,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonRates {
    input: PerMillion,
    output: PerMillion,
    cache_write: PerMillion,
    cache_write_1h: Option<PerMillion>,
    cache_read: PerMillion,
}

/// A price per million tokens, kept per token.
#[derive(Clone, Copy)]
struct PerMillion(PicoUsd);

impl<'de> Deserialize<'de> for PerMillion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let per_million = usd::deserialize(deserializer)?.get();
        let (per_token, rest) = (
            per_million.checked_div(1_000_000),
            per_million.checked_rem(1_000_000),
        );
        match (per_token, rest) {
            (Some(per_token), Some(0)) => Ok(Self(PicoUsd::new(per_token))),
            _ => Err(de::Error::custom(
                "a price per million tokens has at most 6 decimals",
            )),
        }
    }
}

pub(super) fn table(text: &str) -> Result<PriceTable, PriceError> {
    let bare = text.trim_start_matches('\u{feff}').trim_start();
    if bare.starts_with('{') {
        let one: JsonModel = serde_json::from_str(bare).map_err(PriceError::Json)?;
        let rates = one.usd_per_mtok;
        return build(
            None,
            vec![Model {
                id: one.model,
                input: rates.input,
                output: rates.output,
                cache_write_5m: rates.cache_write,
                cache_write_1h: rates.cache_write_1h.unwrap_or(rates.cache_write),
                cache_read: rates.cache_read,
                tier: Vec::new(),
            }],
        );
    }
    let file: File = toml::from_str(text).map_err(PriceError::Toml)?;
    build(file.as_of, file.model)
}

fn build(as_of: Option<String>, listed: Vec<Model>) -> Result<PriceTable, PriceError> {
    let mut models = BTreeMap::new();
    for model in listed {
        let base = Rates {
            input: model.input.0,
            output: model.output.0,
            cache_write_5m: model.cache_write_5m.0,
            cache_write_1h: model.cache_write_1h.0,
            cache_read: model.cache_read.0,
        };
        let tiers: Vec<(u64, Rates)> = model
            .tier
            .into_iter()
            .map(|tier| {
                let rates = Rates {
                    input: tier.input.0,
                    output: tier.output.0,
                    cache_write_5m: tier.cache_write_5m.0,
                    cache_write_1h: tier.cache_write_1h.0,
                    cache_read: tier.cache_read.0,
                };
                (tier.above_input_tokens, rates)
            })
            .collect();
        let is_free = |rates: &Rates| rates.input == PicoUsd::ZERO || rates.output == PicoUsd::ZERO;
        if is_free(&base) || tiers.iter().any(|(_, rates)| is_free(rates)) {
            return Err(PriceError::Free(model.id));
        }
        if !tiers.is_sorted_by(|(one, _), (other, _)| one < other) {
            return Err(PriceError::Tiers(model.id));
        }
        if models
            .insert(model.id.clone(), Prices { base, tiers })
            .is_some()
        {
            return Err(PriceError::Twice(model.id));
        }
    }
    if models.is_empty() {
        return Err(PriceError::Empty);
    }
    Ok(PriceTable { as_of, models })
}
