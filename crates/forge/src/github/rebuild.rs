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

use crate::github::quote::{push_path, push_side};

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

/// What git calls the absence of an object.
const NO_OBJECT: &str = "0000000";
/// The object id of the empty file, in both of git's hash functions.
const EMPTY_FILE: [&str; 2] = [
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
        let new = self.filename.as_str();
        let old = self.previous_filename.as_deref().unwrap_or(new);
        out.extend_from_slice(b"diff --git ");
        push_path(out, "a/", old);
        out.push(b' ');
        push_path(out, "b/", new);
        out.push(b'\n');
        let sha = self.sha.as_deref().filter(|sha| is_object(sha));
        let mode = if self.is_submodule() {
            "160000"
        } else {
            "100644"
        };
        match self.status.as_str() {
            "added" => {
                out.extend_from_slice(format!("new file mode {mode}\n").as_bytes());
                push_index(out, NO_OBJECT, sha, "");
            }
            "removed" => {
                out.extend_from_slice(format!("deleted file mode {mode}\n").as_bytes());
                push_index(out, sha.unwrap_or(NO_OBJECT), Some(NO_OBJECT), "");
            }
            "renamed" | "copied" => {
                let verb = if self.status == "copied" {
                    "copy"
                } else {
                    "rename"
                };
                self.push_move(out, verb, old, new);
                if self.has_lines() {
                    push_index(out, NO_OBJECT, sha, mode);
                }
            }
            // Nothing but the mode: which one, the list does not say.
            "changed" if !self.has_lines() => {
                out.extend_from_slice(b"old mode 100644\nnew mode 100755\n");
                return;
            }
            _ => push_index(out, NO_OBJECT, sha, mode),
        }
        self.push_content(out, old, new);
    }

    fn has_lines(&self) -> bool {
        self.patch.as_ref().is_some_and(|patch| !patch.is_empty())
    }

    fn push_move(&self, out: &mut Vec<u8>, verb: &str, old: &str, new: &str) {
        // How similar, the list does not say; git moves nothing that is less than half the same.
        let similarity = if self.has_lines() { "50" } else { "100" };
        out.extend_from_slice(format!("similarity index {similarity}%\n{verb} from ").as_bytes());
        push_path(out, "", old);
        out.extend_from_slice(format!("\n{verb} to ").as_bytes());
        push_path(out, "", new);
        out.push(b'\n');
    }

    fn push_content(&self, out: &mut Vec<u8>, old: &str, new: &str) {
        let (added, removed) = (self.status == "added", self.status == "removed");
        if !self.has_lines() {
            let moved = matches!(self.status.as_str(), "renamed" | "copied");
            let empty = self
                .sha
                .as_deref()
                .is_some_and(|sha| EMPTY_FILE.contains(&sha));
            if moved || (empty && (added || removed)) {
                return;
            }
            // Changed without a changed line: not text.
            out.extend_from_slice(b"Binary files ");
            push_or_null(out, "a/", old, added, push_path);
            out.extend_from_slice(b" and ");
            push_or_null(out, "b/", new, removed, push_path);
            out.extend_from_slice(b" differ\n");
            return;
        }
        out.extend_from_slice(b"--- ");
        push_or_null(out, "a/", old, added, push_side);
        out.extend_from_slice(b"\n+++ ");
        push_or_null(out, "b/", new, removed, push_side);
        out.push(b'\n');
        out.extend_from_slice(self.patch.as_deref().unwrap_or_default().as_bytes());
        out.push(b'\n');
    }
}

fn push_or_null(
    out: &mut Vec<u8>,
    prefix: &str,
    path: &str,
    absent: bool,
    push: fn(&mut Vec<u8>, &str, &str),
) {
    if absent {
        out.extend_from_slice(b"/dev/null");
    } else {
        push(out, prefix, path);
    }
}

fn push_index(out: &mut Vec<u8>, old: &str, new: Option<&str>, mode: &str) {
    if let Some(new) = new {
        let space = if mode.is_empty() { "" } else { " " };
        out.extend_from_slice(format!("index {old}..{new}{space}{mode}\n").as_bytes());
    }
}

fn is_object(sha: &str) -> bool {
    matches!(sha.len(), 40 | 64) && sha.bytes().all(|b| b.is_ascii_hexdigit())
}
