//! An object on its way: bytes nobody sees until they are complete and on the disk.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

use mirilla_domain::snapshot::StoredObject;
use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::key::Key;
use super::store::{Store, TEMP};
use crate::LocalError;

/// How often a publication is tried again because its directory was removed meanwhile.
const PUBLISH_TRIES: u32 = 100;

/// A temporary file; dropped, it is gone.
pub(super) struct TempFile {
    store: Arc<Store>,
    name: String,
    file: File,
    hasher: Sha256,
    size: u64,
}

impl TempFile {
    pub(super) fn create(store: &Arc<Store>) -> Result<Self, LocalError> {
        let path = store.display(TEMP);
        let failed = |source| LocalError::io("make a temporary file in", &path, source);
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        loop {
            let name = format!("{:016x}", getrandom::u64().map_err(LocalError::Entropy)?);
            let descriptor =
                rustix::fs::openat(store.temp(), &name, flags, Mode::RUSR | Mode::WUSR)
                    .map_err(|errno| failed(errno.into()))?;
            let file = File::from(descriptor);
            // The lock says that the file is in use. Whoever cleaned up between the two calls has
            // removed it, and the next one is tried.
            file.lock().map_err(failed)?;
            if file.metadata().map_err(failed)?.nlink() > 0 {
                return Ok(Self {
                    store: Arc::clone(store),
                    name,
                    file,
                    hasher: Sha256::new(),
                    size: 0,
                });
            }
        }
    }

    /// Returns how many bytes were written so far.
    pub(super) const fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), LocalError> {
        self.file
            .write_all(bytes)
            .map_err(|source| LocalError::io("write", &self.store.display(TEMP), source))?;
        self.hasher.update(bytes);
        self.size = self
            .size
            .saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        Ok(())
    }

    /// Makes the bytes visible under a key; `None` if it must be new and is not.
    pub(super) fn publish(
        &mut self,
        key: &Key,
        exclusive: bool,
    ) -> Result<Option<StoredObject>, LocalError> {
        let failed = |source| LocalError::io("write", &self.store.display(key.as_str()), source);
        self.file.sync_all().map_err(failed)?;
        let mut tries = 0;
        loop {
            match self.place(key, exclusive) {
                Ok(()) => break,
                Err(Errno::EXIST) if exclusive => return Ok(None),
                Err(Errno::NOENT) if tries < PUBLISH_TRIES => tries += 1,
                Err(errno) => return Err(failed(errno.into())),
            }
        }
        Ok(Some(StoredObject {
            key: key.as_str().to_owned(),
            etag: hex::encode(self.hasher.clone().finalize()),
            size_bytes: self.size,
        }))
    }

    fn place(&self, key: &Key, exclusive: bool) -> Result<(), Errno> {
        let (directory, name) = key.split();
        let (directory, changed) = self.store.make_directories(directory)?;
        let temp = self.store.temp();
        if exclusive {
            rustix::fs::linkat(temp, &self.name, &directory, name, AtFlags::empty())?;
        } else {
            rustix::fs::renameat(temp, &self.name, &directory, name)?;
        }
        for above in &changed {
            rustix::fs::fsync(above)?;
        }
        rustix::fs::fsync(&directory)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        // After a rename there is nothing left; what cannot be removed is removed at the next start.
        let _gone = rustix::fs::unlinkat(self.store.temp(), &self.name, AtFlags::empty());
    }
}

/// Removes temporary files that nobody has open: their writers were killed.
pub(super) fn remove_leftovers(store: &Store) -> Result<(), LocalError> {
    let path = store.display(TEMP);
    let failed = |errno: Errno| LocalError::io("clean", &path, errno.into());
    for entry in Dir::read_from(store.temp()).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if name.to_bytes().starts_with(b".") {
            continue;
        }
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = match rustix::fs::openat(store.temp(), name, flags, Mode::empty()) {
            Ok(descriptor) => File::from(descriptor),
            Err(Errno::NOENT) => continue,
            Err(errno) => return Err(failed(errno)),
        };
        if file.try_lock().is_err() {
            continue;
        }
        match rustix::fs::unlinkat(store.temp(), name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(failed(errno)),
        }
    }
    Ok(())
}
