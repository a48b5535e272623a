//! The token of one job, from wherever the stage gets its tokens.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use mirilla_domain::ids::{JobId, PullRequestRef};
use mirilla_ports::message::Message;
use mirilla_ports::tokens::{MintRequest, MintTokens, NoToken};
use secrecy::SecretString;

use crate::token::{ReadToken, ResolveToken, TokenError, TokenSource, WriteToken};

/// Where a stage's tokens come from.
#[derive(Clone)]
pub enum TokensFrom {
    /// A minter in another process makes one for each job.
    Minter(Arc<dyn MintTokens>),
    /// The operator gave one for all jobs.
    Fixed(SecretString),
}

impl fmt::Debug for TokensFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Minter(_) => "TokensFrom::Minter",
            Self::Fixed(_) => "TokensFrom::Fixed(…)",
        })
    }
}

/// The tokens for one message: those of its job, or of its pull request where there is no job.
#[derive(Debug, Clone)]
pub struct JobTokens {
    from: TokensFrom,
    job: JobId,
    pull_request: Option<PullRequestRef>,
}

impl JobTokens {
    /// Returns the tokens that the work a message asks for needs.
    pub fn of(from: TokensFrom, message: &Message) -> Self {
        Self {
            from,
            job: message.job().clone(),
            pull_request: message.pull_request().copied(),
        }
    }

    /// Returns whether the token is the operator's own and no App's.
    pub(crate) const fn is_plain(&self) -> bool {
        matches!(self.from, TokensFrom::Fixed(_))
    }

    async fn secret(&self, fresh: bool) -> Result<SecretString, TokenError> {
        let minter = match &self.from {
            TokensFrom::Fixed(_) if fresh => return Err(TokenError::NoFresh),
            TokensFrom::Fixed(token) => return Ok(token.clone()),
            TokensFrom::Minter(minter) => minter,
        };
        let request = MintRequest {
            job: self.job.clone(),
            pull_request: self.pull_request,
            fresh,
        };
        minter.mint(&request).await.map_err(|reason| match reason {
            NoToken::NotInstalled => TokenError::NotInstalled,
            NoToken::NotGranted => TokenError::NotGranted,
            NoToken::TooWide => TokenError::TooWide,
            reason @ (NoToken::NoJob | NoToken::Unavailable { .. }) => TokenError::Unavailable {
                source: reason.into(),
            },
        })
    }
}

#[async_trait]
impl TokenSource<ReadToken> for JobTokens {
    async fn token(&self, fresh: bool) -> Result<ReadToken, TokenError> {
        self.secret(fresh).await.map(ReadToken::minted)
    }
}

#[async_trait]
impl TokenSource<WriteToken> for JobTokens {
    async fn token(&self, fresh: bool) -> Result<WriteToken, TokenError> {
        self.secret(fresh).await.map(WriteToken::minted)
    }
}

/// The tokens with which threads are resolved for one message. Their source is another one than that of
/// [`JobTokens`], and they are of no use for anything else.
#[derive(Debug, Clone)]
pub struct ResolveTokens(JobTokens);

impl ResolveTokens {
    /// Returns the tokens for the job of a message.
    pub fn of(from: TokensFrom, message: &Message) -> Self {
        Self(JobTokens::of(from, message))
    }

    /// Returns whether the token is the operator's own, which no App may revoke.
    pub(crate) const fn is_plain(&self) -> bool {
        self.0.is_plain()
    }
}

#[async_trait]
impl TokenSource<ResolveToken> for ResolveTokens {
    async fn token(&self, fresh: bool) -> Result<ResolveToken, TokenError> {
        self.0.secret(fresh).await.map(ResolveToken::minted)
    }
}
