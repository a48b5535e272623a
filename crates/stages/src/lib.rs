//! The use cases, in the order data flows: intake, collect, review, post, and the sweep that
//! restarts what died.
//!
//! Each stage is one function over the ports it is handed. It claims before it works, writes before
//! it announces, and answers every failure with what the queue should do next.
//!
//! **Invariant:** no SDK, no HTTP and no clock of its own; a stage that holds a model holds no forge.

pub mod collect;
pub mod error;
pub mod intake;
pub mod live;
pub mod mint;
pub mod post;
pub mod report;
pub mod review;
pub mod sweep;
