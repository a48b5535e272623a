//! The Messages API as bytes: what is sent, and how answers and failures are read.
//!
//! Pure functions, so that another transport (Amazon Bedrock) says and understands the same.
//!
//! **Invariant:** whatever bytes come back, the result is an [`Answer`](mirilla_ports::model::Answer)
//! or a [`Failure`]; nothing panics and nothing that may have been charged is called free.

mod failure;
mod request;
mod response;
mod usage;

pub use failure::{Failure, ReplyHead, read_failure};
pub use request::{BadQuestion, MAX_CACHE_POINTS, ModelName, request_body};
pub use response::{Lost, LostAnswer, read_answer};
pub use usage::{Asked, read_usage};
