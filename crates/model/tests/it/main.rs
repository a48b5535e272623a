//! The adapter from outside: its bytes against recorded material, its decisions, and whole calls
//! against the simulated Messages API.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

mod against_sim;
mod bedrock;
mod booking;
mod cases;
mod failures;
mod order_desk;
mod probing;
mod requests;
mod responses;
mod reviewing;
mod support;
mod talking;
