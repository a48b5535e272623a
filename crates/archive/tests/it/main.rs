//! What an archive's reader does with archives that real tools and hostile hands make.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "test code"
)]

mod git;
mod hostile;
mod ranges;
mod support;
mod zip;
