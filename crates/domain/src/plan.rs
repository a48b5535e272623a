//! What to post: a pure decision over the fresh diff, the untrusted review file and what stands on
//! the pull request already.
//!
//! **Invariant:** nothing reaches a forge that a plan did not name.

mod action;
mod coverage;
mod fresh;
mod input;
mod item;
mod outgoing;
mod strict_json;
mod validate;

pub use action::{Plan, Resolve, ReviewAction};
pub use coverage::{CoverageReport, FileCoverage, FileState};
pub use fresh::{FreshDiff, FreshFile, spellings};
pub use input::{FloorHit, JobFacts, PlanInput, PlanPolicy};
pub use item::{Item, ItemFate, Source, Tally};
pub use outgoing::{NewComment, NewReview};
pub use validate::{MAX_FILE_BYTES, ReadReview, Refused, ReviewFileError, read_review};
