//! Notes and discussions.

use serde_json::{Value, json};

use super::{Show, maybe_time, time};
use crate::gitlab::positions::Position;
use crate::gitlab::world::{Discussion, Merge, Note, Project};

impl Show<'_> {
    /// Returns a note.
    pub(crate) fn note(&self, project: &Project, merge: &Merge, note: &Note) -> Value {
        let mut shown = json!({
            "id": note.id,
            "type": note.kind.as_str(),
            "body": note.body,
            "attachment": null,
            "author": self.user(&note.author),
            "created_at": time(note.created),
            "updated_at": time(note.updated),
            "system": note.system,
            "noteable_id": merge.id,
            "noteable_type": "MergeRequest",
            "noteable_iid": merge.iid,
            "project_id": project.id,
            "commit_id": null,
            "resolvable": note.is_resolvable(),
        });
        if let Some(fields) = shown.as_object_mut() {
            if let Some(position) = &note.position {
                fields.insert("position".to_owned(), position.shown());
            }
            if note.is_resolvable() {
                let by = note.resolved.as_ref();
                fields.insert("resolved".to_owned(), json!(by.is_some()));
                let who = by.map_or(Value::Null, |(who, _)| self.user(who));
                fields.insert("resolved_by".to_owned(), who);
                fields.insert("resolved_at".to_owned(), maybe_time(by.map(|(_, at)| *at)));
            }
        }
        shown
    }

    /// Returns a discussion.
    pub(crate) fn discussion(
        &self,
        project: &Project,
        merge: &Merge,
        discussion: &Discussion,
    ) -> Value {
        let notes: Vec<Value> = discussion
            .notes
            .iter()
            .map(|note| self.note(project, merge, note))
            .collect();
        json!({
            "id": discussion.id,
            "individual_note": discussion.individual,
            "notes": notes,
        })
    }

    /// Returns a note as webhooks show it.
    pub(crate) fn note_attributes(
        &self,
        project: &Project,
        merge: &Merge,
        discussion: &Discussion,
        note: &Note,
    ) -> Value {
        json!({
            "id": note.id,
            "note": note.body,
            "noteable_type": "MergeRequest",
            "noteable_id": merge.id,
            "author_id": self.world.users.get(&note.author).map(|user| user.id),
            "discussion_id": discussion.id,
            "project_id": project.id,
            "system": note.system,
            "type": note.kind.as_str(),
            "position": note.position.as_ref().map(Position::shown),
            "original_position": note.original.as_ref().map(Position::shown),
            "line_code": note.line_code,
            "commit_id": null,
            "resolved_at": note.resolved.as_ref().map(|(_, at)| self.hook_time(*at)),
            "created_at": self.hook_time(note.created),
            "updated_at": self.hook_time(note.updated),
            "url": format!("{}#note_{}", self.merge_page(project, merge), note.id),
        })
    }
}
