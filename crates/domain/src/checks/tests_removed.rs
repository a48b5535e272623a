//! Tests that are gone, or assert less.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash as _, Hasher as _};

use mirilla_diff::{FileStatus, LineKind};

use super::hints::Hints;
use super::path;
use super::source::{Seen, Source};
use super::subject::Subject;
use super::test_names::{May, declaration, declares, is_assertion, is_attribute, is_between};
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
    /// How many tests the new files of a directory have: tests of its other files can have gone there.
    new_files: HashMap<String, usize>,
    /// Hashes of added assertions, anywhere: a test that moved under another name has the same.
    asserted: HashSet<u64>,
    subject: Subject,
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
    /// An added test runs over a table of cases: it may stand for many.
    table: bool,
    assertions: Assertions,
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
        let Names {
            removed,
            added,
            assertions,
            table,
        } = Names::of(source, &mut self.subject);
        let before: HashSet<&str> = removed.iter().map(|(name, _)| name.as_str()).collect();
        let new = added
            .iter()
            .filter(|(name, _)| !before.contains(name.as_str()))
            .count();
        let deleted = file.status == FileStatus::Deleted;
        // Without a test in it, it was a helper.
        let deleted_file = deleted && context.is_test && !removed.is_empty();
        // A file of code takes its own tests with it.
        let removed = if deleted && !context.is_test {
            Vec::new()
        } else {
            without_quoted(removed, source)
        };
        let lost_assertion = if context.is_test && !deleted {
            lost_assertion(source)
        } else {
            None
        };
        if file.status == FileStatus::Added && new > 0 && self.new_files.len() < MAX_NAMES {
            let count = self.new_files.entry(directory(&context.path)).or_default();
            *count = count.saturating_add(new);
        }
        let room = MAX_NAMES.saturating_sub(self.asserted.len());
        self.asserted
            .extend(assertions.added.iter().copied().take(room));
        if deleted_file || !removed.is_empty() || lost_assertion.is_some() {
            self.files.push(Changed {
                path: context.path.clone(),
                deleted_file,
                removed,
                new,
                table,
                assertions,
                lost_assertion,
            });
        }
        let room = MAX_NAMES.saturating_sub(self.added.len());
        self.added
            .extend(added.into_iter().map(|(name, _)| name).take(room));
    }

    /// Returns the hits, now that all names are known.
    pub(super) fn finish(self) -> Vec<FloorHit> {
        // A feature that goes takes its tests with it.
        if self.subject.is_gone() {
            return Vec::new();
        }
        let Self {
            files,
            added,
            gone,
            asserted,
            new_files,
            ..
        } = self;
        files
            .into_iter()
            .filter(|file| {
                let new = new_files.get(&directory(&file.path));
                new.is_none_or(|new| *new < file.removed.len())
            })
            .filter(|file| !file.assertions.stand_elsewhere(&asserted))
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
        } else if lost.len() > self.new && !self.table && !self.assertions.are_replaced() {
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
            let replaced = self.assertions.are_replaced();
            let line = self
                .lost_assertion
                .filter(|_| self.removed.is_empty() && !replaced)?;
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

/// Hashes of the assertions in a file's changed lines.
#[derive(Debug, Default)]
struct Assertions {
    added: Vec<u64>,
    deleted: Vec<u64>,
}

impl Assertions {
    fn see(&mut self, seen: &Seen<'_>) {
        let line = seen.line;
        let side = match line.kind {
            LineKind::Added => &mut self.added,
            LineKind::Deleted => &mut self.deleted,
            LineKind::Context => return,
        };
        if side.len() < MAX_NAMES && asserts(seen) {
            let mut hasher = DefaultHasher::new();
            line.text.trim_ascii().hash(&mut hasher);
            side.push(hasher.finish());
        }
    }

    /// Says whether the file asserts as much as before, in other words.
    fn are_replaced(&self) -> bool {
        !self.added.is_empty() && self.added.len() >= self.deleted.len()
    }

    /// Says whether most of what was asserted is asserted in added lines of some file.
    fn stand_elsewhere(&self, asserted: &HashSet<u64>) -> bool {
        let moved = self.deleted.iter().filter(|one| asserted.contains(*one));
        !self.deleted.is_empty()
            && moved.count().saturating_mul(3) >= self.deleted.len().saturating_mul(2)
    }
}

/// The tests that changed lines declare, and on which line.
#[derive(Default)]
struct Names {
    removed: Vec<(String, u32)>,
    added: Vec<(String, u32)>,
    assertions: Assertions,
    table: bool,
}

impl Names {
    /// Reads the names, and tells `subject` of the lines that are code and of those that tested it.
    fn of(source: &Source<'_>, subject: &mut Subject) -> Self {
        let mut names = Self::default();
        // Code before the first test of a file that has both.
        let mut in_tests = source.context.is_test;
        for hunk in &source.hunks {
            // An attribute counts for the next function of its side, whether it is context or changed.
            let (mut old, mut new) = (false, false);
            for seen in hunk {
                let line = seen.line;
                let (on_old, on_new) =
                    (line.kind != LineKind::Added, line.kind != LineKind::Deleted);
                if is_attribute(line.text) {
                    in_tests = true;
                    old |= on_old;
                    new |= on_new;
                } else if line.kind == LineKind::Context {
                    // Its name is nobody's concern.
                    if !in_tests || old || new {
                        let declared = declares(line.text, old || new);
                        in_tests |= declared == Some(May::Named);
                        if declared.is_some() || !is_between(line.text) {
                            (old, new) = (false, false);
                        }
                    }
                } else if let Some(declared) = declaration(line.text, old || new) {
                    in_tests |= !declared.needs_attribute;
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
                if !in_tests {
                    subject.code(&line);
                } else if line.kind != LineKind::Context {
                    names.assertions.see(seen);
                    match line.kind {
                        LineKind::Deleted => subject.test(line.text),
                        _ => names.table |= seen.hints.has(Hints::TABLE),
                    }
                }
            }
        }
        names
    }
}

/// The names without those that an added line quotes: such a test goes by another word than before.
fn without_quoted(removed: Vec<(String, u32)>, source: &Source<'_>) -> Vec<(String, u32)> {
    // The others are names of functions.
    if !removed.iter().any(|(name, _)| name.contains(' ')) {
        return removed;
    }
    let stays: HashSet<&str> = source
        .added()
        .filter_map(|line| quoted(line.text))
        .collect();
    let mut removed = removed;
    removed.retain(|(name, _)| !stays.contains(name.as_str()));
    removed
}

/// The first text in quotes of a line.
fn quoted(line: &[u8]) -> Option<&str> {
    let start = memchr::memchr3(b'"', b'\'', b'`', line)?;
    let (quote, rest) = line.get(start..)?.split_first()?;
    let end = memchr::memchr(*quote, rest)?;
    std::str::from_utf8(rest.get(..end)?)
        .ok()
        .filter(|text| text.contains(' '))
}

/// Says whether a line asserts something.
fn asserts(seen: &Seen<'_>) -> bool {
    seen.hints.has(Hints::ASSERTION) && is_assertion(seen.line.text)
}

/// The first deleted assertion of a file that adds no code, in a hunk in which no test is declared away, if
/// the same is not asserted near by.
fn lost_assertion(source: &Source<'_>) -> Option<u32> {
    let adds_code = source
        .added()
        .any(|line| !line.text.trim_ascii().is_empty());
    if adds_code {
        return None;
    }
    let mut first = None;
    for hunk in &source.hunks {
        let deleted = || {
            hunk.iter()
                .filter(|seen| seen.line.kind == LineKind::Deleted)
        };
        let declares_away = || deleted().any(|seen| declaration(seen.line.text, true).is_some());
        let said_twice = |lost: &Seen<'_>| {
            let same = |seen: &Seen<'_>| seen.line.text.trim_ascii() == lost.line.text.trim_ascii();
            hunk.iter()
                .any(|seen| seen.line.kind == LineKind::Context && same(seen))
        };
        let lost = || deleted().find(|seen| asserts(seen) && !said_twice(seen));
        if first.is_none() && lost().is_some() && !declares_away() {
            first = lost();
        }
    }
    first.and_then(|seen| seen.line.old)
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

/// The directory of a path.
fn directory(path: &str) -> String {
    path.rsplit_once('/')
        .map_or_else(String::new, |(directory, _)| directory.to_owned())
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
