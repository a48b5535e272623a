//! What can go wrong with a local store, with the file's name and the way out.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// A local store could not be opened, read or written.
///
/// The text names the file and what a person can do; the cause is the source.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// No space is left.
    #[error("the disk that holds `{}` is full: make room, then run it again", path.display())]
    DiskFull {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Another process kept its lock for longer than anything of ours takes.
    #[error("`{}` stayed locked by another process: look for a second mirilla or a backup that holds it open", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        #[source]
        source: rusqlite::Error,
    },
    /// Not an SQLite file, or a damaged one.
    #[error("`{}` is damaged or not a mirilla database: move it away (or restore a backup) and start again", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        #[source]
        source: rusqlite::Error,
    },
    /// A row that this program cannot read.
    #[error("`{}` holds a row of {table} that cannot be read: it was written by another version of mirilla, or by hand", path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// The table.
        table: &'static str,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// Written by a later version of this program.
    #[error("`{}` has schema {found}, this mirilla knows {known}: upgrade mirilla, or choose another data directory", path.display())]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// The schema's number in the file.
        found: i64,
        /// The newest one known here.
        known: i64,
    },
    /// This user may not open or change it.
    #[error("`{}` may not be written by this user: change its owner or mode, or choose another data directory", path.display())]
    Forbidden {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The file system refused for another reason.
    #[error("could not {action} `{}`", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// SQLite refused for another reason.
    #[error("the database `{}` failed", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        #[source]
        source: rusqlite::Error,
    },
    /// A key that could leave the directory, or that not every file system can hold.
    #[error(
        "`{key}` is no key: 1 to 400 characters, parts of letters, digits, `-`, `_` and `.` that do not begin with a dot, separated by single `/`"
    )]
    Key {
        /// The refused key, cut to 80 characters.
        key: String,
    },
    /// The operating system gave no random bytes.
    #[error("the operating system's random number generator failed")]
    Entropy(#[source] getrandom::Error),
}

impl LocalError {
    /// Sorts an error of SQLite by what a person can do about it.
    pub(crate) fn sqlite(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_path_buf();
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::DiskFull {
                path,
                source: Box::new(source),
            },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Locked { path, source }
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Corrupt { path, source }
            }
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                Self::Forbidden {
                    path,
                    source: Box::new(source),
                }
            }
            _ => Self::Database { path, source },
        }
    }

    /// Sorts an error of the file system by what a person can do about it.
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull {
                path,
                source: Box::new(source),
            },
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::Forbidden {
                    path,
                    source: Box::new(source),
                }
            }
            _ => Self::Io {
                action,
                path,
                source,
            },
        }
    }
}
