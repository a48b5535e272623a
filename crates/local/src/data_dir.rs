//! Where the local stores live.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::LocalError;

/// The data directory: `ledger.db`, `heads.db`, `meter/meter.db`, `queue.db`, `artifacts/` and
/// `announced/`.
///
/// It only names paths; opening a store is the store's own business, so that a process touches
/// nothing but what it opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataDir {
    root: PathBuf,
}

impl DataDir {
    /// Makes the directory if needed, readable for its owner only.
    pub fn create(root: &Path) -> Result<Self, LocalError> {
        let meter = root.join("meter");
        for directory in [root, meter.as_path()] {
            std::fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(directory)
                .map_err(|source| LocalError::io("make the data directory", directory, source))?;
        }
        Ok(Self::at(root))
    }

    /// Names the stores of a directory that somebody else made.
    pub fn at(root: &Path) -> Self {
        Self {
            root: root.to_path_buf(),
        }
    }

    /// Returns the directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of the ledger.
    pub fn ledger(&self) -> PathBuf {
        self.root.join("ledger.db")
    }

    /// Returns the path of the newest heads.
    pub fn heads(&self) -> PathBuf {
        self.root.join("heads.db")
    }

    /// Returns the path of the purses: in a folder of their own, because a reviewer is confined to
    /// it and SQLite keeps its log beside the file.
    pub fn meter(&self) -> PathBuf {
        self.root.join("meter").join("meter.db")
    }

    /// Returns the path of the queues.
    pub fn queue(&self) -> PathBuf {
        self.root.join("queue.db")
    }

    /// Returns the directory of the objects.
    pub fn artifacts(&self) -> PathBuf {
        self.root.join("artifacts")
    }

    /// Returns the directory that remembers which findings were announced.
    pub fn announced(&self) -> PathBuf {
        self.root.join("announced")
    }
}
