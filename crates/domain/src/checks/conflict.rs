//! Merge conflicts committed as they are.

use memchr::memmem;
use mirilla_diff::LineKind;

use super::source::Source;
use super::{Check, Found, Hits, path};
use crate::review::Severity;

/// The characters of a marker.
const LENGTH: usize = 7;

/// Reports each added `<<<<<<<`, `=======`, `>>>>>>>` in this order. One alone is an underline, an
/// arrow, or output of another tool.
pub(super) fn check(source: &Source<'_>, out: &mut Hits<'_>) {
    // A patch kept in the repository has its own.
    if matches!(
        path::extension(&out.context.path),
        "diff" | "patch" | "rej" | "orig"
    ) {
        return;
    }
    if memmem::find(source.file.section, b"<<<<<<<").is_none() {
        return;
    }
    let mut start = None;
    let mut parted = false;
    let mut before_is_fence = false;
    for line in source.lines() {
        let trimmed = line.text.trim_ascii_start();
        let fence = trimmed.starts_with(b"```") || trimmed.starts_with(b"~~~");
        match (line.kind, marker(line.text)) {
            // An example in Markdown stands in a fence.
            (LineKind::Added, Some(b'<')) if !(before_is_fence && out.context.is_prose) => {
                start = line.new;
                parted = false;
            }
            (LineKind::Added, Some(b'=')) => parted = start.is_some(),
            (LineKind::Added, Some(b'>')) if parted => {
                if let Some(first) = start.take() {
                    let mut found = Found::at(
                        Check::ConflictMarker,
                        first,
                        Severity::High,
                        "Unresolved merge conflict",
                        "The lines between the markers are two versions of the same code, committed as they are.",
                    );
                    found.end_line = line.new;
                    out.push(found);
                }
                parted = false;
            }
            _ => {}
        }
        if line.kind != LineKind::Deleted {
            before_is_fence = fence;
        }
    }
}

/// The character of a marker line: exactly seven of it, then the end or a space and a label.
fn marker(line: &[u8]) -> Option<u8> {
    let first = *line.first().filter(|c| matches!(**c, b'<' | b'=' | b'>'))?;
    let run = line.iter().take_while(|c| **c == first).count();
    let rest = line.get(run..)?;
    let ends = match rest {
        [] | b"\r" => true,
        [b' ', ..] => first != b'=',
        _ => false,
    };
    (run == LENGTH && ends).then_some(first)
}
