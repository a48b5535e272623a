//! The half that writes: comments, and nothing that approves.
//!
//! **Invariant:** the only review event in this crate is `COMMENT`. No write is repeated here, but for
//! one fresh token after a 401: whether a lost one landed is for the caller to find out by reading.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use mirilla_domain::ids::{CommentId, PrNumber, RepoName, ReviewId};
use mirilla_domain::request::CommentPlace;
use mirilla_domain::review::Side;
use mirilla_http::{Client, Method};
use mirilla_ports::forge::{ForgeError, ForgeWrite, NewComment, NewReview, Refusal};
use mirilla_ports::{Clock, Entropy};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::error::Named;
use crate::gate::WriteGate;
use crate::github::GithubSettings;
use crate::github::api::{Answer, Api, Call, WriteBearer};
use crate::github::checks::Marks;
use crate::github::existing::Comment;
use crate::github::identity::Whoami;
use crate::github::reader::GithubReader;
use crate::github::said;
use crate::token::{TokenSource, WriteToken};

const CREATE: Named = Named {
    action: "post a review",
    what: "review",
    writes: true,
};
const EDIT: Named = Named {
    action: "edit its review",
    what: "review",
    writes: true,
};
const DELETE: Named = Named {
    action: "remove its unsubmitted review",
    what: "review",
    writes: true,
};
const REACT: Named = Named {
    action: "react to a comment",
    what: "the comment",
    writes: true,
};
const SAY: Named = Named {
    action: "comment on a pull request",
    what: "comment",
    writes: true,
};
const READ_BACK: Named = Named {
    action: "read its review back",
    what: "the review",
    writes: false,
};

/// Writes comments to one repository of GitHub.
#[derive(Clone)]
pub struct GithubWriter {
    pub(super) api: Api,
    reader: GithubReader,
    gate: Arc<WriteGate>,
    pub(super) marks: Marks,
}

impl GithubWriter {
    /// Makes a writer; it calls nothing yet. `gate` is shared by all writers of an installation.
    pub fn new(
        client: Client,
        settings: Arc<GithubSettings>,
        tokens: Arc<dyn TokenSource<WriteToken>>,
        whoami: Whoami,
        gate: Arc<WriteGate>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        let bearer = Arc::new(WriteBearer(tokens));
        let api = Api::new(client, settings, bearer, clock, entropy);
        Self {
            reader: GithubReader::with_api(api.clone(), whoami),
            api,
            gate,
            marks: Marks::Runs,
        }
    }

    /// Makes its checks the other kind.
    #[must_use]
    pub fn with_marks(self, marks: Marks) -> Self {
        Self { marks, ..self }
    }

    /// Returns a reader with this writer's own token, so that a poster needs no other one.
    pub const fn reader(&self) -> &GithubReader {
        &self.reader
    }

    /// Makes one write, in its turn.
    pub(super) async fn write(&self, call: Call, named: Named) -> Result<Answer, ForgeError> {
        let outcome = self.gate.write(&self.api, &call).await;
        outcome.map_err(|error| error.into_forge(named))
    }
}

/// What is sent. `event` is not a field that anyone can set.
#[derive(Serialize)]
struct ReviewBody<'r> {
    commit_id: &'r str,
    body: &'r str,
    event: &'static str,
    comments: Vec<CommentBody<'r>>,
}

#[derive(Serialize)]
struct CommentBody<'r> {
    path: &'r str,
    body: &'r str,
    line: u32,
    side: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_side: Option<&'static str>,
}

impl<'r> From<&'r NewComment> for CommentBody<'r> {
    fn from(comment: &'r NewComment) -> Self {
        let side = match comment.side {
            Side::Left => "LEFT",
            Side::Right => "RIGHT",
        };
        // GitHub refuses the whole review for a range that starts where it ends, or after it.
        let other = comment.start_line.filter(|start| *start != comment.line);
        let line = other.map_or(comment.line, |start| start.max(comment.line));
        let start_line = other.map(|start| start.min(comment.line));
        Self {
            path: &comment.path,
            body: &comment.body,
            line,
            side,
            start_line,
            start_side: start_line.map(|_| side),
        }
    }
}

#[derive(Deserialize)]
struct Created {
    id: u64,
}

#[async_trait]
impl ForgeWrite for GithubWriter {
    async fn create_review(
        &self,
        repo: &RepoName,
        pr: PrNumber,
        review: &NewReview,
    ) -> Result<ReviewId, ForgeError> {
        // GitHub wants words with a comment; that there are some is the plan's promise.
        if review.body.trim().is_empty() {
            return Err(ForgeError::Unprocessable {
                what: CREATE.what,
                reason: Refusal::Other,
            });
        }
        let body = ReviewBody {
            commit_id: review.commit.as_str(),
            body: &review.body,
            event: "COMMENT",
            comments: review.comments.iter().map(CommentBody::from).collect(),
        };
        let call = Call::new(
            Method::POST,
            "POST /repos/{owner}/{repo}/pulls/{number}/reviews",
            self.api.pull_url(repo, pr, &["reviews"]),
        )
        .json(&json!(body));
        let answer = self.write(call, CREATE).await?;
        let created: Created = answer.json().map_err(|error| error.into_forge(CREATE))?;
        Ok(ReviewId::new(created.id))
    }

    async fn edit_review(
        &self,
        repo: &RepoName,
        pr: PrNumber,
        review: ReviewId,
        body: &str,
    ) -> Result<(), ForgeError> {
        let id = review.to_string();
        let call = Call::new(
            Method::PUT,
            "PUT /repos/{owner}/{repo}/pulls/{number}/reviews/{id}",
            self.api.pull_url(repo, pr, &["reviews", &id]),
        )
        .json(&json!({ "body": body }));
        self.write(call, EDIT).await?;
        Ok(())
    }

    async fn delete_pending_review(
        &self,
        repo: &RepoName,
        pr: PrNumber,
        review: ReviewId,
    ) -> Result<(), ForgeError> {
        let id = review.to_string();
        let call = Call::new(
            Method::DELETE,
            "DELETE /repos/{owner}/{repo}/pulls/{number}/reviews/{id}",
            self.api.pull_url(repo, pr, &["reviews", &id]),
        );
        self.write(call, DELETE).await?;
        Ok(())
    }

    async fn review_comments(
        &self,
        repo: &RepoName,
        pr: PrNumber,
        review: ReviewId,
    ) -> Result<Vec<CommentId>, ForgeError> {
        let id = review.to_string();
        let mut shown = Vec::new();
        self.api
            .pages(
                "GET /repos/{owner}/{repo}/pulls/{number}/reviews/{id}/comments",
                &self.api.pull_url(repo, pr, &["reviews", &id, "comments"]),
                // One that hangs on no line was accepted and is shown nowhere.
                &mut |page: Vec<Comment>| {
                    let page = page.into_iter().filter(Comment::is_shown);
                    shown.extend(page.map(|comment| CommentId::new(comment.id)));
                },
            )
            .await
            .map_err(|error| error.into_forge(READ_BACK))?;
        Ok(shown)
    }

    async fn acknowledge(
        &self,
        repo: &RepoName,
        _pr: PrNumber,
        place: CommentPlace,
        comment: CommentId,
    ) -> Result<(), ForgeError> {
        let name = match place {
            CommentPlace::Conversation => {
                "POST /repos/{owner}/{repo}/issues/comments/{id}/reactions"
            }
            CommentPlace::Line => "POST /repos/{owner}/{repo}/pulls/comments/{id}/reactions",
        };
        let url = said::url(&self.api, repo, (place, comment), &["reactions"]);
        let call = Call::new(Method::POST, name, url).json(&json!({ "content": "eyes" }));
        self.write(call, REACT).await?;
        Ok(())
    }

    async fn say(
        &self,
        repo: &RepoName,
        pr: PrNumber,
        body: &str,
    ) -> Result<CommentId, ForgeError> {
        let number = pr.to_string();
        let (owner, name) = (repo.owner(), repo.name());
        let segments = ["repos", owner, name, "issues", &number, "comments"];
        let call = Call::new(
            Method::POST,
            "POST /repos/{owner}/{repo}/issues/{number}/comments",
            self.api.url(&segments),
        )
        .json(&json!({ "body": body }));
        let answer = self.write(call, SAY).await?;
        let created: Created = answer.json().map_err(|error| error.into_forge(SAY))?;
        Ok(CommentId::new(created.id))
    }
}

impl fmt::Debug for GithubWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GithubWriter")
            .field("api", &self.api)
            .finish_non_exhaustive()
    }
}
