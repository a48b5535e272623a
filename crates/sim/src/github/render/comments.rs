//! Reviews, comments and reactions.

use serde_json::{Map, Value, json};

use super::{Show, lossy, node_id, time};
use crate::github::anchors::Current;
use crate::github::options::OutdatedLine;
use crate::github::world::{
    Anchor, IssueComment, Place, Pull, Reaction, Repo, Review, ReviewComment, ReviewState,
};

impl Show<'_> {
    /// Returns whether others see what belongs to this review.
    pub(crate) fn published(pull: &Pull, review: Option<u64>) -> bool {
        review.is_none_or(|id| {
            pull.reviews
                .iter()
                .any(|r| r.id == id && r.state != ReviewState::Pending)
        })
    }

    /// Returns a `pull-request-review`.
    pub(crate) fn review(&self, repo: &Repo, pull: &Pull, review: &Review) -> Value {
        let page = format!(
            "{}#pullrequestreview-{}",
            self.pull_page(repo, pull),
            review.id
        );
        let url = self.pull_url(repo, pull);
        let mut shown = json!({
            "id": review.id,
            "node_id": node_id("PullRequestReview", review.id),
            "user": self.user(&review.author),
            "body": review.body,
            "state": review.state.as_str(),
            "html_url": page,
            "pull_request_url": url,
            "_links": { "html": { "href": page }, "pull_request": { "href": url } },
            "commit_id": review.commit,
            "author_association": self.world.association(repo, &review.author),
        });
        if let (Some(object), Some(at)) = (shown.as_object_mut(), review.submitted) {
            object.insert("submitted_at".to_owned(), time(at));
        }
        shown
    }

    /// Returns the `reactions` of a comment.
    pub(crate) fn reactions(url: &str, reactions: &[Reaction]) -> Value {
        let mut shown = Map::new();
        shown.insert("url".to_owned(), json!(format!("{url}/reactions")));
        shown.insert("total_count".to_owned(), json!(reactions.len()));
        for content in crate::github::routes::REACTIONS {
            let count = reactions.iter().filter(|r| r.content == content).count();
            shown.insert(content.to_owned(), json!(count));
        }
        Value::Object(shown)
    }

    /// Returns one `reaction`.
    pub(crate) fn reaction(&self, reaction: &Reaction) -> Value {
        json!({
            "id": reaction.id,
            "node_id": node_id("Reaction", reaction.id),
            "user": self.user(&reaction.author),
            "content": reaction.content,
            "created_at": time(reaction.at),
        })
    }

    /// Returns an `issue-comment`.
    pub(crate) fn issue_comment(&self, repo: &Repo, pull: &Pull, comment: &IssueComment) -> Value {
        let url = format!("{}/issues/comments/{}", self.repo_url(repo), comment.id);
        json!({
            "id": comment.id,
            "node_id": node_id("IssueComment", comment.id),
            "url": url,
            "html_url": format!("{}#issuecomment-{}", self.pull_page(repo, pull), comment.id),
            "issue_url": format!("{}/issues/{}", self.repo_url(repo), pull.number),
            "user": self.user(&comment.author),
            "body": comment.body,
            "created_at": time(comment.created),
            "updated_at": time(comment.updated),
            "author_association": self.world.association(repo, &comment.author),
            "performed_via_github_app": if comment.by_app { self.app() } else { Value::Null },
            "reactions": Self::reactions(&url, &comment.reactions),
        })
    }

    /// Returns a `pull-request-review-comment`, or the poorer `review-comment` that the list of a
    /// review's comments holds.
    pub(crate) fn review_comment(
        &self,
        repo: &Repo,
        pull: &Pull,
        comment: &ReviewComment,
        current: &Current,
        of_review: bool,
    ) -> Value {
        let url = format!("{}/pulls/comments/{}", self.repo_url(repo), comment.id);
        let page = format!("{}#discussion_r{}", self.pull_page(repo, pull), comment.id);
        let pull_url = self.pull_url(repo, pull);
        let anchor = &comment.anchor;
        let mut shown = json!({
            "url": url,
            "pull_request_review_id": comment.review,
            "id": comment.id,
            "node_id": node_id("PullRequestReviewComment", comment.id),
            "diff_hunk": anchor.hunk,
            "path": lossy(&anchor.path),
            "commit_id": current.commit,
            "original_commit_id": comment.commit,
            "user": self.user(&comment.author),
            "body": comment.body,
            "created_at": time(comment.created),
            "updated_at": time(comment.updated),
            "html_url": page,
            "pull_request_url": pull_url,
            "author_association": self.world.association(repo, &comment.author),
            "_links": {
                "self": { "href": url },
                "html": { "href": page },
                "pull_request": { "href": pull_url },
            },
            "reactions": Self::reactions(&url, &comment.reactions),
        });
        if let Some(shown) = shown.as_object_mut() {
            if let Some(parent) = comment.in_reply_to {
                shown.insert("in_reply_to_id".to_owned(), json!(parent));
            }
            self.placed(shown, anchor, current, of_review);
        }
        shown
    }

    fn placed(
        &self,
        shown: &mut Map<String, Value>,
        anchor: &Anchor,
        current: &Current,
        of_review: bool,
    ) {
        let mut put = |name: &str, value: Value| {
            shown.insert(name.to_owned(), value);
        };
        let side = |place: Option<Place>| place.map(|place| place.side.as_str());
        let line = |place: Option<Place>| place.map(|place| place.line);
        let absent = self.options.outdated_line == OutdatedLine::Absent;
        put(
            "subject_type",
            json!(if anchor.line.is_none() {
                "file"
            } else {
                "line"
            }),
        );
        put("original_position", json!(anchor.position));
        match current.position {
            Some(position) => put("position", json!(position)),
            // In the list of a review's comments the schema has a null here.
            None if absent && !of_review => {}
            None => put("position", Value::Null),
        }
        if of_review {
            // This list knows places by their position only.
            return;
        }
        put("side", json!(side(anchor.line).unwrap_or("RIGHT")));
        put("start_side", json!(side(anchor.start)));
        put("original_start_line", json!(line(anchor.start)));
        if let Some(original) = line(anchor.line) {
            put("original_line", json!(original));
        }
        put("start_line", json!(line(current.start)));
        match line(current.line) {
            Some(line) => put("line", json!(line)),
            None if absent => {}
            None => put("line", Value::Null),
        }
    }
}
