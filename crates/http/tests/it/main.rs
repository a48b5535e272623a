//! The client against raw answers on loopback.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::format_push_string,
    reason = "test code"
)]

mod bounds;
mod redirects;
mod secrets;
mod sent;
mod server;
