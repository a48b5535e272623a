//! The GitHub halves against scripted answers and against the simulator, over real HTTP.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::needless_update,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::format_push_string,
    reason = "test code"
)]

mod archive;
mod budget;
mod cases;
mod cases_limits;
mod cases_writes;
mod checks;
mod comments;
mod deliveries;
mod diff_fallback;
mod existing;
mod files;
mod gitlab;
mod hosts;
mod minter;
mod own_app;
mod reads;
mod resolver;
mod support;
mod token_leak;
mod writes;
