//! The GitHub halves against scripted answers and against the simulator, over real HTTP.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::as_conversions,
    clippy::disallowed_methods,
    clippy::format_push_string,
    reason = "test code"
)]

mod budget;
mod cases;
mod cases_limits;
mod cases_writes;
mod hosts;
mod support;
