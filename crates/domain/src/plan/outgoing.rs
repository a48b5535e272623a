//! What is sent to the forge: plain values, sanitised already.
//!
//! **Invariant:** there is no verdict in them: a review is a comment, never an approval and never a
//! request for changes.

use serde::{Deserialize, Serialize};

use crate::anchor::LineRange;
use crate::ids::CommitSha;
use crate::review::Side;

/// A comment to post with a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewComment {
    /// The file, as the new side names it (the old side if it is deleted).
    pub path: String,
    /// The last line of the range, or the line.
    pub line: u32,
    /// The first line, if it is another one.
    pub start_line: Option<u32>,
    /// Which side.
    pub side: Side,
    /// The old side's name, if the file was renamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// What `line` is called on the other side, if it is unchanged: GitLab wants both numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_line: Option<u32>,
    /// The ends of the range, if it has more than one line: GitLab names them by both sides' counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<LineRange>,
    /// Sanitised text with its marker.
    pub body: String,
}

/// A review to post: always a comment, never an approval and never a request for changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewReview {
    /// The commit that was read.
    pub commit: CommitSha,
    /// Sanitised text with its marker; never empty.
    pub body: String,
    /// Comments on lines.
    pub comments: Vec<NewComment>,
}
