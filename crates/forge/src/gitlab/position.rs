//! Where a comment stands, in the words of GitLab.
//! <https://docs.gitlab.com/api/discussions/#create-a-new-thread-in-the-merge-request-diff>
//!
//! An added line is named by its new number alone, a deleted one by its old number alone, and an unchanged one by
//! both. Anything else is refused as a `line_code` that is not there. Both paths are always named, and are the
//! same unless the file was renamed.

use mirilla_domain::anchor::{LineKind, LineSpot};
use mirilla_domain::plan::NewComment;
use mirilla_domain::review::Side;
use serde::Serialize;
use sha1::{Digest as _, Sha1};

use crate::gitlab::existing::Version;

/// A position on a line of the diff.
#[derive(Debug, Serialize)]
pub(super) struct Position<'c> {
    #[serde(rename = "position_type")]
    kind: &'static str,
    base_sha: &'c str,
    start_sha: &'c str,
    head_sha: &'c str,
    old_path: &'c str,
    new_path: &'c str,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line_range: Option<Range>,
}

/// The ends of a range of lines; the position's own line is the last.
#[derive(Debug, Serialize)]
struct Range {
    start: RangeEnd,
    end: RangeEnd,
}

#[derive(Debug, Serialize)]
struct RangeEnd {
    line_code: String,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_line: Option<u32>,
}

impl<'c> Position<'c> {
    /// Returns the position of a comment in a version of the diff; the range of its lines only `with_range`,
    /// because older versions have none, or want it in another shape.
    pub(super) fn of(comment: &'c NewComment, version: &'c Version, with_range: bool) -> Self {
        let (old_line, new_line) = match comment.side {
            Side::Left => (Some(comment.line), comment.other_line),
            Side::Right => (comment.other_line, Some(comment.line)),
        };
        let range = comment.range.filter(|_| with_range);
        Self {
            kind: "text",
            base_sha: &version.base,
            start_sha: &version.start,
            head_sha: &version.head,
            old_path: comment.old_path.as_deref().unwrap_or(&comment.path),
            new_path: &comment.path,
            old_line,
            new_line,
            line_range: range.map(|range| Range {
                start: RangeEnd::of(&comment.path, range.first),
                end: RangeEnd::of(&comment.path, range.last),
            }),
        }
    }
}

impl RangeEnd {
    fn of(path: &str, spot: LineSpot) -> Self {
        let LineSpot { old, new, kind } = spot;
        Self {
            line_code: format!("{}_{old}_{new}", hex(&Sha1::digest(path))),
            kind: if kind == LineKind::Added {
                "new"
            } else {
                "old"
            },
            old_line: (kind != LineKind::Added).then_some(old),
            new_line: (kind != LineKind::Deleted).then_some(new),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}
