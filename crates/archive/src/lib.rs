//! The files of a commit out of a zip object, read part by part.
//!
//! The directory at the archive's end is read once, an entry only when it is asked for. Everything in an
//! archive is written by whoever proposes the change: sizes, names, offsets and checksums are claims, and
//! nothing is allocated or believed because of one.
//!
//! The forge puts all files into one folder named after the repository and the commit; paths here are
//! below that folder.
//!
//! **Invariant:** nothing is unpacked to a disk, and no call keeps more than its bound in memory.

mod blocks;
mod directory;
mod entry;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use mirilla_domain::snapshot::StoredObject;
use mirilla_ports::source::{EntryKind, Tree};
use mirilla_ports::{ArtifactError, Artifacts, OpenSource, Source, SourceError};
use tokio::sync::OnceCell;

use blocks::Blocks;
use directory::{Directory, Unlisted};
pub use directory::{MAX_DIRECTORY_BYTES, MAX_ENTRIES};

/// A commit's archive in a store.
pub struct Archive<'a> {
    blocks: Blocks<'a>,
    /// The directory, or why there is none.
    directory: OnceCell<Result<Directory, String>>,
}

impl fmt::Debug for Archive<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Archive").finish_non_exhaustive()
    }
}

impl<'a> Archive<'a> {
    /// Takes a zip object; nothing is read before something is asked for.
    pub fn new(artifacts: &'a dyn Artifacts, object: StoredObject) -> Self {
        Self {
            blocks: Blocks::new(artifacts, object),
            directory: OnceCell::new(),
        }
    }

    async fn directory(&self) -> Result<&Directory, SourceError> {
        let read = || async {
            match directory::read(&self.blocks).await {
                Ok(directory) => Ok(Ok(directory)),
                Err(Unlisted::Never(reason)) => Ok(Err(reason)),
                Err(Unlisted::NotNow(error)) => Err(unavailable(error)),
            }
        };
        self.directory
            .get_or_try_init(read)
            .await?
            .as_ref()
            .map_err(|reason| SourceError::Unusable {
                reason: reason.clone(),
            })
    }
}

#[async_trait]
impl Source for Archive<'_> {
    async fn tree(&self) -> Result<Arc<Tree>, SourceError> {
        Ok(Arc::clone(&self.directory().await?.tree))
    }

    async fn read(&self, path: &str, limit_bytes: u64) -> Result<Vec<u8>, SourceError> {
        let (entry, place) = self
            .directory()
            .await?
            .find(path)
            .ok_or(SourceError::NotFound)?;
        match entry.kind {
            EntryKind::File | EntryKind::Symlink => {
                entry::read(&self.blocks, place, limit_bytes).await
            }
            EntryKind::Submodule => Err(SourceError::Unreadable {
                reason: "it is a folder without files",
            }),
            EntryKind::Ambiguous => Err(SourceError::Unreadable {
                reason: "the archive has several entries of that name",
            }),
        }
    }
}

/// Opens archives in one store.
pub struct Archives<'a> {
    artifacts: &'a dyn Artifacts,
}

impl fmt::Debug for Archives<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Archives").finish_non_exhaustive()
    }
}

impl<'a> Archives<'a> {
    /// Takes the store.
    pub const fn new(artifacts: &'a dyn Artifacts) -> Self {
        Self { artifacts }
    }
}

impl OpenSource for Archives<'_> {
    fn open<'a>(&'a self, archive: Option<&StoredObject>) -> Option<Box<dyn Source + 'a>> {
        let archive = Archive::new(self.artifacts, archive?.clone());
        Some(Box::new(archive))
    }
}

fn unavailable(error: ArtifactError) -> SourceError {
    SourceError::Unavailable {
        source: Box::new(error),
    }
}
