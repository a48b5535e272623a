//! Tests that are gone, or assert less.

use std::collections::HashSet;

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
        let Names { removed, added } = Names::of(source);
        let before: HashSet<&str> = removed.iter().map(|(name, _)| name.as_str()).collect();
        let new = added
            .iter()
            .filter(|(name, _)| !before.contains(name.as_str()))
            .count();
        // Without a test in it, it was a helper.
        let deleted_file =
            file.status == FileStatus::Deleted && context.is_test && !removed.is_empty();
        let lost_assertion = if context.is_test && file.status != FileStatus::Deleted {
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

/// The tests that changed lines declare, and on which line.
#[derive(Default)]
struct Names {
    removed: Vec<(String, u32)>,
    added: Vec<(String, u32)>,
}

impl Names {
    fn of(source: &Source<'_>) -> Self {
        let mut names = Self::default();
        for hunk in &source.hunks {
            // An attribute counts for the next function of its side, whether it is context or changed.
            let (mut old, mut new) = (false, false);
            for line in hunk.iter().map(|seen| seen.line) {
                let (on_old, on_new) =
                    (line.kind != LineKind::Added, line.kind != LineKind::Deleted);
                if is_attribute(line.text) {
                    old |= on_old;
                    new |= on_new;
                } else if let Some(declared) = declaration(line.text) {
                    match line.kind {
                        LineKind::Deleted if !declared.needs_attribute || old => {
                            names.removed.push((declared.name, line.old.unwrap_or(0)));
                        }
                        LineKind::Added if !declared.needs_attribute || new => {
                            names.added.push((declared.name, line.new.unwrap_or(0)));
                        }
                        _ => {}
                    }
                    old &= !on_old;
                    new &= !on_new;
                } else if (old || new) && !is_between(line.text) {
                    old &= !on_old;
                    new &= !on_new;
                }
            }
        }
        names
    }
}

/// The first deleted assertion of a hunk that adds no code and in which no test is declared away, if the
/// file has fewer assertions than before.
fn lost_assertion(source: &Source<'_>) -> Option<u32> {
    let mut first = None;
    for hunk in &source.hunks {
        let of = |kind: LineKind| {
            hunk.iter()
                .map(|seen| seen.line)
                .filter(move |line| line.kind == kind)
        };
        let adds_code = of(LineKind::Added).any(|line| !line.text.trim_ascii().is_empty());
        let declares_away = || of(LineKind::Deleted).any(|line| declaration(line.text).is_some());
        if adds_code || declares_away() {
            continue;
        }
        first = first.or_else(|| of(LineKind::Deleted).find(|line| is_assertion(line.text)));
    }
    let line: Line<'_> = first?;
    let count = |kind: LineKind| {
        source
            .lines()
            .filter(|line| line.kind == kind && is_assertion(line.text))
            .count()
    };
    let moved = source
        .added()
        .any(|added| added.text.trim_ascii() == line.text.trim_ascii());
    (!moved && count(LineKind::Added) < count(LineKind::Deleted))
        .then_some(line.old)
        .flatten()
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
