//! The line `@@ -l[,c] +l[,c] @@[ heading]`.

use crate::hunk::{Hunk, Side};

/// A hunk header whose numbers make sense.
///
/// **Invariant:** no line of the hunk has number 0 or one above `u32::MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HunkHeader<'a> {
    pub(super) old_start: u32,
    pub(super) old_count: u32,
    pub(super) new_start: u32,
    pub(super) new_count: u32,
    pub(super) heading: &'a [u8],
}

impl<'a> HunkHeader<'a> {
    /// Reads a header line. Only the first `@@ … @@` counts: the heading is text of the file and can
    /// hold another one.
    pub(super) fn read(line: &'a [u8]) -> Option<Self> {
        let (old_start, old_count, rest) = range(line.strip_prefix(b"@@ -")?)?;
        let (new_start, new_count, rest) = range(rest.strip_prefix(b" +")?)?;
        let heading = rest.strip_prefix(b" @@")?;
        if old_count == 0 && new_count == 0 {
            return None;
        }
        Some(Self {
            old_start,
            old_count,
            new_start,
            new_count,
            heading: heading.strip_prefix(b" ").unwrap_or(heading),
        })
    }

    /// Makes the hunk, with no line seen yet.
    pub(super) fn into_hunk(self) -> Hunk<'a> {
        Hunk {
            old_start: self.old_start,
            old_count: self.old_count,
            new_start: self.new_start,
            new_count: self.new_count,
            heading: self.heading,
            body: &[],
            old_seen: 0,
            new_seen: 0,
        }
    }
}

/// Returns whether `hunk` begins after the end of `last` on both sides.
pub(super) fn follows(hunk: &Hunk<'_>, last: &Hunk<'_>) -> bool {
    let end = |side, count: u32| last.first(side).saturating_add(count);
    hunk.first(Side::Left) >= end(Side::Left, last.old_count)
        && hunk.first(Side::Right) >= end(Side::Right, last.new_count)
}

/// Reads `l[,c]`; returns start, count (1 if omitted) and what follows.
fn range(text: &[u8]) -> Option<(u32, u32, &[u8])> {
    let (start, rest) = number(text)?;
    let (count, rest) = match rest.strip_prefix(b",") {
        Some(rest) => number(rest)?,
        None => (1, rest),
    };
    // With no lines the start is the line before; with lines it is the first of them.
    let last = match count.checked_sub(1) {
        None => start.checked_add(1)?,
        Some(_) if start == 0 => return None,
        Some(more) => start.checked_add(more)?,
    };
    (last < u32::MAX).then_some((start, count, rest))
}

/// Reads decimal digits.
fn number(text: &[u8]) -> Option<(u32, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at_checked(digits)?;
    if digits.is_empty() {
        return None;
    }
    let value = digits.iter().try_fold(0_u32, |value, digit| {
        value
            .checked_mul(10)?
            .checked_add(u32::from(digit.wrapping_sub(b'0')))
    })?;
    Some((value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Option<(u32, u32, u32, u32, String)> {
        HunkHeader::read(line.as_bytes()).map(|header| {
            let heading = String::from_utf8_lossy(header.heading).into_owned();
            (
                header.old_start,
                header.old_count,
                header.new_start,
                header.new_count,
                heading,
            )
        })
    }

    #[test]
    fn omitted_counts_are_one_and_headings_are_opaque() {
        assert_eq!(read("@@ -1 +1 @@"), Some((1, 1, 1, 1, String::new())));
        assert_eq!(read("@@ -0,0 +1 @@"), Some((0, 0, 1, 1, String::new())));
        assert_eq!(read("@@ -1 +0,0 @@"), Some((1, 1, 0, 0, String::new())));
        assert_eq!(
            read("@@ -14,6 +15,7 @@ def x; @@count += 1 @@ -1 +1 @@"),
            Some((14, 6, 15, 7, "def x; @@count += 1 @@ -1 +1 @@".to_owned()))
        );
    }

    #[test]
    fn what_is_no_header_is_refused() {
        for line in [
            "@@",
            "@@ -1 +1",
            "@@ -1, +1 @@",
            "@@ -,1 +1 @@",
            "@@ -a +1 @@",
            "@@ +1 -1 @@",
            "@@ - 1 +1 @@",
            "@@ -1 +1 @",
            "@@@ -1 -1 +1 @@@",
            "@@ -0,0 +0,0 @@",
            "@@ -3,0 +3,0 @@",
            "@@ -0 +1 @@",
            "@@ -1 +0,2 @@",
            "@@ -4294967296 +1 @@",
            "@@ -4294967295,2 +1 @@",
            "@@ -1 +2,4294967295 @@",
            "@@ -1 +99999999999999999999 @@",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    #[test]
    fn hunks_follow_each_other_without_overlap() {
        let hunk =
            |line: &'static str| HunkHeader::read(line.as_bytes()).map(HunkHeader::into_hunk);
        let follows = |later, earlier| {
            hunk(later)
                .is_some_and(|later| hunk(earlier).is_some_and(|last| follows(&later, &last)))
        };
        assert!(follows("@@ -9,2 +10,0 @@", "@@ -5,0 +6,2 @@"));
        assert!(follows("@@ -4 +4 @@", "@@ -3 +3 @@"));
        assert!(!follows("@@ -3 +3 @@", "@@ -3 +3 @@"));
        assert!(!follows("@@ -9 +3 @@", "@@ -1 +1,3 @@"));
        assert!(!follows("@@ -2 +9 @@", "@@ -1,2 +1 @@"));
    }
}
