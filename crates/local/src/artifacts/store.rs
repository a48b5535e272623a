//! Opens, lists and removes files below one directory without following links.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::key::{Key, Prefix, is_part};
use super::range::Known;
use crate::LocalError;

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
/// Where unfinished objects are; no key reaches it, because no key has a part with a leading dot.
pub(super) const TEMP: &str = ".tmp";

/// The directory's descriptors.
#[derive(Debug)]
pub(super) struct Store {
    path: PathBuf,
    root: OwnedFd,
    temp: OwnedFd,
    pub(super) known: Known,
}

/// What reading an object came to.
pub(super) enum Read {
    /// Its bytes.
    Whole(Vec<u8>),
    /// It is not there.
    Absent,
    /// It has more bytes than allowed.
    TooLarge,
}

impl Store {
    /// Opens the directory `path`; unfinished objects are kept in its folder `temp`, which is made, its
    /// parents not.
    pub(super) fn open(path: &Path, temp: &str) -> Result<Self, LocalError> {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(|source| LocalError::io("make the directory", path, source))?;
        let failed = |errno: Errno| LocalError::io("open the directory", path, errno.into());
        // The operator may have made the data directory a link; only what is below is not followed.
        let root = rustix::fs::open(path, DIRECTORY.difference(OFlags::NOFOLLOW), Mode::empty())
            .map_err(failed)?;
        if make_directory(root.as_fd(), temp).map_err(failed)? {
            rustix::fs::fsync(&root).map_err(failed)?;
        }
        let temp = rustix::fs::openat(&root, temp, DIRECTORY, Mode::empty()).map_err(failed)?;
        Ok(Self {
            path: path.to_path_buf(),
            root,
            temp,
            known: Known::default(),
        })
    }

    /// Returns the descriptor of the directory for unfinished objects.
    pub(super) fn temp(&self) -> BorrowedFd<'_> {
        self.temp.as_fd()
    }

    /// Returns the path of a key, for error texts only.
    pub(super) fn display(&self, key: &str) -> PathBuf {
        self.path.join(key)
    }

    /// Opens a directory below the root; `NOENT` if it is not there.
    fn directory<'a>(&self, parts: impl IntoIterator<Item = &'a str>) -> Result<OwnedFd, Errno> {
        let mut directory = self.root.try_clone().map_err(|error| errno(&error))?;
        for part in parts {
            directory = rustix::fs::openat(&directory, part, DIRECTORY, Mode::empty())?;
        }
        Ok(directory)
    }

    /// Opens a directory below the root and makes what is missing of it. Also returns the directories
    /// that got a new entry and are not on the disk yet: writing them here would leave the new ones
    /// empty for so long that somebody else removes them.
    pub(super) fn make_directories<'a>(
        &self,
        parts: impl IntoIterator<Item = &'a str>,
    ) -> Result<(OwnedFd, Vec<OwnedFd>), Errno> {
        let mut directory = self.root.try_clone().map_err(|error| errno(&error))?;
        let mut changed = Vec::new();
        for part in parts {
            let made = make_directory(directory.as_fd(), part)?;
            let below = rustix::fs::openat(&directory, part, DIRECTORY, Mode::empty())?;
            let above = std::mem::replace(&mut directory, below);
            if made {
                changed.push(above);
            }
        }
        Ok((directory, changed))
    }

    /// Reads an object of at most `limit_bytes`.
    pub(super) fn read(&self, key: &Key, limit_bytes: u64) -> Result<Read, LocalError> {
        let failed = |source| LocalError::io("read", &self.display(key.as_str()), source);
        let Some(file) = self.open_object(key)? else {
            return Ok(Read::Absent);
        };
        if file.metadata().map_err(failed)?.len() > limit_bytes {
            return Ok(Read::TooLarge);
        }
        let mut bytes = Vec::new();
        file.take(limit_bytes.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit_bytes {
            return Ok(Read::TooLarge);
        }
        Ok(Read::Whole(bytes))
    }

    /// Opens an object; `None` if it is not there.
    pub(super) fn open_object(&self, key: &Key) -> Result<Option<File>, LocalError> {
        let failed = |source| LocalError::io("read", &self.display(key.as_str()), source);
        let (directory, name) = key.split();
        // A pipe or device planted under the key must not block the reader.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let opened = self
            .directory(directory)
            .and_then(|directory| rustix::fs::openat(&directory, name, flags, Mode::empty()));
        let file = match opened {
            Ok(descriptor) => File::from(descriptor),
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(failed(errno.into())),
        };
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(failed(io::Error::other("it is not a regular file")));
        }
        Ok(Some(file))
    }

    /// Returns the keys that begin with a prefix, sorted.
    pub(super) fn list(&self, prefix: &Prefix) -> Result<Vec<String>, LocalError> {
        Ok(self.walk(prefix)?.keys)
    }

    /// Removes the objects that begin with a prefix, and directories that are empty then.
    pub(super) fn delete(&self, prefix: &Prefix) -> Result<(), LocalError> {
        let found = self.walk(prefix)?;
        for key in &found.keys {
            self.unlink(key, AtFlags::empty())?;
        }
        for directory in found.directories.iter().rev() {
            self.unlink(directory.trim_end_matches('/'), AtFlags::REMOVEDIR)?;
        }
        Ok(())
    }

    fn unlink(&self, key: &str, flags: AtFlags) -> Result<(), LocalError> {
        let mut parts: Vec<&str> = key.split('/').collect();
        let name = parts.pop().unwrap_or(key);
        let outcome = self
            .directory(parts)
            .and_then(|directory| rustix::fs::unlinkat(&directory, name, flags));
        match outcome {
            // Somebody else removed it, or wrote into it meanwhile.
            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
            Err(errno) => Err(LocalError::io("remove", &self.display(key), errno.into())),
        }
    }

    fn walk(&self, prefix: &Prefix) -> Result<Walk, LocalError> {
        let mut start = prefix.directory().join("/");
        if !start.is_empty() {
            start.push('/');
        }
        let mut walk = Walk::default();
        let mut waiting = vec![start];
        while let Some(directory) = waiting.pop() {
            self.visit(&directory, prefix, &mut waiting, &mut walk)
                .map_err(|errno| LocalError::io("list", &self.display(&directory), errno.into()))?;
            if prefix.matches(&directory) {
                walk.directories.push(directory);
            }
        }
        walk.keys.sort_unstable();
        walk.directories.sort_unstable();
        Ok(walk)
    }

    fn visit(
        &self,
        directory: &str,
        prefix: &Prefix,
        waiting: &mut Vec<String>,
        walk: &mut Walk,
    ) -> Result<(), Errno> {
        let parts = directory.split('/').filter(|part| !part.is_empty());
        let opened = match self.directory(parts) {
            Err(Errno::NOENT) => return Ok(()),
            opened => opened?,
        };
        for entry in Dir::read_from(&opened)? {
            let entry = entry?;
            let Some(name) = entry.file_name().to_str().ok().filter(|name| is_part(name)) else {
                continue;
            };
            let file_type = match entry.file_type() {
                FileType::Unknown => {
                    match rustix::fs::statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW) {
                        Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                        Err(Errno::NOENT) => continue,
                        Err(errno) => return Err(errno),
                    }
                }
                known => known,
            };
            if file_type == FileType::RegularFile {
                let key = format!("{directory}{name}");
                if prefix.matches(&key) {
                    walk.keys.push(key);
                }
            } else if file_type == FileType::Directory {
                let below = format!("{directory}{name}/");
                if prefix.reaches(&below) {
                    waiting.push(below);
                }
            }
        }
        Ok(())
    }
}

/// What a walk found: keys, and the directories whose names begin with the prefix.
#[derive(Default)]
struct Walk {
    keys: Vec<String>,
    directories: Vec<String>,
}

/// Returns whether it is new.
fn make_directory(parent: BorrowedFd<'_>, name: &str) -> Result<bool, Errno> {
    match rustix::fs::mkdirat(parent, name, Mode::RWXU) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => Ok(false),
        Err(errno) => Err(errno),
    }
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
