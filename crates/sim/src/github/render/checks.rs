//! Check runs and commit statuses.

use serde_json::{Value, json};

use super::{Show, maybe_time, node_id, time};
use crate::github::world::{CheckRun, Pull, Repo, Status};

impl Show<'_> {
    /// Returns a `check-run`.
    pub(crate) fn check_run(&self, repo: &Repo, run: &CheckRun) -> Value {
        let url = format!("{}/check-runs/{}", self.repo_url(repo), run.id);
        let page = format!("{}/runs/{}", self.repo_page(repo), run.id);
        // Empty for pull requests from forks.
        let pulls: Vec<Value> = repo
            .pulls
            .values()
            .filter(|pull| pull.open && pull.head == run.head && pull.head_repo == Some(repo.id))
            .map(|pull| self.pull_minimal(repo, pull))
            .collect();
        json!({
            "id": run.id,
            "node_id": node_id("CheckRun", run.id),
            "head_sha": run.head,
            "external_id": run.external_id,
            "url": url,
            "html_url": page,
            "details_url": run.details_url.clone().unwrap_or(page),
            "name": run.name,
            "status": run.status,
            "conclusion": run.conclusion,
            "started_at": time(run.started),
            "completed_at": maybe_time(run.completed),
            "output": {
                "title": run.title,
                "summary": run.summary,
                "text": run.text,
                "annotations_count": run.annotations.len(),
                "annotations_url": format!("{url}/annotations"),
            },
            "check_suite": { "id": Self::suite_id(&run.head) },
            "app": self.app(),
            "pull_requests": pulls,
        })
    }

    /// Returns the number of the App's suite for a commit.
    pub(crate) fn suite_id(head: &str) -> u64 {
        let digits: String = head.chars().take(8).collect();
        u64::from_str_radix(&digits, 16).unwrap_or(1)
    }

    /// Returns a `status`.
    pub(crate) fn status(&self, repo: &Repo, status: &Status) -> Value {
        json!({
            "url": format!("{}/statuses/{}", self.repo_url(repo), status.sha),
            "avatar_url": null,
            "id": status.id,
            "node_id": node_id("StatusContext", status.id),
            "state": status.state,
            "description": status.description,
            "target_url": status.target_url,
            "context": status.context,
            "created_at": time(status.created),
            "updated_at": time(status.created),
            "creator": self.user(&status.creator),
        })
    }
}

impl Show<'_> {
    /// Returns the App's check suite for a commit, as webhooks show it.
    pub(crate) fn check_suite(&self, repo: &Repo, sha: &str, id: u64) -> Value {
        let url = format!("{}/check-suites/{id}", self.repo_url(repo));
        let with_head = || repo.pulls.values().filter(|pull| pull.head == sha);
        let is_own = |pull: &&Pull| pull.head_repo == Some(repo.id);
        let runs: Vec<&CheckRun> = repo.checks.iter().filter(|run| run.head == sha).collect();
        let done = !runs.is_empty() && runs.iter().all(|run| run.status == "completed");
        let own = with_head().find(is_own);
        // As for a run: none that is closed, and none of a fork.
        let pulls: Vec<Value> = with_head()
            .filter(is_own)
            .filter(|pull| pull.open)
            .map(|pull| self.pull_minimal(repo, pull))
            .collect();
        let commit = repo
            .git
            .commit_info(sha)
            .map_or(Value::Null, |commit| Self::payload_commit(&commit));
        json!({
            "id": id,
            "node_id": node_id("CheckSuite", id),
            "head_branch": own.map(|pull| pull.head_ref.clone()),
            "head_sha": sha,
            "status": if done { "completed" } else { "queued" },
            "conclusion": if done { runs.last().and_then(|run| run.conclusion.clone()) } else { None },
            "url": url,
            "before": "0".repeat(40),
            "after": sha,
            "pull_requests": pulls,
            "app": self.app(),
            "created_at": time(repo.pushed),
            "updated_at": time(repo.pushed),
            "latest_check_runs_count": runs.len(),
            "check_runs_url": format!("{url}/check-runs"),
            "head_commit": commit,
        })
    }
}
