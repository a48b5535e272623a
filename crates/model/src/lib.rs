//! Claude over HTTP: the Messages API, its refusals, retries and what a call used.
//!
//! [`AnthropicModel`] is the port [`mirilla_ports::Model`] over HTTP. What is sent and how an answer
//! is read is in [`wire`], pure functions over bytes; when to try again is in `retry`; which models
//! can be asked at all is data in [`capability`].
//!
//! **Invariant:** no sampling parameter, no tool, no prefilled answer ever leaves this crate, and no
//! error text holds a piece of a prompt, an answer or the key.

#![warn(clippy::arithmetic_side_effects)]

pub mod capability;
pub mod settings;
pub mod wire;

mod anthropic;
mod probe;
mod retry;

pub use anthropic::AnthropicModel;
pub use capability::{Capability, UnknownModel, check_model};
pub use probe::{ModelFacts, ProbeError, probe};
pub use settings::{AnthropicSettings, Effort, SettingsError};
