//! From webhook to posted review through the deployed template.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

mod deliveries;
mod forge;
mod gitlab;
mod happy;
mod model;
mod queues;
mod roles;
