//! What stands on a pull request already: reviews, comments and threads, as the forge lists them.
//!
//! **Invariant:** whether a comment is ours is decided by the account that wrote it and by a marker
//! whose MAC verifies, never by its text alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{CommentId, ReviewId};
use crate::review::Side;

/// A comment on a line (or on a file), with the thread it opens or belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExistingComment {
    /// The forge's number.
    pub id: CommentId,
    /// The comment this one answers.
    pub in_reply_to: Option<CommentId>,
    /// The review it was posted with.
    pub review: Option<ReviewId>,
    /// Who wrote it; `None` for a deleted account.
    pub author: Option<String>,
    /// Whether our own account wrote it.
    pub ours: bool,
    /// The file.
    pub path: String,
    /// The line now; `None` when the comment is outdated.
    pub line: Option<u32>,
    /// The line when it was written.
    pub original_line: Option<u32>,
    /// Which side.
    pub side: Side,
    /// Its text, marker included; another's may be cut.
    pub body: String,
    /// Whether it says something else than at first: whoever can write may edit anybody's comment.
    #[serde(default)]
    pub edited: bool,
}

/// A comment that dismisses a finding of ours, and what the forge says of who wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dismissal {
    /// The comment, an answer in a thread of ours.
    pub comment: CommentId,
    /// Who wrote it.
    pub by: String,
    /// Whether they may write to the repository, at the moment it was asked.
    pub may_write: bool,
    /// Whether they opened the pull request or wrote one of its commits, or that is not known.
    pub wrote_change: bool,
}

/// A review as the forge lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExistingReview {
    /// The forge's number.
    pub id: ReviewId,
    /// Whether our own account wrote it.
    pub ours: bool,
    /// Whether it was begun and never submitted.
    pub pending: bool,
    /// Its text, marker included; another's may be cut.
    pub body: String,
}

/// A thread of comments, where the forge tells which comments belong together and who closed them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExistingThread {
    /// The forge's name for it, as the call that resolves it wants it.
    pub id: String,
    /// Its comments as far as they were listed, oldest first.
    pub comments: Vec<CommentId>,
    /// Whether those are all of them.
    pub complete: bool,
    /// Whether it is resolved.
    pub resolved: bool,
    /// Who resolved it, if it is and the forge says so.
    pub resolved_by: Option<String>,
    /// Whether our own account resolved it.
    pub resolved_by_us: bool,
    /// Whether its line is no longer part of the diff.
    pub outdated: bool,
}

/// Everything on the pull request that the plan looks at.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Existing {
    /// All reviews, oldest first.
    pub reviews: Vec<ExistingReview>,
    /// All line comments, oldest first.
    pub comments: Vec<ExistingComment>,
    /// The threads that hold them; empty where the forge was not asked.
    pub threads: Vec<ExistingThread>,
    /// Answers that dismiss a finding, with what decides whether they count.
    pub dismissals: Vec<Dismissal>,
    /// Whether there is more than was listed, because listing is bounded: then "not there" is not
    /// known, and what would be concluded from it is not concluded.
    pub truncated: bool,
}
