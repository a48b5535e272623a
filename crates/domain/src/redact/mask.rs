//! Masks secrets in a diff before a model sees it; lines and their marks stay.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{pem, shapes};

/// A diff without its secrets, and what was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Masked {
    /// The diff, with as many lines as before, each with its mark.
    pub diff: Vec<u8>,
    /// How many secrets of each kind were masked.
    pub counts: BTreeMap<&'static str, usize>,
}

/// Masks the lines of one file's diff in order; remembers whether it is inside a private key.
#[derive(Clone, Debug, Default)]
pub struct Masker {
    in_key: bool,
    counts: BTreeMap<&'static str, usize>,
}

impl Masker {
    /// Returns the content of a line (without its diff mark) with each secret replaced by
    /// `[masked: kind]`, whose length says nothing; borrowed if there is none.
    ///
    /// Examples and fillers stay: they are no secret, and hiding them would only puzzle the model.
    pub fn line<'a>(&mut self, line: &'a [u8]) -> Cow<'a, [u8]> {
        if let Some(masked) = self.key_line(line) {
            return masked;
        }
        let hits = shapes::find_in_line(line);
        let mut out = Vec::new();
        let mut from = 0_usize;
        for hit in hits.iter().filter(|hit| !hit.placeholder) {
            out.extend_from_slice(line.get(from..hit.range.start).unwrap_or_default());
            self.push_mask(&mut out, hit.kind);
            from = hit.range.end;
        }
        if from == 0 {
            return Cow::Borrowed(line);
        }
        out.extend_from_slice(line.get(from..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// Returns how many secrets of each kind were masked so far.
    #[must_use]
    pub const fn counts(&self) -> &BTreeMap<&'static str, usize> {
        &self.counts
    }

    /// A line that opens, continues or closes a private key.
    fn key_line<'a>(&mut self, line: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        if let Some(start) = pem::opens(line) {
            let mut out = line.get(..start).unwrap_or_default().to_vec();
            self.push_mask(&mut out, pem::KIND);
            let closed = pem::closes(line);
            self.in_key = closed.is_none();
            out.extend_from_slice(closed.and_then(|end| line.get(end..)).unwrap_or_default());
            return Some(Cow::Owned(out));
        }
        if !self.in_key {
            return None;
        }
        let ends = pem::closes(line);
        if ends.is_none() && !pem::is_body(line) {
            self.in_key = false;
            return None;
        }
        self.in_key = ends.is_none();
        let indent = line.len().saturating_sub(line.trim_ascii_start().len());
        let mut out = line.get(..indent).unwrap_or_default().to_vec();
        out.extend_from_slice(format!("[masked: {}]", pem::KIND).as_bytes());
        out.extend_from_slice(ends.and_then(|end| line.get(end..)).unwrap_or_default());
        Some(Cow::Owned(out))
    }

    fn push_mask(&mut self, out: &mut Vec<u8>, kind: &'static str) {
        out.extend_from_slice(b"[masked: ");
        out.extend_from_slice(kind.as_bytes());
        out.push(b']');
        let count = self.counts.entry(kind).or_default();
        *count = count.saturating_add(1);
    }
}

/// Returns a unified diff with the secrets in its hunks masked. Headers stay, so that it can still be
/// read; what is a header is told by the counts in the hunks' headers.
#[must_use]
pub fn mask_diff(diff: &[u8]) -> Masked {
    let mut masker = Masker::default();
    let mut out = Vec::with_capacity(diff.len());
    let (mut old, mut new) = (0_u64, 0_u64);
    let mut first = true;
    for line in diff.split(|&c| c == b'\n') {
        if !first {
            out.push(b'\n');
        }
        first = false;
        if old == 0 && new == 0 {
            if let Some(counts) = hunk_counts(line) {
                (old, new) = counts;
            }
            masker.in_key = false;
            out.extend_from_slice(line);
            continue;
        }
        let (mark, content) = line.split_at_checked(1).unwrap_or((b"", b""));
        match mark {
            b"+" => new = new.saturating_sub(1),
            b"-" => old = old.saturating_sub(1),
            b"\\" => {}
            _ => {
                old = old.saturating_sub(1);
                new = new.saturating_sub(1);
            }
        }
        out.extend_from_slice(mark);
        out.extend_from_slice(&masker.line(content));
    }
    Masked {
        diff: out,
        counts: masker.counts,
    }
}

/// The line counts of `@@ -1,2 +3,4 @@`.
fn hunk_counts(line: &[u8]) -> Option<(u64, u64)> {
    let text =
        std::str::from_utf8(line.strip_prefix(b"@@ -")?.split(|&c| c == b'@').next()?).ok()?;
    let (old, new) = text.trim().split_once(" +")?;
    let count = |range: &str| {
        range
            .split_once(',')
            .map_or(Some(1), |(_, count)| count.parse().ok())
    };
    Some((count(old)?, count(new)?))
}
