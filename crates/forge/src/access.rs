//! The one forge of a deployment, whichever it is.

use mirilla_domain::ids::{Forge, PrNumber, RepoName};
use mirilla_domain::snapshot::PullRequest;
use mirilla_ports::{ForgeChecks, ForgeError, ForgeRead, ForgeResolve, ForgeWrite};

use crate::github::{self, GithubReader, GithubResolver, GithubWriter};
use crate::gitlab::{self, GitlabReader, GitlabWriter};
use crate::{JobTokens, ResolveTokens};

/// The operator's forge.
#[derive(Debug)]
pub enum Access {
    /// GitHub.
    Github(github::Access),
    /// GitLab.
    Gitlab(gitlab::Access),
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
#[derive(Debug, Clone)]
pub enum Writer {
    /// GitHub's.
    Github(GithubWriter),
    /// GitLab's.
    Gitlab(GitlabWriter),
}

impl Access {
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

    /// Returns the writing half for one job.
    pub fn writer(&self, tokens: JobTokens) -> Writer {
        match self {
            Self::Github(access) => Writer::Github(access.writer(tokens)),
            Self::Gitlab(access) => Writer::Gitlab(access.writer(tokens)),
        }
    }

    /// Returns what resolves threads for one job with tokens of its own; nothing on GitLab, where whoever writes
    /// may resolve.
    pub fn resolver(&self, tokens: ResolveTokens) -> Option<GithubResolver> {
        match self {
            Self::Github(access) => Some(access.resolver(tokens)),
            Self::Gitlab(_) => None,
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
            Self::Github(writer) => writer.reader(),
            Self::Gitlab(writer) => writer.reader(),
        }
    }

    /// Returns it as the stages know it.
    pub fn write(&self) -> &dyn ForgeWrite {
        match self {
            Self::Github(writer) => writer,
            Self::Gitlab(writer) => writer,
        }
    }

    /// Returns what writes checks.
    pub fn checks(&self) -> &dyn ForgeChecks {
        match self {
            Self::Github(writer) => writer,
            Self::Gitlab(writer) => writer,
        }
    }

    /// Returns what resolves threads with the writer's own token: GitLab lets whoever may comment resolve, and GitHub
    /// wants a token that may push ([`Access::resolver`]).
    pub fn resolves(&self) -> Option<&dyn ForgeResolve> {
        match self {
            Self::Github(_) => None,
            Self::Gitlab(writer) => Some(writer),
        }
    }
}
