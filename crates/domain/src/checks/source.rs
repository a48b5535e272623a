//! A file of the diff as the checks read it: its lines taken apart once.

use mirilla_diff::{FileDiff, Hunk, Line, LineKind};

use super::hints::{self, Hints};
use super::path::Context;

/// Bytes of a line with its mark, about.
const USUAL_LINE: usize = 32;

/// A line, and what is worth a closer look in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    pub(super) line: Line<'a>,
    pub(super) hints: Hints,
}

/// A file's lines by hunk, and what its path says.
pub(super) struct Source<'a> {
    pub(super) file: &'a FileDiff<'a>,
    pub(super) context: Context,
    pub(super) hunks: Vec<Vec<Seen<'a>>>,
}

impl<'a> Source<'a> {
    pub(super) fn of(file: &'a FileDiff<'a>) -> Self {
        let hunks = if file.submodule {
            Vec::new()
        } else {
            file.hunks.iter().map(see).collect()
        };
        Self {
            file,
            context: Context::of(file),
            hunks,
        }
    }

    /// All lines with their hints.
    pub(super) fn seen(&self) -> impl Iterator<Item = Seen<'a>> + '_ {
        self.hunks.iter().flatten().copied()
    }

    /// All lines.
    pub(super) fn lines(&self) -> impl Iterator<Item = Line<'a>> + '_ {
        self.seen().map(|seen| seen.line)
    }

    /// The added lines.
    pub(super) fn added(&self) -> impl Iterator<Item = Line<'a>> + '_ {
        self.lines().filter(|line| line.kind == LineKind::Added)
    }

    /// The first line of a kind that `wanted` accepts.
    pub(super) fn first(&self, kind: LineKind, wanted: impl Fn(&[u8]) -> bool) -> Option<Line<'a>> {
        self.lines()
            .find(|line| line.kind == kind && wanted(line.text))
    }
}

/// The lines of a hunk, the changed ones with their hints.
fn see<'a>(hunk: &Hunk<'a>) -> Vec<Seen<'a>> {
    let mut lines = Vec::with_capacity((hunk.body.len() / USUAL_LINE).saturating_add(4));
    lines.extend(hunk.lines().map(|line| Seen {
        line,
        hints: Hints::default(),
    }));
    let same = |a: &Seen<'_>, b: &Seen<'_>| is_changed(a) == is_changed(b);
    for run in lines.chunk_by_mut(same) {
        if run.first().is_some_and(is_changed) {
            hint(hunk.body, run);
        }
    }
    lines
}

fn is_changed(seen: &Seen<'_>) -> bool {
    seen.line.kind != LineKind::Context
}

/// Gives lines that follow each other in `body` their hints.
fn hint(body: &[u8], run: &mut [Seen<'_>]) {
    let base = body.as_ptr().addr();
    let start = |seen: &Seen<'_>| seen.line.text.as_ptr().addr().wrapping_sub(base);
    let end = |seen: &Seen<'_>| start(seen).saturating_add(seen.line.text.len());
    let (Some(first), Some(last)) = (run.first().map(start), run.last().map(end)) else {
        return;
    };
    let mut at = 0_usize;
    hints::find(
        body.get(first..last).unwrap_or_default(),
        |offset, hints| {
            let offset = first.saturating_add(offset);
            while let Some(seen) = run.get_mut(at) {
                if offset < end(seen) {
                    seen.hints |= hints;
                    break;
                }
                at = at.saturating_add(1);
            }
        },
    );
}
