//! Integration tests of the diff parser: recorded cases, golden dumps, git itself as the judge.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::string_slice,
    clippy::disallowed_methods,
    reason = "test code: reads fixtures and runs git, which the crate itself must not"
)]

mod cases;
mod forms;
mod git;
mod golden;
mod hostile;
mod support;
mod truncation;
