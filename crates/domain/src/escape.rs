//! Makes untrusted text safe to print on a terminal, in a log or in a CI job's output.
//!
//! Paths, lines of a diff, answers of a model and bodies of comments can carry escape sequences
//! (colours, OSC 52 clipboard writes), carriage returns that overwrite a line, right-to-left
//! overrides, and text that a CI runner takes for a command (`::error::`, `##[group]`,
//! `##vso[task.setvariable]`). Everything untrusted goes through [`terminal`] or
//! [`terminal_lines`] before it is printed.
//!
//! **Invariant:** the result of either function contains no control character (except, in the
//! multi-line form, line feed and tab), no character that is invisible or changes the direction of
//! text, and nothing a CI runner executes.

mod chars;

use std::borrow::Cow;
use std::fmt::Write as _;

pub use chars::{is_bidi, is_control, is_invisible, is_unsafe};

/// Prefixes that a CI runner looks for anywhere in a line of output.
///
/// GitHub Actions (its older syntax), Azure Pipelines and `TeamCity`.
const RUNNER_MARKS: [&str; 3] = ["##[", "##vso[", "##teamcity["];

/// Returns `text` fit for one line of a terminal or log.
///
/// Line feeds become `\n`, other control and invisible characters `\u{…}`, and a leading `::` (after
/// optional white space) as well as `##[` anywhere is broken up, because a CI runner executes it.
/// Text that needs no change is borrowed.
#[must_use]
pub fn terminal(text: &str) -> Cow<'_, str> {
    escape(text, false)
}

/// Returns `text` fit for several lines of a terminal or log: like [`terminal`], but line feeds and
/// tabs stay, and each line's start is checked.
#[must_use]
pub fn terminal_lines(text: &str) -> Cow<'_, str> {
    escape(text, true)
}

/// Returns `text` with every control, bidirectional and invisible character spelled out as
/// `<U+202E>`; line feed and tab stay.
///
/// For text that people or a model read as Markdown or code. A byte order mark counts too.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(needs_spelling) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len().saturating_add(16));
    for c in text.chars() {
        if needs_spelling(c) {
            push_code_point(&mut out, c);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Returns a JSON text that means the same and is fit to print: control, bidirectional and invisible
/// characters and what a CI runner would execute are spelled as JSON's own escapes.
///
/// `text` is JSON as [`serde_json`] writes it: such characters stand inside strings alone.
#[must_use]
pub fn json(text: &str) -> Cow<'_, str> {
    let needs = |c: char| is_unsafe(c) && c != '\n';
    if !text.chars().any(needs) && !RUNNER_MARKS.iter().any(|mark| text.contains(mark)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len().saturating_add(16));
    for (at, c) in text.char_indices() {
        if needs(c) || (c == '#' && starts_mark(text, at)) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a String cannot fail.
                let _infallible = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Says whether [`visible`] replaces `c`.
fn needs_spelling(c: char) -> bool {
    is_unsafe(c) && c != '\n' && c != '\t'
}

/// Appends `<U+XXXX>`.
fn push_code_point(out: &mut String, c: char) {
    // Writing to a String cannot fail.
    let _infallible = write!(out, "<U+{:04X}>", u32::from(c));
}

/// Escapes with or without line structure; borrows when nothing changes.
fn escape(text: &str, lines: bool) -> Cow<'_, str> {
    let kept = |c: char| lines && (c == '\n' || c == '\t');
    let plain = !text.chars().any(|c| is_unsafe(c) && !kept(c))
        && !RUNNER_MARKS.iter().any(|mark| text.contains(mark))
        && !(if lines {
            text.split('\n').any(is_runner_command)
        } else {
            is_runner_command(text)
        });
    if plain {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len().saturating_add(16));
    if lines {
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                out.push('\n');
            }
            escape_line(&mut out, line, true);
        }
    } else {
        escape_line(&mut out, text, false);
    }
    Cow::Owned(out)
}

/// Says whether a runner would take this line for a workflow command.
///
/// Invisible characters are dropped by some terminals and log viewers, but not by the runner, so
/// only white space is skipped.
fn is_runner_command(line: &str) -> bool {
    line.trim_start().starts_with("::")
}

/// Appends one escaped line.
fn escape_line(out: &mut String, line: &str, keep_tabs: bool) {
    let mut break_colon = is_runner_command(line);

    for (at, c) in line.char_indices() {
        if c == ':' && break_colon {
            out.push_str("\\u{3a}");
            break_colon = false;
        } else if c == '#' && starts_mark(line, at) {
            out.push_str("\\u{23}");
        } else if is_unsafe(c) && !(keep_tabs && c == '\t') {
            push_escaped(out, c);
        } else {
            out.push(c);
        }
    }
}

/// Says whether a runner mark starts at byte `at`.
fn starts_mark(line: &str, at: usize) -> bool {
    line.get(at..)
        .is_some_and(|rest| RUNNER_MARKS.iter().any(|mark| rest.starts_with(mark)))
}

/// Appends a backslash escape as Rust and JavaScript write it.
fn push_escaped(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        _ => {
            // Writing to a String cannot fail.
            let _infallible = write!(out, "\\u{{{:x}}}", u32::from(c));
        }
    }
}

#[cfg(test)]
mod tests;
