//! Checks: runs with an App, commit statuses with a plain token.
//! <https://docs.github.com/rest/checks/runs>, <https://docs.github.com/rest/commits/statuses>
//!
//! A status is advisory: whoever can push can set one of any name. It has no place for findings, and nothing
//! between success and failure, so that what is neutral as a run is an `error` as a status.
//!
//! **Invariant:** only runs of our own App are found, and no status is a success unless the check is one.

use async_trait::async_trait;
use mirilla_domain::gate::{Annotation, CheckName, Conclusion};
use mirilla_domain::ids::{CheckId, CommitSha, RepoName};
use mirilla_http::Method;
use mirilla_ports::checks::{CheckFound, ForgeChecks, NewCheck};
use mirilla_ports::forge::{ForgeError, Refusal};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::Named;
use crate::github::GithubWriter;
use crate::github::api::Call;

/// Runs of one name that one call lists.
const RUNS_PER_PAGE: usize = 100;
/// Pages of runs that are listed, newest first; each needs a review, or the end of one, by us.
const MAX_PAGES: u32 = 10;
/// GitHub's most in one request.
const ANNOTATIONS_PER_CALL: usize = 50;
/// GitHub's most for a status.
const MAX_STATUS_CHARS: usize = 140;

const LIST: Named = Named {
    action: "list its checks",
    what: "the commit",
    writes: false,
};
const WRITE: Named = Named {
    action: "write a check (the App needs `checks: write`, a token `statuses: write`)",
    what: "check",
    writes: true,
};

/// What a check is on GitHub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marks {
    /// A check run; Apps only.
    Runs,
    /// A commit status.
    Statuses,
}

#[derive(Deserialize)]
struct Runs {
    check_runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    id: u64,
    #[serde(default)]
    external_id: Option<String>,
    #[serde(default)]
    conclusion: Option<String>,
    #[serde(default)]
    output: Option<RunOutput>,
    #[serde(default)]
    app: Option<RunApp>,
}

#[derive(Deserialize)]
struct RunOutput {
    #[serde(default)]
    annotations_count: usize,
}

#[derive(Deserialize)]
struct RunApp {
    #[serde(default)]
    slug: String,
}

#[derive(Deserialize)]
struct Written {
    id: u64,
}

#[async_trait]
impl ForgeChecks for GithubWriter {
    async fn checks(
        &self,
        repo: &RepoName,
        head: &CommitSha,
        name: CheckName,
    ) -> Result<Vec<CheckFound>, ForgeError> {
        if self.marks == Marks::Statuses {
            return Ok(Vec::new());
        }
        let us = self.reader().identity().await?;
        let mut url = self.api.url(&[
            "repos",
            repo.owner(),
            repo.name(),
            "commits",
            head.as_str(),
            "check-runs",
        ]);
        url.query_pairs_mut()
            .append_pair("check_name", name.as_str())
            .append_pair("filter", "all")
            .append_pair("per_page", "100");
        let mut runs = Vec::new();
        for page in 1..=MAX_PAGES {
            let mut url = url.clone();
            url.query_pairs_mut().append_pair("page", &page.to_string());
            let call = Call::get("GET /repos/{owner}/{repo}/commits/{ref}/check-runs", url);
            let listed: Result<Runs, _> = self.api.read_json(&call).await;
            let listed = listed.map_err(|error| error.into_forge(LIST))?.check_runs;
            let is_last = listed.len() < RUNS_PER_PAGE;
            runs.extend(listed);
            if is_last {
                break;
            }
        }
        let mut found: Vec<CheckFound> = runs
            .into_iter()
            .filter(|run| {
                let app = run.app.as_ref();
                app.is_some_and(|app| us.is_graphql_login(&app.slug))
            })
            .map(Run::into_found)
            .collect();
        found.sort_by_key(|run| std::cmp::Reverse(run.id.get()));
        Ok(found)
    }

    async fn write_check(
        &self,
        repo: &RepoName,
        known: Option<&CheckFound>,
        check: &NewCheck,
    ) -> Result<Option<CheckId>, ForgeError> {
        if self.marks == Marks::Statuses {
            return self.set_status(repo, check).await.map(|()| None);
        }
        // What a try before this one added is there for good.
        let there = known.map_or(0, |run| run.annotations);
        let left = check.annotations.get(there..).unwrap_or_default();
        match self.write_run(repo, known, check, left).await {
            // A place that GitHub does not take must not cost the verdict.
            Err(ForgeError::Unprocessable {
                reason: Refusal::Other | Refusal::Anchor,
                ..
            }) if !left.is_empty() => self.write_run(repo, known, check, &[]).await,
            other => other,
        }
        .map(Some)
    }
}

impl GithubWriter {
    /// Writes a run and its annotations, batch by batch.
    async fn write_run(
        &self,
        repo: &RepoName,
        known: Option<&CheckFound>,
        check: &NewCheck,
        annotations: &[Annotation],
    ) -> Result<CheckId, ForgeError> {
        let mut batches = annotations.chunks(ANNOTATIONS_PER_CALL);
        let mut body = self.run_body(repo, check, batches.next().unwrap_or_default());
        let id = if let Some(run) = known {
            self.patch(repo, run.id, &body).await?;
            run.id
        } else {
            if let Some(body) = body.as_object_mut() {
                body.insert("head_sha".to_owned(), check.head.as_str().into());
            }
            let url = self
                .api
                .url(&["repos", repo.owner(), repo.name(), "check-runs"]);
            let call =
                Call::new(Method::POST, "POST /repos/{owner}/{repo}/check-runs", url).json(&body);
            let answer = self.write(call, WRITE).await?;
            let written: Written = answer.json().map_err(|error| error.into_forge(WRITE))?;
            CheckId::new(written.id)
        };
        for batch in batches {
            let body = self.run_body(repo, check, batch);
            self.patch(repo, id, &body).await?;
        }
        Ok(id)
    }

    async fn patch(&self, repo: &RepoName, id: CheckId, body: &Value) -> Result<(), ForgeError> {
        let number = id.to_string();
        let url = self
            .api
            .url(&["repos", repo.owner(), repo.name(), "check-runs", &number]);
        let call = Call::new(
            Method::PATCH,
            "PATCH /repos/{owner}/{repo}/check-runs/{id}",
            url,
        )
        .json(body);
        self.write(call, WRITE).await.map(drop)
    }

    fn run_body(&self, repo: &RepoName, check: &NewCheck, annotations: &[Annotation]) -> Value {
        let annotations: Vec<Value> = annotations
            .iter()
            .map(|one| {
                json!({
                    "path": one.path,
                    "start_line": one.first,
                    "end_line": one.last,
                    "annotation_level": one.level.as_str(),
                    "title": one.title,
                    "message": one.message,
                })
            })
            .collect();
        let mut body = json!({
            "name": check.name.as_str(),
            "external_id": check.job.as_str(),
            "details_url": self.details(repo, check),
            "output": { "title": check.title, "summary": check.summary, "annotations": annotations },
        });
        if let Some(body) = body.as_object_mut() {
            // With a conclusion GitHub takes the run for completed.
            match check.conclusion {
                Some(conclusion) => {
                    body.insert("conclusion".to_owned(), conclusion.as_str().into())
                }
                None => body.insert("status".to_owned(), "in_progress".into()),
            };
        }
        body
    }

    async fn set_status(&self, repo: &RepoName, check: &NewCheck) -> Result<(), ForgeError> {
        let state = match check.conclusion {
            None => "pending",
            Some(Conclusion::Success) => "success",
            Some(Conclusion::Failure) => "failure",
            Some(Conclusion::Neutral) => "error",
        };
        let description: String = check.title.chars().take(MAX_STATUS_CHARS).collect();
        let url = self.api.url(&[
            "repos",
            repo.owner(),
            repo.name(),
            "statuses",
            check.head.as_str(),
        ]);
        let call = Call::new(
            Method::POST,
            "POST /repos/{owner}/{repo}/statuses/{sha}",
            url,
        )
        .json(&json!({
            "state": state,
            "context": check.name.as_str(),
            "description": description,
            "target_url": self.details(repo, check),
        }));
        self.write(call, WRITE).await.map(drop)
    }

    /// Returns where the check leads: to the forge's own page and nowhere else.
    fn details(&self, repo: &RepoName, check: &NewCheck) -> String {
        let number = check.pr.to_string();
        let segments = [repo.owner(), repo.name(), "pull", &number];
        let mut url = self.api.service().page(&segments);
        if let Some(review) = check.review {
            url.set_fragment(Some(&format!("pullrequestreview-{review}")));
        }
        url.into()
    }
}

impl Run {
    fn into_found(self) -> CheckFound {
        CheckFound {
            id: CheckId::new(self.id),
            job: self.external_id.unwrap_or_default(),
            conclusion: self.conclusion,
            annotations: self.output.map_or(0, |output| output.annotations_count),
        }
    }
}
