//! What the Lambda functions share: their environment, the messages of their queue, their start.
//!
//! No SDK and no credential: a function's `main.rs` wires those.
//!
//! **Invariant:** a message is reported done only after its stage said so; whatever else happens, an
//! error, a time-out or a panic, it comes back.

pub mod batch;
pub mod environment;
pub mod findings_event;
mod start;

pub use environment::{Environment, Problems, Settings, TokenPlace};
pub use start::{ServeError, serve, start};
