//! What to post: a pure decision over the fresh diff, the untrusted review file and what stands on
//! the pull request already.
//!
//! **Invariant:** nothing reaches a forge that a plan did not name.

mod action;
mod coverage;
mod decide;
mod draft;
mod fresh;
mod input;
mod inspect;
mod item;
mod kept;
mod known;
mod merge;
mod outgoing;
mod resolve;
mod strict_json;
mod suggest;
mod validate;

pub use action::{LeftOpen, MAX_RESOLVED, Plan, Resolve, ReviewAction, Veto, WhyOpen};
pub use coverage::{CoverageReport, FileCoverage, FileState};
pub use decide::plan;
pub(crate) use draft::Draft;
pub use fresh::{FreshDiff, FreshFile};
pub use input::{FloorHit, JobFacts, PlanInput, PlanPolicy};
pub use inspect::{INSPECT_KEY, InspectError, InspectPolicy, Me, plan_from_files, read_existing};
pub use item::{Item, ItemFate, Source, Tally};
pub use kept::{KeptInput, KeptPlan, PLAN_INPUT_SCHEMA, ReplayError, keep};
pub use outgoing::{NewComment, NewReview};
pub(crate) use validate::out_of_bounds;
pub use validate::{MAX_FILE_BYTES, ReadReview, Refused, ReviewFileError, read_review};
