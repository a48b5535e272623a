//! Decides for which repository a stage gets a token.
//!
//! **Invariant:** repository and installation come from the ledger's row, never from who asks; a
//! token that writes is made for a job whose work is not over or whose check is still to be written, or to
//! answer a command that was obeyed or a merge queue that waits; and one that resolves threads for a job that a
//! poster holds, no other.

use mirilla_domain::ids::{Forge, InstallationId, JobId, PullRequestRef, RepoId, Timestamp};
use mirilla_domain::job::Stage;
use mirilla_domain::signal::Signal;
use mirilla_ports::tokens::MintRequest;
use mirilla_ports::{Ledger, NoToken};

/// What a stage's tokens may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// Read contents and pull requests.
    Read,
    /// Write reviews too.
    Write,
    /// Resolve threads, for which GitHub wants the right to push. Made only where the operator opted into it.
    Resolve,
}

/// The one repository a token is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Which kind of forge.
    pub forge: Forge,
    /// The repository's number.
    pub repo: RepoId,
    /// The App's installation there.
    pub installation: InstallationId,
}

/// Returns what an answered request for a token amounts to, if that is worth counting.
pub fn fact<T>(answer: &Result<T, NoToken>) -> Option<Signal> {
    match answer {
        Ok(_token) => Some(Signal::TokenMinted),
        Err(NoToken::NoJob) => Some(Signal::TokenWithoutJob),
        Err(NoToken::TooWide) => Some(Signal::TokenTooWide),
        Err(NoToken::NotInstalled | NoToken::NotGranted | NoToken::Unavailable { .. }) => None,
    }
}

/// Returns the repository that a token is for.
pub async fn place(
    ledger: &dyn Ledger,
    request: &MintRequest,
    reach: Reach,
    now: Timestamp,
) -> Result<Place, NoToken> {
    match &request.pull_request {
        None => of_job(ledger, &request.job, reach).await,
        Some(id) => of_pull_request(ledger, id, reach, now).await,
    }
}

/// A pull request that the ledger knows may be read: somebody commented there. It is written to only to
/// tell somebody that a command was obeyed, or a merge queue what the verdict is.
async fn of_pull_request(
    ledger: &dyn Ledger,
    id: &PullRequestRef,
    reach: Reach,
    now: Timestamp,
) -> Result<Place, NoToken> {
    let record = ledger
        .pull_request(id)
        .await
        .map_err(|error| NoToken::unavailable(error.to_string()))?
        .ok_or(NoToken::NoJob)?;
    let is_due = match reach {
        Reach::Read => true,
        Reach::Write => {
            record.commands.owes_an_answer() || record.queued.open(now).next().is_some()
        }
        Reach::Resolve => false,
    };
    if !is_due {
        return Err(NoToken::NoJob);
    }
    Ok(Place {
        forge: id.forge,
        repo: id.repo,
        installation: record.installation.ok_or(NoToken::NotInstalled)?,
    })
}

/// A token that reads is made for a job that has ended, too: the collector looks at the live head
/// through the last job of its pull request.
async fn of_job(ledger: &dyn Ledger, id: &JobId, reach: Reach) -> Result<Place, NoToken> {
    let job = ledger
        .job(id)
        .await
        .map_err(|error| NoToken::unavailable(error.to_string()))?
        .ok_or(NoToken::NoJob)?;
    let is_due = match reach {
        Reach::Read => true,
        Reach::Write => !job.state.is_terminal() || job.is_check_open(),
        Reach::Resolve => {
            let held_by_poster = job.claim.as_ref().map(|claim| claim.stage) == Some(Stage::Post);
            !job.state.is_terminal() && held_by_poster
        }
    };
    if !is_due {
        return Err(NoToken::NoJob);
    }
    Ok(Place {
        forge: job.key.forge,
        repo: job.key.repo,
        installation: job.installation.ok_or(NoToken::NotInstalled)?,
    })
}
