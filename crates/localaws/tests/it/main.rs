//! The local AWS itself: that it starts clean, answers and ends.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "test code"
)]

mod emulator;
mod stack;
mod trail;
