//! How a file section begins.

use crate::{cursor::after_line, parse::other::SubmoduleLine};

/// The first line of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// `diff --git A B`.
    Git,
    /// `diff --cc PATH` or `diff --combined PATH`.
    Combined,
    /// `--- A`, `+++ B` and a hunk: a plain diff, or a git one that lost its first lines.
    Plain,
    /// `Submodule PATH A..B:` (`diff.submodule=log`).
    Submodule,
    /// `* Unmerged path PATH`.
    Unmerged,
}

impl Start {
    /// Tells how the section that begins at `rest` does so, if one does.
    pub(super) fn of(rest: &[u8]) -> Option<Self> {
        match rest.first()? {
            b'd' if rest.starts_with(b"diff --git ") => Some(Self::Git),
            b'd' if is_diff_line(rest) => Some(Self::Combined),
            b'-' if is_plain_header(rest) => Some(Self::Plain),
            b'S' if is_submodule_line(rest) => Some(Self::Submodule),
            b'*' if rest.starts_with(b"* Unmerged path ") => Some(Self::Unmerged),
            _ => None,
        }
    }
}

/// Returns whether `rest` begins with a submodule's line.
fn is_submodule_line(rest: &[u8]) -> bool {
    rest.starts_with(b"Submodule ")
        && rest
            .split(|&byte| byte == b'\n')
            .next()
            .is_some_and(|line| SubmoduleLine::read(line).is_some())
}

/// Returns whether a section begins at `rest`.
pub(super) fn is_section_start(rest: &[u8]) -> bool {
    Start::of(rest).is_some()
}

/// Returns whether `text`, the last line of an input and without LF, can be what is left of a section's
/// first line.
pub(super) fn is_cut_start(text: &[u8]) -> bool {
    [
        &b"diff --git "[..],
        b"diff --cc ",
        b"diff --combined ",
        b"--- ",
        b"Submodule ",
        b"* Unmerged path ",
    ]
    .iter()
    .any(|start| start.starts_with(text) || text.starts_with(start))
}

/// Returns whether `rest` begins with a line that can only be the first of a section.
pub(super) fn is_diff_line(rest: &[u8]) -> bool {
    rest.strip_prefix(b"diff --").is_some_and(|rest| {
        rest.starts_with(b"git ") || rest.starts_with(b"cc ") || rest.starts_with(b"combined ")
    })
}

/// Returns whether `rest` begins with the two name lines and the first hunk header of a plain diff.
pub(super) fn is_plain_header(rest: &[u8]) -> bool {
    rest.starts_with(b"--- ")
        && after_line(rest)
            .filter(|rest| rest.starts_with(b"+++ "))
            .and_then(after_line)
            .is_some_and(|rest| rest.starts_with(b"@@ -"))
}
