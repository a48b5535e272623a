//! One SQLite file: opened safely, written in whole transactions.
//!
//! **Invariant:** every write is one `BEGIN IMMEDIATE` transaction: the lock is taken before the
//! first read, so what a decision was made upon cannot change before it is written.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};

use crate::LocalError;

/// How long a call waits for another process's transaction. Ours take milliseconds; a backup that
/// copies the file may take seconds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(20);
/// How often the switch to write-ahead logging is tried: SQLite does not wait there by itself.
const WAL_TRIES: u32 = 200;
/// The pause between two of those tries.
const WAL_PAUSE: Duration = Duration::from_millis(25);

/// What a database holds and how much it must survive.
pub(crate) struct Schema {
    /// The tables, for a file that has none.
    pub(crate) sql: &'static str,
    /// What makes a file of schema `n` one of schema `n + 1`, from schema 1 on.
    pub(crate) upgrades: &'static [&'static str],
    /// Counts changes of the tables.
    pub(crate) version: i64,
    /// Whether a committed transaction must survive a power cut. Otherwise it survives a crash of
    /// the program only.
    pub(crate) durable: bool,
}

/// What to do with a transaction whose closure came to a result.
pub(crate) enum Step<T> {
    /// Keep what was written.
    Commit(T),
    /// Write nothing.
    Rollback(T),
}

/// A failure inside a transaction.
pub(crate) enum RowError {
    /// SQLite's own.
    Sqlite(rusqlite::Error),
    /// A column that does not hold what it should.
    Row(&'static str, serde_json::Error),
}

impl From<rusqlite::Error> for RowError {
    fn from(source: rusqlite::Error) -> Self {
        Self::Sqlite(source)
    }
}

/// An open database.
#[derive(Debug)]
pub(crate) struct Database {
    path: PathBuf,
    connection: Mutex<Connection>,
}

impl Database {
    /// Opens a file, making it and its tables if needed.
    pub(crate) fn open(path: &Path, schema: &Schema) -> Result<Self, LocalError> {
        let connection =
            connect(path, schema).map_err(|source| LocalError::sqlite(path, source))?;
        let database = Self {
            path: path.to_path_buf(),
            connection: Mutex::new(connection),
        };
        let found = database.write(|transaction| {
            let found: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            if found == 0 {
                transaction.execute_batch(schema.sql)?;
            }
            let done = usize::try_from(found.saturating_sub(1)).unwrap_or(0);
            for upgrade in schema.upgrades.iter().skip(done).filter(|_| found > 0) {
                transaction.execute_batch(upgrade)?;
            }
            if found < schema.version {
                transaction.pragma_update(None, "user_version", schema.version)?;
            }
            Ok(Step::Commit(found))
        })?;
        if found > schema.version {
            return Err(LocalError::NewerSchema {
                path: path.to_path_buf(),
                found,
                known: schema.version,
            });
        }
        Ok(database)
    }

    /// Runs a closure over a consistent view.
    pub(crate) fn read<T>(
        &self,
        run: impl FnOnce(&Connection) -> Result<T, RowError>,
    ) -> Result<T, LocalError> {
        run(&self.lock()).map_err(|error| self.error(error))
    }

    /// Runs a closure in one transaction that holds the write lock from its start.
    pub(crate) fn write<T>(
        &self,
        run: impl FnOnce(&Transaction<'_>) -> Result<Step<T>, RowError>,
    ) -> Result<T, LocalError> {
        let mut connection = self.lock();
        let outcome = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(RowError::Sqlite)
            .and_then(|transaction| match run(&transaction)? {
                Step::Commit(value) => {
                    transaction.commit()?;
                    Ok(value)
                }
                Step::Rollback(value) => {
                    transaction.rollback()?;
                    Ok(value)
                }
            });
        outcome.map_err(|error| self.error(error))
    }

    /// A panic under the lock rolled its transaction back, so the connection is good.
    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn error(&self, error: RowError) -> LocalError {
        match error {
            RowError::Sqlite(source) => LocalError::sqlite(&self.path, source),
            RowError::Row(table, source) => LocalError::Row {
                path: self.path.clone(),
                table,
                source,
            },
        }
    }
}

fn connect(path: &Path, schema: &Schema) -> Result<Connection, rusqlite::Error> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    use_write_ahead_log(&connection)?;
    let synchronous = if schema.durable { "FULL" } else { "NORMAL" };
    connection.pragma_update(None, "synchronous", synchronous)?;
    Ok(connection)
}

/// Several processes that open a new file at once exclude each other here, and SQLite reports that
/// without waiting (<https://sqlite.org/wal.html>, "sometimes queries return `SQLITE_BUSY`").
fn use_write_ahead_log(connection: &Connection) -> Result<(), rusqlite::Error> {
    let mut tries = 0;
    loop {
        let outcome = connection.query_row("PRAGMA journal_mode = WAL", [], |row| {
            row.get::<_, String>(0)
        });
        match outcome {
            Err(error) if tries < WAL_TRIES && is_busy(&error) => {
                tries += 1;
                std::thread::sleep(WAL_PAUSE);
            }
            Err(error) => return Err(error),
            // A file system without shared memory keeps another mode, which is slower and right.
            Ok(_mode) => return Ok(()),
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: Schema = Schema {
        version: 1,
        durable: true,
        sql: "CREATE TABLE thing (body TEXT NOT NULL) STRICT;",
        upgrades: &[],
    };
    const NEXT: Schema = Schema {
        version: 3,
        sql: "CREATE TABLE thing (body TEXT NOT NULL, a INTEGER, b INTEGER) STRICT;",
        upgrades: &[
            "ALTER TABLE thing ADD COLUMN a INTEGER;",
            "ALTER TABLE thing ADD COLUMN b INTEGER;",
        ],
        ..SCHEMA
    };

    fn insert(database: &Database, bytes: u32) -> Result<(), LocalError> {
        database.write(|tx| {
            tx.execute("INSERT INTO thing VALUES (hex(zeroblob(?1)))", [bytes])?;
            Ok(Step::Commit(()))
        })
    }

    fn count(database: &Database) -> i64 {
        let count = database.read(|connection| {
            Ok(connection.query_row("SELECT count(*) FROM thing", [], |row| row.get(0))?)
        });
        count.unwrap()
    }

    #[test]
    fn full_disk_is_named_and_nothing_is_recorded() {
        let temp = tempfile::tempdir().unwrap();
        let database = Database::open(&temp.path().join("x.db"), &SCHEMA).unwrap();
        // SQLite's own page limit raises the error of a disk without room.
        let limited =
            database.read(|connection| Ok(connection.execute_batch("PRAGMA max_page_count = 20")?));
        limited.unwrap();
        let error = insert(&database, 200_000).unwrap_err();
        assert!(matches!(error, LocalError::DiskFull { .. }), "{error:?}");
        assert!(error.to_string().contains("x.db"), "{error}");
        insert(&database, 10).unwrap();
        assert_eq!(count(&database), 1);
    }

    #[test]
    fn lock_that_stays_is_named_and_nothing_is_recorded() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("x.db");
        let database = Database::open(&path, &SCHEMA).unwrap();
        let shortened =
            database.read(|connection| Ok(connection.busy_timeout(Duration::from_millis(20))?));
        shortened.unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let error = insert(&database, 10).unwrap_err();
        assert!(matches!(error, LocalError::Locked { .. }), "{error:?}");
        other.execute_batch("ROLLBACK").unwrap();
        assert_eq!(count(&database), 0);
        insert(&database, 10).unwrap();
    }

    #[test]
    fn older_file_is_upgraded_once_and_keeps_its_rows() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("x.db");
        insert(&Database::open(&path, &SCHEMA).unwrap(), 1).unwrap();
        for _ in 0..2 {
            let database = Database::open(&path, &NEXT).unwrap();
            let columns = database.read(|connection| {
                let sql = "SELECT count(a) + count(b) + count(*) FROM thing";
                Ok(connection.query_row(sql, [], |row| row.get::<_, i64>(0))?)
            });
            assert_eq!(columns.unwrap(), 1);
        }
        let fresh = Database::open(&temp.path().join("y.db"), &NEXT).unwrap();
        assert_eq!(count(&fresh), 0);
        let older = Database::open(&path, &SCHEMA).unwrap_err();
        assert!(matches!(older, LocalError::NewerSchema { .. }), "{older:?}");
    }

    #[test]
    fn rolled_back_step_writes_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let database = Database::open(&temp.path().join("x.db"), &SCHEMA).unwrap();
        let outcome = database.write(|tx| {
            tx.execute("INSERT INTO thing VALUES ('x')", [])?;
            Ok(Step::Rollback(7))
        });
        assert_eq!(outcome.unwrap(), 7);
        assert_eq!(count(&database), 0);
    }
}
