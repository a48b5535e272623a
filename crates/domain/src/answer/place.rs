//! Puts a finding on the line whose code it quotes.
//!
//! Models quote better than they count. A quote that stands on added lines moves the finding to the
//! nearest of them; one that does not leaves it where the model put it.

use mirilla_diff::{FileDiff, LineKind};

use crate::digest;
use crate::review::{Finding, Side};

/// Shortest quote that can place a finding by itself, in characters without blanks.
const MIN_QUOTE_CHARS: usize = 2;

/// Moves a finding to the nearest added line that its quote matches; of two as near, the upper one.
///
/// A quote of several lines prefers places where all of them match. `end_line` moves along.
pub fn place(finding: &mut Finding, files: &[FileDiff<'_>]) {
    let Some(quote) = finding.quote.as_deref() else {
        return;
    };
    if finding.side != Side::Right {
        return;
    }
    let lines: Vec<(Option<u32>, LineKind, String)> = files
        .iter()
        .filter(|file| digest::name(file) == finding.path)
        .flat_map(FileDiff::lines)
        .filter(|line| line.kind != LineKind::Deleted)
        .map(|line| {
            (
                line.new,
                line.kind,
                squeeze(&String::from_utf8_lossy(line.text)),
            )
        })
        .collect();
    let as_quoted: Vec<String> = quote.lines().map(squeeze).collect();
    let without_print: Vec<String> = quote.lines().map(|line| squeeze(unprinted(line))).collect();
    let found = best(&lines, &as_quoted, finding.line)
        .or_else(|| best(&lines, &without_print, finding.line));
    let Some(line) = found.filter(|line| *line != finding.line) else {
        return;
    };
    let length = finding
        .end_line
        .map_or(0, |end| end.saturating_sub(finding.line));
    finding.line = line;
    finding.end_line = (length > 0).then(|| line.saturating_add(length));
}

/// Returns the number of the added line where the quote fits best.
fn best(lines: &[(Option<u32>, LineKind, String)], quote: &[String], wanted: u32) -> Option<u32> {
    let quote: Vec<&String> = quote.iter().skip_while(|line| line.is_empty()).collect();
    let first = quote
        .first()
        .filter(|line| line.chars().count() >= MIN_QUOTE_CHARS)?;
    let matched = |at: usize| -> usize {
        lines
            .get(at..)
            .unwrap_or_default()
            .iter()
            .zip(&quote)
            .take_while(|((_, _, text), quoted)| text == **quoted)
            .count()
    };
    lines
        .iter()
        .enumerate()
        .filter(|(_, (_, kind, text))| *kind == LineKind::Added && text == *first)
        .filter_map(|(at, (number, _, _))| Some((matched(at), (*number)?)))
        .min_by_key(|(matched, number)| {
            (
                std::cmp::Reverse(*matched),
                number.abs_diff(wanted),
                *number,
            )
        })
        .map(|(_, number)| number)
}

/// Returns a line with every run of white space as one blank, none at its ends.
fn squeeze(line: &str) -> String {
    line.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// Returns a line without the number and mark that the prompt prints before it.
fn unprinted(line: &str) -> &str {
    let rest = line
        .trim_start()
        .trim_start_matches(|c: char| c.is_ascii_digit())
        .trim_start();
    rest.strip_prefix(['+', '-']).unwrap_or(rest)
}
