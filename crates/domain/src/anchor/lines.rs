//! One changed file as a finding sees it: the lines that a comment can name, by side and number.
//!
//! **Invariant:** a line that is in here was seen, whole, in the diff; nothing is guessed between hunks.

use mirilla_diff::{FileDiff, FileStatus};

use crate::fingerprint::normalise;
use crate::review::Side;

/// A line that a hunk shows on one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownLine {
    /// Its number on this side.
    pub number: u32,
    /// Its number on the other side, if it is unchanged.
    pub other: Option<u32>,
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
            for line in lines.lines() {
                let text = normalise(line.text);
                let has_return = line.text.contains(&b'\r');
                if let Some(number) = line.old {
                    left.push(ShownLine {
                        number,
                        other: line.new,
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
                        hunk,
                        text,
                        indent: indent(line.text),
                        has_return,
                    });
                }
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
