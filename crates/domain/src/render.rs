//! The words that are posted: a comment on a line, and the body of the review.
//!
//! Calm, short, specific. What a model wrote passes through [`words`] first; the frame around it is
//! ours.
//!
//! **Invariant:** no untrusted text gets into a posted body except through [`words`], and no body is
//! longer than the forge takes.

mod check;
mod comment;
mod coverage;
mod review;
mod words;

pub(crate) use check::{CheckWords, Declined, check};
pub(crate) use comment::comment;
pub(crate) use review::{ReviewBody, review_body};
pub(crate) use words::Words;
pub use words::thousands;

/// GitHub refuses more than 65,536 characters. Counted in bytes, which are never fewer.
pub(crate) const MAX_BODY_BYTES: usize = 65_000;
