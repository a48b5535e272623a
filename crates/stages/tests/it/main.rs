//! The stages alone and together, over the embedded stores and against the simulators, with the
//! production adapters: every answer of the intake, one run and every way in which it can be killed,
//! and pushes in any order.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::print_stdout,
    reason = "test code"
)]

mod calls;
mod carry;
mod cases;
mod commands;
mod crash;
mod deliveries;
mod drills;
mod eyes;
mod gate;
mod heads;
mod intake;
mod look_back;
mod lookups;
mod money;
mod outcomes;
mod outsiders;
mod record;
mod resolve;
mod signals;
#[expect(dead_code, unused_imports, reason = "shared with another test target")]
mod support;
