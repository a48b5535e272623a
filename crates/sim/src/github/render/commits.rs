//! Commits and changed files.

use serde_json::{Value, json};

use super::{Show, lossy, node_id};
use crate::diff::{Diff, FileDiff};
use crate::git::{CommitInfo, Identity};
use crate::github::world::Repo;
use crate::path::encode_path;

/// Largest patch of one file that the file list shows, as GitHub documents it.
const MAX_PATCH_BYTES: usize = 500_000;
const MAX_PATCH_LINES: usize = 20_000;

impl Show<'_> {
    /// Returns a `commit` without its files.
    pub(crate) fn commit(&self, repo: &Repo, commit: &CommitInfo) -> Value {
        let url = format!("{}/commits/{}", self.repo_url(repo), commit.sha);
        let page = format!("{}/commit/{}", self.repo_page(repo), commit.sha);
        let git_url = format!("{}/git", self.repo_url(repo));
        let identity =
            |who: &Identity| json!({ "name": who.name, "email": who.email, "date": who.date });
        let parents: Vec<Value> = commit
            .parents
            .iter()
            .map(|sha| {
                json!({
                    "sha": sha,
                    "url": format!("{}/commits/{sha}", self.repo_url(repo)),
                    "html_url": format!("{}/commit/{sha}", self.repo_page(repo)),
                })
            })
            .collect();
        json!({
            "sha": commit.sha,
            "node_id": node_id("Commit", 0) + &commit.sha,
            "url": url,
            "html_url": page,
            "comments_url": format!("{url}/comments"),
            "commit": {
                "url": format!("{git_url}/commits/{}", commit.sha),
                "author": identity(&commit.author),
                "committer": identity(&commit.committer),
                "message": commit.message,
                "comment_count": 0,
                "tree": { "sha": commit.tree, "url": format!("{git_url}/trees/{}", commit.tree) },
                "verification": self.verification(&commit.sha),
            },
            "author": self.user(&commit.author.name),
            "committer": self.user(&commit.committer.name),
            "parents": parents,
        })
    }

    /// Returns what GitHub says about a commit's signature.
    fn verification(&self, sha: &str) -> Value {
        if !self.world.verified.contains(sha) {
            return json!({
                "verified": false, "reason": "unsigned", "signature": null, "payload": null,
                "verified_at": null,
            });
        }
        json!({
            "verified": true,
            "reason": "valid",
            "signature": "made-up signature",
            "payload": format!("made-up payload of {sha}"),
            "verified_at": "2026-01-01T00:00:00Z",
        })
    }

    /// Returns a `diff-entry`.
    pub(crate) fn diff_entry(
        &self,
        repo: &Repo,
        head: &str,
        diff: &Diff,
        file: &FileDiff,
    ) -> Value {
        let status = match file.letter {
            b'A' => "added",
            b'D' => "removed",
            b'R' => "renamed",
            b'C' => "copied",
            b'M' if file.hunks.is_empty() && file.old_oid == file.new_oid => "changed",
            b'T' => "changed",
            _ => "modified",
        };
        let encoded = encode_path(&file.path);
        let page = self.repo_page(repo);
        let oid = if file.letter == b'D' {
            &file.old_oid
        } else {
            &file.new_oid
        };
        let mut entry = json!({
            "sha": oid,
            "filename": lossy(&file.path),
            "status": status,
            "additions": file.additions,
            "deletions": file.deletions,
            "changes": file.additions.saturating_add(file.deletions),
            "blob_url": format!("{page}/blob/{head}/{encoded}"),
            "raw_url": format!("{page}/raw/{head}/{encoded}"),
            "contents_url": format!("{}/contents/{encoded}?ref={head}", self.repo_url(repo)),
        });
        if let Some(object) = entry.as_object_mut() {
            if let Some(old) = &file.old_path {
                object.insert("previous_filename".to_owned(), json!(lossy(old)));
            }
            let lines = file
                .hunks
                .iter()
                .map(|hunk| hunk.lines.len())
                .sum::<usize>();
            let patch = diff
                .patch(file)
                .filter(|patch| patch.len() <= MAX_PATCH_BYTES && lines <= MAX_PATCH_LINES);
            if let Some(patch) = patch {
                object.insert("patch".to_owned(), json!(lossy(patch)));
            }
        }
        entry
    }
}

impl Show<'_> {
    /// Returns a commit as webhooks show it.
    pub(crate) fn payload_commit(commit: &CommitInfo) -> Value {
        let who = |who: &Identity| json!({ "name": who.name, "email": who.email });
        json!({
            "id": commit.sha,
            "tree_id": commit.tree,
            "message": commit.message,
            "timestamp": commit.author.date,
            "author": who(&commit.author),
            "committer": who(&commit.committer),
        })
    }
}
