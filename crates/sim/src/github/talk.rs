//! What is said on pull requests, whoever says it: through the API or by a person.

use serde_json::{Value, json};

use super::Github;
use super::anchors::current;
use super::render::{merged, node_id};
use super::world::{
    Anchor, IssueComment, Reaction, Review, ReviewComment, ReviewState, Thread, World,
};
use crate::state::StateError;

/// A review to be written.
#[derive(Debug, Clone)]
pub(crate) struct NewReview {
    pub(crate) author: String,
    pub(crate) body: String,
    pub(crate) state: ReviewState,
    pub(crate) commit: String,
    /// Where each comment stands, and what it says.
    pub(crate) comments: Vec<(Anchor, String)>,
    /// Whether a test has to read it.
    pub(crate) unread: bool,
}

/// Writes a review with its comments and threads, and returns its number.
pub(crate) fn review(
    github: &Github,
    world: &mut World,
    repo: u64,
    number: u64,
    new: NewReview,
) -> Result<u64, StateError> {
    world.account(&new.author);
    let now = github.now();
    let base = {
        let repo = world
            .repos
            .get(&repo)
            .ok_or_else(|| StateError::missing("repository"))?;
        let pull = repo
            .pulls
            .get(&number)
            .ok_or_else(|| StateError::missing("pull request"))?;
        repo.base_sha(pull)
    };
    let id = world.next_id();
    let mut comments = Vec::new();
    for (anchor, body) in new.comments {
        let (comment, thread) = (world.next_id(), world.next_id());
        comments.push(ReviewComment {
            id: comment,
            review: Some(id),
            thread,
            in_reply_to: None,
            author: new.author.clone(),
            body,
            anchor,
            commit: new.commit.clone(),
            base: base.clone(),
            created: now,
            updated: now,
            minimized: None,
            reactions: Vec::new(),
            unread: new.unread,
        });
    }
    let pull = world.pull_mut(repo, number)?;
    pull.updated = now;
    pull.threads.extend(comments.iter().map(|c| Thread {
        id: c.thread,
        resolved_by: None,
    }));
    pull.review_comments.extend(comments);
    let pending = new.state == ReviewState::Pending;
    pull.reviews.push(Review {
        id,
        author: new.author,
        body: new.body,
        state: new.state,
        commit: new.commit,
        submitted: (!pending).then_some(now),
        minimized: None,
        unread: new.unread,
    });
    if !pending {
        announce(github, world, repo, number, id);
    }
    Ok(id)
}

/// Delivers that a review was submitted, and each of its comments.
pub(crate) fn announce(github: &Github, world: &mut World, repo: u64, number: u64, review: u64) {
    let Some((sender, payload, comments)) = (|| {
        let show = github.show(world);
        let repo = world.repos.get(&repo)?;
        let pull = repo.pulls.get(&number)?;
        let found = pull.reviews.iter().find(|r| r.id == review)?;
        let mut shown = show.review(repo, pull, found);
        // Webhooks write the state in small letters.
        if let Some(shown) = shown.as_object_mut() {
            shown.insert(
                "state".to_owned(),
                json!(found.state.as_str().to_lowercase()),
            );
        }
        let payload = json!({
            "action": "submitted",
            "review": shown,
            "pull_request": show.pull_simple(repo, pull),
        });
        let comments: Vec<u64> = pull
            .review_comments
            .iter()
            .filter(|c| c.review == Some(review))
            .map(|c| c.id)
            .collect();
        Some((found.author.clone(), payload, comments))
    })() else {
        return;
    };
    github.emit(world, repo, "pull_request_review", &sender, payload);
    for comment in comments {
        review_comment_event(github, world, repo, comment, "created", &sender, json!({}));
    }
}

/// Delivers an event of a comment on the diff.
pub(crate) fn review_comment_event(
    github: &Github,
    world: &mut World,
    repo: u64,
    comment: u64,
    action: &str,
    sender: &str,
    more: Value,
) {
    let payload = (|| {
        let show = github.show(world);
        let repo = world.repos.get(&repo)?;
        let (pull, found) = repo.review_comment(comment)?;
        let place = current(repo, pull, found).ok()?;
        Some(json!({
            "action": action,
            "comment": show.review_comment(repo, pull, found, &place, false),
            "pull_request": show.pull_simple(repo, pull),
        }))
    })();
    if let Some(payload) = payload {
        let payload = merged(payload, more);
        github.emit(world, repo, "pull_request_review_comment", sender, payload);
    }
}

/// Answers in a thread, which makes a small review of its own, and returns the comment's number.
pub(crate) fn reply(
    github: &Github,
    world: &mut World,
    repo: u64,
    to: u64,
    author: &str,
    body: &str,
    unread: bool,
) -> Result<u64, StateError> {
    world.account(author);
    let now = github.now();
    let (number, parent) = {
        let repo = world
            .repos
            .get(&repo)
            .ok_or_else(|| StateError::missing("repository"))?;
        let (pull, parent) = repo
            .review_comment(to)
            .ok_or_else(|| StateError::missing(format!("review comment {to}")))?;
        (pull.number, parent.clone())
    };
    let (id, review) = (world.next_id(), world.next_id());
    let pull = world.pull_mut(repo, number)?;
    pull.updated = now;
    pull.reviews.push(Review {
        id: review,
        author: author.to_owned(),
        body: String::new(),
        state: ReviewState::Commented,
        commit: pull.head.clone(),
        submitted: Some(now),
        minimized: None,
        unread: false,
    });
    pull.review_comments.push(ReviewComment {
        id,
        review: Some(review),
        // An answer to an answer belongs to the first comment of the thread.
        in_reply_to: Some(parent.in_reply_to.unwrap_or(parent.id)),
        author: author.to_owned(),
        body: body.to_owned(),
        created: now,
        updated: now,
        minimized: None,
        reactions: Vec::new(),
        unread,
        ..parent
    });
    announce(github, world, repo, number, review);
    Ok(id)
}

/// Comments on a pull request as a whole and returns the comment's number.
pub(crate) fn issue_comment(
    github: &Github,
    world: &mut World,
    repo: u64,
    number: u64,
    author: &str,
    body: &str,
    unread: bool,
) -> Result<u64, StateError> {
    world.account(author);
    let now = github.now();
    let id = world.next_id();
    let pull = world.pull_mut(repo, number)?;
    pull.updated = now;
    pull.comments.push(IssueComment {
        id,
        author: author.to_owned(),
        body: body.to_owned(),
        created: now,
        updated: now,
        by_app: author == github.bot(),
        minimized: None,
        reactions: Vec::new(),
        unread,
    });
    issue_comment_event(github, world, repo, id, "created", author, json!({}));
    Ok(id)
}

/// Delivers an event of a comment on the pull request as a whole.
pub(crate) fn issue_comment_event(
    github: &Github,
    world: &mut World,
    repo: u64,
    comment: u64,
    action: &str,
    sender: &str,
    more: Value,
) {
    let payload = (|| {
        let show = github.show(world);
        let repo = world.repos.get(&repo)?;
        let (pull, found) = repo.issue_comment(comment)?;
        Some(json!({
            "action": action,
            "issue": show.issue(repo, pull),
            "comment": show.issue_comment(repo, pull, found),
        }))
    })();
    if let Some(payload) = payload {
        github.emit(world, repo, "issue_comment", sender, merged(payload, more));
    }
}

/// Adds a reaction; returns it and whether it is new.
pub(crate) fn react(
    reactions: &mut Vec<Reaction>,
    id: u64,
    author: &str,
    content: &str,
    at: chrono::DateTime<chrono::Utc>,
) -> (Reaction, bool) {
    if let Some(known) = reactions
        .iter()
        .find(|r| r.author == author && r.content == content)
    {
        return (known.clone(), false);
    }
    let new = Reaction {
        id,
        author: author.to_owned(),
        content: content.to_owned(),
        at,
    };
    reactions.push(new.clone());
    (new, true)
}

/// Resolves a thread or opens it again, and delivers that.
pub(crate) fn resolve(
    github: &Github,
    world: &mut World,
    repo: u64,
    thread: u64,
    by: Option<&str>,
    sender: &str,
) -> Result<(), StateError> {
    world.account(sender);
    let missing = || StateError::missing(format!("thread {thread}"));
    let number = {
        let repo = world.repos.get_mut(&repo).ok_or_else(missing)?;
        let pull = repo
            .pulls
            .values_mut()
            .find(|pull| pull.threads.iter().any(|t| t.id == thread))
            .ok_or_else(missing)?;
        let found = pull
            .threads
            .iter_mut()
            .find(|t| t.id == thread)
            .ok_or_else(missing)?;
        if found.resolved_by.is_some() == by.is_some() {
            return Ok(());
        }
        found.resolved_by = by.map(str::to_owned);
        pull.number
    };
    let payload = {
        let show = github.show(world);
        let repo = world.repos.get(&repo).ok_or_else(missing)?;
        let pull = repo.pulls.get(&number).ok_or_else(missing)?;
        let mut comments = Vec::new();
        for comment in pull.review_comments.iter().filter(|c| c.thread == thread) {
            let place = current(repo, pull, comment)?;
            comments.push(show.review_comment(repo, pull, comment, &place, false));
        }
        json!({
            "action": if by.is_some() { "resolved" } else { "unresolved" },
            "thread": { "node_id": node_id("PullRequestReviewThread", thread), "comments": comments },
            "pull_request": show.pull_simple(repo, pull),
        })
    };
    github.emit(world, repo, "pull_request_review_thread", sender, payload);
    Ok(())
}
