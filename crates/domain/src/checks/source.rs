//! A file of the diff as the checks read it: its lines taken apart once.

use std::sync::LazyLock;

use mirilla_diff::{FileDiff, Line, LineKind};
use regex::bytes::Regex;

use super::path::Context;
use super::reviewer;
use crate::redact::shapes;

/// What stands in every changed line that the secret and reviewer checks report. One pass of one pattern
/// spares them the others on nearly all lines.
static HINT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let hints = [
        shapes::FORM_HINT,
        shapes::NAME_HINT,
        shapes::ARMOUR_HINT,
        reviewer::HINT_WORDS,
    ];
    Regex::new(&hints.map(|hint| format!("(?:{hint})")).join("|")).ok()
});

/// A line, and whether it is worth a closer look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    pub(super) line: Line<'a>,
    pub(super) hinted: bool,
}

/// A file's lines by hunk, and what its path says.
pub(super) struct Source<'a> {
    pub(super) file: &'a FileDiff<'a>,
    pub(super) context: Context,
    pub(super) hunks: Vec<Vec<Seen<'a>>>,
}

impl<'a> Source<'a> {
    pub(super) fn of(file: &'a FileDiff<'a>) -> Self {
        let see = |line: Line<'a>| Seen {
            hinted: line.kind != LineKind::Context
                && HINT.as_ref().is_none_or(|hint| hint.is_match(line.text)),
            line,
        };
        let hunks = if file.submodule {
            Vec::new()
        } else {
            file.hunks
                .iter()
                .map(|hunk| hunk.lines().map(see).collect())
                .collect()
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
