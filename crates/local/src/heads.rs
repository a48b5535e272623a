//! The newest heads in SQLite: what a reviewer may look at to stop early.

use std::path::Path;

use async_trait::async_trait;
use mirilla_domain::ids::{CommitSha, PullRequestRef, Timestamp};
use mirilla_ports::{Heads, HeadsWrite, LedgerError};
use rusqlite::{OptionalExtension as _, params};

use crate::LocalError;
use crate::database::{Database, Schema, Step};
use crate::ledger::unavailable;

const SCHEMA: Schema = Schema {
    version: 1,
    // Losing a head to a power cut costs one early stop, nothing else.
    durable: false,
    sql: "
        CREATE TABLE head (
            id TEXT NOT NULL PRIMARY KEY,
            head TEXT NOT NULL,
            read_at INTEGER NOT NULL
        ) STRICT;
    ",
    upgrades: &[],
};

/// The newest head of each pull request in one SQLite file.
#[derive(Debug)]
pub struct LocalHeads {
    database: Database,
}

impl LocalHeads {
    /// Opens the file, making it if needed.
    pub fn open(path: &Path) -> Result<Self, LocalError> {
        Database::open(path, &SCHEMA).map(|database| Self { database })
    }
}

#[async_trait]
impl Heads for LocalHeads {
    async fn newest(&self, id: &PullRequestRef) -> Result<Option<CommitSha>, LedgerError> {
        let head = self
            .database
            .read(|connection| {
                Ok(connection
                    .query_row(
                        "SELECT head FROM head WHERE id = ?1",
                        [id.to_string()],
                        |row| row.get::<_, String>(0),
                    )
                    .optional()?)
            })
            .map_err(|source| unavailable("reading a newest head", source))?;
        head.map(|text| CommitSha::parse(&text))
            .transpose()
            .map_err(|source| LedgerError::Unavailable {
                action: "reading a newest head",
                source: Box::new(source),
            })
    }
}

#[async_trait]
impl HeadsWrite for LocalHeads {
    async fn record(
        &self,
        id: &PullRequestRef,
        head: &CommitSha,
        read_at: Timestamp,
    ) -> Result<(), LedgerError> {
        self.database
            .write(|tx| {
                tx.execute(
                    "INSERT INTO head (id, head, read_at) VALUES (?1, ?2, ?3)
                     ON CONFLICT (id) DO UPDATE SET head = excluded.head, read_at = excluded.read_at
                     WHERE excluded.read_at >= head.read_at",
                    params![id.to_string(), head.as_str(), read_at.get()],
                )?;
                Ok(Step::Commit(()))
            })
            .map_err(|source| unavailable("writing a newest head", source))
    }
}
