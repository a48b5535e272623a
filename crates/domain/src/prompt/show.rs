//! Prints code, paths and lists so that they cannot be taken for anything else.

use std::borrow::Cow;
use std::fmt::Write as _;

use mirilla_diff::{FileDiff, Line, LineKind};

use crate::chunk::{ChunkPlan, FilePart};
use crate::digest;
use crate::escape;
use crate::redact::Masker;

/// Most files that the list of other files names one by one, nearest first. Every question pays for it.
const MAX_LISTED_FILES: usize = 30;
/// Most folders that the rest of the list is summed up in.
const MAX_LISTED_FOLDERS: usize = 12;
/// Longest path that is printed whole.
const MAX_PATH_CHARS: usize = 300;
/// Longest heading of a hunk; it is there for orientation.
const MAX_HEADING_CHARS: usize = 120;

/// Returns a line's text as the model sees it: byte for byte, except that characters without a visible
/// form and bytes that are no UTF-8 are spelled out.
pub fn show_line(text: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(text) {
        return escape::visible(text);
    }
    let mut out = String::with_capacity(text.len().saturating_add(16));
    for chunk in text.utf8_chunks() {
        out.push_str(&escape::visible(chunk.valid()));
        for byte in chunk.invalid() {
            push(&mut out, format_args!("<0x{byte:02X}>"));
        }
    }
    Cow::Owned(out)
}

/// Returns a path as a JSON string without any character that is not visible: no line break, no quote
/// and no tag of a path can stand in the prompt.
pub fn show_path(path: &str) -> String {
    let mut kept: String = path.chars().take(MAX_PATH_CHARS).collect();
    if kept.len() < path.len() {
        kept.push('…');
    }
    show_json(&serde_json::Value::String(kept))
}

/// Returns JSON on one line in which tags and characters that are not visible are escaped.
pub(super) fn show_json(value: &serde_json::Value) -> String {
    let json = value.to_string();
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c == '<' || c == '>' || escape::is_unsafe(c) {
            let mut units = [0_u16; 2];
            for unit in c.encode_utf16(&mut units) {
                push(&mut out, format_args!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Appends one file, or the part of it that a chunk holds.
pub(super) fn push_file(out: &mut String, part: &FilePart, files: &[FileDiff<'_>]) {
    let entries = || {
        part.pieces
            .iter()
            .filter_map(|piece| files.get(piece.entry))
    };
    let Some(file) = entries().next() else {
        return;
    };
    push(
        out,
        format_args!(
            "<file path={} change=\"{}\"",
            show_path(&part.path),
            file.status
        ),
    );
    let old = file.old_path.as_deref().map(String::from_utf8_lossy);
    if let Some(old) = old.filter(|old| *old != part.path) {
        push(out, format_args!(" from={}", show_path(&old)));
    }
    if part.parts > 1 {
        push(
            out,
            format_args!(" part=\"{} of {}\"", part.part, part.parts),
        );
    }
    let lines = || part.pieces.iter().flat_map(|piece| piece.lines(files));
    // A carriage return on every line is the file's line ending and not worth a word per line.
    let crlf = lines().all(|line| line.text.ends_with(b"\r"));
    if crlf {
        out.push_str(" line-endings=\"CRLF\"");
    }
    out.push_str(">\n");
    let width = lines()
        .filter_map(|line| line.new)
        .max()
        .map_or(1, |largest| largest.to_string().len());
    for piece in &part.pieces {
        let heading = files
            .get(piece.entry)
            .and_then(|file| file.hunks.get(piece.hunk))
            .map(|hunk| show_heading(hunk.heading))
            .unwrap_or_default();
        push(out, format_args!("@@ {heading}\n"));
        for line in piece.lines(files) {
            push_line(out, &line, width, crlf);
        }
    }
    out.push_str("</file>\n");
}

/// Appends one line of code with its number and mark; `crlf` leaves out the carriage return at its end.
pub(super) fn push_line(out: &mut String, line: &Line<'_>, width: usize, crlf: bool) {
    let mark = match line.kind {
        LineKind::Added => '+',
        LineKind::Deleted => '-',
        LineKind::Context => ' ',
    };
    let text = line
        .text
        .strip_suffix(b"\r")
        .filter(|_| crlf)
        .unwrap_or(line.text);
    push_numbered(out, line.new, width, mark, &show_line(text));
    if line.no_newline {
        push(
            out,
            format_args!("{:>width$} \\ no line break at the end of the file\n", ""),
        );
    }
}

/// Appends a line with its number in the new file and its mark.
pub(crate) fn push_numbered(
    out: &mut String,
    number: Option<u32>,
    width: usize,
    mark: char,
    text: &str,
) {
    let number = number.map_or_else(String::new, |number| number.to_string());
    push(out, format_args!("{number:>width$} {mark} {text}\n"));
}

/// Returns the heading of a hunk: a line of the file, which masking a diff leaves alone because it stands
/// in a header.
fn show_heading(heading: &[u8]) -> String {
    let masked = Masker::default().line(heading.trim_ascii()).into_owned();
    show_line(&masked).chars().take(MAX_HEADING_CHARS).collect()
}

/// Lists the changed files of which `shown` is only a part: why each is not here. Empty if all are.
pub(super) fn others(plan: &ChunkPlan, shown: &[FilePart], files: &[FileDiff<'_>]) -> String {
    let is_shown = |path: &str| shown.iter().any(|part| part.path == path);
    let mut rest: Vec<(&str, &str)> = Vec::new();
    for part in plan.chunks.iter().flat_map(|chunk| &chunk.files) {
        if !is_shown(&part.path) && part.part == 1 {
            rest.push((&part.path, "read in another part"));
        }
    }
    let carried = plan.carried.iter().map(|file| file.path.as_str());
    rest.extend(carried.map(|path| (path, "read in another part")));
    rest.extend(
        plan.skipped
            .iter()
            .map(|file| (file.path.as_str(), file.reason.as_str())),
    );
    // Neighbours of what is shown say most.
    let near = |path: &str| shown.iter().any(|part| folder(&part.path) == folder(path));
    rest.sort_by_key(|(path, _)| !near(path));
    let mut out = String::new();
    for (path, why) in rest.iter().take(MAX_LISTED_FILES) {
        let counts = files
            .iter()
            .find(|file| digest::name(file) == *path)
            .map(|file| format!(" +{} -{}", file.added.len(), file.deleted.len()))
            .unwrap_or_default();
        push(
            &mut out,
            format_args!("{}{counts}: not shown, {why}\n", show_path(path)),
        );
    }
    let unlisted = rest.get(MAX_LISTED_FILES..).unwrap_or_default();
    if !unlisted.is_empty() {
        let mut folders: Vec<(&str, usize)> = Vec::new();
        for (path, _) in unlisted {
            match folders.iter_mut().find(|(name, _)| *name == folder(path)) {
                Some((_, count)) => *count = count.saturating_add(1),
                None => folders.push((folder(path), 1)),
            }
        }
        folders.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        push(
            &mut out,
            format_args!("and {} more files, not shown", unlisted.len()),
        );
        for (name, count) in folders.iter().take(MAX_LISTED_FOLDERS) {
            push(&mut out, format_args!("; {count} in {}", show_path(name)));
        }
        out.push('\n');
    }
    out
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Appends formatted text. Writing to a `String` cannot fail.
pub(super) fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    let written = out.write_fmt(text);
    debug_assert!(written.is_ok(), "writing to a String cannot fail");
}
