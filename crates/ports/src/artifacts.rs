//! Named objects: snapshots, checkpoints and findings.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use mirilla_domain::ids::Timestamp;
use mirilla_domain::snapshot::StoredObject;
use serde::{Deserialize, Serialize};

/// Why an object could not be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// The object is not there.
    #[error("there is no object `{key}`")]
    NotFound {
        /// The key asked for.
        key: String,
    },
    /// An object of that name is there already and was left alone.
    #[error("the object `{key}` exists already")]
    Exists {
        /// The key.
        key: String,
    },
    /// The object is not the one whose tag was named.
    #[error("the object `{key}` was replaced by another one")]
    Changed {
        /// The key.
        key: String,
    },
    /// More bytes than allowed.
    #[error("the object `{key}` is larger than {limit} bytes")]
    TooLarge {
        /// The key.
        key: String,
        /// The bound in bytes.
        limit: u64,
    },
    /// The store cannot be reached or failed.
    #[error("the artifact store failed at `{key}`")]
    Unavailable {
        /// The key.
        key: String,
        /// What the store said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// A store of named objects.
#[async_trait]
pub trait Artifacts: Send + Sync {
    /// Stores bytes under a key, replacing what is there.
    async fn put(&self, key: &str, bytes: &[u8]) -> Result<StoredObject, ArtifactError>;

    /// Stores bytes under a key that must not exist yet, else [`ArtifactError::Exists`].
    async fn put_new(&self, key: &str, bytes: &[u8]) -> Result<StoredObject, ArtifactError>;

    /// Opens a writer for an object too large for memory.
    async fn writer(
        &self,
        key: &str,
        limit_bytes: u64,
    ) -> Result<Box<dyn ArtifactWriter>, ArtifactError>;

    /// Returns an object's bytes, at most `limit_bytes` of them, else [`ArtifactError::TooLarge`].
    async fn get(&self, key: &str, limit_bytes: u64) -> Result<Vec<u8>, ArtifactError>;

    /// Returns `length` bytes of an object from `offset` on, fewer at its end; only of exactly the
    /// object that `object` describes, else [`ArtifactError::Changed`].
    async fn get_range(
        &self,
        object: &StoredObject,
        offset: u64,
        length: u64,
    ) -> Result<Vec<u8>, ArtifactError>;

    /// Returns the keys below a prefix, sorted.
    async fn list(&self, prefix: &str) -> Result<Vec<String>, ArtifactError>;

    /// Removes every object below a prefix; that nothing is there is no error.
    async fn delete(&self, prefix: &str) -> Result<(), ArtifactError>;
}

/// Writes one object in pieces. Dropped without [`ArtifactWriter::finish`], it leaves nothing behind.
#[async_trait]
pub trait ArtifactWriter: Send {
    /// Appends bytes, up to the writer's bound.
    async fn write(&mut self, bytes: &[u8]) -> Result<(), ArtifactError>;

    /// Makes the object visible under its key.
    async fn finish(self: Box<Self>) -> Result<StoredObject, ArtifactError>;
}

/// What a signed address allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Right {
    /// Read the object, whole or in ranges.
    Read,
    /// Write the object, whatever is there.
    Replace,
    /// Write the object if it does not exist yet.
    Create,
}

/// A signed address: whoever holds it has this one right to this one object.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The object.
    pub key: String,
    /// What may be done.
    pub right: Right,
    /// The address. A credential: it is never logged.
    pub url: String,
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant")
            .field("key", &self.key)
            .field("right", &self.right)
            .finish_non_exhaustive()
    }
}

/// Everything one reviewer may touch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grants {
    /// The signed addresses.
    pub grants: Vec<Grant>,
    /// When they stop working.
    pub expires_at: Timestamp,
}

/// Hands out rights to single objects to a process that has none of its own.
#[async_trait]
pub trait GrantObjects: Send + Sync {
    /// Signs an address for each object, valid for `valid`; `None` where a reviewer's process is
    /// bounded by other means and opens the store itself.
    async fn grant(
        &self,
        objects: &[(String, Right)],
        valid: Duration,
    ) -> Result<Option<Grants>, ArtifactError>;
}
