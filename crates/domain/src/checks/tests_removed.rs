//! Tests that are gone, or assert less.

use std::collections::{BTreeMap, HashSet};

use mirilla_diff::{FileStatus, Line, LineKind};

use super::path;
use super::source::Source;
use super::test_names::{declaration, is_assertion, is_attribute, is_between};
use super::{Check, Found};
use crate::plan::FloorHit;
use crate::review::{Severity, Side};

/// How many names a message lists.
const MAX_NAMED: usize = 5;
/// Most names that are remembered.
const MAX_NAMES: usize = 50_000;

/// What a diff does to tests.
#[derive(Debug, Default)]
pub(super) struct Tests {
    files: Vec<Changed>,
    /// Names of tests in added lines, anywhere: a test that moved is not removed.
    added: HashSet<String>,
    /// Stems of files without tests that are gone: their tests may go too.
    gone: HashSet<String>,
}

/// What happened in one file.
#[derive(Debug)]
struct Changed {
    path: String,
    deleted_file: bool,
    /// Names of tests in deleted lines, and where.
    removed: Vec<(String, u32)>,
    /// How many tests the added lines have that the deleted ones do not.
    new: usize,
    /// The first line of a hunk that lost assertions without gaining any.
    lost_assertion: Option<u32>,
}

impl Tests {
    /// Looks through one file.
    pub(super) fn file(&mut self, source: &Source<'_>) {
        let (file, context) = (source.file, &source.context);
        let lower = context.path.to_ascii_lowercase();
        if !is_code(&lower) {
            return;
        }
        if file.status == FileStatus::Deleted && !context.is_test {
            self.gone.insert(stem(&lower));
        }
        let removed = names(source, LineKind::Deleted);
        let added = names(source, LineKind::Added);
        let before: HashSet<&str> = removed.iter().map(|(name, _)| name.as_str()).collect();
        let new = added
            .iter()
            .filter(|(name, _)| !before.contains(name.as_str()))
            .count();
        // Without a test in it, it was a helper.
        let deleted_file =
            file.status == FileStatus::Deleted && context.is_test && !removed.is_empty();
        let lost_assertion = if context.is_test && !deleted_file {
            lost_assertion(source)
        } else {
            None
        };
        if deleted_file || !removed.is_empty() || lost_assertion.is_some() {
            self.files.push(Changed {
                path: context.path.clone(),
                deleted_file,
                removed,
                new,
                lost_assertion,
            });
        }
        let room = MAX_NAMES.saturating_sub(self.added.len());
        self.added
            .extend(added.into_iter().map(|(name, _)| name).take(room));
    }

    /// Returns the hits, now that all names are known.
    pub(super) fn finish(self) -> Vec<FloorHit> {
        let Self { files, added, gone } = self;
        files
            .into_iter()
            .filter_map(|file| file.hit(&added, &gone))
            .collect()
    }
}

impl Changed {
    fn hit(self, added: &HashSet<String>, gone: &HashSet<String>) -> Option<FloorHit> {
        let lost: Vec<&(String, u32)> = self
            .removed
            .iter()
            .filter(|(name, _)| !added.contains(name))
            .collect();
        let found = if self.deleted_file {
            if lost.is_empty() || gone.contains(&stem(&self.path.to_ascii_lowercase())) {
                return None;
            }
            Found {
                side: Side::Left,
                ..Found::at(
                    Check::TestRemoved,
                    0,
                    Severity::Medium,
                    "A file of tests was deleted",
                    format!("Nothing in this change replaces {}.", listed(&lost)),
                )
            }
        } else if lost.len() > self.new {
            let first = lost.first().map_or(0, |(_, line)| *line);
            let title = match lost.as_slice() {
                [(name, _)] => format!("The test `{name}` was removed"),
                many => format!("{} tests were removed", many.len()),
            };
            Found {
                side: Side::Left,
                ..Found::at(
                    Check::TestRemoved,
                    first,
                    Severity::Medium,
                    title,
                    format!("Nothing in this change replaces {}.", listed(&lost)),
                )
            }
        } else {
            let line = self.lost_assertion.filter(|_| self.removed.is_empty())?;
            Found {
                side: Side::Left,
                ..Found::at(
                    Check::TestRemoved,
                    line,
                    Severity::Low,
                    "A test asserts less than before",
                    "Assertions were removed here and none was added: the test may pass where it failed.",
                )
            }
        };
        Some(found.into_hit(&self.path))
    }
}

/// Up to [`MAX_NAMED`] names in backticks.
fn listed(names: &[&(String, u32)]) -> String {
    let shown: Vec<String> = names
        .iter()
        .take(MAX_NAMED)
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    let more = names.len().saturating_sub(MAX_NAMED);
    if more == 0 {
        shown.join(", ")
    } else {
        format!("{} and {more} more", shown.join(", "))
    }
}

/// The tests that lines of one kind declare, and on which line.
fn names(source: &Source<'_>, kind: LineKind) -> Vec<(String, u32)> {
    let side = if kind == LineKind::Deleted {
        mirilla_diff::Side::Left
    } else {
        mirilla_diff::Side::Right
    };
    let mut out = Vec::new();
    for hunk in &source.hunks {
        // An attribute counts for the next function, whether it is shown as context or changed.
        let mut attribute = false;
        for line in hunk
            .iter()
            .map(|seen| seen.line)
            .filter(|line| line.number(side).is_some())
        {
            if is_attribute(line.text) {
                attribute = true;
                continue;
            }
            if let Some(declared) = declaration(line.text) {
                let is_test = !declared.needs_attribute || attribute;
                if is_test && line.kind == kind {
                    out.push((declared.name, line.number(side).unwrap_or(0)));
                }
                attribute = false;
            } else if !is_between(line.text) {
                attribute = false;
            }
        }
    }
    out
}

/// The first deleted assertion of a hunk that adds none and in which no test is declared away.
fn lost_assertion(source: &Source<'_>) -> Option<u32> {
    let added: HashSet<&[u8]> = source.added().map(|line| line.text.trim_ascii()).collect();
    let mut counts: BTreeMap<LineKindKey, usize> = BTreeMap::new();
    let mut first = None;
    for hunk in &source.hunks {
        let lines: Vec<Line<'_>> = hunk.iter().map(|seen| seen.line).collect();
        let declares_away = lines
            .iter()
            .any(|line| line.kind == LineKind::Deleted && declaration(line.text).is_some());
        let adds_code = lines
            .iter()
            .any(|line| line.kind == LineKind::Added && !line.text.trim_ascii().is_empty());
        let lost = |line: &&Line<'_>| line.kind == LineKind::Deleted && is_assertion(line.text);
        if !lines.iter().any(|line| lost(&line)) && first.is_none() && counts.is_empty() {
            continue;
        }
        for line in lines.iter().filter(|line| is_assertion(line.text)) {
            let key = match line.kind {
                LineKind::Deleted if !added.contains(line.text.trim_ascii()) => {
                    if !declares_away && !adds_code {
                        first = first.or(line.old);
                    }
                    LineKindKey::Deleted
                }
                LineKind::Added => LineKindKey::Added,
                _ => continue,
            };
            let count = counts.entry(key).or_default();
            *count = count.saturating_add(1);
        }
    }
    let count = |key: LineKindKey| counts.get(&key).copied().unwrap_or(0);
    first.filter(|_| count(LineKindKey::Added) < count(LineKindKey::Deleted))
}

/// Which side an assertion was counted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LineKindKey {
    Added,
    Deleted,
}

/// Source code, by extension; the path is lower-case.
fn is_code(path: &str) -> bool {
    matches!(
        path::extension(path),
        "rs" | "py"
            | "go"
            | "js"
            | "jsx"
            | "ts"
            | "tsx"
            | "mjs"
            | "cjs"
            | "mts"
            | "java"
            | "kt"
            | "kts"
            | "cs"
            | "rb"
            | "php"
            | "swift"
            | "c"
            | "cc"
            | "cpp"
            | "cxx"
            | "h"
            | "hpp"
            | "ex"
            | "exs"
            | "scala"
            | "dart"
            | "groovy"
            | "fs"
            | "vue"
            | "svelte"
            | "m"
            | "mm"
            | "clj"
            | "hs"
            | "jl"
            | "lua"
            | "sh"
            | "bats"
    )
}

/// A file's name without extension and without what makes it the name of a test.
fn stem(path: &str) -> String {
    let name = path::name(path);
    let stem = name.split('.').next().unwrap_or(name);
    let stem = stem.strip_prefix("test_").unwrap_or(stem);
    ["_test", "_spec", "-test", "-spec", "tests", "test", "spec"]
        .iter()
        .find_map(|end| stem.strip_suffix(end))
        .unwrap_or(stem)
        .trim_end_matches(['_', '-'])
        .to_owned()
}
