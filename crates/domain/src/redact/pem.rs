//! Private keys in PEM armour, which run over many lines.

use std::ops::Range;

use memchr::memmem;

use super::shapes::Hit;

/// The kind of these hits.
pub(crate) const KIND: &str = "private-key";
/// How many lines after the first are searched for the end.
const MAX_LINES: usize = 400;
/// Base64 on a line without the closing armour counts from this length on.
const MIN_BODY: usize = 16;
/// Armour and body together are shorter than this for no real key, in bytes.
const MIN_KEY: usize = 150;

/// Finds private keys, one hit for each line that belongs to one.
pub(super) fn find(text: &[u8]) -> Vec<Hit> {
    let mut hits = Vec::new();
    let mut from = 0_usize;
    while let Some(at) = memmem::find(text.get(from..).unwrap_or_default(), b"-----BEGIN ") {
        let begin = from.saturating_add(at);
        from = key_at(text, begin, &mut hits).unwrap_or_else(|| begin.saturating_add(11));
    }
    hits
}

/// Says whether a line opens the armour of a private key; returns where the armour starts.
pub(crate) fn opens(line: &[u8]) -> Option<usize> {
    let at = memmem::find(line, b"-----BEGIN ")?;
    let label = line.get(at.saturating_add(11)..)?;
    let end = memmem::find(label, b"-----")?;
    let label = label.get(..end)?;
    let is_label = |c: &u8| c.is_ascii_uppercase() || c.is_ascii_digit() || *c == b' ';
    (label.iter().all(is_label) && memmem::find(label, b"PRIVATE KEY").is_some()).then_some(at)
}

/// Says whether a line closes the armour; returns where it ends.
pub(crate) fn closes(line: &[u8]) -> Option<usize> {
    let at = memmem::find(line, b"-----END ")?.saturating_add(9);
    let end = memmem::find(line.get(at..)?, b"-----")?;
    Some(at.saturating_add(end).saturating_add(5))
}

/// Says whether a line can be a key's body: base64, or a header such as `Proc-Type`, with whatever a
/// diff or a string literal puts around it.
pub(crate) fn is_body(line: &[u8]) -> bool {
    let is_base64 = |c: &u8| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/' | b'=');
    let inner = trim(line);
    inner.len() >= MIN_BODY && inner.iter().all(is_base64)
        || inner.starts_with(b"Proc-Type:")
        || inner.starts_with(b"DEK-Info:")
}

/// Strips quotes, commas, escapes of line feeds and white space from both ends.
fn trim(line: &[u8]) -> &[u8] {
    const AROUND: &[u8] = b" \t\r\"'`,;\\>|*#.()";
    let mut inner = line;
    while let [first, rest @ ..] = inner
        && (AROUND.contains(first) || *first == b'-')
    {
        inner = rest;
    }
    loop {
        if let Some(rest) = inner.strip_suffix(b"\\n") {
            inner = rest;
        } else if let Some((_, rest)) = inner.split_last().filter(|(last, _)| AROUND.contains(last))
        {
            inner = rest;
        } else {
            return inner;
        }
    }
}

/// Reads the key whose armour starts at `begin`; returns where reading goes on.
fn key_at(text: &[u8], begin: usize, hits: &mut Vec<Hit>) -> Option<usize> {
    let first_end = line_end(text, begin);
    let first = text.get(begin..first_end)?;
    opens(first)?;
    let mut lines = Vec::new();
    let next = key_lines(text, begin, first, first_end, &mut lines);
    // Armour around nothing, or around a few words, is documentation or a test of a parser.
    let body: usize = lines.iter().map(ExactSizeIterator::len).sum();
    hits.extend(lines.into_iter().map(|range| Hit {
        range,
        kind: KIND,
        by_form: true,
        placeholder: body < MIN_KEY,
    }));
    Some(next)
}

/// Collects the lines of a key; returns where reading goes on.
fn key_lines(
    text: &[u8],
    begin: usize,
    first: &[u8],
    first_end: usize,
    lines: &mut Vec<Range<usize>>,
) -> usize {
    // The whole key on one line, line feeds written as `\n`.
    if let Some(end) = closes(first) {
        lines.push(begin..begin.saturating_add(end));
        return begin.saturating_add(end);
    }
    lines.push(begin..first_end);
    let closed = has_end(text, first_end);
    let mut start = first_end.saturating_add(1);
    for _ in 0..MAX_LINES {
        let end = line_end(text, start);
        let Some(line) = text.get(start..end).filter(|_| start < text.len()) else {
            break;
        };
        if let Some(armour) = closes(line) {
            let lead = lead(line);
            lines.push(start.saturating_add(lead)..start.saturating_add(armour.max(lead)));
            return start.saturating_add(armour);
        }
        if !closed && !is_body(line) {
            break;
        }
        let lead = lead(line);
        if lead < line.len() {
            lines.push(start.saturating_add(lead)..end);
        }
        start = end.saturating_add(1);
    }
    start.min(text.len())
}

/// Says whether the armour is closed before a code fence or another armour starts.
fn has_end(text: &[u8], from: usize) -> bool {
    let rest = text.get(from..).unwrap_or_default();
    let lines = rest.split(|&c| c == b'\n').skip(1).take(MAX_LINES);
    for line in lines {
        if closes(line).is_some() {
            return true;
        }
        let trimmed = line.trim_ascii_start();
        if opens(line).is_some() || trimmed.starts_with(b"```") || trimmed.starts_with(b"~~~") {
            return false;
        }
    }
    false
}

/// Length of the white space and diff mark before a line's content.
fn lead(line: &[u8]) -> usize {
    let armour = line.starts_with(b"-----E");
    let mark = usize::from(
        !armour
            && line
                .first()
                .is_some_and(|c| matches!(c, b'+' | b'-' | b' ')),
    );
    let rest = line.get(mark..).unwrap_or_default();
    mark.saturating_add(rest.len().saturating_sub(rest.trim_ascii_start().len()))
}

fn line_end(text: &[u8], from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    memchr::memchr(b'\n', rest).map_or(text.len(), |at| from.saturating_add(at))
}
