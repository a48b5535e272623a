//! Emoji on notes and on merge requests.

use serde_json::{Value, json};

use crate::gitlab::errors::{forbidden, no_record, not_found};
use crate::gitlab::http::{Answer, Cx};
use crate::gitlab::world::Award;
use crate::server::Reply;

/// The names that are simulated; GitLab has some thousand.
pub(crate) const EMOJI: [&str; 10] = [
    "thumbsup",
    "thumbsdown",
    "eyes",
    "white_check_mark",
    "x",
    "rocket",
    "heart",
    "confused",
    "tada",
    "hourglass",
];

/// Reads the name, which must be one and not be there from the same user.
fn read_name(cx: &Cx<'_>, awards: &[Award]) -> Result<String, Reply> {
    cx.params.require(&["name"])?;
    let name = cx.params.text_or_empty("name")?;
    if !EMOJI.contains(&name.as_str()) {
        return Err(not_found("Award Emoji Name is not a valid emoji name"));
    }
    let actor = cx.actor();
    if awards.iter().any(|a| a.author == actor && a.name == name) {
        return Err(not_found("Award Emoji Name has already been taken"));
    }
    Ok(name)
}

fn new_award(cx: &mut Cx<'_>, name: String) -> Award {
    Award {
        id: cx.world.next_id(),
        author: cx.actor(),
        name,
        at: cx.gitlab.now(),
    }
}

fn page_of(cx: &Cx<'_>, awards: &[Award], on: (&str, u64)) -> Answer {
    let show = cx.show();
    cx.page(awards.len(), |range| {
        let awards = awards.get(range).unwrap_or_default();
        let shown: Vec<Value> = awards.iter().map(|award| show.award(award, on)).collect();
        Ok(json!(shown))
    })
}

pub(crate) fn list_on_merge(cx: &mut Cx<'_>) -> Answer {
    let merge = cx.merge()?;
    page_of(cx, &merge.awards, ("MergeRequest", merge.id))
}

pub(crate) fn award_merge(cx: &mut Cx<'_>) -> Answer {
    let name = read_name(cx, &cx.merge()?.awards)?;
    let award = new_award(cx, name);
    let shown = cx.show().award(&award, ("MergeRequest", cx.merge()?.id));
    cx.merge_mut()?.awards.push(award);
    Ok(Reply::json(201, &shown))
}

/// Returns the emoji of the note that the path names.
fn of_note(cx: &Cx<'_>) -> Result<(u64, Vec<Award>), Reply> {
    let id = cx.number(2, "note_id")?;
    let found = cx.project()?.note(cx.merge()?.iid, id);
    let (_, _, note) = found.ok_or_else(no_record)?;
    Ok((id, note.awards.clone()))
}

pub(crate) fn list_on_note(cx: &mut Cx<'_>) -> Answer {
    let (note, awards) = of_note(cx)?;
    page_of(cx, &awards, ("Note", note))
}

pub(crate) fn award_note(cx: &mut Cx<'_>) -> Answer {
    let (note, awards) = of_note(cx)?;
    let name = read_name(cx, &awards)?;
    let award = new_award(cx, name);
    let shown = cx.show().award(&award, ("Note", note));
    let (project, iid) = (cx.project, cx.merge()?.iid);
    if let Some(note) = cx.merge_mut()?.note_mut(note) {
        note.awards.push(award.clone());
    }
    cx.gitlab
        .emoji_event(cx.world, (project, iid), (note, &award), "award");
    Ok(Reply::json(201, &shown))
}

pub(crate) fn revoke_from_note(cx: &mut Cx<'_>) -> Answer {
    let (note, awards) = of_note(cx)?;
    let id = cx.number(3, "award_id")?;
    let award = awards.into_iter().find(|award| award.id == id);
    let award = award.ok_or_else(no_record)?;
    if award.author != cx.actor() {
        return Err(forbidden());
    }
    let (project, iid) = (cx.project, cx.merge()?.iid);
    if let Some(note) = cx.merge_mut()?.note_mut(note) {
        note.awards.retain(|award| award.id != id);
    }
    cx.gitlab
        .emoji_event(cx.world, (project, iid), (note, &award), "revoke");
    Ok(Reply::empty(204))
}
