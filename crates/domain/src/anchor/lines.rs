//! One changed file as a finding sees it: the lines that a comment can name, by side and number.
//!
//! **Invariant:** a line that is in here was seen, whole, in the diff; nothing is guessed between hunks.

use mirilla_diff::{FileDiff, FileStatus};
use serde::{Deserialize, Serialize};

use super::Anchor;
use crate::fingerprint::normalise;
use crate::review::Side;

/// A line that a hunk shows on one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownLine {
    /// Its number on this side.
    pub number: u32,
    /// Its number on the other side, if it is unchanged.
    pub other: Option<u32>,
    /// How far the other side has come where it stands: `other`, or the number of the next line there.
    pub opposite: u32,
    /// Which hunk of the file shows it.
    pub hunk: usize,
    /// Its text with whitespace collapsed.
    pub text: String,
    /// The blanks and tabs that it begins with; not kept on the left, where nothing is replaced.
    pub indent: String,
    /// Whether a carriage return stands in it, as at the end of every line of a CRLF file.
    pub has_return: bool,
}

impl ShownLine {
    /// Returns whether this change added (or, on the left, deleted) the line.
    pub const fn is_changed(&self) -> bool {
        self.other.is_none()
    }
}

/// Which sides of a diff have a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineKind {
    /// The new side alone.
    Added,
    /// The old side alone.
    Deleted,
    /// Both.
    Unchanged,
}

/// A line of a diff with the counters of both sides, which is how GitLab names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LineSpot {
    /// Its number on the old side, or, if it is added, that of the next line there.
    pub old: u32,
    /// Its number on the new side, or, if it is deleted, that of the next line there.
    pub new: u32,
    /// Which sides have it.
    pub kind: LineKind,
}

/// The ends of a range of lines of one hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LineRange {
    /// The first line.
    pub first: LineSpot,
    /// The last line.
    pub last: LineSpot,
}

/// The lines of one changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLines {
    /// What comments and coverage call the file: its new path, or the old one if it is gone.
    pub path: String,
    /// Its old path, if it was renamed.
    pub old_path: Option<String>,
    /// Whether the file is gone, so that only its old side can be commented on.
    pub is_deleted: bool,
    left: Vec<ShownLine>,
    right: Vec<ShownLine>,
}

impl FileLines {
    /// Reads the lines of a file; `None` if its path cannot be named in a comment.
    pub fn of(file: &FileDiff<'_>) -> Option<Self> {
        let path = file.path_str()?.to_owned();
        let old_path = renamed_from(file);
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for (hunk, lines) in file.hunks.iter().enumerate() {
            let (mut next_old, mut next_new) = (lines.old_start, lines.new_start);
            for line in lines.lines() {
                let text = normalise(line.text);
                let has_return = line.text.contains(&b'\r');
                if let Some(number) = line.old {
                    left.push(ShownLine {
                        number,
                        other: line.new,
                        opposite: next_new,
                        hunk,
                        text: text.clone(),
                        indent: String::new(),
                        has_return,
                    });
                }
                if let Some(number) = line.new {
                    right.push(ShownLine {
                        number,
                        other: line.old,
                        opposite: next_old,
                        hunk,
                        text,
                        indent: indent(line.text),
                        has_return,
                    });
                }
                next_old = next_old.saturating_add(u32::from(line.old.is_some()));
                next_new = next_new.saturating_add(u32::from(line.new.is_some()));
            }
        }
        Some(Self {
            path,
            old_path,
            is_deleted: file.new_path.is_none(),
            left,
            right,
        })
    }

    /// Returns the lines of a side, ascending.
    pub fn side(&self, side: Side) -> &[ShownLine] {
        match side {
            Side::Left => &self.left,
            Side::Right => &self.right,
        }
    }

    /// Returns a line, if a hunk shows it.
    pub fn get(&self, side: Side, number: u32) -> Option<&ShownLine> {
        let lines = self.side(side);
        let at = lines.partition_point(|line| line.number < number);
        lines.get(at).filter(|line| line.number == number)
    }

    /// Returns a line with the counters of both sides, if a hunk shows it.
    pub fn spot(&self, side: Side, number: u32) -> Option<LineSpot> {
        let line = self.get(side, number)?;
        let (old, new, changed) = match side {
            Side::Left => (line.number, line.opposite, LineKind::Deleted),
            Side::Right => (line.opposite, line.number, LineKind::Added),
        };
        let kind = if line.is_changed() {
            changed
        } else {
            LineKind::Unchanged
        };
        Some(LineSpot { old, new, kind })
    }

    /// Returns the ends of a place of more than one line.
    pub fn range(&self, anchor: &Anchor) -> Option<LineRange> {
        Some(LineRange {
            first: self.spot(anchor.side, anchor.start_line?)?,
            last: self.spot(anchor.side, anchor.line)?,
        })
    }

    /// Returns the lines from `first` to `last`, as far as hunks show them.
    pub fn between(&self, side: Side, first: u32, last: u32) -> &[ShownLine] {
        let lines = self.side(side);
        let from = lines.partition_point(|line| line.number < first);
        let to = lines.partition_point(|line| line.number <= last);
        lines.get(from..to).unwrap_or_default()
    }
}

/// Returns the blanks and tabs that a line begins with.
fn indent(line: &[u8]) -> String {
    let blanks = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t'));
    blanks.copied().map(char::from).collect()
}

/// Returns the old name of a renamed file. A copy's source is another file and does not count.
pub fn renamed_from(file: &FileDiff<'_>) -> Option<String> {
    if file.status != FileStatus::Renamed {
        return None;
    }
    let old = std::str::from_utf8(file.old_path.as_deref()?).ok()?;
    Some(old.to_owned())
}
