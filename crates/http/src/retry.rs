//! How long to wait: what the other side asks for, and what to do when it says nothing.
//!
//! **Invariant:** pure functions. The present time and the random number are handed in.

use std::time::{Duration, UNIX_EPOCH};

/// The longest wait that is taken at its word; anything above is this.
pub const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// Reads a `Retry-After` value: seconds, or an HTTP date (RFC 9110, section 10.2.3).
///
/// `now_ms` is the present in milliseconds since the Unix epoch. Empty, negative, fractional or
/// garbled values, and dates that have passed, are `None`: they name no wait, so the caller's own
/// minimum applies. Values past [`MAX_WAIT`] are cut to it.
pub fn retry_after(value: &str, now_ms: i64) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        let seconds = value.parse().unwrap_or(u64::MAX);
        return Some(Duration::from_secs(seconds).min(MAX_WAIT));
    }
    let then = httpdate::parse_http_date(value).ok()?;
    let then_ms = then.duration_since(UNIX_EPOCH).ok()?.as_millis();
    until(i64::try_from(then_ms).ok()?, now_ms)
}

/// Reads an `x-ratelimit-reset` value: seconds since the Unix epoch.
///
/// `None` if it is garbled or has passed. Values past [`MAX_WAIT`] from now are cut to it.
pub fn reset_after(value: &str, now_ms: i64) -> Option<Duration> {
    let seconds: i64 = value.trim().parse().ok()?;
    until(seconds.checked_mul(1000)?, now_ms)
}

fn until(then_ms: i64, now_ms: i64) -> Option<Duration> {
    let millis = u64::try_from(then_ms.checked_sub(now_ms)?).ok()?;
    (millis > 0).then(|| Duration::from_millis(millis).min(MAX_WAIT))
}

/// Returns the wait before try number `attempt` (the first retry is 1): exponential, with full
/// jitter.
///
/// `random` is any random number; the result lies between zero and `base` doubled `attempt - 1`
/// times, at most `cap`.
pub fn backoff(attempt: u32, base: Duration, cap: Duration, random: u64) -> Duration {
    let factor = 1_u32
        .checked_shl(attempt.saturating_sub(1))
        .unwrap_or(u32::MAX);
    let ceiling = base.saturating_mul(factor).min(cap);
    jitter(ceiling, random)
}

/// Returns a wait between zero and `ceiling`, evenly spread over `random`.
pub fn jitter(ceiling: Duration, random: u64) -> Duration {
    let millis = u64::try_from(ceiling.as_millis()).unwrap_or(u64::MAX);
    let modulus = millis.saturating_add(1);
    Duration::from_millis(random.checked_rem(modulus).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-01-01T00:00:00Z.
    const NOW_MS: i64 = 1_767_225_600_000;

    #[test]
    fn retry_after_reads_both_forms() {
        let secs = |n| Some(Duration::from_secs(n));
        for (value, want) in [
            ("120", secs(120)),
            (" 7 ", secs(7)),
            ("0", secs(0)),
            ("Thu, 01 Jan 2026 00:01:30 GMT", secs(90)),
            ("Thursday, 01-Jan-26 00:01:30 GMT", secs(90)),
            ("Thu Jan  1 00:01:30 2026", secs(90)),
            ("Wed, 31 Dec 2025 23:59:00 GMT", None),
            ("Thu, 01 Jan 2026 00:00:00 GMT", None),
            ("Fri, 01 Jan 2038 00:00:00 GMT", Some(MAX_WAIT)),
            ("86400", Some(MAX_WAIT)),
            ("99999999999999999999999", Some(MAX_WAIT)),
            ("", None),
            ("soon", None),
            ("-5", None),
            ("+5", None),
            ("1.5", None),
            ("1e3", None),
            ("5s", None),
        ] {
            assert_eq!(retry_after(value, NOW_MS), want, "{value:?}");
        }
    }

    #[test]
    fn reset_in_the_past_names_no_wait() {
        assert_eq!(reset_after("1767225570", NOW_MS), None);
        assert_eq!(reset_after("1767225600", NOW_MS), None);
        assert_eq!(
            reset_after("1767225660", NOW_MS),
            Some(Duration::from_secs(60))
        );
        assert_eq!(reset_after("9223372036854775807", NOW_MS), None);
        assert_eq!(reset_after("-1", NOW_MS), None);
        assert_eq!(reset_after("x", NOW_MS), None);
    }

    #[test]
    fn backoff_doubles_up_to_its_cap() {
        let (base, cap) = (Duration::from_millis(500), Duration::from_secs(8));
        for (attempt, ceiling_ms) in [(1, 500), (2, 1000), (3, 2000), (5, 8000), (200, 8000)] {
            let top = Duration::from_millis(ceiling_ms);
            assert_eq!(backoff(attempt, base, cap, ceiling_ms), top, "{attempt}");
            assert_eq!(backoff(attempt, base, cap, 0), Duration::ZERO);
            assert!(backoff(attempt, base, cap, u64::MAX) <= top);
        }
    }
}
