//! Notes, whatever discussion they are in.

use serde_json::{Value, json};

use super::discussions::{check_quick_actions, say};
use crate::gitlab::errors::{check_body, forbidden, no_record};
use crate::gitlab::http::{Answer, Cx};
use crate::gitlab::talk::To;
use crate::gitlab::world::Access;
use crate::server::Reply;

pub(crate) fn list(cx: &mut Cx<'_>) -> Answer {
    let sort = cx.params.choice("sort", &["asc", "desc"])?;
    let order = cx
        .params
        .choice("order_by", &["created_at", "updated_at"])?
        .unwrap_or_else(|| "created_at".to_owned());
    let (show, project, merge) = (cx.show(), cx.project()?, cx.merge()?);
    let mut notes: Vec<_> = merge.discussions.iter().flat_map(|d| &d.notes).collect();
    notes.sort_by_key(|note| {
        let at = if order == "updated_at" {
            note.updated
        } else {
            note.created
        };
        (at, note.id)
    });
    if sort.as_deref() != Some("asc") {
        notes.reverse();
    }
    cx.page(notes.len(), |range| {
        let shown: Vec<Value> = notes
            .get(range)
            .unwrap_or_default()
            .iter()
            .map(|note| show.note(project, merge, note))
            .collect();
        Ok(json!(shown))
    })
}

pub(crate) fn create(cx: &mut Cx<'_>) -> Answer {
    cx.params.require(&["body"])?;
    let (_, note) = say(cx, "body", To::Whole)?;
    answer(cx, 201, note)
}

pub(crate) fn get(cx: &mut Cx<'_>) -> Answer {
    let note = cx.number(2, "note_id")?;
    answer(cx, 200, note)
}

/// Answers with a note.
pub(crate) fn answer(cx: &Cx<'_>, status: u16, note: u64) -> Answer {
    let project = cx.project()?;
    let found = project.note(cx.merge()?.iid, note);
    let (merge, _, note) = found.ok_or_else(no_record)?;
    let shown = cx.show().note(project, merge, note);
    Ok(Reply::json(status, &shown))
}

/// Checks that the caller may change a note: its author may, and maintainers.
fn check_owner(cx: &Cx<'_>, note: u64) -> Result<(), Reply> {
    let actor = cx.actor();
    let project = cx.project()?;
    let found = project.note(cx.merge()?.iid, note);
    let (_, _, note) = found.ok_or_else(no_record)?;
    if note.author == actor {
        return Ok(());
    }
    if note.system || !project.allows(&actor, Access::Maintainer) {
        return Err(forbidden());
    }
    cx.tolerated("the note is somebody else's");
    Ok(())
}

pub(crate) fn update(cx: &mut Cx<'_>) -> Answer {
    update_at(cx, 2)
}

/// Changes the text of the note that a variable of the path names.
pub(crate) fn update_at(cx: &mut Cx<'_>, variable: usize) -> Answer {
    cx.params.require(&["body"])?;
    let id = cx.number(variable, "note_id")?;
    let body = cx.params.text_or_empty("body")?;
    check_owner(cx, id)?;
    check_body(cx.version(), &body)?;
    check_quick_actions(cx, &body);
    let (now, actor, iid) = (cx.gitlab.now(), cx.actor(), cx.merge()?.iid);
    let note = cx.merge_mut()?.note_mut(id);
    let note = note.ok_or_else(no_record)?;
    note.body = body;
    note.updated = now;
    note.unread = true;
    let project = cx.project;
    cx.gitlab
        .note_event(cx.world, (project, iid), id, "update", &actor);
    answer(cx, 200, id)
}

pub(crate) fn delete(cx: &mut Cx<'_>) -> Answer {
    delete_at(cx, 2)
}

/// Deletes the note that a variable of the path names.
pub(crate) fn delete_at(cx: &mut Cx<'_>, variable: usize) -> Answer {
    let id = cx.number(variable, "note_id")?;
    check_owner(cx, id)?;
    cx.merge_mut()?.remove_note(id);
    Ok(Reply::empty(204))
}
