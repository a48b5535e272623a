//! A store that holds one archive and counts what is asked of it.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use mirilla_archive::Archive;
use mirilla_domain::snapshot::StoredObject;
use mirilla_ports::source::EntryKind;
use mirilla_ports::{ArtifactError, ArtifactWriter, Artifacts, Source as _, SourceError};

/// One object in memory.
pub(crate) struct OneObject {
    bytes: Vec<u8>,
    pub(crate) requests: AtomicU64,
    pub(crate) read_bytes: AtomicU64,
    /// The largest part that was asked for.
    pub(crate) largest: AtomicU64,
}

impl OneObject {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            requests: AtomicU64::new(0),
            read_bytes: AtomicU64::new(0),
            largest: AtomicU64::new(0),
        }
    }

    pub(crate) fn archive(&self) -> Archive<'_> {
        let object = StoredObject {
            key: "archives/a.zip".to_owned(),
            etag: "tag".to_owned(),
            size_bytes: self.bytes.len() as u64,
        };
        Archive::new(self, object)
    }

    pub(crate) fn counted(&self) -> (u64, u64) {
        (
            self.requests.load(Ordering::Relaxed),
            self.read_bytes.load(Ordering::Relaxed),
        )
    }
}

#[async_trait]
impl Artifacts for OneObject {
    async fn get_range(
        &self,
        object: &StoredObject,
        offset: u64,
        length: u64,
    ) -> Result<Vec<u8>, ArtifactError> {
        assert_eq!(object.etag, "tag");
        let end = offset.saturating_add(length).min(object.size_bytes);
        let part = self.bytes.get(offset as usize..end as usize);
        let part = part.unwrap_or_default().to_vec();
        self.requests.fetch_add(1, Ordering::Relaxed);
        let read = part.len() as u64;
        self.read_bytes.fetch_add(read, Ordering::Relaxed);
        self.largest.fetch_max(read, Ordering::Relaxed);
        Ok(part)
    }

    async fn put(&self, _: &str, _: &[u8]) -> Result<StoredObject, ArtifactError> {
        panic!("an archive is only read")
    }
    async fn put_new(&self, _: &str, _: &[u8]) -> Result<StoredObject, ArtifactError> {
        panic!("an archive is only read")
    }
    async fn writer(&self, _: &str, _: u64) -> Result<Box<dyn ArtifactWriter>, ArtifactError> {
        panic!("an archive is only read")
    }
    async fn get(&self, _: &str, _: u64) -> Result<Vec<u8>, ArtifactError> {
        panic!("an archive is never read whole")
    }
    async fn list(&self, _: &str) -> Result<Vec<String>, ArtifactError> {
        panic!("an archive is only read")
    }
    async fn delete(&self, _: &str) -> Result<(), ArtifactError> {
        panic!("an archive is only read")
    }
}

/// The paths of an archive with what they are, in order.
pub(crate) async fn listed(archive: &Archive<'_>) -> Vec<(String, EntryKind)> {
    let tree = archive.tree().await.unwrap();
    let entries = tree.entries().iter();
    entries.map(|it| (it.path.clone(), it.kind)).collect()
}

pub(crate) async fn text(archive: &Archive<'_>, path: &str) -> String {
    String::from_utf8(archive.read(path, 1 << 20).await.unwrap()).unwrap()
}

/// Why an entry cannot be read.
pub(crate) async fn unreadable(archive: &Archive<'_>, path: &str) -> &'static str {
    match archive.read(path, 1 << 20).await {
        Err(SourceError::Unreadable { reason }) => reason,
        other => panic!("{path}: {other:?}"),
    }
}

/// Why an archive cannot be read.
pub(crate) async fn unusable(bytes: &[u8]) -> String {
    let store = OneObject::new(bytes.to_vec());
    match store.archive().tree().await {
        Err(SourceError::Unusable { reason }) => reason,
        other => panic!("{other:?}"),
    }
}
