//! Merge requests: for the API and for webhooks.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use super::{Show, maybe_time, time};
use crate::git::GitError;
use crate::gitlab::changes::Kept;
use crate::gitlab::options::HookTimes;
use crate::gitlab::versions::{GitlabFeature, GitlabVersion};
use crate::gitlab::world::{Merge, MergeState, Project, Version};
use crate::json::merged;

/// Returns whether a title makes a draft in this version.
pub(crate) fn is_draft_title(version: GitlabVersion, title: &str) -> bool {
    let title = title.trim_start().to_ascii_lowercase();
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| title.starts_with(prefix));
    (version.has(GitlabFeature::WipPrefix) && starts(&["wip:", "wip ", "[wip]"]))
        || (version.has(GitlabFeature::DraftPrefix) && starts(&["draft:", "[draft]", "(draft)"]))
}

impl Show<'_> {
    /// Returns the address of a merge request's page.
    pub(crate) fn merge_page(&self, project: &Project, merge: &Merge) -> String {
        let page = self.project_page(project);
        format!("{page}/-/merge_requests/{}", merge.iid)
    }

    /// Returns whether a merge request is a draft.
    pub(crate) fn is_draft(&self, merge: &Merge) -> bool {
        is_draft_title(self.options.version, &merge.title)
    }

    /// Returns a merge request.
    pub(crate) fn merge(&self, project: &Project, merge: &Merge) -> Result<Value, GitError> {
        let count = match merge.latest() {
            None => Value::Null,
            Some(version) => {
                let diff = project.git.diff(&version.base, &version.head)?;
                let kept = Kept::of(&diff, self.options.limits, self.options.version);
                json!(kept.count())
            }
        };
        let refs = merge.latest().map(|version| {
            json!({
                "base_sha": version.base, "head_sha": version.head, "start_sha": version.start,
            })
        });
        let (merged_by, merged_at, merge_sha) = match &merge.merged {
            Some((by, at, sha)) => (self.user(by), time(*at), json!(sha)),
            None => (Value::Null, Value::Null, Value::Null),
        };
        let draft = self.is_draft(merge);
        let shown = json!({
            "id": merge.id,
            "iid": merge.iid,
            "project_id": project.id,
            "title": merge.title,
            "description": merge.description,
            "state": merge.state.as_str(),
            "created_at": time(merge.created),
            "updated_at": time(merge.updated),
            "merged_by": merged_by,
            "merged_at": merged_at,
            "closed_by": merge.closed.as_ref().map(|(by, _)| self.user(by)),
            "closed_at": maybe_time(merge.closed.as_ref().map(|(_, at)| *at)),
            "target_branch": merge.target_branch,
            "source_branch": merge.source_branch,
            "user_notes_count": merge.discussions.iter().flat_map(|d| &d.notes)
                .filter(|note| !note.system).count(),
            "upvotes": 0,
            "downvotes": 0,
            "author": self.user(&merge.author),
            "assignees": [],
            "assignee": null,
            "source_project_id": merge.source_project,
            "target_project_id": project.id,
            "labels": merge.labels,
            "work_in_progress": draft,
            "milestone": null,
            "merge_when_pipeline_succeeds": false,
            "merge_status": if merge.versions.is_empty() { "checking" } else { "can_be_merged" },
            "sha": merge.head,
            "merge_commit_sha": merge_sha,
            "squash_commit_sha": null,
            "discussion_locked": null,
            "reference": format!("!{}", merge.iid),
            "references": {
                "short": format!("!{}", merge.iid),
                "relative": format!("!{}", merge.iid),
                "full": format!("{}!{}", project.path, merge.iid),
            },
            "web_url": self.merge_page(project, merge),
            "squash": false,
            "has_conflicts": false,
            "blocking_discussions_resolved": !project.all_resolved || merge.is_settled(),
            "changes_count": count,
            "diff_refs": refs,
        });
        let mut more = serde_json::Map::new();
        if self.has(GitlabFeature::DraftPrefix) {
            more.insert("draft".to_owned(), json!(draft));
            more.insert("reviewers".to_owned(), json!([]));
        }
        if self.has(GitlabFeature::DetailedMergeStatus) {
            let status = self.detailed_status(project, merge);
            more.insert("detailed_merge_status".to_owned(), json!(status));
        }
        if self.has(GitlabFeature::PreparedAt) {
            more.insert("prepared_at".to_owned(), maybe_time(merge.prepared));
        }
        Ok(merged(shown, Value::Object(more)))
    }

    /// Returns why a merge request cannot be merged, or `mergeable`.
    pub(crate) fn detailed_status(&self, project: &Project, merge: &Merge) -> &'static str {
        if merge.state != MergeState::Opened {
            "not_open"
        } else if merge.versions.is_empty() {
            "preparing"
        } else if self.is_draft(merge) {
            "draft_status"
        } else if project.all_resolved && !merge.is_settled() {
            "discussions_not_resolved"
        } else if project.must_succeed && !has_passed(self, project, merge) {
            "ci_must_pass"
        } else {
            "mergeable"
        }
    }

    /// Returns a version of a merge request's diff.
    pub(crate) fn version(
        &self,
        project: &Project,
        merge: &Merge,
        version: &Version,
    ) -> Result<Value, GitError> {
        let diff = project.git.diff(&version.base, &version.head)?;
        let kept = Kept::of(&diff, self.options.limits, self.options.version);
        Ok(json!({
            "id": version.id,
            "head_commit_sha": version.head,
            "base_commit_sha": version.base,
            "start_commit_sha": version.start,
            "created_at": time(version.created),
            "merge_request_id": merge.id,
            "state": if kept.overflow { "overflow" } else { "collected" },
            "real_size": kept.count(),
        }))
    }

    /// Writes a time as webhooks do.
    pub(crate) fn hook_time(&self, at: DateTime<Utc>) -> String {
        match self.options.hook_times {
            HookTimes::Utc => at.format("%Y-%m-%d %H:%M:%S UTC").to_string(),
            HookTimes::Iso8601 => at.to_rfc3339_opts(SecondsFormat::Secs, true),
        }
    }

    /// Returns a user as webhooks show the one who acted.
    pub(crate) fn hook_user(&self, username: &str) -> Value {
        let user = self.world.users.get(username);
        let name = user.map_or(username, |user| user.name.as_str());
        let shown = json!({ "name": name, "username": username, "avatar_url": "" });
        if self.has(GitlabFeature::ModernPayloads) {
            let id = user.map(|user| user.id);
            merged(shown, json!({ "id": id, "email": "[REDACTED]" }))
        } else {
            shown
        }
    }

    /// Returns a project as webhooks show it.
    pub(crate) fn hook_project(&self, project: &Project) -> Value {
        let page = self.project_page(project);
        let ssh = format!("git@gitlab.test:{}.git", project.path);
        json!({
            "id": project.id,
            "name": project.name(),
            "description": "",
            "web_url": page,
            "avatar_url": null,
            "git_ssh_url": ssh,
            "git_http_url": format!("{page}.git"),
            "namespace": project.namespace(),
            "visibility_level": project.visibility.level(),
            "path_with_namespace": project.path,
            "default_branch": project.default_branch,
            "homepage": page,
            "url": ssh,
            "ssh_url": ssh,
            "http_url": format!("{page}.git"),
        })
    }

    /// Returns a merge request as webhooks show it, without an action.
    pub(crate) fn merge_attributes(
        &self,
        project: &Project,
        merge: &Merge,
    ) -> Result<Value, GitError> {
        let commit = project.git.commit_info(&merge.head)?;
        let source = merge
            .source_project
            .and_then(|id| self.world.projects.get(&id))
            .map(|source| self.hook_project(source));
        let draft = self.is_draft(merge);
        let shown = json!({
            "id": merge.id,
            "iid": merge.iid,
            "title": merge.title,
            "description": merge.description,
            "state": merge.state.as_str(),
            "source_branch": merge.source_branch,
            "target_branch": merge.target_branch,
            "source_project_id": merge.source_project,
            "target_project_id": project.id,
            "author_id": self.world.users.get(&merge.author).map(|user| user.id),
            "work_in_progress": draft,
            "merge_status": "unchecked",
            "created_at": self.hook_time(merge.created),
            "updated_at": self.hook_time(merge.updated),
            "url": self.merge_page(project, merge),
            "source": source,
            "target": self.hook_project(project),
            "last_commit": {
                "id": commit.sha,
                "message": format!("{}\n", commit.message),
                "title": commit.message.lines().next().unwrap_or_default(),
                "timestamp": commit.committer.date,
                "url": format!("{}/-/commit/{}", self.project_page(project), commit.sha),
                "author": { "name": commit.author.name, "email": commit.author.email },
            },
            "labels": hook_labels(project, merge),
        });
        let mut more = serde_json::Map::new();
        if self.has(GitlabFeature::ModernPayloads) {
            more.insert("state_id".to_owned(), json!(merge.state.id()));
            more.insert("assignee_ids".to_owned(), json!([]));
            more.insert("reviewer_ids".to_owned(), json!([]));
            let settled = !project.all_resolved || merge.is_settled();
            more.insert("blocking_discussions_resolved".to_owned(), json!(settled));
        }
        if self.has(GitlabFeature::DraftPrefix) {
            more.insert("draft".to_owned(), json!(draft));
        }
        if self.has(GitlabFeature::DetailedMergeStatus) {
            let status = self.detailed_status(project, merge);
            more.insert("detailed_merge_status".to_owned(), json!(status));
        }
        Ok(merged(shown, Value::Object(more)))
    }
}

/// Returns the labels of a merge request as webhooks show them.
pub(crate) fn hook_labels(project: &Project, merge: &Merge) -> Value {
    merge
        .labels
        .iter()
        .map(|title| hook_label(project, title))
        .collect()
}

/// Returns one label as webhooks show it.
pub(crate) fn hook_label(project: &Project, title: &str) -> Value {
    let id = title.bytes().map(u64::from).sum::<u64>();
    json!({
        "id": id, "title": title, "color": "#fff", "project_id": project.id, "type": "ProjectLabel",
    })
}

/// Returns whether the head has statuses and the newest of each name passed.
fn has_passed(show: &Show<'_>, project: &Project, merge: &Merge) -> bool {
    let source = merge
        .source_project
        .and_then(|id| show.world.projects.get(&id))
        .unwrap_or(project);
    let mut newest = std::collections::BTreeMap::new();
    for status in source.statuses.iter().filter(|s| s.sha == merge.head) {
        newest.insert(status.name.as_str(), status.state.as_str());
    }
    !newest.is_empty() && newest.values().all(|state| *state == "success")
}
