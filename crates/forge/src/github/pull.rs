//! A pull request as REST describes it.

use mirilla_domain::ids::{
    Account, BranchName, CommitSha, Forge, PrNumber, PullRequestRef, RepoId, RepoName,
};
use mirilla_domain::snapshot::PullRequest;
use mirilla_ports::forge::ForgeError;
use serde::Deserialize;

use crate::error::{ApiError, CallError, Named};
use crate::github::api::{Api, Call};
use crate::github::identity::{User, is_outsider};

const NAMED: Named = Named {
    action: "read the pull request",
    what: "the pull request",
    writes: false,
};

/// The answer, as far as it is looked at.
#[derive(Debug, Deserialize)]
pub(crate) struct Pull {
    number: u64,
    state: String,
    #[serde(default)]
    draft: bool,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    user: Option<User>,
    #[serde(default)]
    author_association: String,
    #[serde(default)]
    labels: Vec<Label>,
    #[serde(default)]
    changed_files: u64,
    head: Head,
    base: Base,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Label {
    pub(crate) name: String,
}

#[derive(Debug, Deserialize)]
struct Head {
    sha: String,
    /// `null` when the fork was deleted.
    #[serde(default)]
    repo: Option<HeadRepo>,
}

#[derive(Debug, Deserialize)]
struct HeadRepo {
    id: u64,
}

#[derive(Debug, Deserialize)]
struct Base {
    sha: String,
    #[serde(rename = "ref")]
    name: String,
    repo: BaseRepo,
}

#[derive(Debug, Deserialize)]
struct BaseRepo {
    id: u64,
    full_name: String,
    default_branch: String,
}

impl Pull {
    /// Turns the answer into the domain's type. A repository whose number is another one has taken
    /// over the name: the pull request that was meant is not there.
    pub(crate) fn into_domain(self, id: PullRequestRef) -> Result<PullRequest, CallError> {
        if self.base.repo.id != id.repo.get() || self.number != id.pr.get() {
            return Err(CallError::Refused(crate::refused::Refused::NotFound));
        }
        let author_is_bot = self.user.as_ref().is_some_and(User::is_bot);
        Ok(PullRequest {
            id,
            repo_name: RepoName::parse(&self.base.repo.full_name)
                .map_err(unusable("name of its repository"))?,
            head: CommitSha::parse(&self.head.sha).map_err(unusable("head commit"))?,
            base_ref: BranchName::parse(&self.base.name).map_err(unusable("base branch"))?,
            base: CommitSha::parse(&self.base.sha).map_err(unusable("base commit"))?,
            default_branch: BranchName::parse(&self.base.repo.default_branch)
                .map_err(unusable("default branch"))?,
            open: self.state == "open",
            draft: self.draft,
            from_fork: self
                .head
                .repo
                .is_none_or(|repo| repo.id != self.base.repo.id),
            title: self.title.unwrap_or_default(),
            description: self.body.unwrap_or_default(),
            author: self.user.and_then(|user| Account::parse(&user.login).ok()),
            author_is_bot,
            author_is_outsider: is_outsider(&self.author_association),
            labels: self.labels.into_iter().map(|label| label.name).collect(),
            changed_files: self.changed_files,
        })
    }
}

/// Says which part of an answer is not well-formed, without repeating it.
pub(crate) fn unusable<E>(what: &'static str) -> impl FnOnce(E) -> CallError {
    move |_malformed| CallError::Answer(ApiError::Answer(what))
}

/// Returns the pull request as it is now.
pub(crate) async fn read(
    api: &Api,
    repo: &RepoName,
    id: PullRequestRef,
) -> Result<PullRequest, ForgeError> {
    fetch(api, repo, id.pr)
        .await
        .and_then(|pull| pull.into_domain(id))
        .map_err(|error| error.into_forge(NAMED))
}

/// Returns the pull request of whatever repository has the name now.
pub(crate) async fn read_named(
    api: &Api,
    repo: &RepoName,
    pr: PrNumber,
) -> Result<PullRequest, ForgeError> {
    fetch(api, repo, pr)
        .await
        .and_then(|pull| {
            let id = PullRequestRef {
                forge: Forge::Github,
                repo: RepoId::new(pull.base.repo.id),
                pr,
            };
            pull.into_domain(id)
        })
        .map_err(|error| error.into_forge(NAMED))
}

async fn fetch(api: &Api, repo: &RepoName, pr: PrNumber) -> Result<Pull, CallError> {
    let url = api.pull_url(repo, pr, &[]);
    let call = Call::get("GET /repos/{owner}/{repo}/pulls/{number}", url);
    api.read_json::<Pull>(&call).await
}
