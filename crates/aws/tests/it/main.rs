//! Tests of the adapters against the emulator: the ports' contracts, races, rights and failures.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "test code"
)]

mod clients;
mod conflicts;
mod conformance;
mod contract;
mod expiry;
mod keys;
mod ledger_races;
mod meter_races;
mod rights;
mod secrets;
mod signed;
mod stub;
mod support;
mod uploads;
