//! Where a finding's comment goes: a line that the fresh diff shows, or the review's body.
//!
//! One comment on a line that is not part of the diff makes GitHub refuse the whole review, and the
//! answer does not say which. So nothing is sent that this module did not see in the diff.
//!
//! **Invariant:** an [`Anchor`] lies in one hunk, covers at least one line that the change added (on the
//! left: deleted), and has `start_line < line` if it has a `start_line`.

mod lines;

use serde::{Deserialize, Serialize};

pub use lines::{FileLines, LineKind, LineRange, LineSpot, ShownLine, renamed_from};

use crate::fingerprint::normalise;
use crate::ids::{NewLine, OldLine};
use crate::review::Side;

/// How far from the named line the comment may go: git shows three lines of context.
const MAX_DISTANCE: u32 = 3;
/// A quote of more lines than this is not searched for.
const MAX_QUOTE_LINES: usize = 50;
/// A shorter piece of a line is not enough to recognise it by.
const MIN_PIECE_CHARS: usize = 8;

/// A place that the forge accepts a comment on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Anchor {
    /// Which side.
    pub side: Side,
    /// The line, or the last line of the range.
    pub line: u32,
    /// The first line of the range, if it has more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u32>,
    /// What `line` is called on the other side, if it is unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_line: Option<u32>,
}

impl Anchor {
    /// Returns the first line.
    pub const fn first(&self) -> u32 {
        match self.start_line {
            Some(first) => first,
            None => self.line,
        }
    }

    /// Returns the old and the new number of `line`: both for an unchanged line, as GitLab wants them.
    pub fn numbers(&self) -> (Option<OldLine>, Option<NewLine>) {
        let (old, new) = match self.side {
            Side::Left => (Some(self.line), self.other_line),
            Side::Right => (self.other_line, Some(self.line)),
        };
        (old.map(OldLine::new), new.map(NewLine::new))
    }

    /// Returns whether two places on the same file share a line.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.side == other.side && self.first() <= other.line && other.first() <= self.line
    }
}

/// Why a finding stands in the review's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OffDiff {
    /// It names no line.
    NoLine,
    /// Its line is not part of the diff, and no changed line is near.
    OutsideDiff,
    /// The second look doubts it.
    Doubted,
    /// The forge did not accept comments on lines.
    LinesRefused,
    /// There are more comments than are listed, so whether it has one already is not known.
    TooManyComments,
}

/// What a finding asks for. Every field is untrusted.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Which side.
    pub side: Side,
    /// The line; 0 if there is none.
    pub line: u32,
    /// The other end of the range, in either order.
    pub end_line: Option<u32>,
    /// The flagged code as the model quotes it.
    pub quote: Option<&'a str>,
}

/// Returns the place in the diff for a finding about `file`.
///
/// A quote outweighs the line number: models miscount more often than they misquote. Among equal
/// lines the one nearest to the named line wins, the lower one on a tie.
pub fn place(file: &FileLines, wanted: &Wanted<'_>) -> Result<Anchor, OffDiff> {
    let other_end = wanted.end_line.unwrap_or(wanted.line);
    let range = Range {
        first: wanted.line.min(other_end),
        last: wanted.line.max(other_end),
    };
    let side = if file.is_deleted {
        Side::Left
    } else {
        wanted.side
    };
    if let Some(quote) = wanted.quote.and_then(Quote::parse) {
        if let Some(found) = by_quote(file, side, range, &quote) {
            return by_line(file, side, found);
        }
        // The quote may be of a deleted line although the finding did not say so.
        let named = file.between(side, range.first, range.last);
        if !named.iter().any(ShownLine::is_changed) {
            if let Some(found) = by_quote(file, Side::Left, range, &quote) {
                return by_line(file, Side::Left, found);
            }
        }
    }
    if range.first == 0 {
        return Err(OffDiff::NoLine);
    }
    by_line(file, side, range)
}

#[derive(Debug, Clone, Copy)]
struct Range {
    first: u32,
    last: u32,
}

impl Range {
    fn distance_to(self, line: u32) -> u32 {
        self.first
            .saturating_sub(line)
            .max(line.saturating_sub(self.last))
    }
}

fn by_line(file: &FileLines, side: Side, range: Range) -> Result<Anchor, OffDiff> {
    let shown = file.between(side, range.first, range.last);
    let Some(changed) = shown.iter().find(|line| line.is_changed()) else {
        return nearest(file, side, range, shown);
    };
    // On the left, unchanged lines are called by their right number, so the ends must be deleted ones.
    let mut inside = shown
        .iter()
        .filter(|line| line.hunk == changed.hunk && (side == Side::Right || line.is_changed()));
    let first = inside.next().unwrap_or(changed);
    let last = inside.next_back().unwrap_or(first);
    Ok(Anchor {
        side,
        line: last.number,
        start_line: (first.number < last.number).then_some(first.number),
        other_line: last.other,
    })
}

fn nearest(
    file: &FileLines,
    side: Side,
    range: Range,
    shown: &[ShownLine],
) -> Result<Anchor, OffDiff> {
    let near = file.between(
        side,
        range.first.saturating_sub(MAX_DISTANCE),
        range.last.saturating_add(MAX_DISTANCE),
    );
    near.iter()
        .filter(|line| line.is_changed() && shown.iter().any(|one| one.hunk == line.hunk))
        .min_by_key(|line| (range.distance_to(line.number), line.number))
        .map(|line| Anchor {
            side,
            line: line.number,
            start_line: None,
            other_line: None,
        })
        .ok_or(OffDiff::OutsideDiff)
}

/// Quoted code, one normalised text per line, without empty lines at the ends.
struct Quote(Vec<String>);

impl Quote {
    fn parse(text: &str) -> Option<Self> {
        let mut lines: Vec<String> = text
            .lines()
            .take(MAX_QUOTE_LINES.saturating_add(1))
            .map(|line| normalise(line.as_bytes()))
            .skip_while(String::is_empty)
            .collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        (!lines.is_empty() && lines.len() <= MAX_QUOTE_LINES).then_some(Self(lines))
    }

    fn matches(&self, window: &[ShownLine]) -> bool {
        self.0.iter().zip(window).all(|(quoted, shown)| {
            *quoted == shown.text || unprefixed(quoted).is_some_and(|bare| bare == shown.text)
        })
    }
}

/// A model that quotes a diff often quotes its prefix too.
fn unprefixed(quoted: &str) -> Option<&str> {
    quoted.strip_prefix(['+', '-']).map(str::trim_start)
}

/// Returns the range to anchor at: the quoted lines nearest to the named ones, or the named ones if
/// the quote stands there. `None` if no changed line of this side is quoted, or if several are and no
/// line is named.
fn by_quote(file: &FileLines, side: Side, range: Range, quote: &Quote) -> Option<Range> {
    let lines = file.side(side);
    let length = quote.0.len();
    let whole: Vec<Range> = lines
        .windows(length)
        .filter(|window| is_one_change(window) && quote.matches(window))
        .filter_map(|window| {
            Some(Range {
                first: window.first()?.number,
                last: window.last()?.number,
            })
        })
        .collect();
    let found = if whole.is_empty() {
        by_piece(lines, quote)
    } else {
        whole
    };
    if range.first == 0 {
        return match found.as_slice() {
            [only] => Some(*only),
            _ => None,
        };
    }
    if (found.iter()).any(|one| one.first <= range.last && range.first <= one.last) {
        return Some(range);
    }
    let best = found
        .into_iter()
        .min_by_key(|one| (range.distance_to(one.first), one.first))?;
    let length = range
        .last
        .abs_diff(range.first)
        .max(best.last.abs_diff(best.first));
    Some(Range {
        first: best.first,
        last: best.first.saturating_add(length),
    })
}

/// The quote's first line as a piece of a changed line: models shorten long lines.
fn by_piece(lines: &[ShownLine], quote: &Quote) -> Vec<Range> {
    let piece = quote.0.first().map_or("", String::as_str);
    let piece = unprefixed(piece).unwrap_or(piece);
    if piece.chars().filter(|c| c.is_alphanumeric()).count() < MIN_PIECE_CHARS {
        return Vec::new();
    }
    lines
        .iter()
        .filter(|line| line.is_changed() && line.text.contains(piece))
        .map(|line| Range {
            first: line.number,
            last: line.number,
        })
        .collect()
}

fn is_one_change(window: &[ShownLine]) -> bool {
    window.first().map(|line| line.hunk) == window.last().map(|line| line.hunk)
        && window.iter().any(ShownLine::is_changed)
}
