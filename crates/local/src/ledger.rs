//! The ledger in SQLite: jobs, deliveries and pull requests.
//!
//! Rows are kept as JSON beside the few columns that are searched, so a new field of a row needs no
//! new schema.
//!
//! **Invariant:** a transaction's rows are written together or not at all, and each only upon the
//! version it was decided on.

use std::path::Path;

use async_trait::async_trait;
use mirilla_domain::ids::{DeliveryId, Forge, JobId, PullRequestRef, Timestamp};
use mirilla_domain::job::{Claim, Job, JobState, PullRequestRecord};
use mirilla_domain::request::Delivery;
use mirilla_ports::ledger::{Claimed, Recorded, Transaction};
use mirilla_ports::{Bookmarks, Ledger, LedgerError};
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::LocalError;
use crate::database::{Database, RowError, Schema, Step};

const SCHEMA: Schema = Schema {
    version: 2,
    durable: true,
    sql: "
        CREATE TABLE delivery (
            forge TEXT NOT NULL,
            id TEXT NOT NULL,
            body_sha256 TEXT NOT NULL,
            recorded_at INTEGER NOT NULL DEFAULT (unixepoch()),
            body TEXT NOT NULL,
            PRIMARY KEY (forge, id),
            UNIQUE (forge, body_sha256)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE job (
            id TEXT NOT NULL PRIMARY KEY,
            version INTEGER NOT NULL,
            finished INTEGER NOT NULL,
            updated_at INTEGER NOT NULL,
            body TEXT NOT NULL
        ) STRICT;
        CREATE INDEX job_unfinished ON job (updated_at, id) WHERE finished = 0;
        CREATE TABLE pull_request (
            id TEXT NOT NULL PRIMARY KEY,
            version INTEGER NOT NULL,
            touched_at INTEGER NOT NULL,
            body TEXT NOT NULL
        ) STRICT;
        CREATE INDEX pull_request_touched ON pull_request (touched_at, id);
        CREATE TABLE bookmark (name TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL) STRICT;
    ",
    upgrades: &[
        "CREATE TABLE bookmark (name TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL) STRICT;",
    ],
};

/// Jobs, deliveries and pull requests in one SQLite file.
#[derive(Debug)]
pub struct LocalLedger {
    database: Database,
}

impl LocalLedger {
    /// Opens the file, making it if needed.
    pub fn open(path: &Path) -> Result<Self, LocalError> {
        Database::open(path, &SCHEMA).map(|database| Self { database })
    }

    /// Gives up every claim on a job or a pull request; returns how many.
    ///
    /// For a host that starts: when nobody else can be at work, every claim is a dead worker's.
    pub fn release_claims(&self) -> Result<usize, LocalError> {
        self.database.write(|tx| {
            let jobs = tx.execute(
                "UPDATE job SET version = version + 1,
                     body = json_set(body, '$.claim', NULL, '$.version', version + 1)
                 WHERE finished = 0 AND json_extract(body, '$.claim') IS NOT NULL",
                [],
            )?;
            let posters = tx.execute(
                "UPDATE pull_request SET version = version + 1,
                     body = json_set(body, '$.poster', NULL, '$.version', version + 1)
                 WHERE json_extract(body, '$.poster') IS NOT NULL",
                [],
            )?;
            Ok(Step::Commit(jobs.saturating_add(posters)))
        })
    }
}

#[async_trait]
impl Ledger for LocalLedger {
    async fn job(&self, id: &JobId) -> Result<Option<Job>, LedgerError> {
        self.database
            .read(|connection| read_job(connection, id))
            .map_err(|source| unavailable("reading a job", source))
    }

    async fn pull_request(
        &self,
        id: &PullRequestRef,
    ) -> Result<Option<PullRequestRecord>, LedgerError> {
        self.database
            .read(|connection| {
                connection
                    .query_row(
                        "SELECT body FROM pull_request WHERE id = ?1",
                        [id.to_string()],
                        |row| row.get::<_, String>(0),
                    )
                    .optional()?
                    .map(|body| parse("pull requests", &body))
                    .transpose()
            })
            .map_err(|source| unavailable("reading a pull request", source))
    }

    async fn has_delivery(&self, forge: Forge, id: &DeliveryId) -> Result<bool, LedgerError> {
        self.database
            .read(|connection| {
                Ok(connection.query_row(
                    "SELECT EXISTS (SELECT 1 FROM delivery WHERE forge = ?1 AND id = ?2)",
                    params![forge.as_str(), id.as_str()],
                    |row| row.get(0),
                )?)
            })
            .map_err(|source| unavailable("looking for a delivery", source))
    }

    async fn commit(&self, transaction: Transaction) -> Result<Recorded, LedgerError> {
        self.database
            .write(|tx| {
                if let Some(delivery) = &transaction.delivery
                    && !insert_delivery(tx, delivery)?
                {
                    return Ok(Step::Rollback(Recorded::DuplicateDelivery));
                }
                for job in &transaction.jobs {
                    if !write_job(tx, job)? {
                        return Ok(Step::Rollback(Recorded::Stale));
                    }
                }
                if let Some(record) = &transaction.pull_request
                    && !write_pull_request(tx, record)?
                {
                    return Ok(Step::Rollback(Recorded::Stale));
                }
                Ok(Step::Commit(Recorded::New))
            })
            .map_err(|source| unavailable("writing a transaction", source))
    }

    async fn claim(
        &self,
        id: &JobId,
        states: &[JobState],
        claim: Claim,
        now: Timestamp,
    ) -> Result<Claimed, LedgerError> {
        self.database
            .write(|tx| {
                let Some(mut job) = read_job(tx, id)? else {
                    return Ok(Step::Rollback(Claimed::Unknown));
                };
                if !states.contains(&job.state) {
                    return Ok(Step::Rollback(Claimed::NotNow(job.state)));
                }
                if let Some(held) = job.claim.as_ref().filter(|held| held.until > now) {
                    return Ok(Step::Rollback(Claimed::Busy(held.until)));
                }
                job.claim = Some(claim);
                job.updated_at = now;
                write_job(tx, &job)?;
                job.version = job.version.saturating_add(1);
                Ok(Step::Commit(Claimed::Granted(Box::new(job))))
            })
            .map_err(|source| unavailable("claiming a job", source))
    }

    async fn unfinished(&self, before: Timestamp, limit: usize) -> Result<Vec<Job>, LedgerError> {
        self.database
            .read(|connection| {
                list(
                    connection,
                    "jobs",
                    "SELECT body FROM job WHERE finished = 0 AND updated_at < ?1
                     ORDER BY updated_at, id LIMIT ?2",
                    before,
                    limit,
                )
            })
            .map_err(|source| unavailable("listing unfinished jobs", source))
    }

    async fn touched(
        &self,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<PullRequestRecord>, LedgerError> {
        self.database
            .read(|connection| {
                list(
                    connection,
                    "pull requests",
                    "SELECT body FROM pull_request WHERE touched_at >= ?1
                     ORDER BY touched_at, id LIMIT ?2",
                    since,
                    limit,
                )
            })
            .map_err(|source| unavailable("listing pull requests", source))
    }
}

#[async_trait]
impl Bookmarks for LocalLedger {
    async fn bookmark(&self, name: &str) -> Result<Option<String>, LedgerError> {
        self.database
            .read(|connection| {
                let sql = "SELECT body FROM bookmark WHERE name = ?1";
                Ok(connection
                    .query_row(sql, [name], |row| row.get(0))
                    .optional()?)
            })
            .map_err(|source| unavailable("reading a bookmark", source))
    }

    async fn keep_bookmark(
        &self,
        name: &str,
        known: Option<&str>,
        text: &str,
    ) -> Result<(), LedgerError> {
        let kept = self
            .database
            .write(|tx| {
                let rows = match known {
                    None => tx.execute(
                        "INSERT INTO bookmark (name, body) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                        params![name, text],
                    )?,
                    Some(known) => tx.execute(
                        "UPDATE bookmark SET body = ?2 WHERE name = ?1 AND body = ?3",
                        params![name, text, known],
                    )?,
                };
                Ok(Step::Commit(rows == 1))
            })
            .map_err(|source| unavailable("keeping a bookmark", source))?;
        kept.then_some(()).ok_or_else(|| LedgerError::Conflict {
            what: format!("the bookmark `{name}`"),
        })
    }
}

pub(crate) fn unavailable(action: &'static str, source: LocalError) -> LedgerError {
    LedgerError::Unavailable {
        action,
        source: Box::new(source),
    }
}

fn read_job(connection: &Connection, id: &JobId) -> Result<Option<Job>, RowError> {
    connection
        .query_row("SELECT body FROM job WHERE id = ?1", [id.as_str()], |row| {
            row.get::<_, String>(0)
        })
        .optional()?
        .map(|body| parse("jobs", &body))
        .transpose()
}

/// Returns whether the delivery is new.
fn insert_delivery(connection: &Connection, delivery: &Delivery) -> Result<bool, RowError> {
    let rows = connection.execute(
        "INSERT INTO delivery (forge, id, body_sha256, body) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO NOTHING",
        params![
            delivery.origin.forge.as_str(),
            delivery.id.as_str(),
            delivery.body.as_str(),
            print("deliveries", delivery)?
        ],
    )?;
    Ok(rows == 1)
}

/// Writes a job upon the version it names; returns whether that version was still there.
fn write_job(connection: &Connection, job: &Job) -> Result<bool, RowError> {
    let stored = Job {
        version: job.version.saturating_add(1),
        ..job.clone()
    };
    let values = params![
        job.id.as_str(),
        stored.version,
        job.state.is_terminal(),
        job.updated_at.get(),
        print("jobs", &stored)?,
        job.version,
    ];
    let rows = if job.version == 0 {
        connection.execute(
            "INSERT INTO job (id, version, finished, updated_at, body)
             SELECT ?1, ?2, ?3, ?4, ?5 WHERE ?6 = 0 ON CONFLICT DO NOTHING",
            values,
        )?
    } else {
        connection.execute(
            "UPDATE job SET version = ?2, finished = ?3, updated_at = ?4, body = ?5
             WHERE id = ?1 AND version = ?6",
            values,
        )?
    };
    Ok(rows == 1)
}

/// Writes a record upon the version it names; returns whether that version was still there.
fn write_pull_request(
    connection: &Connection,
    record: &PullRequestRecord,
) -> Result<bool, RowError> {
    let stored = PullRequestRecord {
        version: record.version.saturating_add(1),
        ..record.clone()
    };
    let values = params![
        record.pull_request.to_string(),
        stored.version,
        record.touched_at.get(),
        print("pull requests", &stored)?,
        record.version,
    ];
    let rows = if record.version == 0 {
        connection.execute(
            "INSERT INTO pull_request (id, version, touched_at, body)
             SELECT ?1, ?2, ?3, ?4 WHERE ?5 = 0 ON CONFLICT DO NOTHING",
            values,
        )?
    } else {
        connection.execute(
            "UPDATE pull_request SET version = ?2, touched_at = ?3, body = ?4
             WHERE id = ?1 AND version = ?5",
            values,
        )?
    };
    Ok(rows == 1)
}

fn list<T: DeserializeOwned>(
    connection: &Connection,
    table: &'static str,
    sql: &str,
    moment: Timestamp,
    limit: usize,
) -> Result<Vec<T>, RowError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![moment.get(), limit], |row| row.get::<_, String>(0))?;
    rows.map(|body| parse(table, &body?)).collect()
}

fn parse<T: DeserializeOwned>(table: &'static str, body: &str) -> Result<T, RowError> {
    serde_json::from_str(body).map_err(|source| RowError::Row(table, source))
}

fn print<T: Serialize>(table: &'static str, row: &T) -> Result<String, RowError> {
    serde_json::to_string(row).map_err(|source| RowError::Row(table, source))
}
