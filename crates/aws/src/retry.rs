//! Pauses between tries of our own: what the SDK does not repeat because a new request is needed.

use std::time::Duration;

use mirilla_http::retry::backoff;

/// Counts tries and waits between them, with full jitter.
#[derive(Debug)]
pub(crate) struct Backoff {
    tries: u32,
    most: u32,
    base: Duration,
    cap: Duration,
}

impl Backoff {
    /// For operations that lose against others that write the same rows: about three seconds in all.
    pub(crate) const fn contention() -> Self {
        Self {
            tries: 0,
            most: 12,
            base: Duration::from_millis(20),
            cap: Duration::from_millis(800),
        }
    }

    /// For calls that the other side did not answer, or answered with its own failure.
    pub(crate) const fn failure() -> Self {
        Self {
            tries: 0,
            most: 4,
            base: Duration::from_millis(200),
            cap: Duration::from_secs(2),
        }
    }

    /// Waits before the next try; returns whether there is one.
    pub(crate) async fn again(&mut self) -> bool {
        self.tries = self.tries.saturating_add(1);
        if self.tries >= self.most {
            return false;
        }
        // Without randomness any pause is as good as another.
        let random = getrandom::u64().unwrap_or(u64::MAX);
        tokio::time::sleep(backoff(self.tries, self.base, self.cap, random)).await;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn tries_are_bounded() {
        let mut backoff = Backoff {
            base: Duration::from_millis(1),
            cap: Duration::from_millis(2),
            ..Backoff::contention()
        };
        let mut tries = 1;
        while backoff.again().await {
            tries += 1;
        }
        assert_eq!(tries, 12);
    }
}
