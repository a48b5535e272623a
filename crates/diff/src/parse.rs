//! From bytes to files.
//!
//! Reads a section at a time: its header ([`header`]), then its hunks ([`hunks`]). What stands between
//! sections (a commit message, a mail's signature) belongs to nobody and is skipped.

mod header;
mod hunk_header;
mod hunks;
mod other;
mod start;

use std::borrow::Cow;

use self::{
    header::{Header, is_binary_notice},
    hunks::{Body, Framing},
    start::{Start, is_diff_line},
};
use crate::{
    cursor::{Cursor, RawLine},
    file::{FileDiff, FileStatus, Incomplete, Parsed},
    problem::{Problem, ProblemKind, Problems},
};

/// Parses a diff of any number of files.
///
/// Never fails: what cannot be read is in [`Parsed::problems`], and the file it belongs to says so in
/// [`FileDiff::incomplete`].
pub fn parse(input: &[u8]) -> Parsed<'_> {
    let mut parser = Parser::new(input);
    let mut files = Vec::new();
    while let Some(file) = parser.next_file() {
        files.push(file);
    }
    Parsed {
        files,
        problems: parser.into_problems(),
    }
}

/// Parses the patch of one file as the file lists of GitHub (`patch`) and GitLab (`diff`) give it: it
/// begins at the first `@@`, and its last line may lack the LF. Names and status stand beside it.
///
/// An empty patch is a file without lines; whether lines are missing the caller knows from the count of
/// changes in the list.
pub fn parse_patch<'a>(
    old_path: Option<&'a [u8]>,
    new_path: Option<&'a [u8]>,
    status: FileStatus,
    patch: &'a [u8],
) -> (FileDiff<'a>, Vec<Problem>) {
    let mut cursor = Cursor::new(patch);
    let mut problems = Problems::new(patch);
    let (mut binary, mut unknown) = (false, false);
    // GitLab can put `---` and `+++` in front (`unidiff=true`), and a notice in place of the hunks.
    while let Some(line) = cursor.peek().filter(|line| !line.text.starts_with(b"@@")) {
        match line.header() {
            b"" => {}
            text if text.starts_with(b"--- ") || text.starts_with(b"+++ ") => {}
            b"GIT binary patch" => binary = true,
            text if is_binary_notice(text) => binary = true,
            _ => unknown = true,
        }
        cursor.skip_line();
    }
    let mut body = hunks::read(&mut cursor, Framing::Patch, &mut problems);
    if unknown && body.hunks.is_empty() && !binary {
        problems.add(cursor.offset(), ProblemKind::ContentMissing);
        body.incomplete.get_or_insert(Incomplete::ContentMissing);
    }
    let file = FileDiff {
        old_path: old_path.map(Cow::Borrowed),
        new_path: new_path.map(Cow::Borrowed),
        status,
        old_mode: None,
        new_mode: None,
        old_oid: None,
        new_oid: None,
        binary,
        submodule: other::is_submodule_patch(&body),
        incomplete: body.incomplete,
        hunks: body.hunks,
        added: body.added,
        deleted: body.deleted,
        section: patch,
    };
    problems.name(file.path());
    (file, problems.into_found())
}

/// Reads one file after the other.
#[derive(Debug)]
pub(crate) struct Parser<'a> {
    cursor: Cursor<'a>,
    problems: Problems<'a>,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(input: &'a [u8]) -> Self {
        Self {
            cursor: Cursor::new(input),
            problems: Problems::new(input),
        }
    }

    pub(crate) fn into_problems(self) -> Vec<Problem> {
        self.problems.into_found()
    }

    /// Reads the next file, or nothing at the end of the input.
    pub(crate) fn next_file(&mut self) -> Option<FileDiff<'a>> {
        while let Some(line) = self.cursor.peek() {
            let start = Start::of(self.cursor.rest());
            if start.is_some() {
                self.problems.next_file();
            }
            let file = match start {
                Some(Start::Git) => self.two_sided(Framing::Git),
                Some(Start::Plain) => self.two_sided(Framing::Plain),
                Some(other) => other::read(other, &mut self.cursor, &mut self.problems),
                None => {
                    self.between(line);
                    self.cursor.skip_line();
                    None
                }
            };
            if file.is_some() {
                return file;
            }
        }
        None
    }

    /// Looks at a line that belongs to no file.
    fn between(&mut self, line: RawLine<'_>) {
        if line.text.starts_with(b"@@ -") {
            let offset = self.cursor.offset();
            self.problems.add(offset, ProblemKind::HunkWithoutFile);
        } else if !line.ended {
            let offset = self.cursor.offset();
            self.problems.add(offset, ProblemKind::Truncated);
        }
    }

    /// Reads a section with an old and a new side. Nothing if no path can be told: a file without a
    /// name is a problem, not a file.
    fn two_sided(&mut self, framing: Framing) -> Option<FileDiff<'a>> {
        let start = self.cursor.offset();
        let header = match framing {
            Framing::Git => Header::read_git(&mut self.cursor),
            Framing::Plain | Framing::Patch => Header::read_plain(&mut self.cursor),
        };
        let paths = header.paths();
        if paths.is_none() {
            let kind = if header.cut {
                ProblemKind::Truncated
            } else {
                ProblemKind::NoPath
            };
            self.problems.add(start, kind);
        }
        let mut body = self.body(start, &header, framing);
        let (old_path, new_path) = paths?;
        let file = FileDiff {
            status: header.status(),
            old_mode: header.old_mode,
            new_mode: header.new_mode,
            old_oid: header.old_oid,
            new_oid: header.new_oid,
            binary: header.binary,
            submodule: header.submodule(),
            incomplete: body.incomplete.take(),
            old_path,
            new_path,
            hunks: body.hunks,
            added: body.added,
            deleted: body.deleted,
            section: self.cursor.since(start),
        };
        self.problems.name(file.path());
        Some(file)
    }

    /// Reads what follows the header of a two-sided section that begins at `start`.
    fn body(&mut self, start: usize, header: &Header<'a>, framing: Framing) -> Body<'a> {
        let has_hunks = self.cursor.rest().starts_with(b"@@");
        let missing = if header.binary {
            let whole = !header.binary_patch || self.skip_binary_patch();
            (!whole || header.cut).then_some(Incomplete::Truncated)
        } else if has_hunks || (header.stands_alone() && !header.cut) {
            None
        } else if self.cursor.rest().is_empty() {
            Some(Incomplete::Truncated)
        } else {
            Some(Incomplete::ContentMissing)
        };
        match missing {
            Some(Incomplete::Truncated) => {
                let offset = self.cursor.offset();
                self.problems.add(offset, ProblemKind::Truncated);
            }
            Some(_) => self.problems.add(start, ProblemKind::ContentMissing),
            None => {}
        }
        let mut body = hunks::read(&mut self.cursor, framing, &mut self.problems);
        body.incomplete = missing.or(body.incomplete);
        body
    }

    /// Skips the blocks of a `GIT binary patch`, whose lines can begin with anything base 85 has;
    /// returns whether the last one is closed by its empty line.
    fn skip_binary_patch(&mut self) -> bool {
        let mut closed = false;
        while let Some(line) = self.cursor.peek() {
            if is_diff_line(self.cursor.rest()) {
                break;
            }
            closed = line.ended && line.header().is_empty();
            self.cursor.skip_line();
        }
        closed
    }
}
