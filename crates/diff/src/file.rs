//! One changed file, and the result of a parse.

use std::{borrow::Cow, fmt};

use crate::{
    hunk::{Hunk, Line, LineKind, Side},
    problem::Problem,
    ranges::LineRanges,
};

/// A parsed diff.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parsed<'a> {
    /// The changed files in the order of the diff. A type change is two entries for one path.
    pub files: Vec<FileDiff<'a>>,
    /// What could not be read as it stands, in the order of the input.
    pub problems: Vec<Problem>,
}

impl Parsed<'_> {
    /// Returns whether everything was read: no problem, no incomplete file.
    pub fn is_complete(&self) -> bool {
        self.problems.is_empty() && self.files.iter().all(|file| file.incomplete.is_none())
    }
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileStatus {
    /// New on this side of the diff.
    Added,
    /// Gone.
    Deleted,
    /// Changed in place, with or without a new mode.
    Modified,
    /// Moved, with or without edits.
    Renamed,
    /// A new file made from another one, which stays as it is.
    Copied,
    /// Only the mode changed.
    ModeChanged,
    /// File, symbolic link or submodule became another of these. git prints this as `Deleted` and
    /// `Added` for one path; a forge's file list can say it in one entry.
    TypeChanged,
}

impl FileStatus {
    /// Returns the name used in output and tests.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Deleted => "deleted",
            Self::Modified => "modified",
            Self::Renamed => "renamed",
            Self::Copied => "copied",
            Self::ModeChanged => "mode",
            Self::TypeChanged => "type",
        }
    }
}

impl fmt::Display for FileStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a file's lines are not all there. What is there is right; what is missing was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Incomplete {
    /// The input ends inside the file.
    Truncated,
    /// The file's section was longer than the reader keeps.
    SectionTooLarge,
    /// A hunk has fewer or more lines than its header declares.
    CountMismatch,
    /// A hunk header is malformed or out of order; its lines are left out.
    BadHunk,
    /// A combined diff, which is skipped.
    Combined,
    /// The file is in conflict and has no diff.
    Unmerged,
    /// The header announces a change that is not there.
    ContentMissing,
}

impl Incomplete {
    /// Returns the reason as a kebab-case code.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::SectionTooLarge => "section-too-large",
            Self::CountMismatch => "count-mismatch",
            Self::BadHunk => "bad-hunk",
            Self::Combined => "combined-diff",
            Self::Unmerged => "unmerged",
            Self::ContentMissing => "content-missing",
        }
    }
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One file section of a diff.
///
/// `Debug` prints paths and lengths, never text.
#[derive(Clone, PartialEq, Eq)]
pub struct FileDiff<'a> {
    /// The path on the old side, without prefix and quoting; `None` if the file is not there.
    pub old_path: Option<Cow<'a, [u8]>>,
    /// The path on the new side; `None` if the file is not there. At least one of the two is set.
    pub new_path: Option<Cow<'a, [u8]>>,
    /// What happened to the file.
    pub status: FileStatus,
    /// The mode on the old side (`0o100644`), if the diff says it.
    pub old_mode: Option<u32>,
    /// The mode on the new side, if the diff says it.
    pub new_mode: Option<u32>,
    /// The object id on the old side as printed: abbreviated or full, all zeros if absent.
    pub old_oid: Option<&'a str>,
    /// The object id on the new side.
    pub new_oid: Option<&'a str>,
    /// Whether git printed no lines because the content is binary.
    pub binary: bool,
    /// Whether the entry is a submodule, whose lines name commits and are no source.
    pub submodule: bool,
    /// Why lines are missing, if they are.
    pub incomplete: Option<Incomplete>,
    /// The hunks, ascending and without overlap.
    pub hunks: Vec<Hunk<'a>>,
    /// The numbers of the added lines, on the new side.
    pub added: LineRanges,
    /// The numbers of the deleted lines, on the old side.
    pub deleted: LineRanges,
    /// The bytes of the input this was read from.
    pub section: &'a [u8],
}

impl<'a> FileDiff<'a> {
    /// Returns the path on the new side, or the old one if the file is gone.
    pub fn path(&self) -> &[u8] {
        self.new_path
            .as_deref()
            .or(self.old_path.as_deref())
            .unwrap_or_default()
    }

    /// Returns [`Self::path`] if it is UTF-8. A path that is not cannot be sent through a JSON API, so
    /// nothing can be anchored in such a file.
    pub fn path_str(&self) -> Option<&str> {
        std::str::from_utf8(self.path()).ok()
    }

    /// Returns [`Self::path`] for people, with U+FFFD for what is not UTF-8. Untrusted: control
    /// characters are still in it.
    pub fn display_path(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.path())
    }

    /// Returns whether a comment can be anchored at `line` of `side`: on the right the added lines and
    /// the context of the hunks, on the left the deleted lines only, as context has its right number.
    pub fn commentable(&self, side: Side, line: u32) -> bool {
        match side {
            Side::Left => self.deleted.contains(line),
            Side::Right => self.hunk_at(side, line).is_some(),
        }
    }

    /// Returns the hunk that shows `line` of `side`.
    pub fn hunk_at(&self, side: Side, line: u32) -> Option<&Hunk<'a>> {
        let after = self.hunks.partition_point(|hunk| hunk.first(side) <= line);
        self.hunks
            .get(after.checked_sub(1)?)
            .filter(|hunk| hunk.contains(side, line))
    }

    /// Returns the text of `line` of `side`, if a hunk shows it.
    pub fn line_text(&self, side: Side, line: u32) -> Option<&'a [u8]> {
        self.hunk_at(side, line)?
            .lines()
            .find(|shown| shown.number(side) == Some(line))
            .map(|shown| shown.text)
    }

    /// Iterates over the lines of all hunks.
    pub fn lines(&self) -> impl Iterator<Item = Line<'a>> + '_ {
        self.hunks.iter().flat_map(Hunk::lines)
    }

    /// Iterates over the added lines with their text. Their numbers alone are in [`Self::added`].
    pub fn added_lines(&self) -> impl Iterator<Item = Line<'a>> + '_ {
        self.lines().filter(|line| line.kind == LineKind::Added)
    }

    /// Iterates over the deleted lines with their text. Their numbers alone are in [`Self::deleted`].
    pub fn deleted_lines(&self) -> impl Iterator<Item = Line<'a>> + '_ {
        self.lines().filter(|line| line.kind == LineKind::Deleted)
    }

    /// Returns whether old and new text are equal but for a CR before the LF: a line-ending flip, which
    /// says nothing about the code. False for an incomplete file, of which nobody can know.
    pub fn only_line_endings_changed(&self) -> bool {
        fn side<'h>(hunk: &Hunk<'h>, side: Side) -> impl Iterator<Item = (&'h [u8], bool)> {
            hunk.lines()
                .filter(move |line| line.number(side).is_some())
                .map(|line| {
                    let text = line.text.strip_suffix(b"\r").unwrap_or(line.text);
                    (text, line.no_newline)
                })
        }
        self.incomplete.is_none()
            && !self.added.is_empty()
            && self
                .hunks
                .iter()
                .all(|hunk| side(hunk, Side::Left).eq(side(hunk, Side::Right)))
    }
}

impl fmt::Debug for FileDiff<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lossy = |path: &Option<Cow<'_, [u8]>>| {
            path.as_deref().map(|path| path.escape_ascii().to_string())
        };
        f.debug_struct("FileDiff")
            .field("old_path", &lossy(&self.old_path))
            .field("new_path", &lossy(&self.new_path))
            .field("status", &self.status)
            .field("old_mode", &self.old_mode)
            .field("new_mode", &self.new_mode)
            .field("old_oid", &self.old_oid)
            .field("new_oid", &self.new_oid)
            .field("binary", &self.binary)
            .field("submodule", &self.submodule)
            .field("incomplete", &self.incomplete)
            .field("hunks", &self.hunks)
            .field("added", &self.added)
            .field("deleted", &self.deleted)
            .field("section_bytes", &self.section.len())
            .finish()
    }
}
