//! The machine's own clock and randomness, for every program that is not a test.
//!
//! **Invariant:** the only place that reads the wall clock or draws random bytes.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use mirilla_domain::ids::Timestamp;
use mirilla_ports::{Clock, Entropy};

/// The operating system has no working random number generator.
#[derive(Debug, thiserror::Error)]
#[error("the operating system gives no random bytes")]
pub struct NoEntropy(#[source] getrandom::Error);

/// The wall clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the Clock port's implementation"
        )]
        let now = SystemTime::now();
        let since_epoch = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::new(0).plus(since_epoch)
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// The operating system's random number generator.
#[derive(Debug)]
pub struct OsEntropy(());

impl OsEntropy {
    /// Tries the generator once, so that a system without one is found at the start.
    pub fn open() -> Result<Self, NoEntropy> {
        getrandom::u64().map_err(NoEntropy)?;
        Ok(Self(()))
    }
}

impl Entropy for OsEntropy {
    fn hex(&self, bytes: usize) -> String {
        let mut random = vec![0; bytes];
        fill(&mut random);
        hex::encode(random)
    }

    fn below(&self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        let mut random = [0; 16];
        fill(&mut random);
        // 128 random bits: the remainder's bias is under one in 2⁶⁴.
        let below = u128::from_le_bytes(random)
            .checked_rem(u128::from(bound))
            .unwrap_or(0);
        u64::try_from(below).unwrap_or(0)
    }
}

#[expect(
    clippy::expect_used,
    reason = "the generator answered at the start and does not stop; going on with predictable \
              nonces would be worse than stopping"
)]
fn fill(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the generator answered when it was opened");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_gives_the_asked_length_and_bound() {
        let entropy = OsEntropy::open().unwrap();
        assert_eq!(entropy.hex(16).len(), 32);
        assert_ne!(entropy.hex(16), entropy.hex(16));
        assert_eq!(entropy.below(0), 0);
        let mut seen = [false; 6];
        for _ in 0..1000 {
            seen[usize::try_from(entropy.below(6)).unwrap()] = true;
        }
        assert_eq!(seen, [true; 6]);
    }

    #[test]
    fn clock_is_in_this_century() {
        assert!(SystemClock.now() > Timestamp::new(1_700_000_000_000));
    }
}
