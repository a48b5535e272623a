//! A clock that moves when somebody waits.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use mirilla_domain::ids::Timestamp;
use mirilla_ports::Clock;

/// Stands still until somebody sleeps on it, and then jumps without waiting.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Returns a clock that shows `now`.
    pub const fn at(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.get()))
    }

    /// Moves the clock.
    pub fn pass(&self, duration: Duration) {
        let millis = i64::try_from(duration.as_millis()).unwrap();
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::new(self.0.load(Ordering::SeqCst))
    }

    async fn sleep(&self, duration: Duration) {
        self.pass(duration);
    }
}
