//! Reads hunks, by their counts.
//!
//! A removed line `-- old` prints as `--- old`, an added `++ new` as `+++ new`: inside a hunk only the
//! counts of its header say where it ends. Outside, a line that is no hunk header ends the hunks of
//! the file, and nothing after it is taken for one of them.

use crate::{
    cursor::{Cursor, RawLine, Run},
    file::Incomplete,
    hunk::Hunk,
    parse::{
        hunk_header::{HunkHeader, follows},
        start::{is_cut_start, is_diff_line, is_plain_header, is_section_start},
    },
    problem::{ProblemKind, Problems},
    ranges::LineRanges,
};

/// How the text around the hunks is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// The file began with `diff --git`: only another `diff --…` line begins the next one for sure.
    Git,
    /// The file began with `---` and `+++`, and so does the next one.
    Plain,
    /// One file's patch from a file list: no other file follows, and a missing last LF is normal.
    Patch,
}

/// What the hunks of one file amount to.
#[derive(Debug, Default)]
pub(super) struct Body<'a> {
    pub(super) hunks: Vec<Hunk<'a>>,
    pub(super) added: LineRanges,
    pub(super) deleted: LineRanges,
    pub(super) incomplete: Option<Incomplete>,
}

/// How one hunk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// All declared lines were there.
    Complete,
    /// All declared lines were there, and the input ends in the last one, without LF.
    Unended,
    /// The input ended first.
    InputEnded,
    /// A line came that the counts do not allow.
    OtherLine,
}

/// Reads hunks from `cursor`, which stands at the first one, up to the start of the next section.
pub(super) fn read<'a>(
    cursor: &mut Cursor<'a>,
    framing: Framing,
    problems: &mut Problems<'_>,
) -> Body<'a> {
    let mut body = Body::default();
    while let Some(line) = cursor.peek() {
        if line.text.starts_with(b"@@") {
            body.hunk(cursor, line, framing, problems);
        } else if framing != Framing::Patch && is_section_start(cursor.rest()) {
            break;
        } else {
            match line.text {
                // A second marker, or one after nothing.
                [b'\\', ..] => cursor.skip_line(),
                // How git ends a mail, in front of its version.
                b"-- " | b"-- \r" => {
                    body.skip_trailer(cursor, framing, problems);
                    break;
                }
                [b' ' | b'+' | b'-', ..] => {
                    let (reason, kind) = if line.ended || framing == Framing::Patch {
                        (Incomplete::CountMismatch, ProblemKind::HunkTooLong)
                    } else {
                        (Incomplete::Truncated, ProblemKind::Truncated)
                    };
                    body.flag(cursor, reason, kind, problems);
                    resynchronise(cursor, framing);
                }
                _ => {
                    body.skip_trailer(cursor, framing, problems);
                    break;
                }
            }
        }
    }
    body
}

impl<'a> Body<'a> {
    fn flag(
        &mut self,
        cursor: &Cursor<'_>,
        reason: Incomplete,
        kind: ProblemKind,
        problems: &mut Problems<'_>,
    ) {
        self.incomplete.get_or_insert(reason);
        problems.add(cursor.offset(), kind);
    }

    /// Reads one hunk, whose header is `line`.
    fn hunk(
        &mut self,
        cursor: &mut Cursor<'a>,
        line: RawLine<'a>,
        framing: Framing,
        problems: &mut Problems<'_>,
    ) {
        let hunk = HunkHeader::read(line.header()).map(HunkHeader::into_hunk);
        let refused = match &hunk {
            _ if !line.ended => Some((Incomplete::Truncated, ProblemKind::Truncated)),
            None => Some((Incomplete::BadHunk, ProblemKind::BadHunkHeader)),
            Some(hunk) if self.hunks.last().is_some_and(|last| !follows(hunk, last)) => {
                Some((Incomplete::BadHunk, ProblemKind::HunkOutOfOrder))
            }
            Some(_) => None,
        };
        if let Some((reason, kind)) = refused {
            self.flag(cursor, reason, kind, problems);
        }
        cursor.skip_line();
        let Some(mut hunk) = hunk.filter(|_| refused.is_none()) else {
            resynchronise(cursor, framing);
            return;
        };
        let start = cursor.offset();
        let end = self.lines(cursor, &mut hunk);
        hunk.body = cursor.since(start);
        self.hunks.push(hunk);
        match end {
            End::Complete => {}
            End::Unended if framing == Framing::Patch => {}
            End::Unended | End::InputEnded => {
                let kind = ProblemKind::Truncated;
                self.flag(cursor, Incomplete::Truncated, kind, problems);
                cursor.skip_all();
            }
            End::OtherLine => {
                let kind = ProblemKind::HunkTooShort;
                self.flag(cursor, Incomplete::CountMismatch, kind, problems);
                resynchronise(cursor, framing);
            }
        }
    }

    /// Reads the lines of `hunk`, as far as they are certain.
    ///
    /// Every byte of a diff goes through here, so it works run by run: nothing is stored for a single
    /// line, and of a line only its first byte and its LF are looked at.
    fn lines(&mut self, cursor: &mut Cursor<'a>, hunk: &mut Hunk<'a>) -> End {
        let (mut old_left, mut new_left) = (hunk.old_count, hunk.new_count);
        let end = loop {
            if old_left == 0 && new_left == 0 {
                break End::Complete;
            }
            let Some(prefix) = cursor.first() else {
                break End::InputEnded;
            };
            let limit = match prefix {
                b'+' => new_left,
                b'-' => old_left,
                // An empty context line can have lost its blank on the way.
                b' ' | b'\n' => old_left.min(new_left),
                b'\r' if cursor.rest().starts_with(b"\r\n") => old_left.min(new_left).min(1),
                b'\\' if cursor.take_run(prefix, u32::MAX).unended => break End::InputEnded,
                b'\\' => continue,
                _ => 0,
            };
            if limit == 0 {
                break End::OtherLine;
            }
            let (on_old, on_new) = (prefix != b'+', prefix != b'-');
            let Run { mut lines, unended } = cursor.take_run(prefix, limit);
            let whole = lines.saturating_add(1);
            // Without its LF the last line is whole only if it is the very last one declared: else the
            // input was cut, perhaps inside this line.
            let is_last = unended
                && old_left == if on_old { whole } else { 0 }
                && new_left == if on_new { whole } else { 0 };
            if is_last {
                cursor.skip_line();
                lines = whole;
            }
            if !on_old {
                let at = hunk.new_count.saturating_sub(new_left);
                self.added
                    .push_run(hunk.new_start.saturating_add(at), lines);
            }
            if !on_new {
                let at = hunk.old_count.saturating_sub(old_left);
                self.deleted
                    .push_run(hunk.old_start.saturating_add(at), lines);
            }
            if on_old {
                old_left = old_left.saturating_sub(lines);
            }
            if on_new {
                new_left = new_left.saturating_sub(lines);
            }
            if unended {
                break if is_last {
                    End::Unended
                } else {
                    End::InputEnded
                };
            }
        };
        hunk.old_seen = hunk.old_count.saturating_sub(old_left);
        hunk.new_seen = hunk.new_count.saturating_sub(new_left);
        if end == End::Complete && cursor.take_run(b'\\', 1).unended {
            cursor.skip_line();
            return End::Unended;
        }
        end
    }

    /// Skips what follows the hunks of a file and belongs to none: the end of a mail, log text. A hunk
    /// header in it is not trusted, but the file is flagged, as a hunk of it may be lost.
    fn skip_trailer(
        &mut self,
        cursor: &mut Cursor<'_>,
        framing: Framing,
        problems: &mut Problems<'_>,
    ) {
        while let Some(line) = cursor.peek() {
            if framing != Framing::Patch && is_section_start(cursor.rest()) {
                return;
            }
            if line.text.starts_with(b"@@") {
                let kind = ProblemKind::HunkWithoutFile;
                self.flag(cursor, Incomplete::BadHunk, kind, problems);
            } else if !line.ended && framing != Framing::Patch {
                let kind = ProblemKind::Truncated;
                if is_cut_start(line.text) {
                    // The cut is in the next file's first line; this one is whole.
                    problems.add(cursor.offset(), kind);
                } else {
                    self.flag(cursor, Incomplete::Truncated, kind, problems);
                }
            }
            cursor.skip_line();
        }
    }
}

/// Skips lines that no hunk declares, up to where reading is safe again.
///
/// A line of a hunk begins with a blank, `+`, `-` or `\`, so `@@` and `diff --` cannot be content. A
/// `---`, `+++` pair can be: in a git diff hunks after one are not read, as it is unknown whose they are.
fn resynchronise(cursor: &mut Cursor<'_>, framing: Framing) {
    let mut lost = false;
    while let Some(line) = cursor.peek() {
        let rest = cursor.rest();
        if is_diff_line(rest) && framing != Framing::Patch {
            return;
        }
        if is_plain_header(rest) {
            if framing == Framing::Plain {
                return;
            }
            lost = true;
        }
        if line.text.starts_with(b"@@") && !lost {
            return;
        }
        cursor.skip_line();
    }
}
