//! How much of a forge's limit on calls is left, as its answers say.

use std::sync::atomic::{AtomicU64, Ordering};

/// No answer said anything yet.
const UNKNOWN: u64 = u64::MAX;

/// The least share that was seen.
#[derive(Debug)]
pub(super) struct CallsLeft(AtomicU64);

impl Default for CallsLeft {
    fn default() -> Self {
        Self(AtomicU64::new(UNKNOWN))
    }
}

impl CallsLeft {
    /// Notes what an answer says; one that lacks either number, or has no limit, says nothing.
    pub(super) fn note(&self, remaining: Option<u64>, limit: Option<u64>) {
        let percent = remaining.zip(limit).and_then(|(remaining, limit)| {
            remaining.min(limit).saturating_mul(100).checked_div(limit)
        });
        if let Some(percent) = percent {
            self.0.fetch_min(percent, Ordering::Relaxed);
        }
    }

    /// Returns the least share in percent.
    pub(super) fn percent(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|percent| *percent != UNKNOWN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_share_is_kept_and_nonsense_is_not() {
        let left = CallsLeft::default();
        left.note(None, Some(5_000));
        left.note(Some(3), Some(0));
        assert_eq!(left.percent(), None);
        left.note(Some(4_999), Some(5_000));
        assert_eq!(left.percent(), Some(99));
        left.note(Some(900), Some(5_000));
        left.note(Some(9_000), Some(5_000));
        assert_eq!(left.percent(), Some(18));
        left.note(Some(u64::MAX), Some(u64::MAX));
        assert_eq!(left.percent(), Some(1), "saturated, and still a share");
    }
}
