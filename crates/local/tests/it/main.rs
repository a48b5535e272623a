//! Tests of the local stores: the ports' contracts, several processes at once, and bad files.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "test code"
)]

mod bad_files;
mod cases;
mod contract;
mod events;
mod links;
mod meter_races;
mod races;
