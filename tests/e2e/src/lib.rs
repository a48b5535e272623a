//! A deployment on one machine: emulated AWS, the template untouched, the functions as built, and the
//! simulators as the forges and as the model's provider. For tests, and for looking around (`cargo xtask local up`).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

mod aws;
mod leaks;
mod world;

pub use aws::{Services, Verdict};
pub use leaks::Sentinels;
pub use world::{Answer, REPO, Served, Setting, World};
