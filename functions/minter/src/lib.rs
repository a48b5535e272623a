//! Does what only the App itself may, with its key, which nothing else may sign with.
//!
//! The same program is deployed once for each use, with a role and a key policy of its own: two make
//! tokens for a stage, one makes tokens that resolve threads and is there only if the operator wants that,
//! and one asks the forge about its webhooks and hands out no token at all.
//!
//! **Invariant:** it looks into nothing that a stranger wrote, and a token is for the one repository that
//! the ledger names, never for one that the caller names.

mod deliveries;
mod token;

use std::sync::Arc;

use mirilla_forge::github::{AppDeliveries, Minter};
use mirilla_ports::deliveries::DeliveriesAnswer;
use mirilla_ports::tokens::MintAnswer;
use mirilla_ports::{Clock, Ledger};
use mirilla_stages::mint::Reach;
use mirilla_telemetry::Telemetry;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a minter was wired with.
pub struct State {
    /// What it is for.
    pub work: Work,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Metrics.
    pub telemetry: Telemetry,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("work", &self.work)
            .finish_non_exhaustive()
    }
}

/// What a minter is for.
pub enum Work {
    /// Makes tokens of a stage.
    Tokens {
        /// Jobs: which repository a token is for.
        ledger: Arc<dyn Ledger>,
        /// The App.
        minter: Minter,
        /// What its tokens may do.
        reach: Reach,
    },
    /// Asks the forge about its webhooks, and to send one again.
    Deliveries(AppDeliveries),
}

impl Work {
    /// Returns the stage's name, as `MIRILLA_MINTER_STAGE` holds it.
    pub const fn stage(&self) -> &'static str {
        match self {
            Self::Tokens {
                reach: Reach::Read, ..
            } => "read",
            Self::Tokens {
                reach: Reach::Write,
                ..
            } => "write",
            Self::Tokens {
                reach: Reach::Resolve,
                ..
            } => "resolve",
            Self::Deliveries(_) => "deliveries",
        }
    }
}

impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Work").field(&self.stage()).finish()
    }
}

/// What a minter answers, by what it is for.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// A token, or why there is none.
    Token(MintAnswer),
    /// What the forge said about its webhooks.
    Deliveries(DeliveriesAnswer),
}

/// A request that this minter does not answer. It quotes nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the request is not one for the minter of the stage `{stage}`: check that MIRILLA_MINTER_FUNCTION \
     of the function that asks names the minter of its own stage, and that both are of one version"
)]
pub struct NotForThisMinter {
    stage: &'static str,
}

/// Answers one request. That there is no token, or that the forge refuses, is an answer and not a failure
/// of the function.
pub async fn handle(state: &State, request: &Value) -> Result<Answer, NotForThisMinter> {
    match &state.work {
        Work::Tokens {
            ledger,
            minter,
            reach,
        } => {
            let request = read(&state.work, request)?;
            let token = token::answer(state, &**ledger, minter, *reach, &request).await;
            Ok(Answer::Token(token))
        }
        Work::Deliveries(deliveries) => {
            let request = read(&state.work, request)?;
            let answer = deliveries::answer(deliveries, &request).await;
            Ok(Answer::Deliveries(answer))
        }
    }
}

fn read<'a, T: Deserialize<'a>>(work: &Work, request: &'a Value) -> Result<T, NotForThisMinter> {
    T::deserialize(request).map_err(|_quotes| {
        let error = NotForThisMinter {
            stage: work.stage(),
        };
        tracing::error!("{error}");
        error
    })
}
