//! Reading back what a person would see.
//!
//! Reading marks what was posted as read; [`crate::Sim::finish`] reports what nobody read.

use super::Gitlab;
use super::world::{Discussion, Merge, Note, Project};
use crate::state::StateError;

/// Where a note stands in the diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotePlace {
    /// The path before the change.
    pub old_path: String,
    /// The path after the change.
    pub new_path: String,
    /// The line before, for removed and unchanged lines.
    pub old_line: Option<u64>,
    /// The line after, for added and unchanged lines.
    pub new_line: Option<u64>,
    /// GitLab's name of the line.
    pub line_code: String,
    /// The head it stands on.
    pub head: String,
    /// Whether its lines have changed since.
    pub outdated: bool,
}

/// A note as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteView {
    /// Its number.
    pub id: u64,
    /// Who wrote it.
    pub author: String,
    /// Its text.
    pub body: String,
    /// Whether GitLab wrote it.
    pub system: bool,
    /// Where it stands, if it is on the diff.
    pub place: Option<NotePlace>,
    /// Emoji: who, and what.
    pub awards: Vec<(String, String)>,
}

/// A discussion as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscussionView {
    /// Its name.
    pub id: String,
    /// Whether it is a single note.
    pub individual: bool,
    /// Whether it can be resolved.
    pub resolvable: bool,
    /// Whether it is resolved.
    pub resolved: bool,
    /// Who resolved it.
    pub resolved_by: Option<String>,
    /// Its notes, oldest first.
    pub notes: Vec<NoteView>,
}

/// A commit status as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusView {
    /// Its name.
    pub name: String,
    /// `pending`, `running`, `success`, `failed` or `canceled`.
    pub state: String,
    /// What it says.
    pub description: Option<String>,
    /// Where it leads.
    pub target_url: Option<String>,
    /// The branch or reference it is for.
    pub reference: String,
    /// Who set it.
    pub author: String,
}

/// A merge request's page, as plain data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeRequestPage {
    /// The project's full path.
    pub project: String,
    /// Its number in the project.
    pub iid: u64,
    /// Its title.
    pub title: String,
    /// Its description.
    pub description: Option<String>,
    /// Who opened it.
    pub author: String,
    /// The branch it goes into.
    pub target: String,
    /// The head commit.
    pub head: String,
    /// `opened`, `closed` or `merged`.
    pub state: &'static str,
    /// Why it cannot be merged, or `mergeable`.
    pub merge_status: &'static str,
    /// The discussions, oldest first.
    pub discussions: Vec<DiscussionView>,
    /// The statuses of the head, oldest first.
    pub statuses: Vec<StatusView>,
    /// How many mails people got about notes.
    pub notifications: u32,
    /// Drafts that nobody published, with their authors.
    pub drafts: Vec<(String, String)>,
}

impl MergeRequestPage {
    /// Returns the notes on the diff and those beside it, GitLab's own words left out.
    pub fn said(&self) -> (Vec<&NoteView>, Vec<&NoteView>) {
        let notes = self.discussions.iter().flat_map(|one| &one.notes);
        let said = notes.filter(|note| !note.system);
        said.partition(|note| note.place.is_some())
    }
}

impl Gitlab {
    /// Returns a merge request's page and marks everything on it as read.
    pub fn merge_request_page(&self, path: &str, iid: u64) -> Result<MergeRequestPage, StateError> {
        let mut world = self.world();
        let id = world.project(path)?.id;
        let merge = world.merge_mut(id, iid)?;
        for note in merge
            .discussions
            .iter_mut()
            .flat_map(|d| d.notes.iter_mut())
        {
            note.unread = false;
        }
        for draft in &mut merge.drafts {
            draft.unread = false;
        }
        let show = self.show(&world);
        let (project, merge) = world.merge(id, iid)?;
        let source = merge
            .source_project
            .and_then(|id| world.projects.get(&id))
            .unwrap_or(project);
        let drafts = merge.drafts.iter();
        Ok(MergeRequestPage {
            project: project.path.clone(),
            iid,
            title: merge.title.clone(),
            description: merge.description.clone(),
            author: merge.author.clone(),
            target: merge.target_branch.clone(),
            head: merge.head.clone(),
            state: merge.state.as_str(),
            merge_status: show.detailed_status(project, merge),
            discussions: merge
                .discussions
                .iter()
                .map(|discussion| discussion_view(merge, discussion))
                .collect(),
            statuses: statuses(source, &merge.head),
            notifications: merge.notifications,
            drafts: drafts.map(|d| (d.author.clone(), d.body.clone())).collect(),
        })
    }

    /// Returns the statuses that were set on a commit of a project, oldest first.
    pub fn statuses(&self, path: &str, sha: &str) -> Result<Vec<StatusView>, StateError> {
        let world = self.world();
        Ok(statuses(world.project(path)?, sha))
    }

    /// Returns what was posted through the API and not read back yet, as text.
    pub fn unread(&self) -> Vec<String> {
        let world = self.world();
        let mut unread = Vec::new();
        for project in world.projects.values() {
            for merge in project.merges.values() {
                let at = format!("{}!{}", project.path, merge.iid);
                let start = |body: &str| -> String {
                    body.chars().take(60).collect::<String>().replace('\n', " ")
                };
                let notes = merge.discussions.iter().flat_map(|d| &d.notes);
                let notes = notes.filter(|note| note.unread);
                unread.extend(notes.map(|n| format!("note {} on {at}: {}", n.id, start(&n.body))));
                // A draft that stays behind would be published by the next run.
                let drafts = merge.drafts.iter().filter(|draft| draft.unread);
                unread
                    .extend(drafts.map(|d| format!("draft {} on {at}: {}", d.id, start(&d.body))));
            }
        }
        unread
    }
}

fn discussion_view(merge: &Merge, discussion: &Discussion) -> DiscussionView {
    let resolvable: Vec<&Note> = discussion
        .notes
        .iter()
        .filter(|note| note.is_resolvable())
        .collect();
    let by = resolvable.first().and_then(|note| note.resolved.as_ref());
    DiscussionView {
        id: discussion.id.clone(),
        individual: discussion.individual,
        resolvable: !resolvable.is_empty(),
        resolved: !resolvable.is_empty() && !discussion.is_open(),
        resolved_by: by.map(|(by, _)| by.clone()),
        notes: discussion
            .notes
            .iter()
            .map(|note| note_view(merge, note))
            .collect(),
    }
}

fn note_view(merge: &Merge, note: &Note) -> NoteView {
    let head = merge.latest().map(|version| version.head.as_str());
    NoteView {
        id: note.id,
        author: note.author.clone(),
        body: note.body.clone(),
        system: note.system,
        place: note.position.as_ref().map(|position| NotePlace {
            old_path: position.old_path.clone().unwrap_or_default(),
            new_path: position.new_path.clone().unwrap_or_default(),
            old_line: position.old_line,
            new_line: position.new_line,
            line_code: note.line_code.clone().unwrap_or_default(),
            head: position.head.clone(),
            outdated: Some(position.head.as_str()) != head,
        }),
        awards: note
            .awards
            .iter()
            .map(|award| (award.author.clone(), award.name.clone()))
            .collect(),
    }
}

fn statuses(project: &Project, sha: &str) -> Vec<StatusView> {
    project
        .statuses
        .iter()
        .filter(|status| status.sha == sha)
        .map(|status| StatusView {
            name: status.name.clone(),
            state: status.state.clone(),
            description: status.description.clone(),
            target_url: status.target_url.clone(),
            reference: status.reference.clone(),
            author: status.author.clone(),
        })
        .collect()
}
