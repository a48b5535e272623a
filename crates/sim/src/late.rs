//! Writes whose connection dropped and that have not landed yet.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::faults::{Fault, Played, play};
use crate::server::{Reply, Request, Transport};

/// The writes of one simulated API that are still under way.
#[derive(Debug, Default)]
pub(crate) struct LateWrites(Mutex<Vec<Late>>);

#[derive(Debug)]
struct Late {
    request: Request,
    /// Calls that are answered before it lands.
    remaining: u32,
}

impl LateWrites {
    /// Handles one call under its faults; one that lands later is kept, and its connection drops.
    pub(crate) fn play(
        &self,
        faults: Vec<Fault>,
        request: &Request,
        run: impl FnOnce() -> Reply,
    ) -> Reply {
        match play(faults, run) {
            Played::Answer(reply) => reply,
            Played::Deferred(remaining) => {
                self.lock().push(Late {
                    request: request.clone(),
                    remaining,
                });
                Reply::empty(500).travelling(Transport::Dropped)
            }
        }
    }

    /// Counts a call for the writes under way and takes those that are due.
    pub(crate) fn due(&self) -> Vec<Request> {
        let mut late = self.lock();
        let (due, waiting): (Vec<Late>, Vec<Late>) = std::mem::take(&mut *late)
            .into_iter()
            .partition(|late| late.remaining == 0);
        *late = waiting;
        for late in late.iter_mut() {
            late.remaining = late.remaining.saturating_sub(1);
        }
        due.into_iter().map(|late| late.request).collect()
    }

    /// Takes all writes under way.
    pub(crate) fn take(&self) -> Vec<Request> {
        let late = std::mem::take(&mut *self.lock());
        late.into_iter().map(|late| late.request).collect()
    }

    /// Returns what has not landed, as text.
    pub(crate) fn waiting(&self) -> Vec<String> {
        self.lock()
            .iter()
            .map(|late| {
                format!(
                    "the landing of {} {}",
                    late.request.method, late.request.path
                )
            })
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Late>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
