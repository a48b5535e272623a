//! Reviews.
//!
//! <https://docs.github.com/rest/pulls/reviews>

use serde::Deserialize;

use super::pulls::pull;
use crate::diff::Side;
use crate::github::anchors::{Wanted, current, place};
use crate::github::errors::{DOCS_REVIEWS, basic, check_review_body, not_found, unprocessable};
use crate::github::http::{Answer, Cx};
use crate::github::talk::{NewReview, announce, review};
use crate::github::world::{Pull, Review, ReviewState};
use crate::server::Reply;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewReviewBody {
    commit_id: Option<String>,
    body: Option<String>,
    event: Option<String>,
    #[serde(default)]
    comments: Vec<DraftComment>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DraftComment {
    path: String,
    body: String,
    position: Option<u64>,
    line: Option<u64>,
    side: Option<String>,
    start_line: Option<u64>,
    start_side: Option<String>,
}

/// Reads one side; an unknown word is refused.
pub(super) fn side(word: Option<&str>) -> Result<Option<Side>, Reply> {
    match word {
        None => Ok(None),
        Some(word) => Side::parse(word).map(Some).ok_or_else(|| {
            unprocessable(&format!("{word} is not a side of the diff"), DOCS_REVIEWS)
        }),
    }
}

/// Returns the state an event leads to.
fn state(event: Option<&str>) -> Result<ReviewState, Reply> {
    match event {
        None | Some("PENDING") => Ok(ReviewState::Pending),
        Some("COMMENT") => Ok(ReviewState::Commented),
        Some("APPROVE") => Ok(ReviewState::Approved),
        Some("REQUEST_CHANGES") => Ok(ReviewState::ChangesRequested),
        Some(other) => Err(unprocessable(
            &format!(
                "Variable $event of type PullRequestReviewEvent was provided invalid value {other}"
            ),
            DOCS_REVIEWS,
        )),
    }
}

/// Checks what an event demands of its body and of who sends it.
fn check_event(state: ReviewState, body: &str, author: &str, actor: &str) -> Result<(), Reply> {
    let own = author == actor;
    match state {
        ReviewState::Approved if own => Err(unprocessable(
            "Review Can not approve your own pull request",
            DOCS_REVIEWS,
        )),
        ReviewState::ChangesRequested if own => Err(unprocessable(
            "Review Can not request changes on your own pull request",
            DOCS_REVIEWS,
        )),
        ReviewState::Commented | ReviewState::ChangesRequested if body.trim().is_empty() => {
            Err(unprocessable("Review body can't be blank", DOCS_REVIEWS))
        }
        _ => Ok(()),
    }
}

/// Creates a review: everything or nothing.
pub(crate) fn create(cx: &mut Cx<'_>) -> Answer {
    let new: NewReviewBody = cx.body()?;
    let actor = cx.actor();
    let (repo, pull) = pull(cx)?;
    let state = state(new.event.as_deref())?;
    let body = new.body.unwrap_or_default();
    check_event(state, &body, &pull.author, &actor)?;
    check_review_body(&body)?;
    for comment in &new.comments {
        check_review_body(&comment.body)?;
        if comment.body.trim().is_empty() {
            return Err(unprocessable(
                "Pull request review comment body can't be blank",
                DOCS_REVIEWS,
            ));
        }
    }
    if pull
        .reviews
        .iter()
        .any(|r| r.author == actor && r.state == ReviewState::Pending)
    {
        return Err(unprocessable(
            "User can only have one pending review per pull request",
            DOCS_REVIEWS,
        ));
    }
    let base = repo.base_sha(pull);
    let commit = new.commit_id.unwrap_or_else(|| pull.head.clone());
    let known = pull.heads.contains(&commit)
        || repo
            .git
            .log(&base, &pull.head)?
            .iter()
            .any(|c| c.sha == commit);
    if !known {
        return Err(unprocessable(
            "Commit is not part of the pull request",
            DOCS_REVIEWS,
        ));
    }
    let diff = repo.git.diff(&base, &commit)?;
    let wording = cx.github.options().wording;
    let mut comments = Vec::new();
    for comment in new.comments {
        let wanted = Wanted {
            path: comment.path.into_bytes(),
            line: comment.line,
            side: side(comment.side.as_deref())?,
            start_line: comment.start_line,
            start_side: side(comment.start_side.as_deref())?,
            position: comment.position,
        };
        let anchor = place(&diff, &wanted)
            .map_err(|refusal| unprocessable(refusal.words(wording), DOCS_REVIEWS))?;
        comments.push((anchor, comment.body));
    }
    let number = pull.number;
    let new = NewReview {
        author: actor,
        body,
        state,
        commit,
        comments,
        unread: true,
    };
    let id = review(cx.github, cx.world, cx.repo, number, new).map_err(|error| refused(&error))?;
    shown(cx, id)
}

/// An error of the state is an answer that points at the simulator.
pub(super) fn refused(error: &crate::state::StateError) -> Reply {
    basic(500, &error.to_string())
}

fn shown(cx: &Cx<'_>, id: u64) -> Answer {
    let (repo, pull) = pull(cx)?;
    let review = pull
        .reviews
        .iter()
        .find(|r| r.id == id)
        .ok_or_else(not_found)?;
    Ok(Reply::json(200, &cx.show().review(repo, pull, review)))
}

/// Returns the reviews a caller sees: pending ones are for their author only.
fn visible<'a>(pull: &'a Pull, actor: &str) -> Vec<&'a Review> {
    let mut reviews: Vec<&Review> = pull
        .reviews
        .iter()
        .filter(|r| r.state != ReviewState::Pending || r.author == actor)
        .collect();
    reviews.sort_by_key(|r| (r.submitted.is_none(), r.submitted, r.id));
    reviews
}

pub(crate) fn list(cx: &mut Cx<'_>) -> Answer {
    let cx = &*cx;
    let (repo, pull) = pull(cx)?;
    let reviews = visible(pull, &cx.actor());
    cx.page(reviews.len(), |range| {
        let shown = reviews.get(range).unwrap_or_default();
        Ok(shown
            .iter()
            .map(|review| cx.show().review(repo, pull, review))
            .collect())
    })
}

/// Finds the review the path names, if the caller sees it.
fn found<'a>(cx: &Cx<'_>, pull: &'a Pull) -> Result<&'a Review, Reply> {
    let id = cx.number(3)?;
    visible(pull, &cx.actor())
        .into_iter()
        .find(|r| r.id == id)
        .ok_or_else(not_found)
}

pub(crate) fn get(cx: &mut Cx<'_>) -> Answer {
    let (_, pull) = pull(cx)?;
    let id = found(cx, pull)?.id;
    shown(cx, id)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BodyOnly {
    body: String,
}

pub(crate) fn update(cx: &mut Cx<'_>) -> Answer {
    let BodyOnly { body } = cx.body()?;
    check_review_body(&body)?;
    if body.trim().is_empty() {
        return Err(unprocessable("Review body can't be blank", DOCS_REVIEWS));
    }
    let actor = cx.actor();
    let (_, pull) = pull(cx)?;
    let review = found(cx, pull)?;
    if review.author != actor {
        return Err(unprocessable("Could not edit this review", DOCS_REVIEWS));
    }
    let (number, id) = (pull.number, review.id);
    change(cx, number, id, |review| {
        review.unread |= review.body != body;
        review.body = body;
    })?;
    let payload = {
        let (repo, pull) = self::pull(cx)?;
        let review = pull
            .reviews
            .iter()
            .find(|r| r.id == id)
            .ok_or_else(not_found)?;
        serde_json::json!({
            "action": "edited",
            "changes": {},
            "review": cx.show().review(repo, pull, review),
            "pull_request": cx.show().pull_simple(repo, pull),
        })
    };
    cx.github
        .emit(cx.world, cx.repo, "pull_request_review", &actor, payload);
    shown(cx, id)
}

fn change(
    cx: &mut Cx<'_>,
    number: u64,
    id: u64,
    edit: impl FnOnce(&mut Review),
) -> Result<(), Reply> {
    let repo = cx.repo;
    let pull = cx
        .world
        .pull_mut(repo, number)
        .map_err(|error| refused(&error))?;
    let review = pull
        .reviews
        .iter_mut()
        .find(|r| r.id == id)
        .ok_or_else(not_found)?;
    edit(review);
    Ok(())
}

/// Deletes a review that was not submitted yet.
pub(crate) fn delete(cx: &mut Cx<'_>) -> Answer {
    let (_, pull) = pull(cx)?;
    let review = found(cx, pull)?;
    if review.state != ReviewState::Pending {
        return Err(unprocessable(
            "Can not delete a non-pending pull request review",
            DOCS_REVIEWS,
        ));
    }
    let (number, id) = (pull.number, review.id);
    let answer = shown(cx, id)?;
    let repo = cx.repo;
    let pull = cx
        .world
        .pull_mut(repo, number)
        .map_err(|error| refused(&error))?;
    pull.reviews.retain(|r| r.id != id);
    let gone: Vec<u64> = pull
        .review_comments
        .iter()
        .filter(|c| c.review == Some(id))
        .map(|c| c.thread)
        .collect();
    pull.review_comments.retain(|c| c.review != Some(id));
    pull.threads.retain(|thread| !gone.contains(&thread.id));
    Ok(answer)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Submission {
    event: String,
    body: Option<String>,
}

pub(crate) fn submit(cx: &mut Cx<'_>) -> Answer {
    let Submission { event, body } = cx.body()?;
    let actor = cx.actor();
    let (_, pull) = pull(cx)?;
    let review = found(cx, pull)?;
    if review.state != ReviewState::Pending {
        return Err(unprocessable(
            "Review has already been submitted",
            DOCS_REVIEWS,
        ));
    }
    let state = state(Some(&event))?;
    let body = body.unwrap_or_else(|| review.body.clone());
    check_event(state, &body, &pull.author, &actor)?;
    check_review_body(&body)?;
    let (number, id, now) = (pull.number, review.id, cx.github.now());
    change(cx, number, id, |review| {
        review.state = state;
        review.body = body;
        review.submitted = Some(now);
        review.unread = true;
    })?;
    announce(cx.github, cx.world, cx.repo, number, id);
    shown(cx, id)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Dismissal {
    message: String,
    #[serde(rename = "event")]
    _event: Option<String>,
}

pub(crate) fn dismiss(cx: &mut Cx<'_>) -> Answer {
    let Dismissal { message, .. } = cx.body()?;
    let (_, pull) = pull(cx)?;
    let review = found(cx, pull)?;
    let dismissible = matches!(
        review.state,
        ReviewState::Approved | ReviewState::ChangesRequested
    );
    if !dismissible || message.trim().is_empty() {
        return Err(unprocessable(
            "Can not dismiss a commented pull request review",
            DOCS_REVIEWS,
        ));
    }
    let (number, id) = (pull.number, review.id);
    change(cx, number, id, |review| {
        review.state = ReviewState::Dismissed;
    })?;
    shown(cx, id)
}

/// Lists a review's comments, in the poorer shape GitHub uses here.
pub(crate) fn comments(cx: &mut Cx<'_>) -> Answer {
    let cx = &*cx;
    let (repo, pull) = pull(cx)?;
    let id = found(cx, pull)?.id;
    let own: Vec<_> = pull
        .review_comments
        .iter()
        .filter(|c| c.review == Some(id))
        .collect();
    cx.page(own.len(), |range| {
        let mut shown = Vec::new();
        for comment in own.get(range).unwrap_or_default() {
            let place = current(repo, pull, comment)?;
            shown.push(cx.show().review_comment(repo, pull, comment, &place, true));
        }
        Ok(shown.into())
    })
}
