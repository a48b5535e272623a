//! What to post: a pure decision over the fresh diff, the untrusted review file and what stands on
//! the pull request already.
//!
//! **Invariant:** nothing reaches a forge that a plan did not name.

mod outgoing;

pub use outgoing::{NewComment, NewReview};
