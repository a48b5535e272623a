//! A merge request as REST describes it. <https://docs.gitlab.com/api/merge_requests/#get-single-mr>

use mirilla_domain::ids::{
    Account, BranchName, CommitSha, Forge, PrNumber, PullRequestRef, RepoId,
};
use mirilla_domain::snapshot::PullRequest;
use serde::Deserialize;

use crate::error::{ApiError, CallError, Named};
use crate::gitlab::api::{Api, Call, numbered};
use crate::gitlab::identity::User;
use crate::gitlab::known::Project;
use crate::gitlab::place::Place;
use crate::gitlab::role::{self, Role};
use crate::refused::Refused;

pub(crate) const NAMED: Named = Named {
    action: "read the merge request",
    what: "the merge request",
    writes: false,
};

/// The answer, as far as it is looked at.
#[derive(Debug, Deserialize)]
pub(crate) struct Merge {
    iid: u64,
    #[serde(default)]
    target_project_id: Option<u64>,
    /// `null` when the fork was deleted.
    #[serde(default)]
    source_project_id: Option<u64>,
    state: String,
    /// Since 13.2.
    #[serde(default)]
    draft: Option<bool>,
    /// Until API v5.
    #[serde(default)]
    work_in_progress: bool,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    author: Option<User>,
    #[serde(default)]
    labels: Vec<String>,
    /// `"7"`, `"1000+"`, or nothing as long as the diff is prepared.
    #[serde(default)]
    changes_count: Option<String>,
    target_branch: String,
    /// `null` when the source branch was gone before the first diff was made.
    #[serde(default)]
    sha: Option<String>,
}

/// A commit, as far as it is looked at.
#[derive(Debug, Deserialize)]
struct Commit {
    id: String,
}

/// Says which part of an answer is not well-formed, without repeating it.
pub(crate) fn unusable<E>(what: &'static str) -> impl FnOnce(E) -> CallError {
    move |_malformed| CallError::Answer(ApiError::Answer(what))
}

/// Reads a merge request.
pub(crate) async fn fetch(api: &Api, at: Place) -> Result<Merge, CallError> {
    let call = Call::get("GET /projects/{id}/merge_requests/{iid}", at.url(api, &[]));
    api.read_json(&call).await
}

/// Returns the commit on top of a branch. A tag may have a branch's name; `refs/heads/` rules it out.
pub(crate) async fn branch_tip(
    api: &Api,
    project: u64,
    branch: &str,
) -> Result<CommitSha, CallError> {
    let (number, name) = (project.to_string(), format!("refs/heads/{branch}"));
    let url = api.url(&["projects", &number, "repository", "commits", &name]);
    let call = Call::get("GET /projects/{id}/repository/commits/{sha}", url);
    let commit: Commit = api.read_json(&call).await?;
    CommitSha::parse(&commit.id).map_err(unusable("commit"))
}

impl Merge {
    /// Returns who opened it.
    pub(crate) fn author(&self) -> Option<&User> {
        self.author.as_ref()
    }

    /// Turns the answer into the domain's type. One of another project or number is not the one that was meant.
    pub(crate) async fn into_domain(
        self,
        api: &Api,
        project: &Project,
        pr: PrNumber,
        author_is_outsider: bool,
    ) -> Result<PullRequest, CallError> {
        let is_meant =
            self.iid == pr.get() && self.target_project_id.is_none_or(|id| id == project.id);
        if !is_meant {
            return Err(CallError::Refused(Refused::NotFound));
        }
        let head = self.sha.ok_or(ApiError::Answer("head commit"))?;
        let base = branch_tip(api, project.id, &self.target_branch).await?;
        let count = self.changes_count.unwrap_or_default();
        let digits = count.trim_end_matches('+');
        Ok(PullRequest {
            id: PullRequestRef {
                forge: Forge::Gitlab,
                repo: RepoId::new(project.id),
                pr,
            },
            repo_name: project.name.clone(),
            head: CommitSha::parse(&head).map_err(unusable("head commit"))?,
            base_ref: BranchName::parse(&self.target_branch).map_err(unusable("target branch"))?,
            base,
            default_branch: project.default_branch.clone(),
            open: self.state == "opened",
            draft: self.draft.unwrap_or(self.work_in_progress),
            from_fork: self.source_project_id != Some(project.id),
            title: self.title.unwrap_or_default(),
            description: self.description.unwrap_or_default(),
            author_is_bot: self.author.as_ref().is_some_and(User::is_bot),
            author: self
                .author
                .and_then(|author| Account::parse(&author.username).ok()),
            author_is_outsider,
            labels: self.labels,
            changed_files: digits.parse().unwrap_or(0),
        })
    }
}

/// Returns whether somebody is not let see the code of a project by name, and nothing of theirs was merged there.
/// Who a token may not ask about is an outsider.
pub(crate) async fn is_outsider(api: &Api, project: u64, who: &User) -> Result<bool, CallError> {
    let (number, id) = (project.to_string(), who.id.to_string());
    match role::of(api, &number, who.id).await {
        Ok(Some(role)) if role >= Role::REPORTER => return Ok(false),
        Ok(_) | Err(CallError::Refused(Refused::Forbidden)) => {}
        Err(error) => return Err(error),
    }
    let mut url = numbered(&api.url(&["projects", &number, "merge_requests"]), 1, 1);
    url.query_pairs_mut()
        .append_pair("state", "merged")
        .append_pair("author_id", &id);
    let call = Call::get("GET /projects/{id}/merge_requests", url);
    match api.read_json::<Vec<serde::de::IgnoredAny>>(&call).await {
        Ok(merged) => Ok(merged.is_empty()),
        Err(CallError::Refused(Refused::NotFound | Refused::Forbidden)) => Ok(true),
        Err(error) => Err(error),
    }
}
