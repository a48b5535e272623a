//! The diff as the poster fetched it itself: what the review file is held against.
//!
//! **Invariant:** it can be built one file at a time, and keeps lines only of the files that something
//! is to be said about, so that its size does not follow the diff's.

use std::collections::{BTreeMap, BTreeSet};

use mirilla_diff::FileDiff;

use crate::anchor::{FileLines, renamed_from};
use crate::code::SkipReason;
use crate::ids::Sha256Hex;
use crate::snapshot::MissingFile;

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreshFile {
    /// What coverage and comments call it. Lossy if the name is not UTF-8, and then nothing can be
    /// anchored in it.
    pub path: String,
    /// Its name on the old side, if that is another one.
    pub old_path: Option<String>,
    /// Digest of its patch, if the forge gave one.
    pub digest: Option<Sha256Hex>,
    /// Why the forge did not give its patch.
    pub missing: Option<SkipReason>,
    lines: Option<FileLines>,
}

/// Every changed file of the fresh diff.
#[derive(Debug, Clone, Default)]
pub struct FreshDiff {
    files: Vec<FreshFile>,
    by_path: BTreeMap<String, Vec<usize>>,
    by_old_path: BTreeMap<String, usize>,
    wanted: Option<BTreeSet<String>>,
}

impl FreshDiff {
    /// Starts an empty diff that keeps the lines of every file.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts an empty diff that keeps lines only of the files named so, by their old or new path.
    pub fn keeping(paths: BTreeSet<String>) -> Self {
        Self {
            wanted: Some(paths),
            ..Self::default()
        }
    }

    /// Adds the next file, with the digest of its patch.
    pub fn add(&mut self, file: &FileDiff<'_>, digest: Sha256Hex) {
        let path = file.display_path().into_owned();
        let old_path = renamed_from(file);
        let is_wanted = self.wanted.as_ref().is_none_or(|wanted| {
            wanted.contains(&path) || old_path.as_ref().is_some_and(|old| wanted.contains(old))
        });
        let at = self.files.len();
        self.by_path.entry(path.clone()).or_default().push(at);
        if let Some(old) = &old_path {
            self.by_old_path.insert(old.clone(), at);
        }
        self.files.push(FreshFile {
            path,
            old_path,
            digest: Some(digest),
            missing: None,
            lines: if is_wanted { FileLines::of(file) } else { None },
        });
    }

    /// Adds a file that is changed but whose patch the forge did not give.
    pub fn add_missing(&mut self, file: &MissingFile) {
        let at = self.files.len();
        self.by_path.entry(file.path.clone()).or_default().push(at);
        self.files.push(FreshFile {
            path: file.path.clone(),
            old_path: None,
            digest: None,
            missing: Some(file.reason),
            lines: None,
        });
    }

    /// Returns the files in the order of the diff. A type change is two entries of one path.
    pub fn files(&self) -> &[FreshFile] {
        &self.files
    }

    /// Returns the entries of a path.
    pub fn entries(&self, path: &str) -> impl Iterator<Item = &FreshFile> {
        let at = self.by_path.get(path).map_or(&[][..], Vec::as_slice);
        at.iter().filter_map(|&at| self.files.get(at))
    }

    /// Returns the lines of a path's entries; the one that is there on the new side first.
    pub fn lines(&self, path: &str) -> Vec<&FileLines> {
        let mut lines: Vec<_> = self
            .entries(path)
            .filter_map(|file| file.lines.as_ref())
            .collect();
        lines.sort_by_key(|lines| lines.is_deleted);
        lines
    }

    /// Returns where a path stands in the diff, for a stable order.
    pub fn position(&self, path: &str) -> usize {
        self.by_path
            .get(path)
            .and_then(|at| at.first())
            .copied()
            .unwrap_or(usize::MAX)
    }

    /// Returns what the diff calls the file that a finding names, if that is beyond doubt: the name
    /// itself, its spelling with a diff prefix, `./`, or backslashes, or a renamed file's old name.
    pub fn resolve(&self, named: &str) -> Option<&str> {
        spellings(named).find_map(|spelling| {
            if let Some((path, _)) = self.by_path.get_key_value(spelling.as_str()) {
                return Some(path.as_str());
            }
            let at = self.by_old_path.get(spelling.as_str())?;
            self.files.get(*at).map(|file| file.path.as_str())
        })
    }
}

/// The ways to read a path that a model wrote, the literal one first.
pub fn spellings(named: &str) -> impl Iterator<Item = String> {
    let slashed = named.trim().replace('\\', "/");
    let bare = slashed.strip_prefix("./").unwrap_or(&slashed).to_owned();
    let unprefixed = bare
        .strip_prefix("a/")
        .or_else(|| bare.strip_prefix("b/"))
        .unwrap_or(&bare)
        .to_owned();
    [named.to_owned(), bare, unprefixed].into_iter()
}
