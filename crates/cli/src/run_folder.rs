//! The folder of one run: what `mirilla review --keep` and a host write, and `replay` and `explain` read.
//!
//! **Invariant:** a file is read up to a bound and believed nothing that its hash or its reader does not
//! bear out.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::failure::Failure;

/// The diff that was planned with.
pub(crate) const DIFF: &str = "diff.patch";
/// Settings and rules.
pub(crate) const RULES: &str = "rules.json";
/// The snapshot's description.
pub(crate) const META: &str = "meta.json";
/// The record, `mirilla.run.v1`.
pub(crate) const RUN: &str = "run.json";
/// The review, `mirilla.review.v1`.
pub(crate) const REVIEW: &str = "review.json";
/// What the plan was made from, `mirilla.plan-input.v1`.
pub(crate) const PLAN_INPUT: &str = "plan-input.json";
/// The plan.
pub(crate) const PLAN: &str = "plan.json";

/// Largest file that is read: as large as the largest diff.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// A run's folder.
#[derive(Debug)]
pub(crate) struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// Takes a folder, or the one that a file is in.
    pub(crate) fn named(path: &Path) -> Result<Self> {
        let kind = std::fs::metadata(path)
            .with_context(|| format!("{} cannot be read", path.display()))?;
        let folder = if kind.is_dir() {
            Some(path)
        } else {
            path.parent()
        };
        let folder = match folder {
            Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
            Some(folder) => folder,
            None => path,
        };
        Ok(Self {
            path: folder.to_owned(),
        })
    }

    /// Makes a folder for a new run; one that is there must be empty.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        make_empty(path, "--keep")?;
        Ok(Self {
            path: path.to_owned(),
        })
    }

    /// Returns a file's bytes; nothing if it is not there.
    pub(crate) fn find(&self, file: &str) -> Result<Option<Vec<u8>>> {
        let path = self.path.join(file);
        let opened = match std::fs::File::open(&path) {
            Ok(opened) => opened,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| format!("{} cannot be read", path.display()));
            }
        };
        let mut bytes = Vec::new();
        opened
            .take(MAX_BYTES.saturating_add(1))
            .read_to_end(&mut bytes)
            .with_context(|| format!("{} cannot be read", path.display()))?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_BYTES {
            let message = format!("{} is larger than {MAX_BYTES} bytes", path.display());
            return Err(Failure::new(message).into());
        }
        Ok(Some(bytes))
    }

    /// Returns a file's bytes.
    pub(crate) fn read(&self, file: &str) -> Result<Vec<u8>> {
        self.find(file)?.ok_or_else(|| {
            Failure::new(format!("there is no {file} in {}", self.path.display()))
                .hint("a run is a folder that `mirilla review --keep DIR` made, or one under `runs/` among the artifacts of `mirilla serve`")
                .into()
        })
    }

    /// Writes a file.
    pub(crate) fn write(&self, file: &str, bytes: &[u8]) -> Result<()> {
        let path = self.path.join(file);
        std::fs::write(&path, bytes)
            .with_context(|| format!("{} cannot be written", path.display()))
    }
}

/// Makes the folder that an option names; one that is there must be empty.
pub(crate) fn make_empty(path: &Path, option: &str) -> Result<()> {
    std::fs::create_dir_all(path).with_context(|| format!("{} cannot be made", path.display()))?;
    let mut entries =
        std::fs::read_dir(path).with_context(|| format!("{} cannot be read", path.display()))?;
    if entries.next().is_some() {
        let message = format!("{} is not empty", path.display());
        let failure =
            Failure::usage(message).hint(format!("`{option}` takes a new or an empty folder"));
        return Err(failure.into());
    }
    Ok(())
}
