//! Which webhook deliveries the forge is asked for again, as a function of its own record.
//!
//! **Invariant:** an event that arrived once, or whose request is recorded, is never asked for; every
//! other is asked for at most [`MAX_ASKS`] times, by whoever asked, and only while the forge keeps it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mirilla_domain::ids::Timestamp;
use mirilla_ports::deliveries::Attempt;
use serde::{Deserialize, Serialize};

use crate::intake;

/// How often an event is asked for.
pub const MAX_ASKS: u32 = 3;
/// How long after an event it is asked for. GitHub keeps deliveries for three days; the last hour of
/// them is left, so that no question comes too late.
pub const WINDOW: Duration = Duration::from_secs(71 * 60 * 60);
/// The answer of a front door that takes no body of that size: asking again would not help.
const TOO_LARGE: u16 = 413;

/// An event with all attempts to deliver it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its id.
    pub guid: String,
    /// Its name.
    pub event: String,
    /// Its action.
    pub action: String,
    /// When it was first sent.
    pub first_at: Timestamp,
    /// Its latest attempt, by which it is asked for.
    pub latest_id: u64,
    /// When that was made, or asked for.
    pub latest_at: Timestamp,
    /// How that was answered.
    pub latest_code: u16,
    /// How often it was asked for.
    pub asked: u32,
    /// Whether any attempt arrived.
    pub arrived: bool,
}

/// What to do about an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Ask for it again.
    Redeliver {
        /// The attempt to repeat.
        id: u64,
        /// The event.
        guid: String,
    },
    /// Read it from the record: it is too large for the front door.
    Read {
        /// The attempt to read.
        id: u64,
        /// The event.
        guid: String,
    },
    /// It failed as often as it is asked for.
    GiveUp {
        /// The event.
        guid: String,
    },
}

impl Action {
    /// Returns the event.
    pub fn guid(&self) -> &str {
        match self {
            Self::Redeliver { guid, .. } | Self::Read { guid, .. } | Self::GiveUp { guid } => guid,
        }
    }
}

/// Decides about events, oldest first. `known` are those whose request is recorded; `waits` says how
/// long after the latest attempt the first, second and third repetition is asked for.
pub fn redeliveries(
    events: &[Event],
    now: Timestamp,
    known: &BTreeSet<String>,
    waits: [Duration; 3],
) -> Vec<Action> {
    let mut lost: Vec<&Event> = events
        .iter()
        .filter(|event| is_lost(event, now) && !known.contains(&event.guid))
        .collect();
    lost.sort_by_key(|event| (event.first_at, event.latest_id));
    lost.into_iter()
        .filter_map(|event| {
            let (id, guid) = (event.latest_id, event.guid.clone());
            if event.latest_code == TOO_LARGE {
                return Some(Action::Read { id, guid });
            }
            let asked = usize::try_from(event.asked).unwrap_or(usize::MAX);
            match waits.get(asked).filter(|_| event.asked < MAX_ASKS) {
                None => Some(Action::GiveUp { guid }),
                Some(wait) => {
                    (now.since(event.latest_at) >= *wait).then_some(Action::Redeliver { id, guid })
                }
            }
        })
        .collect()
}

/// Returns whether an event that we act on did not arrive and can still be asked for.
pub fn is_lost(event: &Event, now: Timestamp) -> bool {
    !event.arrived
        && now.since(event.first_at) < WINDOW
        && intake::acts_on(&event.event, &event.action)
}

/// Attempts of events whose first one was not met yet: the record is read newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Gathering(BTreeMap<String, Repeated>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Repeated {
    latest_id: u64,
    latest_at: Timestamp,
    latest_code: u16,
    asked: u32,
    arrived: bool,
}

impl Repeated {
    const fn of(attempt: &Attempt) -> Self {
        Self {
            latest_id: attempt.id,
            latest_at: attempt.at,
            latest_code: attempt.status_code,
            asked: 0,
            arrived: attempt.arrived,
        }
    }
}

impl Gathering {
    /// Adds an attempt; returns its event once all its attempts were met.
    pub(super) fn add(&mut self, attempt: Attempt) -> Option<Event> {
        if attempt.redelivery {
            let latest = Repeated::of(&attempt);
            let known = self.0.entry(attempt.guid).or_insert(latest);
            known.asked = known.asked.saturating_add(1);
            known.arrived |= attempt.arrived;
            return None;
        }
        let latest = Repeated::of(&attempt);
        let repeated = self.0.remove(&attempt.guid).unwrap_or(latest);
        Some(Event {
            guid: attempt.guid,
            event: attempt.event,
            action: attempt.action,
            first_at: attempt.at,
            latest_id: repeated.latest_id,
            latest_at: repeated.latest_at,
            latest_code: repeated.latest_code,
            asked: repeated.asked,
            arrived: repeated.arrived || attempt.arrived,
        })
    }

    /// Returns how many events are open.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests;
