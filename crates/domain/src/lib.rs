//! Decides what a review is: pure types and functions over plain data.
//!
//! Modules in the order data flows: a webhook's bytes become a [`request::Request`], that becomes a
//! [`job::Job`], whose [`snapshot::SnapshotMeta`] is cut into chunks, read into a
//! [`review::Review`], and turned into a plan of what to post.
//!
//! **Invariant:** nothing here knows a clock, an environment variable, a file, the network or
//! randomness; whatever of those a decision needs is handed in as a value.

#![warn(clippy::arithmetic_side_effects)]

pub mod anchor;
pub mod answer;
pub mod carry;
pub mod cause;
pub mod checks;
pub mod chunk;
pub mod code;
pub mod command;
pub mod digest;
pub mod escape;
pub mod eval;
pub mod export;
pub mod eyes;
pub mod fingerprint;
pub mod forge_place;
pub mod gate;
pub mod ids;
pub mod job;
mod mac;
pub mod marker;
pub mod merge_queue;
pub mod money;
pub mod plan;
pub mod price;
pub mod prompt;
pub mod record;
pub mod redact;
mod render;
pub mod request;
pub mod review;
pub mod rules;
pub mod sanitise;
pub mod schema;
pub mod settings;
pub mod signal;
pub mod snapshot;
pub mod thread;
pub mod webhook;

pub use render::thousands;
