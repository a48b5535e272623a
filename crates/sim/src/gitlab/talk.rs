//! What is said on merge requests, whoever says it: through the API, by a person, or by GitLab.

use chrono::{DateTime, Utc};
use sha1::{Digest as _, Sha1};

use super::Gitlab;
use super::positions::{Position, follow_push, place};
use super::world::{Discussion, Merge, Note, NoteKind, Project, Version, World};
use crate::git::GitError;
use crate::state::StateError;

/// A note to be written.
#[derive(Debug, Clone)]
pub(crate) struct NewNote {
    pub(crate) author: String,
    pub(crate) body: String,
    /// Whether a test has to read it.
    pub(crate) unread: bool,
    /// Where it goes.
    pub(crate) to: To,
}

/// Where a note goes.
#[derive(Debug, Clone)]
pub(crate) enum To {
    /// By itself.
    Whole,
    /// A new thread on the whole.
    Thread,
    /// A new thread on a place of the diff that was found to exist.
    Place(Box<Position>, String),
    /// An existing discussion.
    Reply(String),
}

/// What GitLab would do instead of writing the line down.
const QUICK_ACTIONS: [&str; 26] = [
    "approve",
    "assign",
    "assign_reviewer",
    "award",
    "close",
    "copy_metadata",
    "done",
    "draft",
    "due",
    "estimate",
    "label",
    "lock",
    "merge",
    "milestone",
    "rebase",
    "ready",
    "relabel",
    "reopen",
    "request_changes",
    "shrug",
    "spend",
    "submit_review",
    "target_branch",
    "title",
    "todo",
    "unlabel",
];

/// Returns the first line of a text that GitLab takes for a command, fenced lines aside.
pub(crate) fn quick_action(body: &str) -> Option<&str> {
    let mut fenced = false;
    body.lines().find(|line| {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let word = line.strip_prefix('/').unwrap_or_default();
        let word = word.split(' ').next().unwrap_or_default();
        !fenced && QUICK_ACTIONS.contains(&word)
    })
}

/// Returns the opaque name of a discussion.
fn discussion_id(seed: u64) -> String {
    hex::encode(Sha1::digest(format!("simulated discussion {seed}")))
}

/// Writes a note with its discussion, tells the hook, and returns both their names.
pub(crate) fn write(
    gitlab: &Gitlab,
    world: &mut World,
    (project, iid): (u64, u64),
    new: NewNote,
) -> Result<(String, u64), StateError> {
    world.user(&new.author);
    let id = world.next_id();
    let now = gitlab.now();
    let author = new.author.clone();
    let merge = world.merge_mut(project, iid)?;
    let discussion = add(merge, id, now, new)?;
    merge.updated = now;
    merge.notifications = merge.notifications.saturating_add(1);
    gitlab.note_event(world, (project, iid), id, "create", &author);
    Ok((discussion, id))
}

/// Puts a note where it goes and returns its discussion.
pub(crate) fn add(
    merge: &mut Merge,
    id: u64,
    now: DateTime<Utc>,
    new: NewNote,
) -> Result<String, StateError> {
    let mut note = Note {
        id,
        kind: NoteKind::Plain,
        author: new.author,
        body: new.body,
        system: false,
        created: now,
        updated: now,
        position: None,
        original: None,
        line_code: None,
        resolved: None,
        awards: Vec::new(),
        unread: new.unread,
    };
    let individual = matches!(new.to, To::Whole);
    match new.to {
        To::Whole => {}
        To::Thread => note.kind = NoteKind::Thread,
        To::Place(position, code) => {
            note.kind = NoteKind::Diff;
            note.original = Some((*position).clone());
            note.position = Some(*position);
            note.line_code = Some(code);
        }
        To::Reply(to) => {
            let found = merge.discussions.iter_mut().find(|d| d.id == to);
            let found = found.ok_or_else(|| StateError::missing(format!("discussion {to}")))?;
            // A single note becomes a thread by the first answer.
            found.individual = false;
            for known in &mut found.notes {
                if known.kind == NoteKind::Plain {
                    known.kind = NoteKind::Thread;
                }
            }
            if let Some(first) = found.notes.first() {
                note.kind = first.kind;
                note.position.clone_from(&first.position);
                note.original.clone_from(&first.original);
                note.line_code.clone_from(&first.line_code);
            }
            found.notes.push(note);
            return Ok(to);
        }
    }
    let discussion = discussion_id(id);
    merge.discussions.push(Discussion {
        id: discussion.clone(),
        individual,
        notes: vec![note],
    });
    Ok(discussion)
}

/// Writes what GitLab itself notes down about an event.
pub(crate) fn system_note(
    gitlab: &Gitlab,
    world: &mut World,
    (project, iid): (u64, u64),
    author: &str,
    body: String,
) -> Result<(), StateError> {
    let id = world.next_id();
    let now = gitlab.now();
    let merge = world.merge_mut(project, iid)?;
    let new = NewNote {
        author: author.to_owned(),
        body,
        unread: false,
        to: To::Whole,
    };
    let discussion = add(merge, id, now, new)?;
    if let Some(note) = merge
        .discussions
        .iter_mut()
        .find(|d| d.id == discussion)
        .and_then(|d| d.notes.first_mut())
    {
        note.system = true;
    }
    Ok(())
}

/// Resolves a discussion, or opens it again. GitLab tells no hook about a single thread, but about
/// the last one.
pub(crate) fn resolve(
    gitlab: &Gitlab,
    world: &mut World,
    (project, iid): (u64, u64),
    discussion: &str,
    resolved: bool,
    by: &str,
) -> Result<(), StateError> {
    world.user(by);
    let now = gitlab.now();
    let merge = world.merge_mut(project, iid)?;
    let was_settled = merge.is_settled();
    let found = merge.discussions.iter_mut().find(|d| d.id == discussion);
    let found = found.ok_or_else(|| StateError::missing(format!("discussion {discussion}")))?;
    for note in found.notes.iter_mut().filter(|note| note.is_resolvable()) {
        if resolved {
            note.resolved.get_or_insert((by.to_owned(), now));
        } else {
            note.resolved = None;
        }
    }
    if resolved && !was_settled && merge.is_settled() {
        let text = "resolved all threads".to_owned();
        system_note(gitlab, world, (project, iid), by, text)?;
        let changes = serde_json::json!({});
        gitlab.merge_event(world, (project, iid), "update", by, None, &changes)?;
    }
    Ok(())
}

/// Records what the newest push made of the diff, and moves the notes that can follow it.
pub(crate) fn add_version(
    gitlab: &Gitlab,
    world: &mut World,
    project: u64,
    iid: u64,
) -> Result<(), StateError> {
    let id = world.next_id();
    let now = gitlab.now();
    let version = {
        let (project, merge) = world.merge(project, iid)?;
        let Some(start) = project.branches.get(&merge.target_branch) else {
            return Ok(());
        };
        let base = project.git.merge_base(start, &merge.head)?;
        Version {
            id,
            head: merge.head.clone(),
            base: base.unwrap_or_else(|| start.clone()),
            start: start.clone(),
            created: now,
        }
    };
    let moved = moved_notes(world, project, iid, &version)?;
    let merge = world.merge_mut(project, iid)?;
    for (note, position, code) in moved {
        if let Some(note) = merge.note_mut(note) {
            note.position = Some(position);
            note.line_code = Some(code);
        }
    }
    merge.prepared.get_or_insert(now);
    merge.versions.push(version);
    Ok(())
}

/// Finds where the notes are that follow the diff to a new version.
fn moved_notes(
    world: &World,
    project: u64,
    iid: u64,
    version: &Version,
) -> Result<Vec<(u64, Position, String)>, StateError> {
    let (project, merge) = world.merge(project, iid)?;
    let Some(latest) = merge.latest() else {
        return Ok(Vec::new());
    };
    let mut moved = Vec::new();
    for note in merge.discussions.iter().flat_map(|d| &d.notes) {
        let Some(position) = &note.position else {
            continue;
        };
        // Only what stands in the diff so far can follow it.
        if position.head == latest.head
            && let Some((to, code)) = follow_push(&project.git, position, version)?
        {
            moved.push((note.id, to, code));
        }
    }
    Ok(moved)
}

/// Finds the code of a position as a person clicks it, in the newest version.
pub(crate) fn clicked(
    gitlab: &Gitlab,
    project: &Project,
    merge: &Merge,
    (path, old_line, new_line): (&str, Option<u64>, Option<u64>),
) -> Result<Option<(Position, String)>, GitError> {
    let Some(version) = merge.latest() else {
        return Ok(None);
    };
    let diff = project.git.diff(&version.base, &version.head)?;
    let old_path = diff
        .file(path.as_bytes())
        .and_then(|file| file.old_path.as_ref())
        .map_or_else(|| path.to_owned(), |old| crate::json::lossy(old));
    let position = Position {
        kind: "text".to_owned(),
        base: version.base.clone(),
        start: version.start.clone(),
        head: version.head.clone(),
        old_path: Some(old_path),
        new_path: Some(path.to_owned()),
        old_line,
        new_line,
        line_range: None,
    };
    let limit = gitlab.options().limits.max_patch_bytes;
    let found = place(project, merge, &position, limit)?;
    Ok(found.ok().map(|code| (position, code)))
}
