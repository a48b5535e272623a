//! The changed files of a merge request, under the limits that an instance sets.
//!
//! GitLab keeps so many files and lines of a diff and drops the rest. Of what it keeps, long patches
//! are collapsed and very long ones too large: both have an empty `diff`, which newer versions
//! explain with a flag and older ones do not.

use serde_json::{Value, json};

use super::options::GitlabLimits;
use super::versions::{GitlabFeature, GitlabVersion};
use crate::diff::{Diff, FileDiff};
use crate::json::lossy;

/// One changed file as the API lists it; a change of type is two of them.
#[derive(Debug, Clone, Copy)]
struct Entry<'a> {
    file: &'a FileDiff,
    /// Index of its section.
    section: usize,
    /// Everything from `diff --git` on.
    text: &'a [u8],
    /// From the first `@@` on, or the word about binary files.
    patch: &'a [u8],
}

/// How the files are asked for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Asked {
    /// Collapsed files are shown, too.
    pub(crate) expanded: bool,
    /// With `---` and `+++` lines.
    pub(crate) unidiff: bool,
}

/// The files of a diff that are kept.
#[derive(Debug)]
pub(crate) struct Kept<'a> {
    entries: Vec<Entry<'a>>,
    /// Whether files were dropped.
    pub(crate) overflow: bool,
    limits: GitlabLimits,
    version: GitlabVersion,
}

impl<'a> Kept<'a> {
    /// Applies the limits to a diff.
    pub(crate) fn of(diff: &'a Diff, limits: GitlabLimits, version: GitlabVersion) -> Self {
        let mut entries = Vec::new();
        for file in &diff.files {
            for (section, range) in file.sections.iter().enumerate() {
                let text = diff.text.get(range.clone()).unwrap_or_default();
                entries.push(Entry {
                    file,
                    section,
                    text,
                    patch: patch_of(text),
                });
            }
        }
        let all = entries.len();
        let mut lines = 0_usize;
        let kept = entries
            .iter()
            .take(limits.max_files)
            .take_while(|entry| {
                lines = lines.saturating_add(memchr::memchr_iter(b'\n', entry.patch).count());
                lines <= limits.max_lines
            })
            .count();
        entries.truncate(kept);
        Self {
            entries,
            overflow: kept < all,
            limits,
            version,
        }
    }

    /// Returns how many files are kept.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the number of files as text, with a plus if some were dropped.
    pub(crate) fn count(&self) -> String {
        let plus = if self.overflow { "+" } else { "" };
        format!("{}{plus}", self.entries.len())
    }

    /// Returns some of the files as the API lists them.
    pub(crate) fn shown(&self, range: std::ops::Range<usize>, asked: Asked) -> Value {
        let entries = self.entries.get(range).unwrap_or_default();
        entries
            .iter()
            .map(|entry| self.entry(*entry, asked))
            .collect()
    }

    /// Returns the diff as text, with the headers of too large files and nothing of their lines.
    pub(crate) fn raw(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for entry in &self.entries {
            if entry.patch.len() > self.limits.max_patch_bytes {
                let header = entry.text.len().saturating_sub(entry.patch.len());
                out.extend_from_slice(entry.text.get(..header).unwrap_or_default());
            } else {
                out.extend_from_slice(entry.text);
            }
        }
        out
    }

    fn entry(&self, entry: Entry<'_>, asked: Asked) -> Value {
        let file = entry.file;
        let new_path = lossy(&file.path);
        let old_path = file
            .old_path
            .as_ref()
            .map_or_else(|| new_path.clone(), |old| lossy(old));
        let retyped = file.letter == b'T';
        let is_new = file.letter == b'A' || (retyped && entry.section == 1);
        let is_deleted = file.letter == b'D' || (retyped && entry.section == 0);
        let mode = |mode: &str, gone: bool| {
            if gone || mode == "000000" {
                "0".to_owned()
            } else {
                mode.to_owned()
            }
        };
        let too_large = entry.patch.len() > self.limits.max_patch_bytes;
        let collapsed =
            !too_large && !asked.expanded && entry.patch.len() > self.limits.collapse_patch_bytes;
        let hidden = too_large || collapsed;
        let mut diff = String::new();
        if !hidden {
            if asked.unidiff && entry.patch.starts_with(b"@@") {
                let side = |prefix: &str, path: &str, gone: bool| {
                    if gone {
                        "/dev/null".to_owned()
                    } else {
                        format!("{prefix}/{path}")
                    }
                };
                diff.push_str("--- ");
                diff.push_str(&side("a", &old_path, is_new));
                diff.push_str("\n+++ ");
                diff.push_str(&side("b", &new_path, is_deleted));
                diff.push('\n');
            }
            diff.push_str(&String::from_utf8_lossy(entry.patch));
        }
        let mut shown = json!({
            "old_path": old_path,
            "new_path": new_path,
            "a_mode": mode(&file.old_mode, is_new),
            "b_mode": mode(&file.new_mode, is_deleted),
            "diff": diff,
            "new_file": is_new,
            "renamed_file": file.letter == b'R',
            "deleted_file": is_deleted,
        });
        if let Some(fields) = shown.as_object_mut() {
            if self.version.has(GitlabFeature::GeneratedFile) {
                fields.insert("generated_file".to_owned(), json!(is_generated(&new_path)));
            }
            if self.version.has(GitlabFeature::CollapsedFlags) {
                fields.insert("collapsed".to_owned(), json!(collapsed));
                fields.insert("too_large".to_owned(), json!(too_large));
            }
        }
        shown
    }
}

/// Returns what stands behind a section's header: the hunks, or the word about binary files.
fn patch_of(section: &[u8]) -> &[u8] {
    let mut at = 0_usize;
    for line in section.split_inclusive(|&b| b == b'\n') {
        if line.starts_with(b"@@ ") || line.starts_with(b"Binary files ") {
            return section.get(at..).unwrap_or_default();
        }
        at = at.saturating_add(line.len());
    }
    &[]
}

/// Returns whether GitLab takes a file for generated; only the names of lock files are simulated.
fn is_generated(path: &str) -> bool {
    const LOCKS: [&str; 5] = [
        "Cargo.lock",
        "Gemfile.lock",
        "package-lock.json",
        "pnpm-lock.yaml",
        "yarn.lock",
    ];
    path.rsplit('/')
        .next()
        .is_some_and(|name| LOCKS.contains(&name))
}
