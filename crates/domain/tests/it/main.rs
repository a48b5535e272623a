//! Tests of the pure crate from outside, one module per risk.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::format_push_string,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "test code"
)]

mod anchor;
mod answer;
mod bench;
mod carry;
mod checks;
mod chunk;
mod contracts;
mod export;
mod hostile;
mod identity;
mod plan;
mod price;
mod prompt;
mod record;
mod redact;
mod render;
mod rules;
mod sanitise;
mod second_look;
mod settings;
mod webhook;
