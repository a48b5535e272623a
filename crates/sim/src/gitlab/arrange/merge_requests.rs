//! Opening, pushing to, changing and closing merge requests.

use serde_json::{Value, json};

use crate::gitlab::Gitlab;
use crate::gitlab::render::{hook_label, is_draft_title};
use crate::gitlab::talk::{add_version, system_note};
use crate::gitlab::versions::GitlabFeature;
use crate::gitlab::world::{Merge, MergeState, World};
use crate::state::StateError;

/// A merge request to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenMerge {
    /// The title.
    pub title: String,
    /// The description.
    pub description: Option<String>,
    /// The branch it goes into.
    pub target: String,
    /// The branch it comes from.
    pub source: String,
    /// The fork that has the branch; `None` means the project itself.
    pub from: Option<String>,
    /// Who opens it.
    pub author: String,
}

impl OpenMerge {
    /// Describes a merge request of a branch into `main`.
    pub fn new(author: &str, source: &str, title: &str) -> Self {
        Self {
            title: title.to_owned(),
            description: None,
            target: "main".to_owned(),
            source: source.to_owned(),
            from: None,
            author: author.to_owned(),
        }
    }
}

impl Gitlab {
    /// Opens a merge request and returns its number in the project.
    pub fn open_merge(&self, path: &str, open: OpenMerge) -> Result<u64, StateError> {
        let mut world = self.world();
        world.user(&open.author);
        let id = world.next_id();
        let now = self.now();
        let (source, head) = {
            let from = world.project(open.from.as_deref().unwrap_or(path))?;
            let head = from.branches.get(&open.source).cloned();
            let missing = || StateError::missing(format!("branch {} to open", open.source));
            (from.id, head.ok_or_else(missing)?)
        };
        let project = world.project_mut(path)?;
        if !project.branches.contains_key(&open.target) {
            let what = format!("branch {} to open against", open.target);
            return Err(StateError::missing(what));
        }
        project.last_iid = project.last_iid.saturating_add(1);
        let iid = project.last_iid;
        project
            .git
            .set_ref(&format!("refs/merge-requests/{iid}/head"), Some(&head))?;
        project.tips.push(head.clone());
        let author = open.author.clone();
        project.merges.insert(
            iid,
            Merge {
                id,
                iid,
                title: open.title,
                description: open.description,
                author: open.author,
                source_branch: open.source,
                target_branch: open.target,
                source_project: Some(source),
                state: MergeState::Opened,
                head,
                versions: Vec::new(),
                prepared: None,
                merged: None,
                closed: None,
                labels: Vec::new(),
                created: now,
                updated: now,
                discussions: Vec::new(),
                drafts: Vec::new(),
                awards: Vec::new(),
                notifications: 0,
            },
        );
        let project = project.id;
        if !world.slow {
            add_version(self, &mut world, project, iid)?;
        }
        self.merge_event(
            &mut world,
            (project, iid),
            "open",
            &author,
            None,
            &json!({}),
        )?;
        Ok(iid)
    }

    /// Lets diffs lag behind pushes until [`Gitlab::prepare`], or ends that.
    pub fn lag(&self, lag: bool) {
        self.world().slow = lag;
    }

    /// Lets the diff of a merge request catch up with its head.
    pub fn prepare(&self, path: &str, iid: u64) -> Result<(), StateError> {
        let mut world = self.world();
        let project = world.project(path)?.id;
        add_version(self, &mut world, project, iid)
    }

    /// Moves a branch, and with it the merge requests whose source it is.
    pub(super) fn move_branch(
        &self,
        world: &mut World,
        id: u64,
        branch: &str,
        sha: &str,
        by: &str,
    ) -> Result<(), StateError> {
        world.user(by);
        let now = self.now();
        let project = world
            .projects
            .get_mut(&id)
            .ok_or_else(|| StateError::missing("project"))?;
        project.git.set_ref(&project.ref_name(branch), Some(sha))?;
        project.branches.insert(branch.to_owned(), sha.to_owned());
        project.tips.push(sha.to_owned());
        for (of, iid) in sources(world, id, branch) {
            let Some(target) = world.projects.get_mut(&of) else {
                continue;
            };
            target
                .git
                .set_ref(&format!("refs/merge-requests/{iid}/head"), Some(sha))?;
            target.tips.push(sha.to_owned());
            let Some(merge) = target.merges.get_mut(&iid) else {
                continue;
            };
            let before = std::mem::replace(&mut merge.head, sha.to_owned());
            if before == sha {
                continue;
            }
            merge.updated = now;
            if !world.slow {
                add_version(self, world, of, iid)?;
            }
            let text = format!("added 1 commit\n\n* {}", sha.get(..8).unwrap_or_default());
            system_note(self, world, (of, iid), by, text)?;
            let changes = json!({});
            self.merge_event(world, (of, iid), "update", by, Some(&before), &changes)?;
        }
        Ok(())
    }

    /// Changes a merge request, notes that down as GitLab does, and tells the hook what changed.
    fn edit_merge(
        &self,
        (path, iid, by): (&str, u64, &str),
        action: &str,
        note: String,
        edit: impl FnOnce(&mut World, u64) -> Result<Value, StateError>,
    ) -> Result<(), StateError> {
        let mut world = self.world();
        world.user(by);
        let project = world.project(path)?.id;
        let changes = edit(&mut world, project)?;
        let now = self.now();
        world.merge_mut(project, iid)?.updated = now;
        system_note(self, &mut world, (project, iid), by, note)?;
        self.merge_event(&mut world, (project, iid), action, by, None, &changes)
    }

    /// Changes the title.
    pub fn set_title(&self, path: &str, iid: u64, title: &str, by: &str) -> Result<(), StateError> {
        let version = self.version();
        let note = format!("changed title to **{title}**");
        self.edit_merge((path, iid, by), "update", note, |world, project| {
            let merge = world.merge_mut(project, iid)?;
            let before = std::mem::replace(&mut merge.title, title.to_owned());
            let mut changes = json!({ "title": { "previous": before, "current": title } });
            let (was, is) = (
                is_draft_title(version, &before),
                is_draft_title(version, title),
            );
            if was != is
                && version.has(GitlabFeature::DraftPrefix)
                && let Some(changes) = changes.as_object_mut()
            {
                changes.insert(
                    "draft".to_owned(),
                    json!({ "previous": was, "current": is }),
                );
            }
            Ok(changes)
        })
    }

    /// Makes a merge request a draft or ready, by its title, as this version does.
    pub fn set_draft(&self, path: &str, iid: u64, draft: bool, by: &str) -> Result<(), StateError> {
        let title = {
            let world = self.world();
            let project = world.project(path)?.id;
            world.merge(project, iid)?.1.title.clone()
        };
        let plain = ["Draft: ", "WIP: "]
            .iter()
            .find_map(|prefix| title.strip_prefix(prefix))
            .unwrap_or(&title);
        let prefix = match (draft, self.has(GitlabFeature::DraftPrefix)) {
            (false, _) => "",
            (true, true) => "Draft: ",
            (true, false) => "WIP: ",
        };
        self.set_title(path, iid, &format!("{prefix}{plain}"), by)
    }

    /// Changes the description.
    pub fn set_description(
        &self,
        path: &str,
        iid: u64,
        text: Option<&str>,
        by: &str,
    ) -> Result<(), StateError> {
        let note = "changed the description".to_owned();
        self.edit_merge((path, iid, by), "update", note, |world, project| {
            let merge = world.merge_mut(project, iid)?;
            let before = std::mem::replace(&mut merge.description, text.map(str::to_owned));
            Ok(json!({ "description": { "previous": before, "current": text } }))
        })
    }

    /// Changes the branch a merge request goes into, which makes a new version of its diff.
    pub fn retarget(&self, path: &str, iid: u64, target: &str, by: &str) -> Result<(), StateError> {
        let gitlab = self.clone();
        let note = format!("changed target branch to `{target}`");
        self.edit_merge((path, iid, by), "update", note, move |world, project| {
            let known = world.projects.get(&project);
            if !known.is_some_and(|project| project.branches.contains_key(target)) {
                return Err(StateError::missing(format!("branch {target}")));
            }
            let merge = world.merge_mut(project, iid)?;
            let before = std::mem::replace(&mut merge.target_branch, target.to_owned());
            add_version(&gitlab, world, project, iid)?;
            Ok(json!({ "target_branch": { "previous": before, "current": target } }))
        })
    }

    /// Adds a label or takes it away.
    pub fn set_label(
        &self,
        path: &str,
        iid: u64,
        (label, on): (&str, bool),
        by: &str,
    ) -> Result<(), StateError> {
        let verb = if on { "added" } else { "removed" };
        let note = format!("{verb} ~{label} label");
        self.edit_merge((path, iid, by), "update", note, |world, project| {
            let merge = world.merge_mut(project, iid)?;
            let before = merge.labels.clone();
            merge.labels.retain(|known| known != label);
            if on {
                merge.labels.push(label.to_owned());
            }
            let (project, merge) = world.merge(project, iid)?;
            let shown = |labels: &[String]| -> Value {
                labels
                    .iter()
                    .map(|title| hook_label(project, title))
                    .collect()
            };
            Ok(json!({
                "labels": { "previous": shown(&before), "current": shown(&merge.labels) },
            }))
        })
    }

    /// Closes a merge request without merging it.
    pub fn close(&self, path: &str, iid: u64, by: &str) -> Result<(), StateError> {
        let now = self.now();
        self.edit_merge(
            (path, iid, by),
            "close",
            "closed".to_owned(),
            |world, project| {
                let merge = world.merge_mut(project, iid)?;
                if merge.state != MergeState::Opened {
                    return Err(StateError::conflict(format!(
                        "merge request {iid} is not open"
                    )));
                }
                merge.state = MergeState::Closed;
                merge.closed = Some((by.to_owned(), now));
                Ok(json!({ "state_id": { "previous": 1, "current": 2 } }))
            },
        )
    }

    /// Opens a closed merge request again.
    pub fn reopen(&self, path: &str, iid: u64, by: &str) -> Result<(), StateError> {
        self.edit_merge(
            (path, iid, by),
            "reopen",
            "reopened".to_owned(),
            |world, project| {
                let merge = world.merge_mut(project, iid)?;
                if merge.state != MergeState::Closed {
                    return Err(StateError::conflict(format!(
                        "merge request {iid} is not closed"
                    )));
                }
                merge.state = MergeState::Opened;
                merge.closed = None;
                Ok(json!({ "state_id": { "previous": 2, "current": 1 } }))
            },
        )
    }

    /// Merges a merge request, if its project's rules allow that, and returns the merge commit.
    pub fn merge(&self, path: &str, iid: u64, by: &str) -> Result<String, StateError> {
        let mut world = self.world();
        world.user(by);
        let now = self.now();
        let (project, target, sha) = {
            let id = world.project(path)?.id;
            let show = self.show(&world);
            let (project, merge) = world.merge(id, iid)?;
            let status = show.detailed_status(project, merge);
            if status != "mergeable" {
                return Err(StateError::conflict(format!(
                    "merge request {iid}: {status}"
                )));
            }
            let base = project.branches.get(&merge.target_branch);
            let base = base.ok_or_else(|| StateError::missing("target branch"))?;
            let message = format!("Merge branch '{}'", merge.source_branch);
            let address = super::projects::email(by);
            let sha = project
                .git
                .merge(base, &merge.head, &message, by, &address, now)?;
            (id, merge.target_branch.clone(), sha)
        };
        let merge = world.merge_mut(project, iid)?;
        merge.state = MergeState::Merged;
        merge.merged = Some((by.to_owned(), now, sha.clone()));
        merge.updated = now;
        self.move_branch(&mut world, project, &target, &sha, by)?;
        system_note(self, &mut world, (project, iid), by, "merged".to_owned())?;
        let changes = json!({ "state_id": { "previous": 1, "current": 3 } });
        self.merge_event(&mut world, (project, iid), "merge", by, None, &changes)?;
        Ok(sha)
    }
}

/// Returns the open merge requests whose source is this branch: project and number.
fn sources(world: &World, project: u64, branch: &str) -> Vec<(u64, u64)> {
    world
        .projects
        .values()
        .flat_map(|target| target.merges.values().map(move |merge| (target.id, merge)))
        .filter(|(_, merge)| {
            merge.state == MergeState::Opened
                && merge.source_project == Some(project)
                && merge.source_branch == branch
        })
        .map(|(target, merge)| (target, merge.iid))
        .collect()
}
