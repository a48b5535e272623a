//! Opening, changing and closing pull requests.

use serde_json::{Value, json};

use crate::github::Github;
use crate::github::world::{Label, Merged, Pull, World};
use crate::state::StateError;

/// A pull request to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenPull {
    /// The title.
    pub title: String,
    /// The description.
    pub body: Option<String>,
    /// The branch it goes into.
    pub base: String,
    /// The branch it comes from.
    pub head: String,
    /// The fork that has the branch, `owner/name`; `None` means the repository itself.
    pub from: Option<String>,
    /// Who opens it.
    pub author: String,
    /// Whether it is a draft.
    pub draft: bool,
}

impl OpenPull {
    /// Describes a pull request of a branch into `main`.
    pub fn new(author: &str, head: &str, title: &str) -> Self {
        Self {
            title: title.to_owned(),
            body: None,
            base: "main".to_owned(),
            head: head.to_owned(),
            from: None,
            author: author.to_owned(),
            draft: false,
        }
    }
}

impl Github {
    /// Opens a pull request and returns its number.
    pub fn open_pull(&self, full_name: &str, open: OpenPull) -> Result<u64, StateError> {
        let mut world = self.world();
        world.account(&open.author);
        let (id, label) = (world.next_id(), open.head.clone());
        let now = self.now();
        let (head_repo, head_owner, head) = {
            let from = world.repo_named(open.from.as_deref().unwrap_or(full_name))?;
            let head = from.branches.get(&open.head).cloned();
            let head =
                head.ok_or_else(|| StateError::missing(format!("branch {label} to open")))?;
            (from.id, from.owner.clone(), head)
        };
        let repo = world.repo_named_mut(full_name)?;
        if !repo.branches.contains_key(&open.base) {
            return Err(StateError::missing(format!(
                "branch {} to open against",
                open.base
            )));
        }
        repo.last_number = repo.last_number.saturating_add(1);
        let number = repo.last_number;
        repo.git
            .set_ref(&format!("refs/pull/{number}/head"), Some(&head))?;
        repo.pulls.insert(
            number,
            Pull {
                id,
                number,
                title: open.title,
                body: open.body,
                author: open.author.clone(),
                base_ref: open.base,
                head_ref: open.head,
                head_repo: Some(head_repo),
                head_owner,
                heads: vec![head.clone()],
                head,
                closed_base: None,
                open: true,
                draft: open.draft,
                locked: false,
                merged: None,
                closed_at: None,
                created: now,
                updated: now,
                labels: Vec::new(),
                comments: Vec::new(),
                reviews: Vec::new(),
                threads: Vec::new(),
                review_comments: Vec::new(),
            },
        );
        let repo = repo.id;
        self.pull_event(&mut world, repo, number, "opened", &open.author, json!({}))?;
        Ok(number)
    }

    fn edit_pull(
        &self,
        full_name: &str,
        number: u64,
        by: &str,
        action: &str,
        edit: impl FnOnce(&mut World, u64) -> Result<Value, StateError>,
    ) -> Result<(), StateError> {
        let mut world = self.world();
        let repo = world.repo_named(full_name)?.id;
        let more = edit(&mut world, repo)?;
        let now = self.now();
        world.pull_mut(repo, number)?.updated = now;
        self.pull_event(&mut world, repo, number, action, by, more)
    }

    /// Makes a pull request a draft, or ready for review.
    pub fn set_draft(
        &self,
        full_name: &str,
        number: u64,
        draft: bool,
        by: &str,
    ) -> Result<(), StateError> {
        let action = if draft {
            "converted_to_draft"
        } else {
            "ready_for_review"
        };
        self.edit_pull(full_name, number, by, action, |world, repo| {
            world.pull_mut(repo, number)?.draft = draft;
            Ok(json!({}))
        })
    }

    /// Closes a pull request without merging it.
    pub fn close(&self, full_name: &str, number: u64, by: &str) -> Result<(), StateError> {
        let mut world = self.world();
        let repo = world.repo_named(full_name)?.id;
        self.close_in(&mut world, repo, number, by)
    }

    pub(super) fn close_in(
        &self,
        world: &mut World,
        repo: u64,
        number: u64,
        by: &str,
    ) -> Result<(), StateError> {
        let now = self.now();
        let base = {
            let found = world
                .repos
                .get(&repo)
                .ok_or_else(|| StateError::missing("repository"))?;
            found.pulls.get(&number).map(|pull| found.base_sha(pull))
        };
        let pull = world.pull_mut(repo, number)?;
        if !pull.open {
            return Err(StateError::conflict(format!(
                "pull request {number} is closed"
            )));
        }
        pull.open = false;
        pull.closed_at = Some(now);
        pull.closed_base = base;
        pull.updated = now;
        self.pull_event(world, repo, number, "closed", by, json!({}))
    }

    /// Opens a closed pull request again.
    pub fn reopen(&self, full_name: &str, number: u64, by: &str) -> Result<(), StateError> {
        self.edit_pull(full_name, number, by, "reopened", |world, repo| {
            let pull = world.pull_mut(repo, number)?;
            if pull.open || pull.merged.is_some() {
                return Err(StateError::conflict(format!(
                    "pull request {number} cannot reopen"
                )));
            }
            pull.open = true;
            pull.closed_at = None;
            pull.closed_base = None;
            Ok(json!({}))
        })
    }

    /// Merges a pull request and returns the merge commit.
    pub fn merge(&self, full_name: &str, number: u64, by: &str) -> Result<String, StateError> {
        let mut world = self.world();
        world.account(by);
        let now = self.now();
        let (repo, base_ref, base, head, git, author) = {
            let repo = world.repo_named(full_name)?;
            let pull = repo
                .pulls
                .get(&number)
                .filter(|pull| pull.open)
                .ok_or_else(|| StateError::missing(format!("open pull request {number}")))?;
            let base = repo.base_sha(pull);
            let git = std::sync::Arc::clone(&repo.git);
            (
                repo.id,
                pull.base_ref.clone(),
                base,
                pull.head.clone(),
                git,
                pull.author.clone(),
            )
        };
        let message = format!("Merge pull request #{number}");
        let sha = git.merge(
            &base,
            &head,
            &message,
            by,
            &format!("{by}@example.test"),
            now,
        )?;
        let pull = world.pull_mut(repo, number)?;
        pull.open = false;
        pull.closed_at = Some(now);
        pull.closed_base = Some(base);
        pull.updated = now;
        pull.merged = Some(Merged {
            by: by.to_owned(),
            at: now,
            sha: sha.clone(),
        });
        if let Some(repo) = world.repos.get_mut(&repo) {
            repo.contributors.insert(author);
        }
        self.move_branch(&mut world, repo, &base_ref, &sha, by)?;
        self.pull_event(&mut world, repo, number, "closed", by, json!({}))?;
        Ok(sha)
    }

    /// Changes the branch a pull request goes into.
    pub fn retarget(
        &self,
        full_name: &str,
        number: u64,
        base: &str,
        by: &str,
    ) -> Result<(), StateError> {
        self.edit_pull(full_name, number, by, "edited", |world, repo| {
            let (from, sha) = {
                let found = world
                    .repos
                    .get(&repo)
                    .ok_or_else(|| StateError::missing("repository"))?;
                if !found.branches.contains_key(base) {
                    return Err(StateError::missing(format!("branch {base}")));
                }
                let pull = found.pulls.get(&number);
                let pull = pull.ok_or_else(|| StateError::missing("pull request"))?;
                (pull.base_ref.clone(), found.base_sha(pull))
            };
            base.clone_into(&mut world.pull_mut(repo, number)?.base_ref);
            Ok(json!({
                "changes": { "base": { "ref": { "from": from }, "sha": { "from": sha } } },
            }))
        })
    }

    /// Changes the title.
    pub fn set_title(
        &self,
        full_name: &str,
        number: u64,
        title: &str,
        by: &str,
    ) -> Result<(), StateError> {
        self.edit_pull(full_name, number, by, "edited", |world, repo| {
            let pull = world.pull_mut(repo, number)?;
            let from = std::mem::replace(&mut pull.title, title.to_owned());
            Ok(json!({ "changes": { "title": { "from": from } } }))
        })
    }

    /// Changes the description.
    pub fn set_body(
        &self,
        full_name: &str,
        number: u64,
        body: Option<&str>,
        by: &str,
    ) -> Result<(), StateError> {
        self.edit_pull(full_name, number, by, "edited", |world, repo| {
            let pull = world.pull_mut(repo, number)?;
            let from = std::mem::replace(&mut pull.body, body.map(str::to_owned));
            Ok(json!({ "changes": { "body": { "from": from } } }))
        })
    }

    /// Adds a label.
    pub fn label(
        &self,
        full_name: &str,
        number: u64,
        name: &str,
        by: &str,
    ) -> Result<(), StateError> {
        self.relabel(full_name, number, name, by, true)
    }

    /// Takes a label away.
    pub fn unlabel(
        &self,
        full_name: &str,
        number: u64,
        name: &str,
        by: &str,
    ) -> Result<(), StateError> {
        self.relabel(full_name, number, name, by, false)
    }

    fn relabel(
        &self,
        full_name: &str,
        number: u64,
        name: &str,
        by: &str,
        on: bool,
    ) -> Result<(), StateError> {
        let github = self.clone();
        let action = if on { "labeled" } else { "unlabeled" };
        self.edit_pull(full_name, number, by, action, move |world, repo| {
            let id = world.next_id();
            let pull = world.pull_mut(repo, number)?;
            let had = pull.labels.iter().find(|label| label.name == name).cloned();
            pull.labels.retain(|label| label.name != name);
            let label = had.unwrap_or(Label {
                id,
                name: name.to_owned(),
            });
            if on {
                pull.labels.push(label.clone());
            }
            let found = world
                .repos
                .get(&repo)
                .ok_or_else(|| StateError::missing("repository"))?;
            Ok(json!({ "label": github.show(world).label(found, &label) }))
        })
    }

    /// Locks the conversation: outsiders cannot comment any more.
    pub fn lock(&self, full_name: &str, number: u64, by: &str) -> Result<(), StateError> {
        self.edit_pull(full_name, number, by, "locked", |world, repo| {
            world.pull_mut(repo, number)?.locked = true;
            Ok(json!({}))
        })
    }
}
