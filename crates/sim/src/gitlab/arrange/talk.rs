//! What people say on merge requests, and what they do to what others said.

use crate::gitlab::Gitlab;
use crate::gitlab::routes::EMOJI;
use crate::gitlab::talk::{NewNote, To, clicked, resolve, write};
use crate::gitlab::world::{Award, World};
use crate::state::StateError;

impl Gitlab {
    /// Comments on a merge request as a whole and returns the note's number.
    pub fn comment(&self, path: &str, iid: u64, by: &str, body: &str) -> Result<u64, StateError> {
        self.person_says(path, iid, by, body, To::Whole)
    }

    /// Comments on a line as a person clicks it in the newest diff: a file with its old line, its
    /// new line, or both for an unchanged one. Returns the note's number.
    pub fn comment_on_line(
        &self,
        path: &str,
        iid: u64,
        by: &str,
        at: (&str, Option<u64>, Option<u64>),
        body: &str,
    ) -> Result<u64, StateError> {
        let place = {
            let world = self.world();
            let (project, merge) = world.merge(world.project(path)?.id, iid)?;
            clicked(self, project, merge, at)?
        };
        let (position, code) =
            place.ok_or_else(|| StateError::missing(format!("line {at:?} in the diff")))?;
        self.person_says(path, iid, by, body, To::Place(Box::new(position), code))
    }

    /// Answers a note and returns the answer's number.
    pub fn reply(
        &self,
        path: &str,
        iid: u64,
        to: u64,
        by: &str,
        body: &str,
    ) -> Result<u64, StateError> {
        let discussion = discussion_of(&self.world(), path, iid, to)?;
        self.person_says(path, iid, by, body, To::Reply(discussion))
    }

    fn person_says(
        &self,
        path: &str,
        iid: u64,
        by: &str,
        body: &str,
        to: To,
    ) -> Result<u64, StateError> {
        let mut world = self.world();
        let project = world.project(path)?.id;
        let new = NewNote {
            author: by.to_owned(),
            body: body.to_owned(),
            unread: false,
            to,
        };
        Ok(write(self, &mut world, (project, iid), new)?.1)
    }

    /// Comments `count` times, for floods; no webhook is delivered for these.
    pub fn flood(&self, path: &str, iid: u64, by: &str, count: usize) -> Result<(), StateError> {
        let mut world = self.world();
        world.user(by);
        let project = world.project(path)?.id;
        let now = self.now();
        for index in 0..count {
            let id = world.next_id();
            let new = NewNote {
                author: by.to_owned(),
                body: format!("comment {index}"),
                unread: false,
                to: To::Whole,
            };
            crate::gitlab::talk::add(world.merge_mut(project, iid)?, id, now, new)?;
        }
        Ok(())
    }

    /// Resolves the thread of a note.
    pub fn resolve_thread(
        &self,
        path: &str,
        iid: u64,
        note: u64,
        by: &str,
    ) -> Result<(), StateError> {
        self.set_resolved(path, iid, note, true, by)
    }

    /// Opens the thread of a note again.
    pub fn unresolve_thread(
        &self,
        path: &str,
        iid: u64,
        note: u64,
        by: &str,
    ) -> Result<(), StateError> {
        self.set_resolved(path, iid, note, false, by)
    }

    fn set_resolved(
        &self,
        path: &str,
        iid: u64,
        note: u64,
        resolved: bool,
        by: &str,
    ) -> Result<(), StateError> {
        let mut world = self.world();
        let discussion = discussion_of(&world, path, iid, note)?;
        let project = world.project(path)?.id;
        resolve(self, &mut world, (project, iid), &discussion, resolved, by)
    }

    /// Edits a note, whoever wrote it: maintainers may.
    pub fn edit_note(
        &self,
        path: &str,
        iid: u64,
        note: u64,
        by: &str,
        body: &str,
    ) -> Result<(), StateError> {
        let mut world = self.world();
        world.user(by);
        let now = self.now();
        let project = world.project(path)?.id;
        let found = world.merge_mut(project, iid)?.note_mut(note);
        let found = found.ok_or_else(|| StateError::missing(format!("note {note}")))?;
        body.clone_into(&mut found.body);
        found.updated = now;
        self.note_event(&mut world, (project, iid), note, "update", by);
        Ok(())
    }

    /// Deletes a note.
    pub fn delete_note(&self, path: &str, iid: u64, note: u64) -> Result<(), StateError> {
        let mut world = self.world();
        let project = world.project(path)?.id;
        if world.merge_mut(project, iid)?.remove_note(note) {
            Ok(())
        } else {
            Err(StateError::missing(format!("note {note}")))
        }
    }

    /// Puts an emoji on a note, as in `thumbsup`.
    pub fn award(
        &self,
        path: &str,
        iid: u64,
        note: u64,
        by: &str,
        name: &str,
    ) -> Result<(), StateError> {
        if !EMOJI.contains(&name) {
            return Err(StateError::missing(format!("emoji {name}")));
        }
        let mut world = self.world();
        world.user(by);
        let award = Award {
            id: world.next_id(),
            author: by.to_owned(),
            name: name.to_owned(),
            at: self.now(),
        };
        let project = world.project(path)?.id;
        let found = world.merge_mut(project, iid)?.note_mut(note);
        let found = found.ok_or_else(|| StateError::missing(format!("note {note}")))?;
        found.awards.push(award.clone());
        self.emoji_event(&mut world, (project, iid), (note, &award), "award");
        Ok(())
    }
}

fn discussion_of(world: &World, path: &str, iid: u64, note: u64) -> Result<String, StateError> {
    let found = world.project(path)?.note(iid, note);
    let (_, discussion, _) = found.ok_or_else(|| StateError::missing(format!("note {note}")))?;
    Ok(discussion.id.clone())
}
