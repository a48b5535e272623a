//! Reads a diff one file section at a time, in memory that does not grow with the diff.
//!
//! **Invariant:** the buffer never holds more than one section's kept part and one read.

use std::io::{self, ErrorKind, Read};

use memchr::{memchr_iter, memmem, memrchr};

use crate::{
    file::{Incomplete, Parsed},
    parse::parse,
    problem::{Problem, ProblemKind},
};

/// How much of one file section is kept by default. What is longer is no source that anyone reviews;
/// it bounds a worker's memory for any diff.
pub const MAX_SECTION_BYTES: usize = 2 * 1024 * 1024;

/// How much is asked of the source at once.
const READ_BYTES: usize = 64 * 1024;

/// What the first line of a section begins with, after the LF of the line before. No line of a hunk
/// begins so: each has its prefix.
const BOUNDARY: &[u8] = b"\ndiff --";

/// One file section, owned.
#[derive(Clone, PartialEq, Eq)]
pub struct Section {
    /// The bytes of the section from its `diff --git` line on. The first section also has what stands
    /// before that line.
    pub bytes: Vec<u8>,
    /// Whether the section was longer than the limit and its end was dropped.
    pub cut: bool,
    /// Where the section begins in the diff, in bytes.
    pub offset: u64,
}

impl Section {
    /// Parses the section. If it was cut, its last file is flagged [`Incomplete::SectionTooLarge`].
    ///
    /// Places in [`Parsed::problems`] count from the start of the section.
    pub fn parse(&self) -> Parsed<'_> {
        self.borrowed().parse()
    }

    fn borrowed(&self) -> SectionRef<'_> {
        SectionRef {
            bytes: &self.bytes,
            cut: self.cut,
            offset: self.offset,
        }
    }
}

impl std::fmt::Debug for Section {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.borrowed().fmt(f)
    }
}

/// One file section in the reader's buffer, valid until the next read. As [`Section`], without a copy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SectionRef<'b> {
    /// The bytes of the section.
    pub bytes: &'b [u8],
    /// Whether its end was dropped.
    pub cut: bool,
    /// Where the section begins in the diff, in bytes.
    pub offset: u64,
}

impl<'b> SectionRef<'b> {
    /// Parses the section, as [`Section::parse`].
    pub fn parse(&self) -> Parsed<'b> {
        let mut parsed = parse(self.bytes);
        if self.cut {
            flag_cut(&mut parsed, self.bytes);
        }
        parsed
    }

    /// Copies the section out of the buffer.
    pub fn to_owned(&self) -> Section {
        Section {
            bytes: self.bytes.to_vec(),
            cut: self.cut,
            offset: self.offset,
        }
    }
}

impl std::fmt::Debug for SectionRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Section")
            .field("offset", &self.offset)
            .field("bytes", &self.bytes.len())
            .field("cut", &self.cut)
            .finish()
    }
}

/// Says of the last file that its section was cut by the reader, not by whoever sent the diff.
fn flag_cut(parsed: &mut Parsed<'_>, bytes: &[u8]) {
    let path = parsed.files.last_mut().map(|file| {
        file.incomplete = Some(Incomplete::SectionTooLarge);
        file.path().to_vec()
    });
    let cut_line = |problem: &Problem| problem.kind == ProblemKind::Truncated;
    if parsed.problems.last().is_some_and(cut_line) {
        parsed.problems.pop();
    }
    parsed.problems.push(Problem {
        offset: bytes.len(),
        line: memchr_iter(b'\n', bytes).count().saturating_add(1),
        kind: ProblemKind::SectionTooLarge,
        path,
    });
}

/// Splits a diff from a `Read` into file sections without holding more than one of them.
///
/// Sections begin at `diff --git`, `diff --cc` and `diff --combined` lines; a plain diff without them is
/// one section. Each can be parsed by itself.
pub struct SectionReader<R> {
    source: R,
    boundary: memmem::Finder<'static>,
    max: usize,
    buffer: Vec<u8>,
    /// The unread part of `buffer`.
    start: usize,
    end: usize,
    /// Where `start` is in the diff.
    offset: u64,
    /// Whether the source has ended.
    ended: bool,
    /// Whether the rest of a cut section is still to be dropped.
    dropping: bool,
}

impl<R: Read> SectionReader<R> {
    /// Reads sections of up to [`MAX_SECTION_BYTES`] from `source`.
    pub fn new(source: R) -> Self {
        Self::with_max(source, MAX_SECTION_BYTES)
    }

    /// Reads sections of up to `max` bytes; what is longer is cut at its last line end before that.
    pub fn with_max(source: R, max: usize) -> Self {
        Self {
            source,
            boundary: memmem::Finder::new(BOUNDARY),
            max: max.max(1),
            buffer: Vec::new(),
            start: 0,
            end: 0,
            offset: 0,
            ended: false,
            dropping: false,
        }
    }

    /// Reads the next section, or nothing at the end. Errors are those of the source.
    pub fn next_section(&mut self) -> io::Result<Option<Section>> {
        Ok(self.next_ref()?.map(|section| section.to_owned()))
    }

    /// As [`Self::next_section`], but lends the section from the buffer.
    pub fn next_ref(&mut self) -> io::Result<Option<SectionRef<'_>>> {
        if self.dropping {
            self.drop_rest()?;
        }
        // The first byte of a section can be the `d` of its own boundary, so the search starts after it.
        let mut searched = 0_usize;
        let (length, cut) = loop {
            let unread = self.unread();
            if let Some(at) = self
                .boundary
                .find(unread.get(searched..).unwrap_or_default())
            {
                let length = searched.saturating_add(at).saturating_add(1);
                if length <= self.max {
                    break (length, false);
                }
            }
            // One boundary more than the limit, as the section can end exactly there.
            let enough = self.max.saturating_add(BOUNDARY.len());
            if unread.len() >= enough || (self.ended && unread.len() > self.max) {
                let kept = unread.get(..self.max).unwrap_or_default();
                let lines = memrchr(b'\n', kept).map(|end| end.saturating_add(1));
                break (lines.unwrap_or(kept.len()), true);
            }
            if self.ended {
                break (unread.len(), false);
            }
            searched = unread
                .len()
                .saturating_sub(BOUNDARY.len().saturating_sub(1));
            self.fill()?;
        };
        if length == 0 {
            return Ok(None);
        }
        self.dropping = cut;
        let (start, offset) = (self.start, self.offset);
        self.advance(length);
        let bytes = self.buffer.get(start..self.start).unwrap_or_default();
        Ok(Some(SectionRef { bytes, cut, offset }))
    }

    fn unread(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    fn advance(&mut self, length: usize) {
        self.start = self.start.saturating_add(length).min(self.end);
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        self.offset = self.offset.saturating_add(length);
    }

    /// Drops what is left of a cut section.
    fn drop_rest(&mut self) -> io::Result<()> {
        loop {
            let unread = self.unread();
            if let Some(at) = self.boundary.find(unread) {
                self.advance(at.saturating_add(1));
                break;
            }
            if self.ended {
                self.advance(unread.len());
                break;
            }
            // A boundary can straddle two reads.
            self.advance(
                unread
                    .len()
                    .saturating_sub(BOUNDARY.len().saturating_sub(1)),
            );
            self.fill()?;
        }
        self.dropping = false;
        Ok(())
    }

    /// Reads once from the source behind the unread bytes, which move to the front if there is no room.
    fn fill(&mut self) -> io::Result<()> {
        if self.buffer.len().saturating_sub(self.end) < READ_BYTES {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end = self.end.saturating_sub(self.start);
            self.start = 0;
            let wanted = self.end.saturating_add(READ_BYTES);
            if self.buffer.len() < wanted {
                self.buffer.resize(wanted, 0);
            }
        }
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        loop {
            match self.source.read(room) {
                Ok(0) => self.ended = true,
                Ok(count) => self.end = self.end.saturating_add(count).min(self.buffer.len()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }
}

impl<R: Read> Iterator for SectionReader<R> {
    type Item = io::Result<Section>;

    fn next(&mut self) -> Option<io::Result<Section>> {
        self.next_section().transpose()
    }
}

impl<R> std::fmt::Debug for SectionReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SectionReader")
            .field("offset", &self.offset)
            .field("unread", &self.end.saturating_sub(self.start))
            .field("max", &self.max)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
