//! The simulators' own clock.
//!
//! Token expiry, rate-limit windows and timestamps follow it, so that a test can let an hour pass
//! in no time. By default it runs with the machine's clock, because other processes sign their
//! requests with that; a test that wants fixed times pins it.
//!
//! **Invariant:** nothing else in this crate asks the machine for the time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

/// A clock that all simulated services of one [`crate::Sim`] share; clones are the same clock.
#[derive(Debug, Clone)]
pub struct SimClock(Arc<Mutex<Reading>>);

#[derive(Debug, Clone, Copy)]
enum Reading {
    /// Runs with the machine's clock, shifted by this much.
    Running(TimeDelta),
    /// Stands still until it is moved.
    Pinned(DateTime<Utc>),
}

impl Default for SimClock {
    fn default() -> Self {
        Self::running()
    }
}

impl SimClock {
    /// Returns a clock that runs with the machine's.
    pub fn running() -> Self {
        Self(Arc::new(Mutex::new(Reading::Running(TimeDelta::zero()))))
    }

    /// Returns a clock that stands at `at` until [`SimClock::advance`] or [`SimClock::set`].
    pub fn pinned(at: DateTime<Utc>) -> Self {
        Self(Arc::new(Mutex::new(Reading::Pinned(at))))
    }

    /// Returns the current time.
    pub fn now(&self) -> DateTime<Utc> {
        match *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Reading::Running(shift) => machine_time() + shift,
            Reading::Pinned(at) => at,
        }
    }

    /// Moves the clock forward; a running clock keeps running.
    pub fn advance(&self, by: Duration) {
        let by = TimeDelta::from_std(by).unwrap_or(TimeDelta::MAX);
        let mut reading = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *reading = match *reading {
            Reading::Running(shift) => {
                Reading::Running(shift.checked_add(&by).unwrap_or(TimeDelta::MAX))
            }
            Reading::Pinned(at) => Reading::Pinned(
                at.checked_add_signed(by)
                    .unwrap_or(DateTime::<Utc>::MAX_UTC),
            ),
        };
    }

    /// Pins the clock at `at`.
    pub fn set(&self, at: DateTime<Utc>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Reading::Pinned(at);
    }

    /// Lets the clock run with the machine's again.
    pub fn resume(&self) {
        let running = Reading::Running(TimeDelta::zero());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = running;
    }
}

/// Writes a time the way both APIs do: `2026-11-29T10:00:00Z`.
pub(crate) fn rfc3339(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

#[expect(clippy::disallowed_methods, reason = "this is the simulators' clock")]
fn machine_time() -> DateTime<Utc> {
    SystemTime::now().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pinned_clock_moves_only_when_told() {
        let start = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
        let clock = SimClock::pinned(start);
        assert_eq!(clock.now(), start);
        clock.advance(Duration::from_secs(3600));
        assert_eq!(rfc3339(clock.now()), "2023-11-14T23:13:20Z");
        clock.resume();
        assert!(machine_time() - clock.now() < TimeDelta::seconds(60));
    }

    #[test]
    fn running_clock_keeps_running_after_a_jump() {
        let clock = SimClock::running();
        let before = clock.now();
        clock.advance(Duration::from_secs(7200));
        let gained = clock.now() - before;
        assert!(gained >= TimeDelta::seconds(7200) && gained < TimeDelta::seconds(7260));
    }
}
