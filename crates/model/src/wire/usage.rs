//! What a call used, as reported, or an upper estimate where the report is missing.
//!
//! **Invariant:** a call that was answered never counts as free.

use mirilla_domain::chunk::token_bound;
use mirilla_domain::money::Usage;
use mirilla_domain::price::REQUEST_OVERHEAD_TOKENS;
use serde_json::Value;

/// What was asked, as far as an estimate needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// Bytes of the prompt, as [`Question::bytes`](mirilla_domain::prompt::Question::bytes) counts.
    pub prompt_bytes: u64,
    /// The answer's bound.
    pub max_tokens: u32,
}

impl Asked {
    /// Returns the most input tokens the request can have had: what is set aside for it.
    pub fn input_bound(&self) -> u64 {
        token_bound(self.prompt_bytes).saturating_add(REQUEST_OVERHEAD_TOKENS)
    }
}

/// Reads a `usage` object; what it leaves out or gives as zero where it cannot be zero is estimated
/// upwards and flagged, to what was set aside for the call. Output is then the question's bound, because thinking is charged and unseen.
pub fn read_usage(usage: Option<&Value>, asked: Asked, answered: bool) -> Usage {
    let count = |key: &str| usage.and_then(|u| u.get(key)).and_then(Value::as_u64);
    let written = cache_written(usage);
    let mut read = Usage {
        input_tokens: count("input_tokens").unwrap_or(0),
        output_tokens: count("output_tokens").unwrap_or(0),
        cache_read_tokens: count("cache_read_input_tokens").unwrap_or(0),
        cache_write_5m_tokens: written.0,
        cache_write_1h_tokens: written.1,
        estimated: false,
    };
    if count("input_tokens").is_none() || read.total_input() == 0 {
        let known = read.total_input().saturating_sub(read.input_tokens);
        read.input_tokens = asked.input_bound().saturating_sub(known);
        read.estimated = true;
    }
    let reported = count("output_tokens");
    if reported.is_none() || (reported == Some(0) && answered) {
        read.output_tokens = u64::from(asked.max_tokens);
        read.estimated = true;
    }
    read
}

/// Returns the tokens written for five minutes and for an hour. What the split does not name counts
/// as five minutes, the only lifetime that is asked for.
fn cache_written(usage: Option<&Value>) -> (u64, u64) {
    let count = |value: Option<&Value>, key: &str| {
        value
            .and_then(|v| v.get(key))
            .and_then(Value::as_u64)
            .unwrap_or(0)
    };
    let split = usage.and_then(|u| u.get("cache_creation"));
    let hour = count(split, "ephemeral_1h_input_tokens");
    let five = count(split, "ephemeral_5m_input_tokens");
    let total = count(usage, "cache_creation_input_tokens");
    let unnamed = total.saturating_sub(five.saturating_add(hour));
    (five.saturating_add(unnamed), hour)
}

/// Returns what an incomplete answer said about its usage before it broke off, without estimates.
pub(super) fn known_usage(usage: &Value) -> Option<Usage> {
    let count = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
    let (five, hour) = cache_written(Some(usage));
    let known = Usage {
        input_tokens: count("input_tokens"),
        output_tokens: count("output_tokens"),
        cache_read_tokens: count("cache_read_input_tokens"),
        cache_write_5m_tokens: five,
        cache_write_1h_tokens: hour,
        estimated: true,
    };
    (known.total_input() > 0 || known.output_tokens > 0).then_some(known)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ASKED: Asked = Asked {
        prompt_bytes: 60_000,
        max_tokens: 4_000,
    };

    #[test]
    fn reported_usage_is_taken_as_it_is() {
        let usage = json!({
            "input_tokens": 12, "output_tokens": 150, "cache_read_input_tokens": 25_000,
            "cache_creation_input_tokens": 4_100,
            "cache_creation": {"ephemeral_5m_input_tokens": 4_000, "ephemeral_1h_input_tokens": 100},
            "output_tokens_details": {"thinking_tokens": 70}
        });
        let read = read_usage(Some(&usage), ASKED, true);
        let wanted = Usage {
            input_tokens: 12,
            output_tokens: 150,
            cache_read_tokens: 25_000,
            cache_write_5m_tokens: 4_000,
            cache_write_1h_tokens: 100,
            estimated: false,
        };
        assert_eq!(read, wanted);
    }

    #[test]
    fn cache_writes_without_a_split_count_as_five_minutes() {
        for usage in [
            json!({"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 40}),
            json!({"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 40,
                "cache_creation": null}),
            json!({"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 40,
                "cache_creation": {"ephemeral_5m_input_tokens": 3}}),
        ] {
            let read = read_usage(Some(&usage), ASKED, true);
            assert_eq!(
                (read.cache_write_5m_tokens, read.cache_write_1h_tokens),
                (40, 0)
            );
        }
    }

    #[test]
    fn missing_or_impossible_counts_are_estimated_upwards() {
        for usage in [
            json!(null),
            json!({"input_tokens": 0, "output_tokens": 0}),
            json!({"input_tokens": -4, "output_tokens": 1.5}),
            json!({"input_tokens": "12", "output_tokens": []}),
        ] {
            let read = read_usage(Some(&usage), ASKED, true);
            assert!(read.estimated);
            assert_eq!((read.input_tokens, read.output_tokens), (62_048, 4_000));
        }
        let half = read_usage(Some(&json!({"output_tokens": 900})), ASKED, true);
        assert_eq!(
            (half.input_tokens, half.output_tokens, half.estimated),
            (62_048, 900, true)
        );
        let cached = json!({"input_tokens": 0, "output_tokens": 9, "cache_read_input_tokens": 5});
        assert!(!read_usage(Some(&cached), ASKED, true).estimated);
        let silent = json!({"input_tokens": 7, "output_tokens": 0});
        assert!(!read_usage(Some(&silent), ASKED, false).estimated);
        assert_eq!(read_usage(Some(&silent), ASKED, true).output_tokens, 4_000);
    }
}
