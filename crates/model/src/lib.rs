//! Claude over the Messages API or Amazon Bedrock: the tool loop, refusals, retries and what a call used.
//!
//! [`AnthropicModel`] and [`BedrockModel`] are the port [`mirilla_ports::Model`] over the two; what differs
//! is how a call is addressed, signed and refused. A question becomes a conversation in
//! [`conversation`], which knows neither the transport nor what it is about; the tools it may use have typed
//! arguments by way of [`toolset`]. What is sent and how a reply is read is in [`wire`], pure functions over
//! bytes; when to try again is in `retry`; which models can be asked at all is data in [`capability`].
//!
//! `examples/order_desk.rs` shows a conversation on something other than reviewing: two tools, called in
//! one turn, a purse, and an answer by a schema, with the simulated Messages API at the other end.
//! `cargo run -p mirilla-model --example order_desk` runs it.
//!
//! **Invariant:** no sampling parameter, no forced tool, no prefilled answer ever leaves this crate; the
//! tools of a conversation are the same in each of its calls; and no error text holds a piece of a prompt,
//! an answer or the key.

#![warn(clippy::arithmetic_side_effects)]

pub mod capability;
pub mod conversation;
pub mod settings;
pub mod toolset;
pub mod wire;

mod anthropic;
mod bedrock;
mod probe;
mod retry;

pub use anthropic::AnthropicModel;
pub use bedrock::{BedrockModel, BedrockSettings};
pub use capability::{Capability, UnknownModel, check_model};
pub use conversation::{Provider, converse};
pub use probe::{ModelFacts, ProbeError, probe};
pub use settings::{AnthropicSettings, Effort, SettingsError};
pub use toolset::Toolset;
