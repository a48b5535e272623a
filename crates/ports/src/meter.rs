//! Purses and reservations: money is set aside before a call and settled after it.

use async_trait::async_trait;
use mirilla_domain::ids::{JobId, Timestamp};
use mirilla_domain::money::{PicoUsd, Purse, Reservation};

/// Why the meter did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum MeterError {
    /// There is no such reservation, or it is not in the state this needs.
    #[error("the reservation `{id}` is not open")]
    NotOpen {
        /// The reservation.
        id: String,
    },
    /// The store cannot be reached or failed; nothing was booked.
    #[error("the meter failed at {action}")]
    Unavailable {
        /// What was tried.
        action: &'static str,
        /// What the store said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Whether money could be set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reserved {
    /// Yes, from all purses at once.
    Held,
    /// No: this purse has too little left. Nothing was taken from any purse.
    Refused {
        /// The purse that stopped it.
        purse: Purse,
        /// What is left in it.
        left: PicoUsd,
    },
    /// This reservation's id is in use: the call was begun by an earlier run of the same attempt.
    AlreadyThere,
}

/// Sets money aside and settles it. Every change is one transaction over item and purses.
#[async_trait]
pub trait Meter: Send + Sync {
    /// Sets the worst case of one call aside, in state `held`.
    async fn reserve(&self, reservation: &Reservation) -> Result<Reserved, MeterError>;

    /// Marks the call as sent: from now on it is charged, answered or not.
    async fn sent(&self, id: &str) -> Result<(), MeterError>;

    /// Replaces the reservation by what the call really cost (at most what was set aside is usual;
    /// more is booked too).
    async fn settle(&self, id: &str, actual: PicoUsd) -> Result<(), MeterError>;

    /// Gives a reservation back: the call was not sent, or the provider did not process it.
    async fn release(&self, id: &str) -> Result<(), MeterError>;

    /// Returns what is spent and reserved together.
    async fn spent(&self, purse: &Purse) -> Result<PicoUsd, MeterError>;
}

/// What the sweeper does with reservations whose worker died.
#[async_trait]
pub trait MeterSweep: Send + Sync {
    /// Gives expired `held` reservations back and books expired `sent` ones in full; returns how
    /// many of each.
    async fn settle_expired(&self, now: Timestamp) -> Result<(u64, u64), MeterError>;
}

/// Whether a reviewer may read a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leased {
    /// Yes, until the moment asked for.
    Granted,
    /// Somebody else reads it until then.
    Busy(Timestamp),
}

/// Who reads a snapshot at the moment. Kept beside the money, because a reviewer reaches no ledger.
///
/// A lease that has run out is nobody's: it tells a dead reviewer from a slow one.
#[async_trait]
pub trait ReviewLeases: Send + Sync {
    /// Takes a job until `until`, if nobody but the owner of `token` holds it at `now`.
    async fn take(
        &self,
        job: &JobId,
        token: &str,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Leased, MeterError>;

    /// Gives a job back; that somebody else holds it by now is no error, and changes nothing.
    async fn give_back(&self, job: &JobId, token: &str) -> Result<(), MeterError>;

    /// Returns until when somebody holds the job; `None` if nobody ever did or it was given back.
    async fn held_until(&self, job: &JobId) -> Result<Option<Timestamp>, MeterError>;
}
