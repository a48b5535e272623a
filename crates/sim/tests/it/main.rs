//! The simulated forges as a client sees them.
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
mod gitlab;
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
