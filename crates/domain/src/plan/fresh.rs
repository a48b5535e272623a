//! The diff as the poster fetched it itself: what the review file is held against.
//!
//! **Invariant:** every changed path is in it exactly once, named and digested as the reviewer does it;
//! lines are kept only of files that something is to be said about.

use std::collections::{BTreeMap, BTreeSet};

use mirilla_diff::FileDiff;

use crate::anchor::{Anchor, FileLines, LineRange, renamed_from};
use crate::code::SkipReason;
use crate::digest;
use crate::ids::Sha256Hex;
use crate::plan::{FloorHit, ReadReview};
use crate::snapshot::MissingFile;

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreshFile {
    /// What coverage and comments call it. If the real name is not UTF-8, nothing can be anchored in it.
    pub path: String,
    /// Its name on the old side, if it was renamed.
    pub old_path: Option<String>,
    /// Digest of its patch.
    pub digest: Sha256Hex,
    /// Why the forge did not give its patch, if it did not.
    pub missing: Option<SkipReason>,
    /// Whether there is no such file any more.
    is_deleted: bool,
    lines: Vec<FileLines>,
}

/// Every changed file of the fresh diff.
#[derive(Debug, Clone, Default)]
pub struct FreshDiff {
    files: Vec<FreshFile>,
    by_path: BTreeMap<String, usize>,
    by_old_path: BTreeMap<String, usize>,
}

impl FreshDiff {
    /// Takes a parsed diff and the files that the forge did not give.
    ///
    /// With `wanted`, lines are kept only of the files it names, by any spelling, so that a large diff
    /// with few findings stays small.
    pub fn of(
        parsed: &[FileDiff<'_>],
        missing: &[MissingFile],
        wanted: Option<&BTreeSet<String>>,
    ) -> Self {
        let wanted: Option<BTreeSet<String>> =
            wanted.map(|paths| paths.iter().flat_map(|path| spellings(path)).collect());
        let mut diff = Self::default();
        for change in digest::changes(parsed, missing) {
            let entries: Vec<&FileDiff<'_>> = change
                .entries
                .iter()
                .filter_map(|at| parsed.get(*at))
                .collect();
            let old_path = entries.iter().find_map(|file| renamed_from(file));
            let is_wanted = wanted.as_ref().is_none_or(|wanted| {
                wanted.contains(&change.path)
                    || old_path.as_ref().is_some_and(|old| wanted.contains(old))
            });
            let mut lines: Vec<FileLines> = if is_wanted {
                entries
                    .iter()
                    .filter_map(|file| FileLines::of(file))
                    .collect()
            } else {
                Vec::new()
            };
            // Of a type change, the entry that is there on the new side comes first.
            lines.sort_by_key(|lines| lines.is_deleted);
            let at = diff.files.len();
            diff.by_path.insert(change.path.clone(), at);
            if let Some(old) = &old_path {
                diff.by_old_path.insert(old.clone(), at);
            }
            diff.files.push(FreshFile {
                missing: missing
                    .iter()
                    .find(|file| file.path == change.path)
                    .map(|file| file.reason),
                path: change.path,
                old_path,
                digest: change.digest,
                is_deleted: !entries.is_empty() && entries.iter().all(|e| e.new_path.is_none()),
                lines,
            });
        }
        diff
    }

    /// Returns the paths whose lines a plan needs: those that something is said about.
    pub fn wanted(review: Option<&ReadReview>, floor: &[FloorHit]) -> BTreeSet<String> {
        let findings = review.map_or(&[][..], |read| &read.review.findings);
        let of_findings = findings.iter().map(|finding| finding.path.clone());
        let of_hits = floor.iter().map(|hit| hit.path.clone());
        of_findings.chain(of_hits).collect()
    }

    /// Returns the files, in the order of the diff.
    pub fn files(&self) -> &[FreshFile] {
        &self.files
    }

    /// Returns a file by the name that the diff gives it.
    pub fn file(&self, path: &str) -> Option<&FreshFile> {
        self.files.get(*self.by_path.get(path)?)
    }

    /// Returns the lines of a file; of a type change, the one that is there on the new side first.
    pub(super) fn lines(&self, path: &str) -> &[FileLines] {
        self.file(path).map_or(&[], |file| &file.lines)
    }

    /// Returns the ends of a place of more than one line.
    pub(super) fn range(&self, path: &str, place: &Anchor) -> Option<LineRange> {
        let mut lines = self.lines(path).iter();
        lines.find_map(|lines| lines.range(place))
    }

    /// Returns whether a path, by whatever name, is of a file that is still there. One that was renamed and
    /// rewritten is told as deleted by git, and another file as new.
    pub(super) fn stands(&self, path: &str) -> bool {
        let file = self.resolve(path).and_then(|path| self.file(path));
        file.is_some_and(|file| !file.is_deleted)
    }

    /// Returns where a path stands in the diff, for a stable order.
    pub(super) fn position(&self, path: &str) -> usize {
        self.by_path.get(path).copied().unwrap_or(usize::MAX)
    }

    /// Returns what the diff calls the file that a finding names, if that is beyond doubt: the name
    /// itself, its spelling with a diff prefix, `./`, or backslashes, or a renamed file's old name.
    pub fn resolve(&self, named: &str) -> Option<&str> {
        spellings(named).into_iter().find_map(|spelling| {
            let at = self
                .by_path
                .get(&spelling)
                .or_else(|| self.by_old_path.get(&spelling))?;
            self.files.get(*at).map(|file| file.path.as_str())
        })
    }
}

/// The ways to read a path that a model wrote, the literal one first.
fn spellings(named: &str) -> Vec<String> {
    let slashed = named.trim().replace('\\', "/");
    let bare = slashed.strip_prefix("./").unwrap_or(&slashed).to_owned();
    let unprefixed = bare
        .strip_prefix("a/")
        .or_else(|| bare.strip_prefix("b/"))
        .unwrap_or(&bare)
        .to_owned();
    vec![named.to_owned(), bare, unprefixed]
}
