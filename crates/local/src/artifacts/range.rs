//! Parts of an object, and how it is known that it is still the same object.
//!
//! An object's tag is the hash of its bytes, so that the first part costs a look at all of them. An
//! object is never written in place: as long as the file under the key is the same file, it is the
//! same object, and is not hashed again.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::sync::Mutex;

use sha2::{Digest as _, Sha256};

use super::key::Key;
use super::store::Store;
use crate::LocalError;

/// Bytes that are hashed at once.
const HASHED_BYTES: usize = 256 * 1024;

/// What reading a part of an object came to.
pub(super) enum Part {
    /// Its bytes.
    Bytes(Vec<u8>),
    /// The object is not there.
    Absent,
    /// Another object is there.
    OfAnother,
}

/// The file that was hashed last, with its hash: parts are read of one archive at a time.
#[derive(Debug, Default)]
pub(super) struct Known(Mutex<Option<(Identity, String)>>);

/// What tells one file from another.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl Known {
    /// Returns the hash of a file's bytes.
    fn hash(&self, file: &File) -> io::Result<String> {
        let identity = Identity::of(&file.metadata()?);
        let mut known = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((same, hash)) = known.as_ref()
            && *same == identity
        {
            return Ok(hash.clone());
        }
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; HASHED_BYTES];
        let mut offset = 0_u64;
        loop {
            let read = file.read_at(&mut buffer, offset)?;
            let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else {
                break;
            };
            hasher.update(bytes);
            offset = offset.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        }
        let hash = hex::encode(hasher.finalize());
        *known = Some((identity, hash.clone()));
        Ok(hash)
    }
}

impl Store {
    /// Reads `length` bytes from `offset` on of the object whose tag is `tag`.
    pub(super) fn range(
        &self,
        key: &Key,
        tag: &str,
        offset: u64,
        length: u64,
    ) -> Result<Part, LocalError> {
        let failed = |source| LocalError::io("read", &self.display(key.as_str()), source);
        let Some(file) = self.open_object(key)? else {
            return Ok(Part::Absent);
        };
        if self.known.hash(&file).map_err(failed)? != tag {
            return Ok(Part::OfAnother);
        }
        let size = file.metadata().map_err(failed)?.len();
        let length = length.min(size.saturating_sub(offset));
        let length = usize::try_from(length)
            .map_err(|_too_long| failed(io::Error::other("the part is too long for memory")))?;
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, offset).map_err(failed)?;
        Ok(Part::Bytes(bytes))
    }
}
