//! The fields of what was said on a pull request.

use serde_json::json;

use super::{Resolved, maybe, scalar, unknown};
use crate::diff::Side;
use crate::github::anchors::{Current, current};
use crate::github::graphql::execute::{Arguments, Run};
use crate::github::graphql::mutations::can_resolve;
use crate::github::graphql::nodes::{Found, Node};
use crate::github::render::{lossy, maybe_time, node_id, time};
use crate::github::world::{IssueComment, Level, Pull, Repo, Review, ReviewComment, Thread};

impl<'a> Run<'a> {
    pub(super) fn thread(
        &self,
        node: &Node<'a>,
        repo: &'a Repo,
        pull: &'a Pull,
        thread: &'a Thread,
        field: &str,
        arguments: &mut Arguments,
    ) -> Resolved<'a> {
        let comments: Vec<&ReviewComment> = pull
            .review_comments
            .iter()
            .filter(|c| c.thread == thread.id)
            .collect();
        let Some(first) = comments.first() else {
            return unknown(node, field);
        };
        let anchor = &first.anchor;
        let side = |side: Side| side.as_str();
        let resolvable = || can_resolve(self.world, self.caller, repo.id, thread.id);
        match field {
            "id" => scalar(node_id("PullRequestReviewThread", thread.id)),
            "isResolved" | "isCollapsed" => scalar(thread.resolved_by.is_some()),
            "resolvedBy" => maybe(thread.resolved_by.clone().map(Node::Actor)),
            "isOutdated" => scalar(current(repo, pull, first)?.outdated),
            "line" => scalar(json!(
                current(repo, pull, first)?.line.map(|place| place.line)
            )),
            "startLine" => scalar(json!(
                current(repo, pull, first)?.start.map(|place| place.line)
            )),
            "originalLine" => scalar(json!(anchor.line.map(|place| place.line))),
            "originalStartLine" => scalar(json!(anchor.start.map(|place| place.line))),
            "diffSide" => scalar(anchor.line.map_or("RIGHT", |place| side(place.side))),
            "startDiffSide" => scalar(json!(anchor.start.map(|place| side(place.side)))),
            "path" => scalar(lossy(&anchor.path)),
            "subjectType" => scalar(if anchor.line.is_some() {
                "LINE"
            } else {
                "FILE"
            }),
            "viewerCanResolve" => scalar(thread.resolved_by.is_none() && resolvable()),
            "viewerCanUnresolve" => scalar(thread.resolved_by.is_some() && resolvable()),
            "viewerCanReply" => scalar(self.caller.level("pull_requests") == Some(Level::Write)),
            "pullRequest" => Ok(Found::One(Node::Pull(repo, pull))),
            "comments" => arguments.page(
                "PullRequestReviewCommentConnection",
                comments.len(),
                |range| {
                    let mut nodes = Vec::new();
                    for comment in comments.get(range).unwrap_or_default() {
                        let place = current(repo, pull, comment)?;
                        nodes.push(Node::Comment(repo, pull, comment, place));
                    }
                    Ok(nodes)
                },
            ),
            _ => unknown(node, field),
        }
    }

    /// The fields that everything written has.
    fn written(
        &self,
        node: &Node<'a>,
        repo: &Repo,
        (id, author, body, minimized): (u64, &str, &str, Option<&String>),
        field: &str,
    ) -> Resolved<'a> {
        match field {
            "id" => scalar(node_id(node.type_name(), id)),
            "fullDatabaseId" => scalar(id.to_string()),
            "databaseId" => scalar(id),
            "author" => Ok(Found::One(Node::Actor(author.to_owned()))),
            "authorAssociation" => scalar(self.world.association(repo, author)),
            "body" => scalar(body),
            "isMinimized" => scalar(minimized.is_some()),
            "minimizedReason" => scalar(json!(minimized)),
            "viewerDidAuthor" => scalar(author == self.actor),
            _ => unknown(node, field),
        }
    }

    pub(super) fn comment(
        &self,
        node: &Node<'a>,
        repo: &'a Repo,
        pull: &'a Pull,
        comment: &'a ReviewComment,
        place: &Current,
        field: &str,
    ) -> Resolved<'a> {
        let anchor = &comment.anchor;
        match field {
            "path" => scalar(lossy(&anchor.path)),
            "diffHunk" => scalar(anchor.hunk.as_str()),
            "line" => scalar(json!(place.line.map(|place| place.line))),
            "startLine" => scalar(json!(place.start.map(|place| place.line))),
            "originalLine" => scalar(json!(anchor.line.map(|place| place.line))),
            "originalStartLine" => scalar(json!(anchor.start.map(|place| place.line))),
            "outdated" => scalar(place.outdated),
            "subjectType" => scalar(if anchor.line.is_some() {
                "LINE"
            } else {
                "FILE"
            }),
            "createdAt" => scalar(time(comment.created)),
            "updatedAt" => scalar(time(comment.updated)),
            "lastEditedAt" => scalar(maybe_time(
                (comment.updated > comment.created).then_some(comment.updated),
            )),
            "commit" => Ok(Found::One(Node::Oid(place.commit.clone()))),
            "originalCommit" => Ok(Found::One(Node::Oid(comment.commit.clone()))),
            "replyTo" => {
                let parent = comment.in_reply_to;
                maybe(parent.and_then(|id| self.node("PullRequestReviewComment", id)))
            }
            "pullRequestReview" => {
                let review = pull.reviews.iter().find(|r| Some(r.id) == comment.review);
                maybe(review.map(|review| Node::Review(repo, pull, review)))
            }
            _ => self.written(
                node,
                repo,
                (
                    comment.id,
                    &comment.author,
                    &comment.body,
                    comment.minimized.as_ref(),
                ),
                field,
            ),
        }
    }

    pub(super) fn issue_comment(
        &self,
        node: &Node<'a>,
        repo: &'a Repo,
        pull: &'a Pull,
        comment: &'a IssueComment,
        field: &str,
    ) -> Resolved<'a> {
        match field {
            "createdAt" => scalar(time(comment.created)),
            "updatedAt" => scalar(time(comment.updated)),
            "pullRequest" => Ok(Found::One(Node::Pull(repo, pull))),
            _ => self.written(
                node,
                repo,
                (
                    comment.id,
                    &comment.author,
                    &comment.body,
                    comment.minimized.as_ref(),
                ),
                field,
            ),
        }
    }

    pub(super) fn review(
        &self,
        node: &Node<'a>,
        repo: &'a Repo,
        pull: &'a Pull,
        review: &'a Review,
        field: &str,
        arguments: &mut Arguments,
    ) -> Resolved<'a> {
        match field {
            "state" => scalar(review.state.as_str()),
            "submittedAt" => scalar(maybe_time(review.submitted)),
            "commit" => Ok(Found::One(Node::Oid(review.commit.clone()))),
            "comments" => {
                let own: Vec<&ReviewComment> = pull
                    .review_comments
                    .iter()
                    .filter(|c| c.review == Some(review.id))
                    .collect();
                arguments.page("PullRequestReviewCommentConnection", own.len(), |range| {
                    let mut nodes = Vec::new();
                    for comment in own.get(range).unwrap_or_default() {
                        let place = current(repo, pull, comment)?;
                        nodes.push(Node::Comment(repo, pull, comment, place));
                    }
                    Ok(nodes)
                })
            }
            _ => self.written(
                node,
                repo,
                (
                    review.id,
                    &review.author,
                    &review.body,
                    review.minimized.as_ref(),
                ),
                field,
            ),
        }
    }
}
