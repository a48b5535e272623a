//! What the sweeper says about one run.

use mirilla_telemetry::{chain, field};

use super::Swept;
use crate::error::StageError;

/// One line for each run: a failed one as an error, what had died as a warning, and the rest only for
/// those who look closely.
pub fn log(result: &Result<Swept, StageError>) {
    let swept = match result {
        Ok(swept) => swept,
        Err(error) => {
            let text = chain(error);
            tracing::error!(
                error_code = error.code(),
                { field::ERROR } = text,
                "a sweep failed: {text}"
            );
            return;
        }
    };
    if swept.redelivered > 0 || swept.read > 0 || swept.undeliverable > 0 {
        tracing::info!(
            redelivered = swept.redelivered,
            read = swept.read,
            undeliverable = swept.undeliverable,
            "{} lost webhooks were asked for again, {} were read and {} given up",
            swept.redelivered,
            swept.read,
            swept.undeliverable
        );
    }
    if swept.found_deaths() {
        tracing::warn!(
            restarted = swept.restarted,
            given_up = swept.given_up,
            failed = swept.failed,
            booked = swept.booked,
            "the sweeper restarted {} jobs, gave {} up, failed {} and booked {} lost calls",
            swept.restarted,
            swept.given_up,
            swept.failed,
            swept.booked
        );
    } else {
        tracing::debug!(
            cleaned = swept.cleaned,
            probed = swept.probed,
            "nothing had died"
        );
    }
}
