//! Comments on the diff.
//!
//! <https://docs.github.com/rest/pulls/comments>

use chrono::DateTime;
use serde::Deserialize;
use serde_json::json;

use super::issues::check_reaction;
use super::pulls::pull;
use super::reviews::{refused, side};
use crate::github::anchors::{Refusal, Wanted, current, place, place_on_file};
use crate::github::errors::{
    DOCS_REVIEW_COMMENT, basic, check_body, invalid, invalid_field, not_found,
};
use crate::github::http::{Answer, Cx};
use crate::github::render::Show;
use crate::github::talk::{self, NewReview, react as add_reaction, review_comment_event};
use crate::github::world::{ReviewComment, ReviewState};
use crate::server::Reply;

pub(crate) fn list(cx: &mut Cx<'_>) -> Answer {
    let cx = &*cx;
    let (repo, pull) = pull(cx)?;
    let since = cx
        .request
        .param("since")
        .and_then(|s| DateTime::parse_from_rfc3339(&s).ok());
    let mut all: Vec<&ReviewComment> = pull
        .review_comments
        .iter()
        .filter(|c| Show::published(pull, c.review))
        .filter(|c| since.is_none_or(|since| c.updated >= since))
        .collect();
    match cx.request.param("sort").as_deref() {
        Some("updated") => all.sort_by_key(|c| (c.updated, c.id)),
        _ => all.sort_by_key(|c| (c.created, c.id)),
    }
    // Without a sort order the direction counts for nothing.
    let sorted = cx.request.param("sort").is_some();
    if sorted && cx.request.param("direction").as_deref() != Some("asc") {
        all.reverse();
    }
    cx.page(all.len(), |range| {
        let mut shown = Vec::new();
        for comment in all.get(range).unwrap_or_default() {
            let place = current(repo, pull, comment)?;
            shown.push(cx.show().review_comment(repo, pull, comment, &place, false));
        }
        Ok(shown.into())
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewComment {
    body: String,
    commit_id: Option<String>,
    path: Option<String>,
    position: Option<u64>,
    line: Option<u64>,
    side: Option<String>,
    start_line: Option<u64>,
    start_side: Option<String>,
    subject_type: Option<String>,
    in_reply_to: Option<u64>,
}

pub(crate) fn create(cx: &mut Cx<'_>) -> Answer {
    let new: NewComment = cx.body()?;
    let resource = "PullRequestReviewComment";
    check_body(resource, &new.body, DOCS_REVIEW_COMMENT)?;
    if new.body.trim().is_empty() {
        return Err(invalid_field(
            resource,
            "body",
            "missing_field",
            DOCS_REVIEW_COMMENT,
        ));
    }
    let actor = cx.actor();
    let (repo, pull) = pull(cx)?;
    if let Some(parent) = new.in_reply_to {
        let known = pull.review_comments.iter().any(|c| c.id == parent);
        if !known {
            return Err(invalid_field(
                resource,
                "in_reply_to",
                "invalid",
                DOCS_REVIEW_COMMENT,
            ));
        }
        let id = talk::reply(
            cx.github, cx.world, cx.repo, parent, &actor, &new.body, true,
        )
        .map_err(|error| refused(&error))?;
        return shown(cx, id, 201);
    }
    let missing =
        |field: &str| invalid_field(resource, field, "missing_field", DOCS_REVIEW_COMMENT);
    let commit = new.commit_id.ok_or_else(|| missing("commit_id"))?;
    let path = new.path.ok_or_else(|| missing("path"))?;
    let base = repo.base_sha(pull);
    let known = pull.heads.contains(&commit)
        || repo
            .git
            .log(&base, &pull.head)?
            .iter()
            .any(|c| c.sha == commit);
    if !known {
        return Err(invalid_field(
            resource,
            "commit_id",
            "invalid",
            DOCS_REVIEW_COMMENT,
        ));
    }
    let diff = repo.git.diff(&base, &commit)?;
    let anchor = if new.subject_type.as_deref() == Some("file") {
        place_on_file(&diff, path.as_bytes())
    } else {
        let wanted = Wanted {
            path: path.into_bytes(),
            line: new.line,
            side: side(new.side.as_deref())?,
            start_line: new.start_line,
            start_side: side(new.start_side.as_deref())?,
            position: new.position,
        };
        place(&diff, &wanted)
    };
    let anchor = anchor.map_err(|refusal| {
        let (field, why) = match refusal {
            Refusal::Path => ("path", "is invalid"),
            Refusal::Line | Refusal::LineAndStart => ("line", "must be part of the diff"),
            Refusal::Position => ("position", "is invalid"),
            Refusal::Start => ("start_line", "must be part of the same hunk as the line."),
            Refusal::StartNotBeforeEnd => ("start_line", "must precede the end line."),
        };
        let field = format!("pull_request_review_thread.{field}");
        let message = format!("{field} {why}");
        invalid(
            &json!({
                "resource": resource, "code": "custom", "field": field, "message": message,
            }),
            DOCS_REVIEW_COMMENT,
        )
    })?;
    let number = pull.number;
    let new = NewReview {
        author: actor,
        body: String::new(),
        state: ReviewState::Commented,
        commit,
        comments: vec![(anchor, new.body)],
        // The comment is what a test has to read, not the empty review around it.
        unread: true,
    };
    let review =
        talk::review(cx.github, cx.world, cx.repo, number, new).map_err(|error| refused(&error))?;
    let repo_id = cx.repo;
    let pull = cx
        .world
        .pull_mut(repo_id, number)
        .map_err(|error| refused(&error))?;
    if let Some(review) = pull.reviews.iter_mut().find(|r| r.id == review) {
        review.unread = false;
    }
    let id = pull
        .review_comments
        .iter()
        .find(|c| c.review == Some(review))
        .map(|c| c.id);
    shown(cx, id.ok_or_else(not_found)?, 201)
}

fn shown(cx: &Cx<'_>, id: u64, status: u16) -> Answer {
    let repo = cx.repo()?;
    let (pull, comment) = repo.review_comment(id).ok_or_else(not_found)?;
    let place = current(repo, pull, comment)?;
    Ok(Reply::json(
        status,
        &cx.show().review_comment(repo, pull, comment, &place, false),
    ))
}

pub(crate) fn get(cx: &mut Cx<'_>) -> Answer {
    shown(cx, cx.number(2)?, 200)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    body: String,
}

pub(crate) fn update(cx: &mut Cx<'_>) -> Answer {
    let Edit { body } = cx.body()?;
    check_body("PullRequestReviewComment", &body, DOCS_REVIEW_COMMENT)?;
    let (id, actor, now) = (cx.number(2)?, cx.actor(), cx.github.now());
    own(cx, id, &actor)?;
    let comment = cx
        .repo_mut()?
        .review_comment_mut(id)
        .ok_or_else(not_found)?;
    let before = std::mem::replace(&mut comment.body, body);
    comment.unread |= before != comment.body;
    comment.updated = now;
    let more = json!({ "changes": { "body": { "from": before } } });
    review_comment_event(cx.github, cx.world, cx.repo, id, "edited", &actor, more);
    shown(cx, id, 200)
}

/// An App edits and deletes its own comments only.
fn own(cx: &Cx<'_>, id: u64, actor: &str) -> Result<(), Reply> {
    let (_, comment) = cx.repo()?.review_comment(id).ok_or_else(not_found)?;
    if comment.author == actor {
        return Ok(());
    }
    Err(basic(403, "Resource not accessible by integration"))
}

pub(crate) fn delete(cx: &mut Cx<'_>) -> Answer {
    let (id, actor) = (cx.number(2)?, cx.actor());
    own(cx, id, &actor)?;
    review_comment_event(
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

pub(crate) fn react(cx: &mut Cx<'_>) -> Answer {
    let (id, actor, now) = (cx.number(2)?, cx.actor(), cx.github.now());
    let content = check_reaction(cx)?;
    let new_id = cx.world.next_id();
    let comment = cx
        .repo_mut()?
        .review_comment_mut(id)
        .ok_or_else(not_found)?;
    let (reaction, new) = add_reaction(&mut comment.reactions, new_id, &actor, &content, now);
    Ok(Reply::json(
        if new { 201 } else { 200 },
        &cx.show().reaction(&reaction),
    ))
}
