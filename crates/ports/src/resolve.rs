//! Closing threads of ours, where the operator opted into it.
//!
//! GitHub asks for the right to push before it lets an App resolve a thread. So this is a capability of its
//! own, with a token of its own: a stage that is not handed it cannot do it, and what else a poster does is
//! done with the poster's token.

use async_trait::async_trait;

use crate::forge::ForgeError;

/// What became of threads that were to be resolved.
#[derive(Debug, Default)]
pub struct Resolved {
    /// How many are resolved now.
    pub done: usize,
    /// How many are not, those after a failure that would have met them too included.
    pub failed: usize,
    /// The first failure.
    pub why: Option<ForgeError>,
    /// Why the token may still be good. It lapses by itself within the hour.
    pub not_revoked: Option<ForgeError>,
}

/// Resolves threads. Holds no token between two calls.
#[async_trait]
pub trait ForgeResolve: Send + Sync {
    /// Resolves threads by the forge's names for them, one after the other, with a token made for that; the
    /// token is given back at the end, whatever came before. Doing it twice is doing it once.
    async fn resolve_threads(&self, threads: &[&str]) -> Resolved;
}
