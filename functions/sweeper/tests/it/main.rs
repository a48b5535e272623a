//! What the sweeper does with the App's record of webhooks, through the minter that alone may read it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

mod probes;
mod record;
mod support;
