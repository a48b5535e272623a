//! How the state looks in GitLab's JSON.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use super::options::GitlabOptions;
use super::versions::GitlabFeature;
use super::world::{Award, Draft, Project, Status, World};
use crate::git::CommitInfo;

mod merge_requests;
mod notes;

pub(crate) use merge_requests::{hook_label, hook_labels, is_draft_title};

/// Everything a rendering needs.
#[derive(Debug, Clone)]
pub(crate) struct Show<'a> {
    pub(crate) world: &'a World,
    /// The address of the instance.
    pub(crate) url: String,
    pub(crate) options: &'a GitlabOptions,
}

/// Writes a time as the API does: `2026-11-01T10:05:00.000Z`.
pub(crate) fn time(at: DateTime<Utc>) -> Value {
    Value::String(at.to_rfc3339_opts(SecondsFormat::Millis, true))
}

pub(crate) fn maybe_time(at: Option<DateTime<Utc>>) -> Value {
    at.map_or(Value::Null, time)
}

impl Show<'_> {
    pub(crate) fn has(&self, feature: GitlabFeature) -> bool {
        self.options.version.has(feature)
    }

    /// Returns a user as notes and merge requests show one.
    pub(crate) fn user(&self, username: &str) -> Value {
        let Some(user) = self.world.users.get(username) else {
            return Value::Null;
        };
        json!({
            "id": user.id,
            "username": user.username,
            "name": user.name,
            "state": "active",
            "avatar_url": null,
            "web_url": format!("{}/{}", self.url, user.username),
        })
    }

    /// Returns the address of a project's page.
    pub(crate) fn project_page(&self, project: &Project) -> String {
        format!("{}/{}", self.url, project.path)
    }

    /// Returns a project.
    pub(crate) fn project(&self, project: &Project) -> Value {
        let page = self.project_page(project);
        let space = project.namespace();
        json!({
            "id": project.id,
            "description": null,
            "name": project.name(),
            "name_with_namespace": project.path.replace('/', " / "),
            "path": project.name(),
            "path_with_namespace": project.path,
            "created_at": time(project.created),
            "default_branch": project.default_branch,
            "visibility": project.visibility.as_str(),
            "web_url": page,
            "http_url_to_repo": format!("{page}.git"),
            "ssh_url_to_repo": format!("git@gitlab.test:{}.git", project.path),
            "namespace": {
                "name": space.rsplit('/').next().unwrap_or_default(),
                "path": space.rsplit('/').next().unwrap_or_default(),
                "kind": "group",
                "full_path": space,
            },
            "forked_from_project": project
                .fork_of
                .and_then(|id| self.world.projects.get(&id))
                .map(|parent| json!({
                    "id": parent.id, "path_with_namespace": parent.path,
                })),
            "archived": false,
            "only_allow_merge_if_pipeline_succeeds": project.must_succeed,
            "only_allow_merge_if_all_discussions_are_resolved": project.all_resolved,
        })
    }

    /// Returns a commit.
    pub(crate) fn commit(&self, project: &Project, commit: &CommitInfo) -> Value {
        let title = commit.message.lines().next().unwrap_or_default();
        json!({
            "id": commit.sha,
            "short_id": commit.sha.get(..8),
            "created_at": commit.committer.date,
            "parent_ids": commit.parents,
            "title": title,
            "message": commit.message,
            "author_name": commit.author.name,
            "author_email": commit.author.email,
            "authored_date": commit.author.date,
            "committer_name": commit.committer.name,
            "committer_email": commit.committer.email,
            "committed_date": commit.committer.date,
            "web_url": format!("{}/-/commit/{}", self.project_page(project), commit.sha),
        })
    }

    /// Returns a commit status.
    pub(crate) fn status(&self, status: &Status) -> Value {
        json!({
            "id": status.id,
            "sha": status.sha,
            "ref": status.reference,
            "status": status.state,
            "name": status.name,
            "target_url": status.target_url,
            "description": status.description,
            "created_at": time(status.created),
            "started_at": null,
            "finished_at": maybe_time(status.finished),
            "allow_failure": false,
            "coverage": null,
            "author": self.user(&status.author),
        })
    }

    /// Returns an emoji.
    pub(crate) fn award(&self, award: &Award, on: (&str, u64)) -> Value {
        json!({
            "id": award.id,
            "name": award.name,
            "user": self.user(&award.author),
            "created_at": time(award.at),
            "updated_at": time(award.at),
            "awardable_id": on.1,
            "awardable_type": on.0,
        })
    }

    /// Returns a draft.
    pub(crate) fn draft(&self, draft: &Draft, merge: u64) -> Value {
        json!({
            "id": draft.id,
            "author_id": self.world.users.get(&draft.author).map(|user| user.id),
            "merge_request_id": merge,
            "resolve_discussion": draft.resolve,
            "discussion_id": draft.reply_to,
            "note": draft.body,
            "commit_id": null,
            "line_code": draft.line_code,
            "position": draft.position.as_ref().map(super::positions::Position::shown),
        })
    }
}
