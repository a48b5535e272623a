//! Tests that are kept but no longer run.

use std::sync::LazyLock;

use mirilla_diff::{Line, LineKind};
use regex::bytes::Regex;

use super::hints::Hints;
use super::source::{Seen, Source};
use super::test_names::{declaration, is_between};
use super::{Check, Found, Hits};
use crate::review::Severity;

/// Marks on a line before a test.
static BEFORE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x-u)^\s*(?:
          \#\[ignore\b | \#!?\[cfg_attr\([^\]]*,\s*ignore
        | @(?:Ignore|Disabled)\b | @pytest\.mark\.(?:skip|xfail)\s*(?:\(|$) | @(?:unittest\.)?skip\s*(?:\(|$)
        | \[Ignore\b | \[(?:Fact|Theory|Test)\([^)]*Skip\s*= | @Test\([^)]*enabled\s*=\s*false
        | @(?:module)?tag\s+:?skip\b
        )",
    )
    .ok()
});

/// Calls inside a test.
static INSIDE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x-u)^\s*(?:throw\s+|return\s+|try\s+)?(?:
          t\.Skip(?:Now|f)?\( | pytest\.skip\( | self\.skipTest\( | GTEST_SKIP\( | XCTSkip\(
        | (?:\$this->|self::)?markTest(?:Skipped|Incomplete)\( | Assert\.Ignore\( | this\.skip\(
        )",
    )
    .ok()
});

/// Another word for the test's own call. Group 1 is its description.
static RENAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?x-u)^\s*(?:
          (?:it|test|describe|context|suite|specify)\.(?:skip|todo|fixme)(?:\.\w+)?(?:\([^)]*\))?\s*\(\s*
        | x(?:it|describe|test|context|specify)\s*\(?\s*
        )["'`]([^"'`]+)["'`]"#,
    )
    .ok()
});

/// A focus, under which only this test runs.
static FOCUS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?x-u)^\s*(?:
          (?:it|test|describe|context|suite|specify)\.only(?:\.\w+)?(?:\([^)]*\))?\s*\(\s*["'`]
        | f(?:it|describe|context)\s*\(\s*["'`]
        )"#,
    )
    .ok()
});

fn matches(pattern: &LazyLock<Option<Regex>>, line: &[u8]) -> bool {
    pattern
        .as_ref()
        .is_some_and(|pattern| pattern.is_match(line))
}

/// Reports tests that a change switches off. A new test that is skipped from the start is none.
pub(super) fn check(source: &Source<'_>, out: &mut Hits<'_>) {
    for hunk in &source.hunks {
        let hinted =
            |seen: &Seen<'_>| seen.line.kind == LineKind::Added && seen.hints.has(Hints::SKIP);
        if !hunk.iter().any(hinted) {
            continue;
        }
        let lines: Vec<Line<'_>> = hunk.iter().map(|seen| seen.line).collect();
        for (at, seen) in hunk.iter().enumerate().filter(|(_, seen)| hinted(seen)) {
            let line = seen.line;
            let text = line.text;
            let hit = if matches(&BEFORE, text) {
                !is_for_miri(text) && next_declaration_stood(&lines, at)
            } else if out.context.is_test && matches(&INSIDE, text) {
                stood_before(&lines, at)
            } else if out.context.is_test && matches(&RENAMED, text) {
                let name = RENAMED
                    .as_ref()
                    .and_then(|pattern| pattern.captures(text)?.get(1));
                name.is_some_and(|name| deleted_contains(&lines, name.as_bytes()))
            } else {
                out.context.is_test && matches(&FOCUS, text)
            };
            if !hit || deleted_has(&lines, text) {
                continue;
            }
            let focus = matches(&FOCUS, text);
            let (title, message) = if focus {
                (
                    "Only this test runs",
                    "The focus keeps all other tests of the file from running.",
                )
            } else {
                (
                    "A test was switched off",
                    "The test existed and ran; now it is skipped, and what it protected is unprotected.",
                )
            };
            out.push(Found::at(
                Check::TestSkipped,
                line.new.unwrap_or(0),
                Severity::Medium,
                title,
                message,
            ));
        }
    }
}

/// Whether only the interpreter Miri passes the test over, which cannot do what many tests do.
fn is_for_miri(text: &[u8]) -> bool {
    memchr::memmem::find(text, b"cfg_attr(miri,").is_some()
}

/// The same line stood there before: it only moved.
fn deleted_has(lines: &[Line<'_>], text: &[u8]) -> bool {
    lines
        .iter()
        .any(|line| line.kind == LineKind::Deleted && line.text.trim_ascii() == text.trim_ascii())
}

fn deleted_contains(lines: &[Line<'_>], text: &[u8]) -> bool {
    lines.iter().any(|line| {
        line.kind == LineKind::Deleted && memchr::memmem::find(line.text, text).is_some()
    })
}

/// Whether the function after a mark was there before the change.
fn next_declaration_stood(lines: &[Line<'_>], at: usize) -> bool {
    let after = lines
        .iter()
        .skip(at)
        .skip(1)
        .filter(|line| line.kind != LineKind::Deleted);
    let declared = after.clone().take(8).find(|line| !is_between(line.text));
    declared.is_none_or(|line| line.kind == LineKind::Context || deleted_has(lines, line.text))
}

/// Whether the test around a call was there before the change, and the call has no condition.
fn stood_before(lines: &[Line<'_>], at: usize) -> bool {
    let before: Vec<&Line<'_>> = lines
        .iter()
        .take(at)
        .filter(|line| line.kind != LineKind::Deleted)
        .collect();
    let conditional = before
        .iter()
        .rev()
        .find(|line| !line.text.trim_ascii().is_empty())
        .is_some_and(|line| {
            let text = line.text.trim_ascii();
            text.starts_with(b"if")
                || text.starts_with(b"} else")
                || text.starts_with(b"else")
                || text.starts_with(b"except")
                || text.starts_with(b"case")
                || text.starts_with(b"catch")
                || text.starts_with(b"default")
        });
    if conditional {
        return false;
    }
    let declared = before
        .iter()
        .rev()
        .find(|line| declaration(line.text, true).is_some());
    declared.is_none_or(|line| line.kind == LineKind::Context || deleted_has(lines, line.text))
}
