//! The simulated GitHub as a client sees it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

mod access;
mod anchors;
mod changes;
mod checks;
mod client;
mod contents;
mod faults;
mod finish;
mod graphql;
mod limits;
mod material;
mod registering;
mod reviews;
mod schema;
mod smoke;
mod talk;
mod webhooks;
mod world;
