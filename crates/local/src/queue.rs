//! Queues in SQLite, with the visible behaviour of SQS: at least once, hidden while worked on.
//!
//! **Invariant:** a message leaves the queue by `delete` or to the dead letters, never by being
//! received.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mirilla_domain::ids::Timestamp;
use mirilla_ports::message::Message;
use mirilla_ports::queue::{QueueDepth, QueueName, Received};
use mirilla_ports::{Clock, Queue, QueueError, QueueSend};
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::LocalError;
use crate::database::{Database, RowError, Schema, Step};

/// How often a message is handed out before it becomes a dead letter (design: `maxReceiveCount`).
pub const MAX_RECEIVES: u32 = 10;

const SCHEMA: Schema = Schema {
    version: 1,
    // A message lost to a power cut is sent again by the sweeper, from the ledger.
    durable: false,
    sql: "
        CREATE TABLE message (
            id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
            queue TEXT NOT NULL,
            visible_at INTEGER NOT NULL,
            receive_count INTEGER NOT NULL DEFAULT 0,
            body TEXT NOT NULL
        ) STRICT;
        CREATE INDEX message_visible ON message (queue, visible_at, id);
        CREATE TABLE dead_letter (
            id INTEGER NOT NULL PRIMARY KEY,
            queue TEXT NOT NULL,
            buried_at INTEGER NOT NULL,
            receive_count INTEGER NOT NULL,
            body TEXT NOT NULL
        ) STRICT;
        CREATE INDEX dead_letter_queue ON dead_letter (queue, id);
    ",
    upgrades: &[],
};

/// A message that was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// Names it within its queue.
    pub id: i64,
    /// When it was given up.
    pub buried_at: Timestamp,
    /// How often it had been received.
    pub receive_count: u32,
    /// Its body.
    pub body: String,
}

/// All queues in one SQLite file.
pub struct LocalQueue {
    database: Database,
    clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for LocalQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalQueue")
            .field("database", &self.database)
            .finish_non_exhaustive()
    }
}

impl LocalQueue {
    /// Opens the file, making it if needed. Delays and visibility are counted on `clock`.
    pub fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, LocalError> {
        let database = Database::open(path, &SCHEMA)?;
        Ok(Self { database, clock })
    }

    /// Returns a queue's dead letters, oldest first.
    pub fn dead_letters(&self, queue: QueueName) -> Result<Vec<DeadLetter>, LocalError> {
        self.database.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT id, buried_at, receive_count, body FROM dead_letter
                 WHERE queue = ?1 ORDER BY id",
            )?;
            let rows = statement.query_map([queue.as_str()], |row| {
                Ok(DeadLetter {
                    id: row.get(0)?,
                    buried_at: Timestamp::new(row.get(1)?),
                    receive_count: row.get(2)?,
                    body: row.get(3)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Puts all dead letters of a queue back, as new messages; returns how many.
    pub fn redrive(&self, queue: QueueName) -> Result<usize, LocalError> {
        let now = self.clock.now();
        self.database.write(|tx| {
            let moved = tx.execute(
                "INSERT INTO message (queue, visible_at, body)
                 SELECT queue, ?2, body FROM dead_letter WHERE queue = ?1 ORDER BY id",
                params![queue.as_str(), now.get()],
            )?;
            tx.execute("DELETE FROM dead_letter WHERE queue = ?1", [queue.as_str()])?;
            Ok(Step::Commit(moved))
        })
    }

    /// Makes every hidden message that was received visible again; returns how many.
    ///
    /// For a host that starts: when nobody else can be at work, every receiver is dead. Messages that
    /// were sent with a delay and not received yet keep it.
    pub fn release_hidden(&self) -> Result<usize, LocalError> {
        let now = self.clock.now();
        self.database.write(|tx| {
            let released = tx.execute(
                "UPDATE message SET visible_at = ?1 WHERE receive_count > 0 AND visible_at > ?1",
                [now.get()],
            )?;
            Ok(Step::Commit(released))
        })
    }

    /// Runs a statement on the message a receipt names, if the receipt is its newest.
    fn on_receipt(
        &self,
        queue: QueueName,
        receipt: &str,
        action: &'static str,
        run: impl FnOnce(&Connection, i64) -> Result<(), RowError>,
    ) -> Result<(), QueueError> {
        let Some((id, count)) = parse_receipt(receipt) else {
            return Err(QueueError::ReceiptExpired);
        };
        let held = self
            .database
            .write(|tx| {
                let held = tx
                    .query_row(
                        "SELECT 1 FROM message WHERE id = ?1 AND queue = ?2 AND receive_count = ?3",
                        params![id, queue.as_str(), count],
                        |_row| Ok(()),
                    )
                    .optional()?
                    .is_some();
                if held {
                    run(tx, id)?;
                }
                Ok(Step::Commit(held))
            })
            .map_err(|source| unavailable(queue, action, source))?;
        if held {
            Ok(())
        } else {
            Err(QueueError::ReceiptExpired)
        }
    }
}

#[async_trait]
impl QueueSend for LocalQueue {
    async fn send(
        &self,
        queue: QueueName,
        message: &Message,
        delay: Duration,
    ) -> Result<(), QueueError> {
        let visible_at = self.clock.now().plus(delay);
        self.database
            .write(|tx| {
                let body = serde_json::to_string(message)
                    .map_err(|source| RowError::Row("messages", source))?;
                tx.execute(
                    "INSERT INTO message (queue, visible_at, body) VALUES (?1, ?2, ?3)",
                    params![queue.as_str(), visible_at.get(), body],
                )?;
                Ok(Step::Commit(()))
            })
            .map_err(|source| unavailable(queue, "sending", source))
    }
}

#[async_trait]
impl Queue for LocalQueue {
    async fn receive(
        &self,
        queue: QueueName,
        visibility: Duration,
    ) -> Result<Option<Received>, QueueError> {
        let now = self.clock.now();
        let received = || {
            // An idle worker polls: looking first keeps it from taking the write lock each time.
            if !self
                .database
                .read(|connection| has_visible(connection, queue, now))?
            {
                return Ok(None);
            }
            self.database.write(|tx| {
                tx.execute(
                    "INSERT INTO dead_letter (id, queue, buried_at, receive_count, body)
                     SELECT id, queue, ?2, receive_count, body FROM message
                     WHERE queue = ?1 AND visible_at <= ?2 AND receive_count >= ?3",
                    params![queue.as_str(), now.get(), MAX_RECEIVES],
                )?;
                tx.execute(
                    "DELETE FROM message
                     WHERE queue = ?1 AND visible_at <= ?2 AND receive_count >= ?3",
                    params![queue.as_str(), now.get(), MAX_RECEIVES],
                )?;
                let received = tx
                    .query_row(
                        "UPDATE message SET receive_count = receive_count + 1, visible_at = ?3
                         WHERE id = (SELECT id FROM message WHERE queue = ?1 AND visible_at <= ?2
                                     ORDER BY visible_at, id LIMIT 1)
                         RETURNING id, receive_count, body",
                        params![queue.as_str(), now.get(), now.plus(visibility).get()],
                        |row| {
                            let (id, receive_count): (i64, u32) = (row.get(0)?, row.get(1)?);
                            Ok(Received {
                                receipt: format!("{id}.{receive_count}"),
                                receive_count,
                                body: row.get(2)?,
                            })
                        },
                    )
                    .optional()?;
                Ok(Step::Commit(received))
            })
        };
        received().map_err(|source| unavailable(queue, "receiving", source))
    }

    async fn delete(&self, queue: QueueName, receipt: &str) -> Result<(), QueueError> {
        self.on_receipt(queue, receipt, "deleting", |tx, id| {
            tx.execute("DELETE FROM message WHERE id = ?1", [id])?;
            Ok(())
        })
    }

    async fn put_back(
        &self,
        queue: QueueName,
        receipt: &str,
        delay: Duration,
    ) -> Result<(), QueueError> {
        let visible_at = self.clock.now().plus(delay);
        self.on_receipt(queue, receipt, "putting back", |tx, id| {
            tx.execute(
                "UPDATE message SET visible_at = ?2 WHERE id = ?1",
                params![id, visible_at.get()],
            )?;
            Ok(())
        })
    }

    async fn bury(&self, queue: QueueName, receipt: &str) -> Result<(), QueueError> {
        let now = self.clock.now();
        self.on_receipt(queue, receipt, "burying", |tx, id| {
            tx.execute(
                "INSERT INTO dead_letter (id, queue, buried_at, receive_count, body)
                 SELECT id, queue, ?2, receive_count, body FROM message WHERE id = ?1",
                params![id, now.get()],
            )?;
            tx.execute("DELETE FROM message WHERE id = ?1", [id])?;
            Ok(())
        })
    }
}

#[async_trait]
impl QueueDepth for LocalQueue {
    async fn depth(&self, queue: QueueName) -> Result<u64, QueueError> {
        self.database
            .read(|connection| {
                Ok(connection.query_row(
                    "SELECT count(*) FROM message WHERE queue = ?1",
                    [queue.as_str()],
                    |row| row.get(0),
                )?)
            })
            .map_err(|source| unavailable(queue, "counting", source))
    }
}

fn unavailable(queue: QueueName, action: &'static str, source: LocalError) -> QueueError {
    QueueError::Unavailable {
        queue: queue.as_str(),
        action,
        source: Box::new(source),
    }
}

fn has_visible(
    connection: &Connection,
    queue: QueueName,
    now: Timestamp,
) -> Result<bool, RowError> {
    Ok(connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM message WHERE queue = ?1 AND visible_at <= ?2)",
        params![queue.as_str(), now.get()],
        |row| row.get(0),
    )?)
}

/// Reads message and receive count: a receipt is good until the message is received again.
fn parse_receipt(receipt: &str) -> Option<(i64, u32)> {
    let (id, count) = receipt.split_once('.')?;
    Some((id.parse().ok()?, count.parse().ok()?))
}
