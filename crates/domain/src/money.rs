//! Money in 10⁻¹² dollars: exact sums, rounded once, never a float.
//!
//! **Invariant:** no arithmetic here can lose or invent money: additions saturate upwards and a
//! settled amount is never larger than what was reserved plus what the provider reported.

mod purse;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{AttemptNo, JobId, Timestamp};

pub use purse::{CappedPurse, Caps, Period, Purse};

/// An amount of US dollars in units of 10⁻¹² dollars; at most about 18.4 million dollars.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct PicoUsd(u64);

const PICO: u64 = 1_000_000_000_000;

impl PicoUsd {
    /// No money.
    pub const ZERO: Self = Self(0);

    /// Wraps a count of 10⁻¹² dollars.
    pub const fn new(pico: u64) -> Self {
        Self(pico)
    }

    /// Returns an amount of whole micro-dollars.
    pub const fn from_micro(micro: u64) -> Self {
        Self(micro.saturating_mul(1_000_000))
    }

    /// Returns the count of 10⁻¹² dollars.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the sum, saturating.
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns the difference, or zero.
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns the amount times a count, saturating.
    pub const fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }

    /// Returns micro-dollars, rounded up: what is booked and logged.
    pub const fn micro_rounded_up(self) -> u64 {
        self.0.div_ceil(1_000_000)
    }

    /// Returns how many whole percent of `cap` this is, rounded down; of nothing, everything is 100.
    pub fn percent_of(self, cap: Self) -> u64 {
        u128::from(self.0)
            .saturating_mul(100)
            .checked_div(u128::from(cap.0))
            .map_or(100, |percent| u64::try_from(percent).unwrap_or(u64::MAX))
    }

    /// Parses a plain decimal number of dollars such as `0.40`; at most 12 decimals.
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        if whole.is_empty()
            || part.len() > 12
            || !(whole.bytes().chain(part.bytes())).all(|b| b.is_ascii_digit())
        {
            return None;
        }
        let whole: u64 = whole.parse().ok()?;
        let part: u64 = format!("{part:0<12}").parse().ok()?;
        whole.checked_mul(PICO)?.checked_add(part).map(Self)
    }

    /// Returns the exact decimal number of dollars, without trailing zeros beyond two decimals.
    pub fn exact(self) -> String {
        let whole = self.0.checked_div(PICO).unwrap_or(0);
        let part = format!("{:012}", self.0.checked_rem(PICO).unwrap_or(0));
        let trimmed = part.trim_end_matches('0');
        format!("{whole}.{trimmed:0<2}")
    }
}

impl fmt::Display for PicoUsd {
    /// Writes dollars with four decimals, rounded up: `$0.0251`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths_of_milli = self.0.div_ceil(100_000_000);
        write!(
            f,
            "${}.{:04}",
            tenths_of_milli.checked_div(10_000).unwrap_or(0),
            tenths_of_milli.checked_rem(10_000).unwrap_or(0)
        )
    }
}

/// What a call to the model used, as the provider reported it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Usage {
    /// Input tokens that were neither read from nor written to the cache.
    pub input_tokens: u64,
    /// Output tokens, thinking included.
    pub output_tokens: u64,
    /// Input tokens read from the cache.
    pub cache_read_tokens: u64,
    /// Input tokens written to the cache for five minutes.
    pub cache_write_5m_tokens: u64,
    /// Input tokens written to the cache for an hour.
    pub cache_write_1h_tokens: u64,
    /// Whether the provider reported nothing and this is an upper estimate.
    pub estimated: bool,
}

impl Usage {
    /// Returns all input tokens, cached or not.
    pub const fn total_input(&self) -> u64 {
        self.input_tokens
            .saturating_add(self.cache_read_tokens)
            .saturating_add(self.cache_write_5m_tokens)
            .saturating_add(self.cache_write_1h_tokens)
    }

    /// Returns the sum of two usages.
    pub const fn plus(&self, other: &Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cache_read_tokens: self
                .cache_read_tokens
                .saturating_add(other.cache_read_tokens),
            cache_write_5m_tokens: self
                .cache_write_5m_tokens
                .saturating_add(other.cache_write_5m_tokens),
            cache_write_1h_tokens: self
                .cache_write_1h_tokens
                .saturating_add(other.cache_write_1h_tokens),
            estimated: self.estimated || other.estimated,
        }
    }
}

/// Money set aside before one call to the model, at the worst the call can cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    /// `{job}/{attempt}/{call}`: unique per call.
    pub id: String,
    /// The job.
    pub job: JobId,
    /// The try.
    pub attempt: AttemptNo,
    /// Which call of the try, from 1.
    pub call: u32,
    /// The worst case.
    pub amount: PicoUsd,
    /// The purses it is taken from.
    pub purses: Vec<CappedPurse>,
    /// When the sweeper may settle it: a worker that lives is done by then.
    pub expires_at: Timestamp,
}

/// How far a reserved call got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReservationState {
    /// Set aside; nothing was sent, so it can be given back.
    Held,
    /// Sent; if its answer is lost it is booked in full.
    Sent,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_parse_and_print_exactly() {
        for (text, printed) in [
            ("0.40", "0.40"),
            ("3", "3.00"),
            ("0.025161", "0.025161"),
            ("0.000000000001", "0.000000000001"),
        ] {
            assert_eq!(PicoUsd::parse(text).unwrap().exact(), printed);
        }
        for bad in ["", "-1", "1e3", "0.0000000000001", ".5", "1,0"] {
            assert_eq!(PicoUsd::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn percent_is_rounded_down_and_has_no_upper_end() {
        let cap = PicoUsd::from_micro(1_000);
        let percent = |micro| PicoUsd::from_micro(micro).percent_of(cap);
        assert_eq!((percent(0), percent(809), percent(1_500)), (0, 80, 150));
        assert_eq!(PicoUsd::ZERO.percent_of(PicoUsd::ZERO), 100);
        assert_eq!(PicoUsd::new(u64::MAX).percent_of(PicoUsd::new(1)), u64::MAX);
    }

    #[test]
    fn display_rounds_up_to_four_decimals() {
        assert_eq!(PicoUsd::parse("0.02505").unwrap().to_string(), "$0.0251");
        assert_eq!(PicoUsd::new(1).to_string(), "$0.0001");
        assert_eq!(PicoUsd::ZERO.to_string(), "$0.0000");
    }
}
