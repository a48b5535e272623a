//! What the `mirilla` command is made of.

pub mod intake_http;
