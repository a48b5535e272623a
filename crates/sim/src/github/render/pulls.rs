//! Pull requests.

use serde_json::{Value, json};

use super::{Show, maybe_time, merged, node_id, time};
use crate::git::GitError;
use crate::github::world::{Label, Pull, Repo};

impl Show<'_> {
    /// Returns the address of a pull request in the API.
    pub(crate) fn pull_url(&self, repo: &Repo, pull: &Pull) -> String {
        format!("{}/pulls/{}", self.repo_url(repo), pull.number)
    }

    /// Returns the address of a pull request's page.
    pub(crate) fn pull_page(&self, repo: &Repo, pull: &Pull) -> String {
        format!("{}/pull/{}", self.repo_page(repo), pull.number)
    }

    /// Returns a label.
    pub(crate) fn label(&self, repo: &Repo, label: &Label) -> Value {
        json!({
            "id": label.id,
            "node_id": node_id("Label", label.id),
            "url": format!("{}/labels/{}", self.repo_url(repo), label.name),
            "name": label.name,
            "description": null,
            "color": "ededed",
            "default": false,
        })
    }

    /// Returns a `pull-request-simple`, as lists and most webhooks show it.
    pub(crate) fn pull_simple(&self, repo: &Repo, pull: &Pull) -> Value {
        let url = self.pull_url(repo, pull);
        let page = self.pull_page(repo, pull);
        let issue = format!("{}/issues/{}", self.repo_url(repo), pull.number);
        let statuses = format!("{}/statuses/{}", self.repo_url(repo), pull.head);
        let labels: Vec<Value> = pull
            .labels
            .iter()
            .map(|label| self.label(repo, label))
            .collect();
        let head_repo = pull
            .head_repo
            .and_then(|id| self.world.repos.get(&id))
            .map_or(Value::Null, |repo| self.repo(repo));
        let href = |url: &str| json!({ "href": url });
        json!({
            "url": url,
            "id": pull.id,
            "node_id": node_id("PullRequest", pull.id),
            "html_url": page,
            "diff_url": format!("{page}.diff"),
            "patch_url": format!("{page}.patch"),
            "issue_url": issue,
            "commits_url": format!("{url}/commits"),
            "review_comments_url": format!("{url}/comments"),
            "review_comment_url": format!("{}/pulls/comments{{/number}}", self.repo_url(repo)),
            "comments_url": format!("{issue}/comments"),
            "statuses_url": statuses,
            "number": pull.number,
            "state": if pull.open { "open" } else { "closed" },
            "locked": pull.locked,
            "active_lock_reason": null,
            "title": pull.title,
            "user": self.user(&pull.author),
            "body": pull.body,
            "labels": labels,
            "milestone": null,
            "created_at": time(pull.created),
            "updated_at": time(pull.updated),
            "closed_at": maybe_time(pull.closed_at),
            "merged_at": maybe_time(pull.merged.as_ref().map(|merged| merged.at)),
            "merge_commit_sha": pull.merged.as_ref().map(|merged| merged.sha.clone()),
            "assignee": null,
            "assignees": [],
            "requested_reviewers": [],
            "requested_teams": [],
            "head": {
                "label": format!("{}:{}", pull.head_owner, pull.head_ref),
                "ref": pull.head_ref,
                "sha": pull.head,
                "user": self.user(&pull.head_owner),
                "repo": head_repo,
            },
            "base": {
                "label": format!("{}:{}", repo.owner, pull.base_ref),
                "ref": pull.base_ref,
                "sha": repo.base_sha(pull),
                "user": self.user(&repo.owner),
                "repo": self.repo(repo),
            },
            "_links": {
                "self": href(&url),
                "html": href(&page),
                "issue": href(&issue),
                "comments": href(&format!("{issue}/comments")),
                "review_comments": href(&format!("{url}/comments")),
                "review_comment": href(&format!("{}/pulls/comments{{/number}}", self.repo_url(repo))),
                "commits": href(&format!("{url}/commits")),
                "statuses": href(&statuses),
            },
            "author_association": self.world.association(repo, &pull.author),
            "auto_merge": null,
            "draft": pull.draft,
        })
    }

    /// Returns a `pull-request`, which also counts.
    pub(crate) fn pull(&self, repo: &Repo, pull: &Pull) -> Result<Value, GitError> {
        let base = repo.base_sha(pull);
        let diff = repo.git.diff(&base, &pull.head)?;
        let commits = repo.git.log(&base, &pull.head)?.len();
        let additions: u64 = diff.files.iter().map(|file| file.additions).sum();
        let deletions: u64 = diff.files.iter().map(|file| file.deletions).sum();
        let merged_by = pull.merged.as_ref().map(|merged| self.user(&merged.by));
        let review_comments = pull
            .review_comments
            .iter()
            .filter(|comment| Self::published(pull, comment.review))
            .count();
        let more = json!({
            "merged": pull.merged.is_some(),
            // GitHub computes this in the background and says null until then.
            "mergeable": null,
            "rebaseable": null,
            "mergeable_state": "unknown",
            "merged_by": merged_by,
            "comments": pull.comments.len(),
            "review_comments": review_comments,
            "maintainer_can_modify": false,
            "commits": commits,
            "additions": additions,
            "deletions": deletions,
            "changed_files": diff.files.len(),
        });
        Ok(merged(self.pull_simple(repo, pull), more))
    }

    /// Returns a `pull-request-minimal`, as check runs list them.
    pub(crate) fn pull_minimal(&self, repo: &Repo, pull: &Pull) -> Value {
        let small =
            |repo: &Repo| json!({ "id": repo.id, "url": self.repo_url(repo), "name": repo.name });
        let head_repo = pull
            .head_repo
            .and_then(|id| self.world.repos.get(&id))
            .unwrap_or(repo);
        json!({
            "id": pull.id,
            "number": pull.number,
            "url": self.pull_url(repo, pull),
            "head": { "ref": pull.head_ref, "sha": pull.head, "repo": small(head_repo) },
            "base": { "ref": pull.base_ref, "sha": repo.base_sha(pull), "repo": small(repo) },
        })
    }
}

impl Show<'_> {
    /// Returns a pull request as an issue, as comment webhooks show it.
    pub(crate) fn issue(&self, repo: &Repo, pull: &Pull) -> Value {
        let url = format!("{}/issues/{}", self.repo_url(repo), pull.number);
        let page = self.pull_page(repo, pull);
        let labels: Vec<Value> = pull
            .labels
            .iter()
            .map(|label| self.label(repo, label))
            .collect();
        json!({
            "url": url,
            "repository_url": self.repo_url(repo),
            "labels_url": format!("{url}/labels{{/name}}"),
            "comments_url": format!("{url}/comments"),
            "events_url": format!("{url}/events"),
            "html_url": page,
            "id": pull.id.saturating_add(1_000_000_000),
            "node_id": node_id("PullRequest", pull.id),
            "number": pull.number,
            "title": pull.title,
            "user": self.user(&pull.author),
            "labels": labels,
            "state": if pull.open { "open" } else { "closed" },
            "locked": pull.locked,
            "assignee": null,
            "assignees": [],
            "milestone": null,
            "comments": pull.comments.len(),
            "created_at": time(pull.created),
            "updated_at": time(pull.updated),
            "closed_at": maybe_time(pull.closed_at),
            "author_association": self.world.association(repo, &pull.author),
            "active_lock_reason": null,
            "draft": pull.draft,
            "pull_request": {
                "url": self.pull_url(repo, pull),
                "html_url": page,
                "diff_url": format!("{page}.diff"),
                "patch_url": format!("{page}.patch"),
                "merged_at": maybe_time(pull.merged.as_ref().map(|merged| merged.at)),
            },
            "body": pull.body,
            "reactions": Self::reactions(&url, &[]),
            "timeline_url": format!("{url}/timeline"),
            "performed_via_github_app": null,
            "state_reason": null,
        })
    }
}
