//! Checks as commit statuses. <https://docs.gitlab.com/api/commits/#set-commit-pipeline-status>
//!
//! A status is advisory: whoever may push can set one of any name. With "Pipelines must succeed" it still keeps a
//! merge request from being merged by mistake. It has no place for findings, and nothing between success and
//! failure: what is neutral is failed.
//!
//! GitLab looks for a merge request's pipeline in the project that its branch is in. So the status of a change from
//! a fork is set in the fork, if the token may do that there, and else in the project that it goes into, under the
//! reference of the merge request: there it is shown with the commit, and not on the merge request.
//!
//! **Invariant:** no status is a success unless the check is one.

use async_trait::async_trait;
use mirilla_domain::gate::{CheckName, Conclusion};
use mirilla_domain::ids::{CheckId, CommitSha, RepoName};
use mirilla_http::Method;
use mirilla_ports::checks::{CheckFound, ForgeChecks, NewCheck};
use mirilla_ports::forge::ForgeError;
use serde::Deserialize;
use serde_json::json;

use crate::error::{CallError, Named};
use crate::gitlab::api::Call;
use crate::gitlab::place::Place;
use crate::gitlab::writer::GitlabWriter;
use crate::refused::Refused;

/// GitLab's most for a description.
const MAX_STATUS_CHARS: usize = 255;

const READ: Named = Named {
    action: "read where the change comes from",
    what: "the merge request",
    writes: false,
};
const WRITE: Named = Named {
    action: "set a commit status (the token needs scope `api`, its account the role Developer)",
    what: "status",
    writes: true,
};

/// Where a change comes from.
#[derive(Deserialize)]
struct Source {
    #[serde(default)]
    source_branch: String,
    /// None once the fork is deleted.
    #[serde(default)]
    source_project_id: Option<u64>,
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    status: String,
}

/// A place for a status: a project, and the branch or reference there.
struct Target {
    project: u64,
    reference: String,
}

#[async_trait]
impl ForgeChecks for GitlabWriter {
    async fn checks(
        &self,
        _repo: &RepoName,
        _head: &CommitSha,
        _name: CheckName,
    ) -> Result<Vec<CheckFound>, ForgeError> {
        Ok(Vec::new())
    }

    async fn write_check(
        &self,
        repo: &RepoName,
        _known: Option<&CheckFound>,
        check: &NewCheck,
    ) -> Result<Option<CheckId>, ForgeError> {
        let at = self.place(repo, check.pr).await?;
        let call = Call::get(
            "GET /projects/{id}/merge_requests/{iid}",
            at.url(&self.api, &[]),
        );
        let source: Source = self
            .api
            .read_json(&call)
            .await
            .map_err(|error| error.into_forge(READ))?;
        let mut last = CallError::Refused(Refused::NotFound);
        for target in targets(at, &source) {
            match self.set_status(repo, &target, check).await {
                Ok(()) => return Ok(None),
                // Not ours to write to: the next place.
                Err(error @ CallError::Refused(Refused::NotFound | Refused::Forbidden)) => {
                    last = error;
                }
                Err(error) => return Err(error.into_forge(WRITE)),
            }
        }
        Err(last.into_forge(WRITE))
    }
}

/// Returns where the status of a change belongs, the best place first.
fn targets(at: Place, source: &Source) -> Vec<Target> {
    let here = |reference| Target {
        project: at.project,
        reference,
    };
    let of_merge = || here(format!("refs/merge-requests/{}/head", at.iid));
    match source.source_project_id {
        Some(project) if project == at.project => vec![here(source.source_branch.clone())],
        Some(project) => vec![
            Target {
                project,
                reference: source.source_branch.clone(),
            },
            of_merge(),
        ],
        None => vec![of_merge()],
    }
}

impl GitlabWriter {
    async fn set_status(
        &self,
        repo: &RepoName,
        target: &Target,
        check: &NewCheck,
    ) -> Result<(), CallError> {
        let state = match check.conclusion {
            None => "running",
            Some(Conclusion::Success) => "success",
            Some(Conclusion::Failure | Conclusion::Neutral) => "failed",
        };
        let description: String = check.title.chars().take(MAX_STATUS_CHARS).collect();
        let project = target.project.to_string();
        let url = self
            .api
            .url(&["projects", &project, "statuses", check.head.as_str()]);
        let call =
            Call::new(Method::POST, "POST /projects/{id}/statuses/{sha}", url).json(&json!({
                "state": state,
                "ref": target.reference,
                "name": check.name.as_str(),
                "description": description,
                "target_url": self.details(repo, check),
            }));
        match self.write(&call).await {
            Ok(_set) => Ok(()),
            // GitLab refuses a step to the state that is there already.
            Err(error @ CallError::Refused(Refused::Other(_) | Refused::Unprocessable(_))) => {
                if self.stands(target, check, state).await? {
                    Ok(())
                } else {
                    Err(error)
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Returns whether the newest status of this name is in a state.
    async fn stands(
        &self,
        target: &Target,
        check: &NewCheck,
        state: &str,
    ) -> Result<bool, CallError> {
        let project = target.project.to_string();
        let commit = check.head.as_str();
        let mut url = self.api.url(&[
            "projects",
            &project,
            "repository",
            "commits",
            commit,
            "statuses",
        ]);
        url.query_pairs_mut()
            .append_pair("ref", &target.reference)
            .append_pair("name", check.name.as_str());
        let call = Call::get("GET /projects/{id}/repository/commits/{sha}/statuses", url);
        let found: Vec<Status> = self.api.read_json(&call).await?;
        Ok(found.last().is_some_and(|status| status.status == state))
    }

    /// Returns where the status leads: to GitLab's own page and nowhere else.
    fn details(&self, repo: &RepoName, check: &NewCheck) -> String {
        let number = check.pr.to_string();
        let mut segments: Vec<&str> = repo.as_str().split('/').collect();
        segments.extend(["-", "merge_requests", &number]);
        let mut url = self.api.service().page(&segments);
        if let Some(review) = check.review {
            url.set_fragment(Some(&format!("note_{review}")));
        }
        url.into()
    }
}
