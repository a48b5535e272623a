//! Hunks and their lines.

use std::fmt;

use crate::cursor::after_line;

/// The side of a diff a line number belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The old file; GitHub calls it `LEFT`.
    Left,
    /// The new file; GitHub calls it `RIGHT`.
    Right,
}

/// What a line of a hunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineKind {
    /// On both sides.
    Context,
    /// On the new side only.
    Added,
    /// On the old side only.
    Deleted,
}

/// One line of a hunk.
///
/// `Debug` prints the length of the text, never the text: diffs do not belong into logs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// What the line is.
    pub kind: LineKind,
    /// Its number on the old side, 1-based; none for an added line.
    pub old: Option<u32>,
    /// Its number on the new side, 1-based; none for a deleted line.
    pub new: Option<u32>,
    /// The text without prefix and LF. A CR before the LF is content and is kept.
    pub text: &'a [u8],
    /// Whether the file ends here without a newline.
    pub no_newline: bool,
}

impl Line<'_> {
    /// Returns the line's number on `side`, if it is there.
    pub fn number(&self, side: Side) -> Option<u32> {
        match side {
            Side::Left => self.old,
            Side::Right => self.new,
        }
    }
}

impl fmt::Debug for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line")
            .field("kind", &self.kind)
            .field("old", &self.old)
            .field("new", &self.new)
            .field("bytes", &self.text.len())
            .field("no_newline", &self.no_newline)
            .finish()
    }
}

/// One hunk: what its header declares, and the lines that were there.
///
/// `Debug` prints lengths, never text.
#[derive(Clone, PartialEq, Eq)]
pub struct Hunk<'a> {
    /// The declared first line on the old side; the line before the change if `old_count` is 0.
    pub old_start: u32,
    /// The declared count of old lines.
    pub old_count: u32,
    /// The declared first line on the new side; the line before the change if `new_count` is 0.
    pub new_start: u32,
    /// The declared count of new lines.
    pub new_count: u32,
    /// What follows the second `@@`, without the blank. Arbitrary text of the file.
    pub heading: &'a [u8],
    /// The lines with their prefixes, markers included: exactly what was read and is certain.
    pub body: &'a [u8],
    /// How many old lines were seen; fewer than declared if the hunk is cut or malformed.
    pub(crate) old_seen: u32,
    /// How many new lines were seen.
    pub(crate) new_seen: u32,
}

impl<'a> Hunk<'a> {
    /// Iterates over the lines that were read, in order.
    pub fn lines(&self) -> Lines<'a> {
        Lines {
            rest: self.body,
            old: self.old_start,
            new: self.new_start,
        }
    }

    /// Returns whether the hunk shows line `line` of `side`. Lines that the header declares but that
    /// were not seen do not count.
    pub fn contains(&self, side: Side, line: u32) -> bool {
        let (start, seen) = match side {
            Side::Left => (self.old_start, self.old_seen),
            Side::Right => (self.new_start, self.new_seen),
        };
        line.checked_sub(start).is_some_and(|at| at < seen)
    }

    /// The first line on `side`; for a hunk that has none there, the line it comes before.
    pub(crate) fn first(&self, side: Side) -> u32 {
        let (start, count) = match side {
            Side::Left => (self.old_start, self.old_count),
            Side::Right => (self.new_start, self.new_count),
        };
        start.saturating_add(u32::from(count == 0))
    }

    /// Returns whether every line that the header declares was seen.
    pub fn is_complete(&self) -> bool {
        self.old_seen == self.old_count && self.new_seen == self.new_count
    }
}

impl fmt::Debug for Hunk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hunk")
            .field("old", &(self.old_start, self.old_count, self.old_seen))
            .field("new", &(self.new_start, self.new_count, self.new_seen))
            .field("heading_bytes", &self.heading.len())
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

/// The lines of a hunk. Created by [`Hunk::lines`].
#[derive(Clone)]
pub struct Lines<'a> {
    rest: &'a [u8],
    old: u32,
    new: u32,
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let (kind, text) = loop {
            let line = self.rest;
            let &prefix = line.first()?;
            self.rest = after_line(line).unwrap_or_default();
            let length = line.len().saturating_sub(self.rest.len());
            let whole = line.get(..length).unwrap_or_default();
            let whole = whole.strip_suffix(b"\n").unwrap_or(whole);
            match prefix {
                b'+' => break (LineKind::Added, whole.get(1..)),
                b'-' => break (LineKind::Deleted, whole.get(1..)),
                b' ' => break (LineKind::Context, whole.get(1..)),
                // A marker with no line before it qualifies nothing.
                b'\\' => {}
                // An empty context line whose blank was stripped on the way.
                _ => break (LineKind::Context, Some(whole)),
            }
        };
        let (old, new) = (self.old, self.new);
        let (on_old, on_new) = (kind != LineKind::Added, kind != LineKind::Deleted);
        self.old = old.wrapping_add(u32::from(on_old));
        self.new = new.wrapping_add(u32::from(on_new));
        Some(Line {
            kind,
            old: on_old.then_some(old),
            new: on_new.then_some(new),
            text: text.unwrap_or_default(),
            no_newline: self.rest.first() == Some(&b'\\'),
        })
    }
}

impl fmt::Debug for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines")
            .field("bytes_left", &self.rest.len())
            .finish()
    }
}
