//! How good reviews are, measured on changes whose defects are known.
//!
//! A *label* says where a defect is. A finding is true if it points at a label's lines, give or take
//! [`TOLERANCE_LINES`]; each label counts once. What becomes of each label is told apart, so that a defect
//! the model missed and one that our own filters lost are never the same figure.
//!
//! **Invariant:** `labels = found + lost + unread + missed` and
//! `reported = found + repeated + unmatched`, in every sum.

mod label;
mod score;
mod verdict;

pub use label::{Label, LabelProblem, MAX_LABEL_LINES};
pub use score::{Cost, Score};
pub use verdict::{LabelFate, Loss, Read, Verdict, judge};

/// How far from a label's lines a finding may point and still be about it.
///
/// As far as the poster moves a comment: a reader who is sent there sees the defect.
pub const TOLERANCE_LINES: u32 = 3;
