//! Repositories.

use serde_json::{Value, json};

use super::{Show, merged, node_id, time};
use crate::github::world::Repo;

/// The links of a repository: field, then what follows the repository's address.
const LINKS: [(&str, &str); 37] = [
    ("archive_url", "/{archive_format}{/ref}"),
    ("assignees_url", "/assignees{/user}"),
    ("blobs_url", "/git/blobs{/sha}"),
    ("branches_url", "/branches{/branch}"),
    ("collaborators_url", "/collaborators{/collaborator}"),
    ("comments_url", "/comments{/number}"),
    ("commits_url", "/commits{/sha}"),
    ("compare_url", "/compare/{base}...{head}"),
    ("contents_url", "/contents/{+path}"),
    ("contributors_url", "/contributors"),
    ("deployments_url", "/deployments"),
    ("downloads_url", "/downloads"),
    ("events_url", "/events"),
    ("forks_url", "/forks"),
    ("git_commits_url", "/git/commits{/sha}"),
    ("git_refs_url", "/git/refs{/sha}"),
    ("git_tags_url", "/git/tags{/sha}"),
    ("hooks_url", "/hooks"),
    ("issue_comment_url", "/issues/comments{/number}"),
    ("issue_events_url", "/issues/events{/number}"),
    ("issues_url", "/issues{/number}"),
    ("keys_url", "/keys{/key_id}"),
    ("labels_url", "/labels{/name}"),
    ("languages_url", "/languages"),
    ("merges_url", "/merges"),
    ("milestones_url", "/milestones{/number}"),
    (
        "notifications_url",
        "/notifications{?since,all,participating}",
    ),
    ("pulls_url", "/pulls{/number}"),
    ("releases_url", "/releases{/id}"),
    ("stargazers_url", "/stargazers"),
    ("statuses_url", "/statuses/{sha}"),
    ("subscribers_url", "/subscribers"),
    ("subscription_url", "/subscription"),
    ("tags_url", "/tags"),
    ("teams_url", "/teams"),
    ("trees_url", "/git/trees{/sha}"),
    ("url", ""),
];

impl Show<'_> {
    /// Returns a `repository`, as it stands in pull requests and webhooks.
    pub(crate) fn repo(&self, repo: &Repo) -> Value {
        let url = self.repo_url(repo);
        let page = self.repo_page(repo);
        let links: serde_json::Map<String, Value> = LINKS
            .iter()
            .map(|(field, rest)| ((*field).to_owned(), json!(format!("{url}{rest}"))))
            .collect();
        let open = repo.pulls.values().filter(|pull| pull.open).count();
        let host = self
            .urls
            .html
            .trim_start_matches("https://")
            .trim_start_matches("http://");
        let more = json!({
            "id": repo.id,
            "node_id": node_id("Repository", repo.id),
            "name": repo.name,
            "full_name": repo.full_name(),
            "private": repo.private,
            "visibility": if repo.private { "private" } else { "public" },
            "owner": self.user(&repo.owner),
            "html_url": page,
            "description": null,
            "fork": repo.fork_of.is_some(),
            "git_url": format!("git://{host}/{}.git", repo.full_name()),
            "ssh_url": format!("git@{host}:{}.git", repo.full_name()),
            "clone_url": format!("{page}.git"),
            "svn_url": page,
            "mirror_url": null,
            "homepage": null,
            "language": null,
            "license": null,
            "topics": [],
            "size": 1,
            "forks": 0,
            "forks_count": 0,
            "stargazers_count": 0,
            "watchers": 0,
            "watchers_count": 0,
            "open_issues": open,
            "open_issues_count": open,
            "default_branch": repo.default_branch,
            "has_issues": true,
            "has_projects": false,
            "has_wiki": false,
            "has_pages": false,
            "has_downloads": true,
            "has_discussions": false,
            "archived": false,
            "disabled": false,
            "is_template": false,
            "allow_forking": true,
            "web_commit_signoff_required": false,
            "created_at": time(repo.created),
            "updated_at": time(repo.pushed),
            "pushed_at": time(repo.pushed),
        });
        merged(Value::Object(links), more)
    }

    /// Returns a `full-repository`.
    pub(crate) fn full_repo(&self, repo: &Repo) -> Value {
        let mut full = merged(
            self.repo(repo),
            json!({
                "network_count": 0,
                "subscribers_count": 0,
                "permissions": {
                    "admin": false, "maintain": false, "push": false, "triage": false, "pull": true,
                },
            }),
        );
        let parent = repo.fork_of.and_then(|id| self.world.repos.get(&id));
        if let (Some(parent), Some(full)) = (parent, full.as_object_mut()) {
            full.insert("parent".to_owned(), self.repo(parent));
            full.insert("source".to_owned(), self.repo(parent));
        }
        full
    }
}
