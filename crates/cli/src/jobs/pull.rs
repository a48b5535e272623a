//! Which pull request a job is about.
//!
//! **Invariant:** the command line and what the forge says of the pipeline are all that is asked: on GitHub the
//! event's file, on GitLab its predefined variables. Of them only numbers, the repository's name and a commit id
//! are looked at.

use std::io::Read as _;

use anyhow::{Context as _, Result};
use mirilla_domain::ids::{CommitSha, Forge, PrNumber, RepoId, RepoName};
use mirilla_domain::snapshot::PullRequest;
use mirilla_forge::Reader;
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
        if let Some(PullName { repo, pr, .. }) = pull {
            return Ok(Self {
                repo: repo.clone(),
                pr: *pr,
                repo_id: None,
                head: None,
            });
        }
        match forge {
            ForgeName::Github => Self::of_event(environment),
            ForgeName::Gitlab => Self::of_variables(environment),
        }
    }

    /// Reads the variables of a pipeline for merge requests. All are there since GitLab 11.6 or 11.9.
    /// <https://docs.gitlab.com/ci/variables/predefined_variables/>
    fn of_variables(environment: &Environment) -> Result<Self> {
        let get = |name: &str| {
            let value = environment.get(name).map(|value| value.trim());
            value.filter(|value| !value.is_empty())
        };
        let needed = |name: &'static str| {
            get(name).ok_or_else(|| {
                Failure::usage(format!("it is not said which merge request is meant: {name} is not set"))
                    .hint("give `--pull group/project!12`; in a pipeline for merge requests (`rules: - if: $CI_PIPELINE_SOURCE == \"merge_request_event\"`) GitLab sets the variables CI_MERGE_REQUEST_*")
            })
        };
        let number = |name: &'static str| -> Result<u64> {
            let text = needed(name)?;
            text.parse().with_context(|| format!("{name} is no number"))
        };
        let pr = PrNumber::new(number("CI_MERGE_REQUEST_IID")?);
        let repo_id = RepoId::new(number("CI_MERGE_REQUEST_PROJECT_ID")?);
        let repo = RepoName::parse(needed("CI_MERGE_REQUEST_PROJECT_PATH")?)
            .context("CI_MERGE_REQUEST_PROJECT_PATH is no project's path")?;
        // A pipeline of merged results runs on a commit that GitLab made; only then the head has a variable of its own.
        let head = match get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA") {
            Some(head) => CommitSha::parse(head),
            None => CommitSha::parse(needed("CI_COMMIT_SHA")?),
        };
        Ok(Self {
            repo,
            pr,
            repo_id: Some(repo_id),
            head: Some(head.context("the merge request's head is no commit id")?),
        })
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
    pub(super) async fn live(&self, forge: &Reader) -> Result<PullRequest, ForgeError> {
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
    let mark = match pull_request.id.forge {
        Forge::Github => '#',
        Forge::Gitlab => '!',
    };
    format!("{}{mark}{}", pull_request.repo_name, pull_request.id.pr)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "1111111111111111111111111111111111111111";
    const MERGED: &str = "2222222222222222222222222222222222222222";

    fn told(more: &[(&str, &str)]) -> Result<Asked> {
        let usual = [
            ("CI_MERGE_REQUEST_IID", "7"),
            ("CI_MERGE_REQUEST_PROJECT_ID", "42"),
            ("CI_MERGE_REQUEST_PROJECT_PATH", "acme/web/shop"),
            ("CI_COMMIT_SHA", HEAD),
        ];
        let all = usual.iter().chain(more);
        let environment = all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Asked::find(ForgeName::Gitlab, None, &environment.collect())
    }

    #[test]
    fn merge_request_is_the_target_projects_and_its_head_no_merge_commit() {
        let plain = told(&[("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", "")]).unwrap();
        assert_eq!((plain.repo.as_str(), plain.pr.get()), ("acme/web/shop", 7));
        assert_eq!(plain.repo_id, Some(RepoId::new(42)));
        assert_eq!(plain.head.as_ref().unwrap().as_str(), HEAD);
        let merged = [
            ("CI_COMMIT_SHA", MERGED),
            ("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", HEAD),
        ];
        assert_eq!(told(&merged).unwrap(), plain);
    }

    #[test]
    fn what_is_no_merge_request_is_refused_by_its_variable() {
        for (name, value) in [
            ("CI_MERGE_REQUEST_IID", ""),
            ("CI_MERGE_REQUEST_IID", "7; rm -rf /"),
            ("CI_MERGE_REQUEST_PROJECT_ID", "acme"),
            ("CI_MERGE_REQUEST_PROJECT_PATH", "../../etc"),
        ] {
            let said = format!("{:#}", told(&[(name, value)]).unwrap_err());
            assert!(said.contains(name), "{said}");
        }
        assert!(told(&[("CI_COMMIT_SHA", "main")]).is_err());
    }
}
