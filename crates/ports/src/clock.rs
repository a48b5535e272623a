//! Time and chance, handed in so that a decision can be replayed.

use std::time::Duration;

use async_trait::async_trait;
use mirilla_domain::ids::Timestamp;

/// The time, and waiting for it.
#[async_trait]
pub trait Clock: Send + Sync {
    /// Returns the present moment.
    fn now(&self) -> Timestamp;

    /// Waits.
    async fn sleep(&self, duration: Duration);
}

/// Unpredictable values: nonces, claim tokens, jitter.
pub trait Entropy: Send + Sync {
    /// Returns `bytes` random bytes as lower-case hex.
    fn hex(&self, bytes: usize) -> String;

    /// Returns a number below `bound`, or zero for a bound of zero.
    fn below(&self, bound: u64) -> u64;
}
