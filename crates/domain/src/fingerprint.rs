//! What makes two findings the same finding: the code they flag, not where it is or what is said of it.
//!
//! A model words the same defect differently each time and code moves between pushes. So identity is
//! path, category, symbol and the text of the flagged lines with whitespace collapsed.
//!
//! **Invariant:** neither a line number nor a word of the model's prose goes into a fingerprint.

use crate::anchor::{Anchor, FileLines, ShownLine};
use crate::ids::Fingerprint;

/// Flagged text with fewer word characters than this says little (`}`): its neighbours count too.
const MIN_WORD_CHARS: usize = 8;

/// What a finding is about, apart from the code.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// What kind of defect: a category, or the name of a check.
    pub category: &'a str,
    /// The function or type it is about, as the model names it.
    pub symbol: Option<&'a str>,
}

/// Returns the text with runs of whitespace as one blank and none at the ends, so that reindenting
/// changes nothing. What is not UTF-8 is replaced.
pub fn normalise(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// Returns the fingerprints of a finding that is anchored in a file, one for each name of the file.
///
/// Pass earlier names to ask what the finding would have been then.
pub fn anchored<'p>(
    paths: impl IntoIterator<Item = &'p str>,
    subject: Subject<'_>,
    file: &FileLines,
    anchor: &Anchor,
) -> Vec<Fingerprint> {
    let first = anchor.first();
    let flagged = file.between(anchor.side, first, anchor.line);
    let text = joined(flagged);
    let with_neighbours = word_chars(&text) < MIN_WORD_CHARS;
    let lines = file.side(anchor.side);
    let start = lines.partition_point(|line| line.number < first);
    let around = |at: usize| {
        if with_neighbours {
            neighbours(lines, at, flagged.len())
        } else {
            [""; 2]
        }
    };
    let here = around(start);
    // Equal code earlier in the file: which of them is meant is part of the identity.
    let ordinal = (0..start)
        .filter(|&at| {
            let window = lines.get(at..at.saturating_add(flagged.len()));
            window.is_some_and(|window| same_code(window, flagged)) && around(at) == here
        })
        .count();
    paths
        .into_iter()
        .map(|path| over(path, subject, &text, here, ordinal))
        .collect()
}

/// Returns the fingerprint of a finding without a place in the diff, from the code it quotes, if any.
pub fn unanchored(path: &str, subject: Subject<'_>, quote: Option<&str>) -> Fingerprint {
    let text = quote.map_or_else(String::new, |quote| normalise(quote.as_bytes()));
    over(path, subject, &text, [""; 2], 0)
}

fn over(
    path: &str,
    subject: Subject<'_>,
    text: &str,
    [before, after]: [&str; 2],
    ordinal: usize,
) -> Fingerprint {
    let ordinal = u64::try_from(ordinal).unwrap_or(u64::MAX);
    Fingerprint::over(&[
        b"mirilla.finding.v1",
        path.as_bytes(),
        subject.category.as_bytes(),
        bare_symbol(subject.symbol.unwrap_or_default()).as_bytes(),
        text.as_bytes(),
        before.as_bytes(),
        after.as_bytes(),
        &ordinal.to_be_bytes(),
    ])
}

/// Returns the last name of a symbol: `Pay::charge(int)`, `Pay.charge` and `charge()` are `charge`.
fn bare_symbol(symbol: &str) -> &str {
    let name = symbol.split(['(', '<']).next().unwrap_or(symbol).trim();
    name.rsplit(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))
        .next()
        .unwrap_or(name)
}

fn joined(lines: &[ShownLine]) -> String {
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    texts.join("\n")
}

fn word_chars(text: &str) -> usize {
    text.chars()
        .filter(|c| c.is_alphanumeric() || *c == '_')
        .count()
}

/// Whether a window could carry the same finding: equal text, in one hunk, with a changed line in it.
fn same_code(window: &[ShownLine], flagged: &[ShownLine]) -> bool {
    window.first().map(|line| line.hunk) == window.last().map(|line| line.hunk)
        && window
            .iter()
            .zip(flagged)
            .all(|(one, other)| one.text == other.text)
        && window.iter().any(ShownLine::is_changed)
}

/// Returns the lines before and after a window, as far as its hunk shows them.
fn neighbours(lines: &[ShownLine], at: usize, len: usize) -> [&str; 2] {
    let Some(first) = lines.get(at) else {
        return [""; 2];
    };
    let text = |index: Option<usize>| {
        index
            .and_then(|index| lines.get(index))
            .filter(|line| line.hunk == first.hunk)
            .map_or("", |line| line.text.as_str())
    };
    [text(at.checked_sub(1)), text(at.checked_add(len))]
}
