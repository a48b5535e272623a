//! What the operator decides, with the defaults that ship.

use serde::{Deserialize, Serialize};

use crate::money::{Caps, PicoUsd};
use crate::review::Severity;
use crate::settings::{Gate, OnInconclusive, PrDescription, usd};

/// The operator's settings: every one of them, valid by type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct OperatorPolicy {
    /// The model, as priced. Default `claude-sonnet-5-5`.
    pub model: String,
    /// The most tokens one answer may have, thinking included. Default 4,000.
    pub max_tokens: u32,
    /// Estimated tokens of changed code per question. Default 8,000.
    pub chunk_tokens: u32,
    /// The most calls about one chunk, the one that answers included; the others look things up in the
    /// repository. One, or none, leaves the model with the diff. Default 8, at most 32.
    #[serde(deserialize_with = "max_turns")]
    pub max_turns: u32,
    /// The most one review may cost. Default 1.00.
    #[serde(with = "usd")]
    pub max_usd: PicoUsd,
    /// The most one repository may cost on one UTC day. Default 10.
    #[serde(with = "usd")]
    pub repository_day_usd: PicoUsd,
    /// The most one account may cost in one UTC month. Default 100.
    #[serde(with = "usd")]
    pub account_month_usd: PicoUsd,
    /// What outsiders share of a repository's day and an account's month, in percent: authors without
    /// write access and without an earlier merged contribution. Past it they get the fixed checks. 100 makes no difference between authors. Default 20.
    #[serde(deserialize_with = "percent")]
    pub outsider_percent: u8,
    /// Files of any repository that are not sent to the model, in gitignore notation. Default none.
    pub ignore: Vec<String>,
    /// Findings below it are not posted. Default low.
    pub min_severity: Severity,
    /// Findings below it are not posted; percent. Default 60.
    #[serde(deserialize_with = "percent")]
    pub min_confidence: u8,
    /// The most comments on lines per review. Default 20.
    pub max_comments: u32,
    /// What the model sees of title and description. Default `after`.
    pub pr_description: PrDescription,
    /// Whether a last call looks at the candidate findings once more. Default true.
    pub verify: bool,
    /// When the check fails. Default `off`: there is no check.
    pub gate: Gate,
    /// What the check says about what was not read. Default `block`.
    pub on_inconclusive: OnInconclusive,
    /// The language of findings; `None` leaves it to the model, which writes English.
    pub language: Option<String>,
    /// Hosts that posted links may lead to. Default none.
    pub link_hosts: Vec<String>,
    /// Base branches whose own settings and rules count. Default none: the default branch alone.
    pub trusted_bases: Vec<String>,
    /// Whether authors may dismiss findings on their own pull requests. Default false.
    pub self_dismiss: bool,
}

/// The largest `max-turns`: each turn sends all turns before it again.
const MOST_TURNS: u32 = 32;

fn max_turns<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let turns = u32::deserialize(deserializer)?;
    if turns > MOST_TURNS {
        return Err(serde::de::Error::custom(format_args!(
            "max-turns is {turns}; it is between 0 and {MOST_TURNS}"
        )));
    }
    Ok(turns)
}

fn percent<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    let percent = u32::deserialize(deserializer)?;
    match u8::try_from(percent) {
        Ok(percent) if percent <= 100 => Ok(percent),
        _ => Err(serde::de::Error::custom(format_args!(
            "{percent} percent; it is between 0 and 100"
        ))),
    }
}

impl OperatorPolicy {
    /// Returns what reviews may cost.
    pub const fn caps(&self) -> Caps {
        Caps {
            review: self.max_usd,
            repository_day: self.repository_day_usd,
            account_month: self.account_month_usd,
            outsider_percent: self.outsider_percent,
        }
    }
}

impl Default for OperatorPolicy {
    fn default() -> Self {
        Self {
            model: "claude-sonnet-5-5".to_owned(),
            max_tokens: 4_000,
            chunk_tokens: 8_000,
            max_turns: 8,
            max_usd: PicoUsd::from_micro(1_000_000),
            repository_day_usd: PicoUsd::from_micro(10_000_000),
            account_month_usd: PicoUsd::from_micro(100_000_000),
            outsider_percent: 20,
            ignore: Vec::new(),
            min_severity: Severity::Low,
            min_confidence: 60,
            max_comments: 20,
            pr_description: PrDescription::After,
            verify: true,
            gate: Gate::Off,
            on_inconclusive: OnInconclusive::Block,
            language: None,
            link_hosts: Vec::new(),
            trusted_bases: Vec::new(),
            self_dismiss: false,
        }
    }
}
