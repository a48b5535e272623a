//! Makes a token for one job.

use mirilla_domain::ids::{Forge, Timestamp};
use mirilla_domain::signal::About;
use mirilla_forge::github::Minter;
use mirilla_ports::Ledger;
use mirilla_ports::tokens::{MintAnswer, MintRequest, NoToken};
use mirilla_stages::mint::{self, Reach};
use secrecy::SecretString;

use crate::State;

/// Returns the token, or why there is none.
pub(crate) async fn answer(
    state: &State,
    ledger: &dyn Ledger,
    minter: &Minter,
    reach: Reach,
    request: &MintRequest,
) -> MintAnswer {
    let answer = token(ledger, minter, reach, request, state.clock.now()).await;
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

async fn token(
    ledger: &dyn Ledger,
    minter: &Minter,
    reach: Reach,
    request: &MintRequest,
    now: Timestamp,
) -> Result<SecretString, NoToken> {
    let place = mint::place(ledger, request, reach, now).await?;
    if place.forge != Forge::Github {
        return Err(NoToken::unavailable(
            "GitLab has no Apps to mint tokens for",
        ));
    }
    let (repo, installation, fresh) = (place.repo, place.installation, request.fresh);
    let minted = match reach {
        Reach::Read => {
            let token = minter.read(repo, installation, fresh).await;
            token.map(|token| token.secret().clone())
        }
        Reach::Write => {
            let token = minter.write(repo, installation, fresh).await;
            token.map(|token| token.secret().clone())
        }
        Reach::Resolve => {
            let token = minter.resolve(repo, installation).await;
            token.map(|token| token.secret().clone())
        }
    };
    minted.map_err(|error| NoToken::from(&error))
}
