//! Purses, reservations and review leases in SQLite.
//!
//! **Invariant:** reservation and purses change in one transaction, and `spent + reserved` of every
//! purse is at most its cap whenever a reservation is granted. Only a call that cost more than its
//! worst case can push it past.

mod leases;

use std::path::Path;

use async_trait::async_trait;
use mirilla_domain::ids::Timestamp;
use mirilla_domain::money::{CappedPurse, PicoUsd, Purse, Reservation, ReservationState};
use mirilla_ports::meter::Reserved;
use mirilla_ports::{Meter, MeterError, MeterSweep};
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::LocalError;
use crate::database::{Database, RowError, Schema, Step};

const SCHEMA: Schema = Schema {
    version: 2,
    durable: true,
    sql: "
        CREATE TABLE purse (
            id TEXT NOT NULL PRIMARY KEY,
            spent INTEGER NOT NULL CHECK (spent >= 0),
            reserved INTEGER NOT NULL CHECK (reserved >= 0)
        ) STRICT;
        CREATE TABLE reservation (
            id TEXT NOT NULL PRIMARY KEY,
            state TEXT NOT NULL CHECK (state IN ('held', 'sent')),
            amount INTEGER NOT NULL CHECK (amount >= 0),
            purses TEXT NOT NULL,
            expires_at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX reservation_expiry ON reservation (expires_at);
        CREATE TABLE lease (
            job TEXT NOT NULL PRIMARY KEY,
            token TEXT NOT NULL,
            until INTEGER NOT NULL
        ) STRICT;
    ",
    upgrades: &["
        CREATE TABLE lease (
            job TEXT NOT NULL PRIMARY KEY,
            token TEXT NOT NULL,
            until INTEGER NOT NULL
        ) STRICT;
    "],
};

/// SQLite counts to 2⁶³−1, about nine million dollars; a purse that is there is full.
const MOST: PicoUsd = PicoUsd::new(i64::MAX.cast_unsigned());

/// Purses, reservations and review leases in one SQLite file.
#[derive(Debug)]
pub struct LocalMeter {
    database: Database,
}

impl LocalMeter {
    /// Opens the file, making it if needed.
    pub fn open(path: &Path) -> Result<Self, LocalError> {
        Database::open(path, &SCHEMA).map(|database| Self { database })
    }

    /// Closes a reservation, booking `actual` of it (all of it for `None`).
    fn close(
        &self,
        id: &str,
        action: &'static str,
        actual: Option<PicoUsd>,
    ) -> Result<(), MeterError> {
        let found = self
            .database
            .write(|tx| match read_reservation(tx, id)? {
                None => Ok(Step::Rollback(false)),
                Some(open) => {
                    open.close(tx, actual)?;
                    Ok(Step::Commit(true))
                }
            })
            .map_err(|source| unavailable(action, source))?;
        if found {
            Ok(())
        } else {
            Err(MeterError::NotOpen { id: id.to_owned() })
        }
    }
}

#[async_trait]
impl Meter for LocalMeter {
    async fn reserve(&self, reservation: &Reservation) -> Result<Reserved, MeterError> {
        self.database
            .write(|tx| {
                if read_reservation(tx, &reservation.id)?.is_some() {
                    return Ok(Step::Rollback(Reserved::AlreadyThere));
                }
                for CappedPurse { purse, cap } in &reservation.purses {
                    let now = read_purse(tx, &purse.key())?;
                    let left = PicoUsd::min(*cap, MOST).minus(now.total());
                    if reservation.amount > left {
                        return Ok(Step::Rollback(Reserved::Refused {
                            purse: purse.clone(),
                            left,
                        }));
                    }
                    let reserved = now.reserved.plus(reservation.amount);
                    write_purse(tx, &purse.key(), PurseRow { reserved, ..now })?;
                }
                insert_reservation(tx, reservation)?;
                Ok(Step::Commit(Reserved::Held))
            })
            .map_err(|source| unavailable("reserving", source))
    }

    async fn sent(&self, id: &str) -> Result<(), MeterError> {
        let rows = self
            .database
            .write(|tx| {
                let rows = tx.execute(
                    "UPDATE reservation SET state = 'sent' WHERE id = ?1 AND state = 'held'",
                    [id],
                )?;
                Ok(Step::Commit(rows))
            })
            .map_err(|source| unavailable("marking a call as sent", source))?;
        if rows == 1 {
            Ok(())
        } else {
            Err(MeterError::NotOpen { id: id.to_owned() })
        }
    }

    async fn settle(&self, id: &str, actual: PicoUsd) -> Result<(), MeterError> {
        self.close(id, "settling a call", Some(actual))
    }

    async fn release(&self, id: &str) -> Result<(), MeterError> {
        self.close(id, "releasing a reservation", Some(PicoUsd::ZERO))
    }

    async fn spent(&self, purse: &Purse) -> Result<PicoUsd, MeterError> {
        self.database
            .read(|connection| read_purse(connection, &purse.key()))
            .map(PurseRow::total)
            .map_err(|source| unavailable("reading a purse", source))
    }
}

#[async_trait]
impl MeterSweep for LocalMeter {
    async fn settle_expired(&self, now: Timestamp) -> Result<(u64, u64), MeterError> {
        self.database
            .write(|tx| {
                let mut returned = 0_u64;
                let mut booked = 0_u64;
                for open in expired(tx, now)? {
                    match open.state {
                        ReservationState::Held => {
                            open.close(tx, Some(PicoUsd::ZERO))?;
                            returned = returned.saturating_add(1);
                        }
                        ReservationState::Sent => {
                            open.close(tx, None)?;
                            booked = booked.saturating_add(1);
                        }
                    }
                }
                Ok(Step::Commit((returned, booked)))
            })
            .map_err(|source| unavailable("settling expired reservations", source))
    }
}

fn unavailable(action: &'static str, source: LocalError) -> MeterError {
    MeterError::Unavailable {
        action,
        source: Box::new(source),
    }
}

/// A purse as stored.
#[derive(Debug, Clone, Copy)]
struct PurseRow {
    spent: PicoUsd,
    reserved: PicoUsd,
}

impl PurseRow {
    const fn total(self) -> PicoUsd {
        self.spent.plus(self.reserved)
    }
}

/// A reservation as stored.
struct Open {
    id: String,
    state: ReservationState,
    amount: PicoUsd,
    purses: Vec<Purse>,
}

impl Open {
    /// Deletes the reservation and corrects its purses: `actual` is spent, or all of it.
    fn close(&self, tx: &Connection, actual: Option<PicoUsd>) -> Result<(), RowError> {
        tx.execute("DELETE FROM reservation WHERE id = ?1", [&self.id])?;
        for purse in &self.purses {
            let now = read_purse(tx, &purse.key())?;
            let row = PurseRow {
                spent: now.spent.plus(actual.unwrap_or(self.amount)).min(MOST),
                reserved: now.reserved.minus(self.amount),
            };
            write_purse(tx, &purse.key(), row)?;
        }
        Ok(())
    }
}

fn read_purse(connection: &Connection, key: &str) -> Result<PurseRow, RowError> {
    let row = connection
        .query_row(
            "SELECT spent, reserved FROM purse WHERE id = ?1",
            [key],
            |row| {
                Ok(PurseRow {
                    spent: PicoUsd::new(row.get(0)?),
                    reserved: PicoUsd::new(row.get(1)?),
                })
            },
        )
        .optional()?;
    Ok(row.unwrap_or(PurseRow {
        spent: PicoUsd::ZERO,
        reserved: PicoUsd::ZERO,
    }))
}

fn write_purse(connection: &Connection, key: &str, row: PurseRow) -> Result<(), RowError> {
    connection.execute(
        "INSERT INTO purse (id, spent, reserved) VALUES (?1, ?2, ?3)
         ON CONFLICT (id) DO UPDATE SET spent = excluded.spent, reserved = excluded.reserved",
        params![key, row.spent.get(), row.reserved.get()],
    )?;
    Ok(())
}

fn insert_reservation(connection: &Connection, reservation: &Reservation) -> Result<(), RowError> {
    let purses: Vec<&Purse> = reservation.purses.iter().map(|it| &it.purse).collect();
    let purses =
        serde_json::to_string(&purses).map_err(|source| RowError::Row("reservations", source))?;
    connection.execute(
        "INSERT INTO reservation (id, state, amount, purses, expires_at)
         VALUES (?1, 'held', ?2, ?3, ?4)",
        params![
            reservation.id,
            reservation.amount.get(),
            purses,
            reservation.expires_at.get()
        ],
    )?;
    Ok(())
}

const COLUMNS: &str = "SELECT id, state, amount, purses FROM reservation";

fn read_reservation(connection: &Connection, id: &str) -> Result<Option<Open>, RowError> {
    connection
        .prepare_cached(&format!("{COLUMNS} WHERE id = ?1"))?
        .query_row([id], columns)
        .optional()?
        .map(open)
        .transpose()
}

fn expired(connection: &Connection, now: Timestamp) -> Result<Vec<Open>, RowError> {
    let mut statement = connection.prepare_cached(&format!("{COLUMNS} WHERE expires_at <= ?1"))?;
    let rows = statement.query_map([now.get()], columns)?;
    rows.map(|row| open(row?)).collect()
}

type Columns = (String, String, u64, String);

fn columns(row: &rusqlite::Row<'_>) -> Result<Columns, rusqlite::Error> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
}

fn open((id, state, amount, purses): Columns) -> Result<Open, RowError> {
    Ok(Open {
        id,
        // The table's own check leaves no third word.
        state: if state == "held" {
            ReservationState::Held
        } else {
            ReservationState::Sent
        },
        amount: PicoUsd::new(amount),
        purses: serde_json::from_str(&purses)
            .map_err(|source| RowError::Row("reservations", source))?,
    })
}
