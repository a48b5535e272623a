//! The simulated GitHub as a client sees it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

mod client;
mod graphql;
mod material;
mod smoke;
mod world;
