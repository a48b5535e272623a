//! What time it is at a forge: signatures and tokens are judged by two clocks.

use chrono::DateTime;
use mirilla_domain::ids::Timestamp;

/// Reads an answer's `Date`.
pub(crate) fn of(date: Option<&str>) -> Option<Timestamp> {
    DateTime::parse_from_rfc2822(date?)
        .ok()
        .map(|at| Timestamp::new(at.timestamp_millis()))
}
