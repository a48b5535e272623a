//! Forges over HTTP: a half that reads and a half that writes, with different token types.
//!
//! In reading order: [`token`] says what a token is and where one comes from; [`github`] holds the
//! settings, the App's minter, the two halves [`github::GithubReader`] and [`github::GithubWriter`],
//! which implement the ports of the same names, and [`github::GithubResolver`], which does one thing.
//!
//! **Invariant:** a [`ReadToken`] cannot be given to a writer, and a [`ResolveToken`] to neither half. A token
//! leaves this crate only towards the API host of the operator's settings.

mod access;
mod api;
mod archive;
mod base;
mod clock;
mod error;
mod gate;
pub mod github;
pub mod gitlab;
mod job_tokens;
mod kept;
mod quote;
mod refused;
mod resolving;
mod section;
pub mod token;
mod trusted;

pub use access::{Access, PlaceError, Reader, Writer};
pub use error::ApiError;
pub use gate::WriteGate;
pub use job_tokens::{JobTokens, ResolveTokens, TokensFrom};
pub use token::{ReadToken, ResolveToken, TokenError, TokenSource, WriteToken};
