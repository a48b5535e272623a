//! Comments that their author publishes together, in one mail.

use serde_json::{Value, json};

use super::discussions::{check_quick_actions, code_of, read_position, refused, set_resolved};
use crate::gitlab::errors::{bad_request, check_body, message, no_record};
use crate::gitlab::http::{Answer, Cx};
use crate::gitlab::options::MisplacedDrafts;
use crate::gitlab::talk::{NewNote, To, write};
use crate::gitlab::world::Draft;
use crate::server::Reply;

/// Returns the caller's own drafts: nobody sees those of others.
fn own<'a>(cx: &'a Cx<'_>) -> Result<Vec<&'a Draft>, Reply> {
    let actor = cx.actor();
    let drafts = cx.merge()?.drafts.iter();
    Ok(drafts.filter(|draft| draft.author == actor).collect())
}

fn find(cx: &Cx<'_>) -> Result<Draft, Reply> {
    let id = cx.number(2, "draft_note_id")?;
    let found = own(cx)?.into_iter().find(|draft| draft.id == id);
    found.cloned().ok_or_else(no_record)
}

pub(crate) fn list(cx: &mut Cx<'_>) -> Answer {
    let (show, merge, drafts) = (cx.show(), cx.merge()?.id, own(cx)?);
    cx.page(drafts.len(), |range| {
        let shown: Vec<Value> = drafts
            .get(range)
            .unwrap_or_default()
            .iter()
            .map(|draft| show.draft(draft, merge))
            .collect();
        Ok(json!(shown))
    })
}

pub(crate) fn get(cx: &mut Cx<'_>) -> Answer {
    let shown = cx.show().draft(&find(cx)?, cx.merge()?.id);
    Ok(Reply::json(200, &shown))
}

pub(crate) fn create(cx: &mut Cx<'_>) -> Answer {
    cx.params.require(&["note"])?;
    let body = cx.params.text_or_empty("note")?;
    check_body(cx.version(), &body)?;
    check_quick_actions(cx, &body);
    let reply_to = cx.params.text("in_reply_to_discussion_id")?;
    if let Some(to) = &reply_to
        && cx.merge()?.discussion(to).is_none()
    {
        return Err(message(400, "Thread to reply to cannot be found"));
    }
    let position = match cx.params.group("position")? {
        None => None,
        Some(group) => Some(read_position(cx, &group)?),
    };
    // A position that is not in the diff is taken here, and shows when it is published.
    let line_code = match &position {
        None => None,
        Some(position) => code_of(cx, position)?.ok(),
    };
    let draft = Draft {
        id: cx.world.next_id(),
        author: cx.actor(),
        body,
        position,
        line_code,
        reply_to,
        resolve: cx.params.truth("resolve_discussion")?.unwrap_or_default(),
        unread: true,
    };
    let shown = cx.show().draft(&draft, cx.merge()?.id);
    cx.merge_mut()?.drafts.push(draft);
    Ok(Reply::json(201, &shown))
}

pub(crate) fn update(cx: &mut Cx<'_>) -> Answer {
    let id = find(cx)?.id;
    let body = cx.params.text_or_empty("note")?;
    if body.is_empty() {
        return Err(bad_request(cx.version(), "Missing params to modify"));
    }
    check_quick_actions(cx, &body);
    let drafts = cx.merge_mut()?.drafts.iter_mut();
    if let Some(draft) = drafts.into_iter().find(|draft| draft.id == id) {
        draft.body = body;
    }
    get(cx)
}

pub(crate) fn delete(cx: &mut Cx<'_>) -> Answer {
    let id = find(cx)?.id;
    cx.merge_mut()?.drafts.retain(|draft| draft.id != id);
    Ok(Reply::empty(204))
}

pub(crate) fn publish(cx: &mut Cx<'_>) -> Answer {
    let draft = find(cx)?;
    publish_all(cx, vec![draft])
}

pub(crate) fn bulk_publish(cx: &mut Cx<'_>) -> Answer {
    let drafts = own(cx)?.into_iter().cloned().collect();
    publish_all(cx, drafts)
}

/// Publishes drafts: all of them, or none if one stands nowhere and that is an error.
fn publish_all(cx: &mut Cx<'_>, drafts: Vec<Draft>) -> Answer {
    let misplaced = |draft: &Draft| draft.position.is_some() && draft.line_code.is_none();
    let fails = cx.gitlab.options().misplaced_drafts == MisplacedDrafts::FailPublish;
    if fails && drafts.iter().any(misplaced) {
        return Err(message(500, "500 Internal Server Error"));
    }
    let (project, iid) = (cx.project, cx.merge()?.iid);
    let before = cx.merge()?.notifications;
    let mut published = false;
    for draft in drafts {
        cx.merge_mut()?.drafts.retain(|known| known.id != draft.id);
        if misplaced(&draft) {
            continue;
        }
        let to = match (draft.reply_to, draft.position, draft.line_code) {
            (Some(to), ..) => To::Reply(to),
            (None, Some(position), Some(code)) => To::Place(Box::new(position), code),
            (None, ..) => To::Whole,
        };
        let new = NewNote {
            author: draft.author,
            body: draft.body,
            unread: true,
            to,
        };
        let (discussion, _) =
            write(cx.gitlab, cx.world, (project, iid), new).map_err(|error| refused(&error))?;
        if draft.resolve {
            set_resolved(cx, &discussion, true)?;
        }
        published = true;
    }
    let merge = cx
        .world
        .merge_mut(project, iid)
        .map_err(|_gone| no_record())?;
    // One mail for all of them.
    merge.notifications = before.saturating_add(u32::from(published));
    Ok(Reply::empty(204))
}
