//! Finds the lines of a finding again after its code moved.
//!
//! The patch of the file is the same to the byte, so a line is found by its hunk: the text that was flagged
//! stands where the hunk begins now, as far in as before. That beats searching for the text, which can
//! stand twice.

use mirilla_diff::{FileDiff, Hunk};

use super::{HunkStart, SeenChunk};
use crate::anchor::{self, FileLines, Wanted};
use crate::digest::{self, Change};
use crate::review::{Finding, Side};

/// Returns where the hunks of a changed file begin.
pub(super) fn starts(files: &[FileDiff<'_>], path: &str) -> Vec<HunkStart> {
    files
        .iter()
        .filter(|file| digest::name(file) == path)
        .flat_map(|file| &file.hunks)
        .map(|hunk| HunkStart {
            old: hunk.old_start,
            new: hunk.new_start,
        })
        .collect()
}

/// Returns a finding at the lines where its code stands now; `None` if that cannot be told.
///
/// A finding about a file outside the chunk, or about a line that no hunk showed, is found by the code it
/// quotes, if that stands there once.
pub(super) fn placed(
    finding: &Finding,
    chunk: &SeenChunk,
    change: &Change,
    files: &[FileDiff<'_>],
) -> Option<Finding> {
    let [entry] = change.entries.as_slice() else {
        return None;
    };
    let file = files.get(*entry)?;
    let lines = FileLines::of(file)?;
    let side = if lines.is_deleted {
        Side::Left
    } else {
        finding.side
    };
    let of_chunk = chunk.files.iter().find(|part| part.path == finding.path);
    let by_hunk = of_chunk.filter(|part| part.hunks.len() == file.hunks.len());
    let moved = by_hunk.and_then(|part| {
        let now = |line| moved(line, side, &part.hunks, &file.hunks);
        let line = now(finding.line)?;
        Some((line, finding.end_line.and_then(now)))
    });
    let wanted = |line, end_line| Wanted {
        side,
        line,
        end_line,
        quote: finding.quote.as_deref(),
    };
    if let Some((line, end_line)) = moved {
        anchor::place(&lines, &wanted(line, end_line)).ok()?;
        return Some(Finding {
            line,
            end_line,
            ..finding.clone()
        });
    }
    let anchor = anchor::place(&lines, &wanted(0, None)).ok()?;
    Some(Finding {
        line: anchor.first(),
        end_line: (anchor.first() < anchor.line).then_some(anchor.line),
        side: anchor.side,
        ..finding.clone()
    })
}

fn moved(line: u32, side: Side, was: &[HunkStart], is: &[Hunk<'_>]) -> Option<u32> {
    was.iter().zip(is).find_map(|(was, is)| {
        let (was, count, now) = match side {
            Side::Left => (was.old, is.old_count, is.old_start),
            Side::Right => (was.new, is.new_count, is.new_start),
        };
        let offset = line.checked_sub(was).filter(|offset| *offset < count)?;
        now.checked_add(offset)
    })
}
