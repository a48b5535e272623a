//! Tokens of a forge, made for one job by a process that holds nothing else.

use std::fmt;

use async_trait::async_trait;
use mirilla_domain::ids::{JobId, PullRequestRef};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};

/// Asks a minter for a token. Which stage asks is known from the line the request comes in on, never
/// from the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MintRequest {
    /// The job: repository and installation are looked up, not told.
    pub job: JobId,
    /// The pull request instead, for work that no job is about. It is looked up like a job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<PullRequestRef>,
    /// Not the cached one: the forge refused it.
    #[serde(default)]
    pub fresh: bool,
}

/// Why there is no token for a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum NoToken {
    /// The App is not installed there.
    #[error("the App is not installed for this repository")]
    NotInstalled,
    /// The installation does not grant what the stage needs.
    #[error("the installation does not grant the permissions of this stage")]
    NotGranted,
    /// The forge gave one that reaches further than the stage may; it was thrown away.
    #[error("the minted token reaches further than this stage may")]
    TooWide,
    /// The ledger knows no such job, or its work is over.
    #[error("there is no open job of that id")]
    NoJob,
    /// Anything that may pass.
    #[error("{reason}")]
    Unavailable {
        /// What it was.
        reason: String,
    },
}

impl NoToken {
    /// Something that may pass.
    pub fn unavailable(reason: impl Into<String>) -> Self {
        Self::Unavailable {
            reason: reason.into(),
        }
    }
}

/// What a minter answers.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MintAnswer {
    /// The token. Never logged.
    Token(String),
    /// Why there is none.
    NoToken(NoToken),
}

impl fmt::Debug for MintAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token(_) => f.write_str("Token(…)"),
            Self::NoToken(reason) => f.debug_tuple("NoToken").field(reason).finish(),
        }
    }
}

impl From<Result<SecretString, NoToken>> for MintAnswer {
    fn from(answer: Result<SecretString, NoToken>) -> Self {
        match answer {
            Ok(token) => Self::Token(token.expose_secret().to_owned()),
            Err(reason) => Self::NoToken(reason),
        }
    }
}

impl From<MintAnswer> for Result<SecretString, NoToken> {
    fn from(answer: MintAnswer) -> Self {
        match answer {
            MintAnswer::Token(token) => Ok(token.into()),
            MintAnswer::NoToken(reason) => Err(reason),
        }
    }
}

/// Gets tokens of one stage.
#[async_trait]
pub trait MintTokens: Send + Sync {
    /// Returns a token for a job's repository; with `fresh`, not the one returned before.
    async fn mint(&self, request: &MintRequest) -> Result<SecretString, NoToken>;
}
