//! A unified diff rebuilt from GitHub's list of files, for pull requests whose diff it will not give
//! whole.
//!
//! The list names paths as plain strings and patches from their first `@@` on, without header and final
//! line end. Modes and old object ids are not in it: the header lines say the usual mode and zeros.
//! <https://docs.github.com/rest/pulls/pulls#list-pull-requests-files>
//!
//! **Invariant:** a patch whose lines do not add up to the listed additions and deletions is not
//! written: half a patch would pass for a whole one.

use mirilla_diff::{FileDiff, FileStatus, Problem, parse_patch};
use serde::Deserialize;

use crate::section::{Change, Content, FILE_MODE, Section};

/// An entry of the list.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ListedFile {
    pub(crate) filename: String,
    pub(crate) status: String,
    #[serde(default)]
    pub(crate) sha: Option<String>,
    #[serde(default)]
    pub(crate) additions: u64,
    #[serde(default)]
    pub(crate) deletions: u64,
    #[serde(default)]
    pub(crate) changes: u64,
    #[serde(default)]
    pub(crate) patch: Option<String>,
    #[serde(default)]
    pub(crate) previous_filename: Option<String>,
}

/// The object id of the empty file, in both of git's hash functions.
pub(crate) const EMPTY_FILE: [&str; 2] = [
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
];

impl ListedFile {
    /// Returns whether there are changed lines that the entry does not hold, or not all of them.
    pub(crate) fn lacks_patch(&self) -> bool {
        match &self.patch {
            None => self.changes > 0 || self.additions > 0 || self.deletions > 0,
            Some(patch) => !self.adds_up(patch),
        }
    }

    /// Returns whether the patch is that of a submodule's pointer, which has a mode of its own.
    fn is_submodule(&self) -> bool {
        let patch = self.patch.as_deref().unwrap_or_default();
        self.parsed(patch).0.submodule
    }

    fn parsed<'p>(&'p self, patch: &'p str) -> (FileDiff<'p>, Vec<Problem>) {
        let path = Some(self.filename.as_bytes());
        parse_patch(path, path, FileStatus::Modified, patch.as_bytes())
    }

    fn adds_up(&self, patch: &str) -> bool {
        let (file, problems) = self.parsed(patch);
        let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        problems.is_empty()
            && file.incomplete.is_none()
            && count(file.added.len()) == self.additions
            && count(file.deleted.len()) == self.deletions
    }

    /// Appends the file's section.
    pub(crate) fn push_section(&self, out: &mut Vec<u8>) {
        let sha = self.sha.as_deref().filter(|sha| is_object(sha));
        let mode = if self.is_submodule() {
            "160000"
        } else {
            FILE_MODE
        };
        let change = match self.status.as_str() {
            "added" => Change::Added,
            "removed" => Change::Deleted,
            "renamed" => Change::Renamed,
            "copied" => Change::Copied,
            _ => Change::Modified,
        };
        // Nothing but the mode: which one, the list does not say.
        let is_mode_only = self.status == "changed" && !self.has_lines();
        let is_empty = sha.is_some_and(|sha| EMPTY_FILE.contains(&sha));
        let content = match (change, self.patch.as_deref()) {
            (_, Some(patch)) if !patch.is_empty() => Content::Lines(patch),
            _ if is_mode_only => Content::Same,
            (Change::Renamed | Change::Copied, _) => Content::Same,
            (Change::Added | Change::Deleted, _) if is_empty => Content::Same,
            // Changed without a changed line: not text.
            _ => Content::Binary,
        };
        let is_gone = change == Change::Deleted;
        let section = Section {
            change,
            old_path: self.previous_filename.as_deref().unwrap_or(&self.filename),
            new_path: &self.filename,
            old_mode: mode,
            new_mode: if is_mode_only { "100755" } else { mode },
            old_object: sha.filter(|_| is_gone),
            new_object: sha.filter(|_| !is_gone),
            content,
        };
        section.push(out);
    }

    fn has_lines(&self) -> bool {
        self.patch.as_ref().is_some_and(|patch| !patch.is_empty())
    }
}

fn is_object(sha: &str) -> bool {
    matches!(sha.len(), 40 | 64) && sha.bytes().all(|b| b.is_ascii_hexdigit())
}
