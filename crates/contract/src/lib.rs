//! What every implementation of a port must do, as functions over the traits. For tests only.
//!
//! Each function takes an empty store, drives it through its contract and panics with the sentence
//! that was broken. An adapter's tests call all of them; two adapters that pass behave alike.
//!
//! Time passes through [`mirilla_ports::Clock::sleep`] only: a local store is tested on a clock that
//! jumps, a remote one on the real clock.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

mod artifacts;
mod bookmarks;
mod clock;
mod heads;
mod leases;
mod ledger;
mod meter;
mod queue;
pub mod sample;

pub use artifacts::artifacts;
pub use bookmarks::bookmarks;
pub use clock::ManualClock;
pub use heads::heads;
pub use leases::leases;
pub use ledger::ledger;
pub use meter::meter;
pub use queue::{MAX_RECEIVES, queue, sending};
