//! Which pull request a job is about.
//!
//! **Invariant:** the command line and the event's file are all that is asked. The event's file is the
//! forge's; of what is in it only numbers, the repository's name and a commit id are looked at.

use std::io::Read as _;

use anyhow::{Context as _, Result};
use mirilla_domain::ids::{CommitSha, PrNumber, RepoId, RepoName};
use mirilla_domain::snapshot::PullRequest;
use mirilla_forge::github::GithubReader;
use mirilla_ports::ForgeError;
use serde::Deserialize;

use crate::arguments::{ForgeName, PullName};
use crate::failure::Failure;
use crate::settings::Environment;

/// Largest event that is read: no forge sends a larger one.
const MAX_EVENT_BYTES: u64 = 32 * 1024 * 1024;
/// Events about one pull request.
const EVENTS: [&str; 2] = ["pull_request_target", "pull_request"];

/// The pull request that is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    repo: RepoName,
    pr: PrNumber,
    /// The repository's number, where it was told.
    repo_id: Option<RepoId>,
    /// The commit that is to be read; `None`: whatever is on top.
    pub(super) head: Option<CommitSha>,
}

#[derive(Debug, Deserialize)]
struct Event {
    pull_request: EventPull,
    repository: EventRepo,
}

#[derive(Debug, Deserialize)]
struct EventPull {
    number: u64,
    head: EventHead,
}

#[derive(Debug, Deserialize)]
struct EventHead {
    sha: String,
}

#[derive(Debug, Deserialize)]
struct EventRepo {
    id: u64,
    full_name: String,
}

impl Asked {
    /// Reads what the command line or the pipeline names.
    pub(super) fn find(
        forge: ForgeName,
        pull: Option<&PullName>,
        environment: &Environment,
    ) -> Result<Self> {
        if let Some(PullName { repo, pr }) = pull {
            return Ok(Self {
                repo: repo.clone(),
                pr: *pr,
                repo_id: None,
                head: None,
            });
        }
        match forge {
            ForgeName::Github => Self::of_event(environment),
        }
    }

    fn of_event(environment: &Environment) -> Result<Self> {
        let get = |name: &str| environment.get(name).filter(|value| !value.is_empty());
        let Some(path) = get("GITHUB_EVENT_PATH") else {
            return Err(Failure::usage("it is not said which pull request is meant")
                .hint("give `--pull owner/name#12`; in a workflow on `pull_request_target` GITHUB_EVENT_PATH says it")
                .into());
        };
        if let Some(name) = get("GITHUB_EVENT_NAME").filter(|name| !EVENTS.contains(&name.as_str()))
        {
            return Err(Failure::usage(format!(
                "the workflow was started by `{name}`, which is about no one pull request"
            ))
            .hint("run it on `pull_request_target`, as infra/github-actions/mirilla.yml does, or give `--pull owner/name#12`")
            .into());
        }
        let mut bytes = Vec::new();
        std::fs::File::open(path)
            .and_then(|file| file.take(MAX_EVENT_BYTES).read_to_end(&mut bytes))
            .with_context(|| format!("GITHUB_EVENT_PATH names {path}, which cannot be read"))?;
        Self::read(&bytes).with_context(|| format!("{path} is no event about a pull request"))
    }

    fn read(bytes: &[u8]) -> Result<Self> {
        let event: Event = serde_json::from_slice(bytes)?;
        Ok(Self {
            repo: RepoName::parse(&event.repository.full_name)?,
            pr: PrNumber::new(event.pull_request.number),
            repo_id: Some(RepoId::new(event.repository.id)),
            head: Some(CommitSha::parse(&event.pull_request.head.sha)?),
        })
    }

    /// Returns the pull request as it is now.
    pub(super) async fn live(&self, forge: &GithubReader) -> Result<PullRequest, ForgeError> {
        let live = forge.pull_request_named(&self.repo, self.pr).await?;
        match self.repo_id {
            // Another repository has taken over the name.
            Some(told) if told != live.id.repo => Err(ForgeError::NotFound {
                what: "the pull request",
            }),
            _ => Ok(live),
        }
    }
}

/// How a pull request is called.
pub(super) fn name(pull_request: &PullRequest) -> String {
    format!("{}#{}", pull_request.repo_name, pull_request.id.pr)
}
