//! Merge queues: a commit of the queue's own, at a branch of its own, that waits for checks.
//!
//! <https://docs.github.com/webhooks/webhook-events-and-payloads#merge_group>

use serde_json::{Value, json};

use crate::github::Github;
use crate::github::render::Show;
use crate::github::world::{Pull, Repo};
use crate::state::StateError;

impl Github {
    /// Puts a merge of a pull request's head into the merge queue and returns the queue's commit. As on
    /// GitHub, only an open pull request that is no draft can be queued.
    pub fn enqueue(&self, full_name: &str, number: u64, by: &str) -> Result<String, StateError> {
        let mut world = self.world();
        world.account(by);
        let now = self.now();
        let repo = world.repo_named(full_name)?;
        let pull = pull(repo, number)?;
        if !pull.open || pull.draft {
            return Err(StateError::conflict(format!(
                "pull request {number} is closed or a draft, and cannot be queued"
            )));
        }
        let base = repo.base_sha(pull);
        let message = format!("Merge pull request #{number}");
        let bot = self.bot();
        let sha = repo
            .git
            .merge(&base, &pull.head, &message, &bot, "queue@example.test", now)?;
        let branch = queue_branch(repo, pull);
        let payload = json!({
            "action": "checks_requested",
            "merge_group": merge_group(repo, pull, &sha)?,
        });
        let repo = world.repo_named_mut(full_name)?;
        repo.git.set_ref(&repo.ref_name(&branch), Some(&sha))?;
        repo.branches.insert(branch, sha.clone());
        let id = repo.id;
        self.emit(&mut world, id, "merge_group", by, payload);
        Ok(sha)
    }

    /// Takes a pull request out of the merge queue: its branch is gone. `reason` is GitHub's word: `merged`,
    /// `invalidated` or `dequeued`.
    pub fn dequeue(
        &self,
        full_name: &str,
        number: u64,
        by: &str,
        reason: &str,
    ) -> Result<(), StateError> {
        if !["merged", "invalidated", "dequeued"].contains(&reason) {
            return Err(StateError::conflict(format!("{reason} is no reason")));
        }
        let mut world = self.world();
        let repo = world.repo_named(full_name)?;
        let pull = pull(repo, number)?;
        let branch = queue_branch(repo, pull);
        let sha = repo.branches.get(&branch);
        let sha = sha.ok_or_else(|| StateError::missing(format!("{number} in the queue")))?;
        let payload = json!({
            "action": "destroyed",
            "reason": reason,
            "merge_group": merge_group(repo, pull, sha)?,
        });
        let repo = world.repo_named_mut(full_name)?;
        repo.git.set_ref(&repo.ref_name(&branch), None)?;
        repo.branches.remove(&branch);
        let id = repo.id;
        self.emit(&mut world, id, "merge_group", by, payload);
        Ok(())
    }
}

fn pull(repo: &Repo, number: u64) -> Result<&Pull, StateError> {
    let found = repo.pulls.get(&number);
    found.ok_or_else(|| StateError::missing(format!("pull request {number}")))
}

/// The branch at which the queue's commit for a pull request stands.
fn queue_branch(repo: &Repo, pull: &Pull) -> String {
    let base = repo.base_sha(pull);
    let (branch, number) = (&pull.base_ref, pull.number);
    format!("gh-readonly-queue/{branch}/pr-{number}-{base}")
}

fn merge_group(repo: &Repo, pull: &Pull, sha: &str) -> Result<Value, StateError> {
    let commit = repo.git.commit_info(sha)?;
    Ok(json!({
        "head_sha": sha,
        "head_ref": format!("refs/heads/{}", queue_branch(repo, pull)),
        "base_sha": repo.base_sha(pull),
        "base_ref": format!("refs/heads/{}", pull.base_ref),
        "head_commit": Show::payload_commit(&commit),
    }))
}
