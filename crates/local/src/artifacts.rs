//! Objects as files below one directory.
//!
//! Bytes go to a temporary file, are flushed, and appear under their key by one rename (or, where
//! the key must be new, one exclusive link): a reader sees all of an object or nothing, and of two
//! writers of a new key one wins. The tag of an object is the SHA-256 of its bytes.
//!
//! **Invariant:** no key and no symbolic link leads out of the directory: every path is walked from
//! the directory's own descriptor, part by part, without following links. Stages of different trust
//! share the directory.

mod key;
mod range;
mod store;
mod temp;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mirilla_domain::ids::JobId;
use mirilla_domain::snapshot::StoredObject;
use mirilla_ports::artifacts::Right;
use mirilla_ports::{ArtifactError, ArtifactWriter, Artifacts, GrantObjects, Grants};

use crate::LocalError;
use key::{Key, Prefix};
use store::Store;
use temp::TempFile;

/// A directory of objects.
#[derive(Debug, Clone)]
pub struct DirArtifacts {
    store: Arc<Store>,
}

impl DirArtifacts {
    /// Opens the directory, making it if needed, and removes what killed writers left behind.
    pub fn open(path: &Path) -> Result<Self, LocalError> {
        Self::open_with(path, store::TEMP)
    }

    /// Opens the directory for a process that may touch one job's objects only: what it has not
    /// finished lies in that job's own folder, which must be there.
    pub fn open_for_job(path: &Path, job: &JobId) -> Result<Self, LocalError> {
        Self::open_with(path, &format!("work/{job}/{}", store::TEMP))
    }

    fn open_with(path: &Path, temp: &str) -> Result<Self, LocalError> {
        let store = Store::open(path, temp)?;
        temp::remove_leftovers(&store)?;
        Ok(Self {
            store: Arc::new(store),
        })
    }

    pub(crate) fn keys(&self, prefix: &str) -> Result<Vec<String>, LocalError> {
        self.store.list(&Prefix::parse(prefix)?)
    }

    fn temp(&self, key: &str) -> Result<(Key, TempFile), ArtifactError> {
        let parsed = Key::parse(key).map_err(|source| unavailable(key, source))?;
        let temp = TempFile::create(&self.store).map_err(|source| unavailable(key, source))?;
        Ok((parsed, temp))
    }

    fn write_whole(
        &self,
        key: &str,
        bytes: &[u8],
        exclusive: bool,
    ) -> Result<StoredObject, ArtifactError> {
        let (parsed, mut temp) = self.temp(key)?;
        temp.write(bytes)
            .and_then(|()| temp.publish(&parsed, exclusive))
            .map_err(|source| unavailable(key, source))?
            .ok_or_else(|| ArtifactError::Exists {
                key: key.to_owned(),
            })
    }
}

/// A reviewer of this store opens it itself, confined to its job's folders by the kernel.
#[async_trait]
impl GrantObjects for DirArtifacts {
    async fn grant(
        &self,
        _objects: &[(String, Right)],
        _valid: Duration,
    ) -> Result<Option<Grants>, ArtifactError> {
        Ok(None)
    }
}

#[async_trait]
impl Artifacts for DirArtifacts {
    async fn put(&self, key: &str, bytes: &[u8]) -> Result<StoredObject, ArtifactError> {
        self.write_whole(key, bytes, false)
    }

    async fn put_new(&self, key: &str, bytes: &[u8]) -> Result<StoredObject, ArtifactError> {
        self.write_whole(key, bytes, true)
    }

    async fn writer(
        &self,
        key: &str,
        limit_bytes: u64,
    ) -> Result<Box<dyn ArtifactWriter>, ArtifactError> {
        let (parsed, temp) = self.temp(key)?;
        Ok(Box::new(DirWriter {
            key: parsed,
            temp,
            limit_bytes,
        }))
    }

    async fn get(&self, key: &str, limit_bytes: u64) -> Result<Vec<u8>, ArtifactError> {
        let parsed = Key::parse(key).map_err(|source| unavailable(key, source))?;
        let found = self
            .store
            .read(&parsed, limit_bytes)
            .map_err(|source| unavailable(key, source))?;
        match found {
            store::Read::Whole(bytes) => Ok(bytes),
            store::Read::Absent => Err(ArtifactError::NotFound {
                key: key.to_owned(),
            }),
            store::Read::TooLarge => Err(ArtifactError::TooLarge {
                key: key.to_owned(),
                limit: limit_bytes,
            }),
        }
    }

    /// The first range of an object reads all of it, because its tag is the hash of its bytes.
    async fn get_range(
        &self,
        object: &StoredObject,
        offset: u64,
        length: u64,
    ) -> Result<Vec<u8>, ArtifactError> {
        let key = &object.key;
        let parsed = Key::parse(key).map_err(|source| unavailable(key, source))?;
        let found = self
            .store
            .range(&parsed, &object.etag, offset, length)
            .map_err(|source| unavailable(key, source))?;
        match found {
            range::Part::Bytes(bytes) => Ok(bytes),
            range::Part::Absent => Err(ArtifactError::NotFound { key: key.clone() }),
            range::Part::OfAnother => Err(ArtifactError::Changed { key: key.clone() }),
        }
    }

    async fn list(&self, prefix: &str) -> Result<Vec<String>, ArtifactError> {
        self.keys(prefix)
            .map_err(|source| unavailable(prefix, source))
    }

    async fn delete(&self, prefix: &str) -> Result<(), ArtifactError> {
        Prefix::parse_some(prefix)
            .and_then(|parsed| self.store.delete(&parsed))
            .map_err(|source| unavailable(prefix, source))
    }
}

/// Writes one object in pieces.
struct DirWriter {
    key: Key,
    temp: TempFile,
    limit_bytes: u64,
}

#[async_trait]
impl ArtifactWriter for DirWriter {
    async fn write(&mut self, bytes: &[u8]) -> Result<(), ArtifactError> {
        let more = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if self.temp.size().saturating_add(more) > self.limit_bytes {
            return Err(ArtifactError::TooLarge {
                key: self.key.as_str().to_owned(),
                limit: self.limit_bytes,
            });
        }
        self.temp
            .write(bytes)
            .map_err(|source| unavailable(self.key.as_str(), source))
    }

    async fn finish(mut self: Box<Self>) -> Result<StoredObject, ArtifactError> {
        let key = self.key.as_str().to_owned();
        self.temp
            .publish(&self.key, false)
            .map_err(|source| unavailable(&key, source))?
            .ok_or(ArtifactError::Exists { key })
    }
}

fn unavailable(key: &str, source: LocalError) -> ArtifactError {
    ArtifactError::Unavailable {
        key: key.to_owned(),
        source: Box::new(source),
    }
}
