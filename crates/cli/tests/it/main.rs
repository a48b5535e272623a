//! The program as a person runs it: the demo, a host with its children, kills at random moments.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::disallowed_methods,
    reason = "test code"
)]

mod aws;
mod boundary;
mod cases;
mod commands;
mod deliveries;
mod demo;
mod doctor_host;
mod eval;
mod exits;
mod gitlab;
mod jobs;
mod kills;
mod lookups;
mod plain_tokens;
mod recipe;
mod resolve;
mod runs;
mod support;
