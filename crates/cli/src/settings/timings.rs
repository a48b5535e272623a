//! How long things wait and stay.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How long things wait. The defaults are those of the documentation; a demonstration and the tests
/// shorten them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Timings {
    /// Before a pull request's first push is read.
    pub(crate) debounce_first: Duration,
    /// Before a push is read while pushes come in a row.
    pub(crate) debounce_busy: Duration,
    /// How often an empty queue is looked at.
    pub(crate) poll: Duration,
    /// How long a write whose answer was lost may still land.
    pub(crate) write_grace: Duration,
    /// How often the sweeper runs.
    pub(crate) sweep_every: Duration,
    /// How often it looks for heads that nobody announced.
    pub(crate) probe_every: Duration,
    /// When an unclaimed job whose queue is empty counts as dead.
    pub(crate) lost_after: Duration,
    /// The longest a review may take.
    pub(crate) review_limit: Duration,
    /// How long ended runs are kept; zero keeps none.
    pub(crate) keep_runs: Duration,
}

impl Default for Timings {
    fn default() -> Self {
        Self {
            debounce_first: mirilla_domain::job::DEBOUNCE_FIRST,
            debounce_busy: mirilla_domain::job::DEBOUNCE_BUSY,
            poll: Duration::from_millis(200),
            write_grace: Duration::from_secs(60),
            sweep_every: Duration::from_secs(30),
            probe_every: Duration::from_secs(10 * 60),
            lost_after: Duration::from_secs(120),
            review_limit: Duration::from_secs(600),
            // As long as the bucket of a stack on AWS keeps them.
            keep_runs: days(7),
        }
    }
}

/// Returns so many days.
pub(super) fn days(count: u32) -> Duration {
    Duration::from_secs(86_400).saturating_mul(count)
}
