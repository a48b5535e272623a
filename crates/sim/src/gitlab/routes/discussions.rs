//! Discussions: threads on the whole or on a place of the diff, answers, and their resolving.

use serde_json::{Value, json};

use crate::gitlab::errors::{check_body, forbidden, grape, invalid_note, not_found};
use crate::gitlab::http::{Answer, Cx};
use crate::gitlab::params::Params;
use crate::gitlab::positions::{Position, check_range, place};
use crate::gitlab::routes::notes;
use crate::gitlab::talk::{NewNote, To, quick_action, resolve as resolve_thread, write};
use crate::gitlab::versions::GitlabFeature;
use crate::gitlab::world::{Access, Note};
use crate::server::Reply;
use crate::state::StateError;

/// The parameters of a position.
const POSITION: [&str; 13] = [
    "base_sha",
    "start_sha",
    "head_sha",
    "position_type",
    "new_path",
    "new_line",
    "old_path",
    "old_line",
    "width",
    "height",
    "x",
    "y",
    "line_range",
];

pub(crate) fn list(cx: &mut Cx<'_>) -> Answer {
    let (show, project, merge) = (cx.show(), cx.project()?, cx.merge()?);
    cx.page(merge.discussions.len(), |range| {
        let shown: Vec<Value> = merge
            .discussions
            .get(range)
            .unwrap_or_default()
            .iter()
            .map(|discussion| show.discussion(project, merge, discussion))
            .collect();
        Ok(json!(shown))
    })
}

pub(crate) fn get(cx: &mut Cx<'_>) -> Answer {
    let shown = shown(cx, cx.var(2))?;
    Ok(Reply::json(200, &shown))
}

fn shown(cx: &Cx<'_>, id: &str) -> Result<Value, Reply> {
    let (project, merge) = (cx.project()?, cx.merge()?);
    let found = merge.discussion(id);
    let found = found.ok_or_else(|| not_found("Discussion"))?;
    Ok(cx.show().discussion(project, merge, found))
}

pub(crate) fn create(cx: &mut Cx<'_>) -> Answer {
    cx.params.require(&["body"])?;
    let to = match cx.params.group("position")? {
        None => To::Thread,
        Some(group) => {
            let position = read_position(cx, &group)?;
            let code =
                code_of(cx, &position)?.map_err(|wrong| invalid_note(cx.version(), &wrong))?;
            To::Place(Box::new(position), code)
        }
    };
    let (discussion, _) = say(cx, "body", to)?;
    let shown = shown(cx, &discussion)?;
    Ok(Reply::json(201, &shown))
}

pub(crate) fn reply(cx: &mut Cx<'_>) -> Answer {
    cx.params.require(&["body"])?;
    let discussion = cx.var(2).to_owned();
    let system = {
        let found = cx.merge()?.discussion(&discussion);
        let found = found.ok_or_else(|| not_found("Discussion"))?;
        found.notes.iter().any(|note| note.system)
    };
    if system {
        let what = "Discussion can not be replied to.";
        return Err(crate::gitlab::errors::bad_request(cx.version(), what));
    }
    let (_, note) = say(cx, "body", To::Reply(discussion))?;
    notes::answer(cx, 201, note)
}

/// Writes a note whose text is in a parameter; returns its discussion and number.
pub(crate) fn say(cx: &mut Cx<'_>, text: &str, to: To) -> Result<(String, u64), Reply> {
    let limit = cx.gitlab.options().limits.notes_per_minute;
    cx.gitlab.charge_action(&cx.caller, "notes", limit)?;
    let body = cx.params.text_or_empty(text)?;
    check_body(cx.version(), &body)?;
    check_quick_actions(cx, &body);
    let iid = cx.merge()?.iid;
    let new = NewNote {
        author: cx.actor(),
        body,
        unread: true,
        to,
    };
    let project = cx.project;
    write(cx.gitlab, cx.world, (project, iid), new).map_err(|error| refused(&error))
}

/// Records a text that GitLab would read as a command to it.
pub(crate) fn check_quick_actions(cx: &Cx<'_>, body: &str) {
    if let Some(line) = quick_action(body) {
        cx.tolerated(&format!("the note gives GitLab a command: {line}"));
    }
}

/// The answer to a step that the state does not allow.
pub(crate) fn refused(error: &StateError) -> Reply {
    crate::gitlab::errors::message(500, &format!("500 Internal Server Error: {error}"))
}

/// Reads a position as the parameters of this version have it.
pub(crate) fn read_position(cx: &Cx<'_>, group: &Params) -> Result<Position, Reply> {
    group.require(&["base_sha", "start_sha", "head_sha", "position_type"])?;
    let kinds: &[&str] = if cx.has(GitlabFeature::FilePositions) {
        &["text", "image", "file"]
    } else {
        &["text", "image"]
    };
    let kind = group.choice("position_type", kinds)?.unwrap_or_default();
    let unknown = group.unknown(&POSITION);
    if !unknown.is_empty() {
        cx.tolerated(&format!("{} is no parameter", unknown.join(", ")));
    }
    Ok(Position {
        kind,
        base: group.text_or_empty("base_sha")?,
        start: group.text_or_empty("start_sha")?,
        head: group.text_or_empty("head_sha")?,
        old_path: group.text("old_path")?,
        new_path: group.text("new_path")?,
        old_line: group.number("old_line")?,
        new_line: group.number("new_line")?,
        line_range: read_range(cx, group)?,
    })
}

/// Reads the range of lines, which has had two shapes, and none before.
fn read_range(cx: &Cx<'_>, group: &Params) -> Result<Option<Value>, Reply> {
    let Some(range) = group.group("line_range")? else {
        return Ok(None);
    };
    if cx.has(GitlabFeature::EarlyLineRange) {
        let wanted = ["start_line_code", "end_line_code"];
        let invalid: Vec<String> = wanted
            .iter()
            .filter(|name| !range.has(name))
            .map(|name| format!("{} is invalid", range.full(name)))
            .collect();
        if !invalid.is_empty() {
            return Err(grape(400, &invalid.join(", ")));
        }
        return Ok(None);
    }
    if !cx.has(GitlabFeature::LineRange) {
        cx.tolerated("line_range is ignored by this version");
        return Ok(None);
    }
    let end = |name: &str| -> Result<Value, Reply> {
        let Some(end) = range.group(name)? else {
            return Ok(Value::Null);
        };
        Ok(json!({
            "line_code": end.text("line_code")?,
            "type": end.text("type")?,
            "old_line": end.number("old_line")?,
            "new_line": end.number("new_line")?,
        }))
    };
    Ok(Some(json!({ "start": end("start")?, "end": end("end")? })))
}

/// Finds the line code of a position, or what is wrong with it.
pub(crate) fn code_of(
    cx: &Cx<'_>,
    position: &Position,
) -> Result<Result<String, crate::gitlab::positions::Wrong>, Reply> {
    let (project, merge) = (cx.project()?, cx.merge()?);
    let limit = cx.gitlab.options().limits.max_patch_bytes;
    let found = place(project, merge, position, limit)?;
    if let Ok(code) = &found
        && let Some(what) = check_range(project, position, code)?
    {
        cx.tolerated(&what);
    }
    Ok(found)
}

pub(crate) fn resolve(cx: &mut Cx<'_>) -> Answer {
    cx.params.require(&["resolved"])?;
    let resolved = cx.params.truth("resolved")?.unwrap_or_default();
    let discussion = cx.var(2).to_owned();
    set_resolved(cx, &discussion, resolved)?;
    let shown = shown(cx, &discussion)?;
    Ok(Reply::json(200, &shown))
}

/// Resolves a discussion, as developers may and whoever opened the merge request.
pub(crate) fn set_resolved(cx: &mut Cx<'_>, discussion: &str, resolved: bool) -> Result<(), Reply> {
    let actor = cx.actor();
    let iid = {
        let (project, merge) = (cx.project()?, cx.merge()?);
        let found = merge.discussion(discussion);
        let found = found.ok_or_else(|| not_found("Discussion"))?;
        if !project.allows(&actor, Access::Developer) && merge.author != actor {
            return Err(forbidden());
        }
        if !found.notes.iter().any(Note::is_resolvable) {
            return Err(forbidden());
        }
        merge.iid
    };
    let project = cx.project;
    let at = (project, iid);
    resolve_thread(cx.gitlab, cx.world, at, discussion, resolved, &actor)
        .map_err(|error| refused(&error))
}

pub(crate) fn update_note(cx: &mut Cx<'_>) -> Answer {
    match (cx.params.has("body"), cx.params.has("resolved")) {
        (true, true) => Err(grape(400, "body, resolved are mutually exclusive")),
        (false, false) => Err(grape(
            400,
            "body, resolved are missing, exactly one parameter must be provided",
        )),
        (true, false) => notes::update_at(cx, 3),
        (false, true) => {
            let discussion = cx.var(2).to_owned();
            let resolved = cx.params.truth("resolved")?.unwrap_or_default();
            let note = cx.number(3, "note_id")?;
            set_resolved(cx, &discussion, resolved)?;
            notes::answer(cx, 200, note)
        }
    }
}

pub(crate) fn delete_note(cx: &mut Cx<'_>) -> Answer {
    notes::delete_at(cx, 3)
}
