//! The one forge of a deployment, whichever it is.

use std::sync::Arc;

use mirilla_domain::forge_place::ForgePlace;
use mirilla_domain::ids::{Forge, PrNumber, RepoName};
use mirilla_domain::snapshot::PullRequest;
use mirilla_ports::{Clock, Entropy, ForgeChecks, ForgeError, ForgeRead, ForgeResolve, ForgeWrite};

use crate::github::{self, GithubReader, GithubResolver, GithubSettingsError, GithubWriter};
use crate::gitlab::{self, GitlabReader, GitlabSettingsError, GitlabWriter};
use crate::{JobTokens, ResolveTokens};

/// The operator's forge.
#[derive(Debug)]
pub enum Access {
    /// GitHub.
    Github(github::Access),
    /// GitLab.
    Gitlab(gitlab::Access),
}

/// The operator's forge cannot be called as it was said.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// GitHub.
    #[error(transparent)]
    Github(#[from] GithubSettingsError),
    /// GitLab.
    #[error(transparent)]
    Gitlab(#[from] GitlabSettingsError),
}

/// The half that reads, for one job.
#[derive(Debug, Clone)]
pub enum Reader {
    /// GitHub's.
    Github(GithubReader),
    /// GitLab's.
    Gitlab(GitlabReader),
}

/// The half that writes, for one job.
#[derive(Debug)]
pub enum Writer {
    /// GitHub's.
    Github {
        /// What writes.
        half: GithubWriter,
        /// What resolves threads, with a token of its own that may push; nothing unless the operator opted in.
        resolver: Option<GithubResolver>,
    },
    /// GitLab's.
    Gitlab(GitlabWriter),
}

impl Access {
    /// Prepares what calls the operator's forge, and no other host.
    pub fn of_operator(
        place: &ForgePlace,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, PlaceError> {
        Ok(match place {
            ForgePlace::Github(place) => {
                Self::Github(github::Access::of_operator(place, clock, entropy)?)
            }
            ForgePlace::Gitlab(place) => {
                Self::Gitlab(gitlab::Access::of_operator(place, clock, entropy)?)
            }
        })
    }

    /// Returns which kind of forge it is.
    pub const fn forge(&self) -> Forge {
        match self {
            Self::Github(_) => Forge::Github,
            Self::Gitlab(_) => Forge::Gitlab,
        }
    }

    /// Returns the reading half for one job.
    pub fn reader(&self, tokens: JobTokens) -> Reader {
        match self {
            Self::Github(access) => Reader::Github(access.reader(tokens)),
            Self::Gitlab(access) => Reader::Gitlab(access.reader(tokens)),
        }
    }

    /// Returns the writing half for one job; where the operator opted into it, with the tokens that resolve threads
    /// on GitHub. GitLab wants no others for that: whoever may comment may resolve.
    pub fn writer(&self, tokens: JobTokens, resolve: Option<ResolveTokens>) -> Writer {
        match self {
            Self::Github(access) => Writer::Github {
                half: access.writer(tokens),
                resolver: resolve.map(|tokens| access.resolver(tokens)),
            },
            Self::Gitlab(access) => Writer::Gitlab(access.writer(tokens)),
        }
    }
}

impl Reader {
    /// Returns it as the stages know it.
    pub fn as_port(&self) -> &dyn ForgeRead {
        match self {
            Self::Github(reader) => reader,
            Self::Gitlab(reader) => reader,
        }
    }

    /// Returns a pull request by its repository's name alone, for who was not told the repository's number.
    pub async fn pull_request_named(
        &self,
        repo: &RepoName,
        pr: PrNumber,
    ) -> Result<PullRequest, ForgeError> {
        match self {
            Self::Github(reader) => reader.pull_request_named(repo, pr).await,
            Self::Gitlab(reader) => reader.pull_request_named(repo, pr).await,
        }
    }
}

impl Writer {
    /// Returns what reads with the writer's own token.
    pub fn read(&self) -> &dyn ForgeRead {
        match self {
            Self::Github { half, .. } => half.reader(),
            Self::Gitlab(writer) => writer.reader(),
        }
    }

    /// Returns it as the stages know it.
    pub fn write(&self) -> &dyn ForgeWrite {
        match self {
            Self::Github { half, .. } => half,
            Self::Gitlab(writer) => writer,
        }
    }

    /// Returns what writes checks.
    pub fn checks(&self) -> &dyn ForgeChecks {
        match self {
            Self::Github { half, .. } => half,
            Self::Gitlab(writer) => writer,
        }
    }

    /// Returns what resolves threads, if anything may.
    pub fn resolves(&self) -> Option<&dyn ForgeResolve> {
        match self {
            Self::Github { resolver, .. } => match resolver {
                Some(resolver) => Some(resolver),
                None => None,
            },
            Self::Gitlab(writer) => Some(writer),
        }
    }
}
