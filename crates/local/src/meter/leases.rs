//! Who reads which snapshot: rows beside the purses, because a reviewer opens no ledger.

use async_trait::async_trait;
use mirilla_domain::ids::{JobId, Timestamp};
use mirilla_ports::meter::Leased;
use mirilla_ports::{MeterError, ReviewLeases};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{LocalMeter, unavailable};
use crate::LocalError;
use crate::database::{RowError, Step};

impl LocalMeter {
    /// Gives every lease back; returns how many there were.
    ///
    /// For a host that starts: when nobody else can be at work, every lease is a dead reviewer's.
    pub fn release_leases(&self) -> Result<usize, LocalError> {
        self.database
            .write(|tx| Ok(Step::Commit(tx.execute("DELETE FROM lease", [])?)))
    }
}

#[async_trait]
impl ReviewLeases for LocalMeter {
    async fn take(
        &self,
        job: &JobId,
        token: &str,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Leased, MeterError> {
        self.database
            .write(|tx| {
                let held = read_lease(tx, job)?;
                if let Some((holder, held_until)) = held
                    && holder != token
                    && held_until > now
                {
                    return Ok(Step::Rollback(Leased::Busy(held_until)));
                }
                tx.execute(
                    "INSERT INTO lease (job, token, until) VALUES (?1, ?2, ?3)
                     ON CONFLICT (job) DO UPDATE SET token = excluded.token, until = excluded.until",
                    params![job.as_str(), token, until.get()],
                )?;
                Ok(Step::Commit(Leased::Granted))
            })
            .map_err(|source| unavailable("taking a lease", source))
    }

    async fn give_back(&self, job: &JobId, token: &str) -> Result<(), MeterError> {
        self.database
            .write(|tx| {
                tx.execute(
                    "DELETE FROM lease WHERE job = ?1 AND token = ?2",
                    params![job.as_str(), token],
                )?;
                Ok(Step::Commit(()))
            })
            .map_err(|source| unavailable("giving a lease back", source))
    }

    async fn held_until(&self, job: &JobId) -> Result<Option<Timestamp>, MeterError> {
        self.database
            .read(|connection| read_lease(connection, job))
            .map(|held| held.map(|(_token, until)| until))
            .map_err(|source| unavailable("reading a lease", source))
    }
}

/// Returns who holds a job, and until when.
fn read_lease(
    connection: &Connection,
    job: &JobId,
) -> Result<Option<(String, Timestamp)>, RowError> {
    Ok(connection
        .query_row(
            "SELECT token, until FROM lease WHERE job = ?1",
            [job.as_str()],
            |row| Ok((row.get(0)?, Timestamp::new(row.get(1)?))),
        )
        .optional()?)
}
