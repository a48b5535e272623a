//! Comments on pull requests as a whole, and reactions.
//!
//! <https://docs.github.com/rest/issues/comments>

use chrono::DateTime;
use serde::Deserialize;
use serde_json::json;

use super::reviews::refused;
use crate::github::errors::{
    DOCS, DOCS_ISSUE_COMMENT, basic, check_body, invalid_field, not_found,
};
use crate::github::http::{Answer, Cx};
use crate::github::talk::{issue_comment, issue_comment_event, react as add_reaction};
use crate::github::world::IssueComment;
use crate::server::Reply;

/// The contents a reaction can have.
pub(crate) const REACTIONS: [&str; 8] = [
    "+1", "-1", "laugh", "confused", "heart", "hooray", "eyes", "rocket",
];

pub(crate) fn list(cx: &mut Cx<'_>) -> Answer {
    let cx = &*cx;
    let number = cx.number(2)?;
    let repo = cx.repo()?;
    let pull = repo.pulls.get(&number).ok_or_else(not_found)?;
    let since = cx
        .request
        .param("since")
        .and_then(|s| DateTime::parse_from_rfc3339(&s).ok());
    let all: Vec<&IssueComment> = pull
        .comments
        .iter()
        .filter(|c| since.is_none_or(|since| c.updated >= since))
        .collect();
    cx.page(all.len(), |range| {
        let shown = all.get(range).unwrap_or_default();
        Ok(shown
            .iter()
            .map(|c| cx.show().issue_comment(repo, pull, c))
            .collect())
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BodyOnly {
    body: String,
}

fn body_of(cx: &Cx<'_>) -> Result<String, Reply> {
    let BodyOnly { body } = cx.body()?;
    check_body("IssueComment", &body, DOCS_ISSUE_COMMENT)?;
    if body.trim().is_empty() {
        return Err(invalid_field(
            "IssueComment",
            "body",
            "missing_field",
            DOCS_ISSUE_COMMENT,
        ));
    }
    Ok(body)
}

pub(crate) fn create(cx: &mut Cx<'_>) -> Answer {
    let body = body_of(cx)?;
    let (number, actor) = (cx.number(2)?, cx.actor());
    let pull = cx.repo()?.pulls.get(&number).ok_or_else(not_found)?;
    let outsider = cx.world.association(cx.repo()?, &actor) == "FIRST_TIME_CONTRIBUTOR";
    if pull.locked && outsider {
        return Err(basic(
            403,
            "Unable to create comment because issue is locked.",
        ));
    }
    let id = issue_comment(cx.github, cx.world, cx.repo, number, &actor, &body, true)
        .map_err(|error| refused(&error))?;
    shown(cx, id, 201)
}

fn shown(cx: &Cx<'_>, id: u64, status: u16) -> Answer {
    let repo = cx.repo()?;
    let (pull, comment) = repo.issue_comment(id).ok_or_else(not_found)?;
    Ok(Reply::json(
        status,
        &cx.show().issue_comment(repo, pull, comment),
    ))
}

pub(crate) fn get(cx: &mut Cx<'_>) -> Answer {
    shown(cx, cx.number(2)?, 200)
}

fn own(cx: &Cx<'_>, id: u64, actor: &str) -> Result<(), Reply> {
    let (_, comment) = cx.repo()?.issue_comment(id).ok_or_else(not_found)?;
    if comment.author == actor {
        return Ok(());
    }
    Err(basic(403, "Resource not accessible by integration"))
}

pub(crate) fn update(cx: &mut Cx<'_>) -> Answer {
    let body = body_of(cx)?;
    let (id, actor, now) = (cx.number(2)?, cx.actor(), cx.github.now());
    own(cx, id, &actor)?;
    let comment = cx.repo_mut()?.issue_comment_mut(id).ok_or_else(not_found)?;
    let before = std::mem::replace(&mut comment.body, body);
    comment.unread |= before != comment.body;
    comment.updated = now;
    let more = json!({ "changes": { "body": { "from": before } } });
    issue_comment_event(cx.github, cx.world, cx.repo, id, "edited", &actor, more);
    shown(cx, id, 200)
}

pub(crate) fn delete(cx: &mut Cx<'_>) -> Answer {
    let (id, actor) = (cx.number(2)?, cx.actor());
    own(cx, id, &actor)?;
    issue_comment_event(
        cx.github,
        cx.world,
        cx.repo,
        id,
        "deleted",
        &actor,
        json!({}),
    );
    cx.repo_mut()?.remove_comment(id);
    Ok(Reply::empty(204))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewReaction {
    content: String,
}

/// Reads the wanted reaction.
pub(super) fn check_reaction(cx: &Cx<'_>) -> Result<String, Reply> {
    let NewReaction { content } = cx.body()?;
    if REACTIONS.contains(&content.as_str()) {
        return Ok(content);
    }
    Err(invalid_field("Reaction", "content", "invalid", DOCS))
}

pub(crate) fn react(cx: &mut Cx<'_>) -> Answer {
    let (id, actor, now) = (cx.number(2)?, cx.actor(), cx.github.now());
    let content = check_reaction(cx)?;
    let new_id = cx.world.next_id();
    let comment = cx.repo_mut()?.issue_comment_mut(id).ok_or_else(not_found)?;
    let (reaction, new) = add_reaction(&mut comment.reactions, new_id, &actor, &content, now);
    Ok(Reply::json(
        if new { 201 } else { 200 },
        &cx.show().reaction(&reaction),
    ))
}
