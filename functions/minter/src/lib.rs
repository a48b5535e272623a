//! Makes tokens of one stage from the App's key, which only this function may sign with.
//!
//! The same program is deployed once for each stage, with a role and a key policy of its own.
//!
//! **Invariant:** it parses nothing that a stranger wrote, and a token is for the one repository that
//! the ledger names, never for one that the caller names.

use std::sync::Arc;

use mirilla_domain::ids::Forge;
use mirilla_domain::signal::About;
use mirilla_forge::github::Minter;
use mirilla_ports::tokens::{MintAnswer, MintRequest, NoToken};
use mirilla_ports::{Clock, Ledger};
use mirilla_stages::mint::{self, Reach};
use mirilla_telemetry::Telemetry;
use secrecy::SecretString;

/// What a minter was wired with.
pub struct State {
    /// Jobs: which repository a token is for.
    pub ledger: Arc<dyn Ledger>,
    /// The App.
    pub minter: Minter,
    /// What its tokens may do.
    pub reach: Reach,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Metrics.
    pub telemetry: Telemetry,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("reach", &self.reach)
            .finish_non_exhaustive()
    }
}

/// Answers one request. That there is no token is an answer, not a failure of the function.
pub async fn handle(state: &State, request: &MintRequest) -> MintAnswer {
    let answer = token(state, request).await;
    let about = About::job_id(&request.job);
    let facts = mint::fact(&answer);
    state
        .telemetry
        .emit(&about, facts.as_slice(), state.clock.now());
    match &answer {
        Ok(_) => tracing::info!(
            job_id = request.job.as_str(),
            fresh = request.fresh,
            "a token was made for job {}",
            request.job
        ),
        Err(reason) => tracing::warn!(
            job_id = request.job.as_str(),
            "there is no token for job {}: {reason}",
            request.job
        ),
    }
    answer.into()
}

async fn token(state: &State, request: &MintRequest) -> Result<SecretString, NoToken> {
    let place = mint::place(&*state.ledger, &request.job, state.reach).await?;
    if place.forge != Forge::Github {
        return Err(NoToken::unavailable(
            "GitLab has no Apps to mint tokens for",
        ));
    }
    let (repo, installation, fresh) = (place.repo, place.installation, request.fresh);
    let minted = match state.reach {
        Reach::Read => {
            let token = state.minter.read(repo, installation, fresh).await;
            token.map(|token| token.secret().clone())
        }
        Reach::Write => {
            let token = state.minter.write(repo, installation, fresh).await;
            token.map(|token| token.secret().clone())
        }
    };
    minted.map_err(|error| NoToken::from(&error))
}
