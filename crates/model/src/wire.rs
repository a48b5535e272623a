//! The Messages API as bytes: what is sent, and how answers and failures are read.
//!
//! Pure functions, so that another transport (Amazon Bedrock) says and understands the same.
//!
//! **Invariant:** whatever bytes come back, the result is a [`Reply`] or a [`Failure`]; nothing panics and nothing that may have been charged is called free.

mod failure;
mod request;
mod response;
mod usage;

pub use failure::{Failure, ReplyHead, read_bedrock_failure, read_failure};
pub use request::{
    BadQuestion, Exchange, MAX_CACHE_POINTS, ModelName, ToolChoice, ToolResult, TurnRequest,
    request_body,
};
pub use response::{Lost, LostAnswer, Reply, ToolUse, read_reply};
pub use usage::{Asked, read_usage};
