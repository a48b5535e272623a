//! What stands on a pull request: reviews, line comments and, where some of them are ours, threads.

use mirilla_domain::ids::{CommentId, PrNumber, RepoName, ReviewId};
use mirilla_domain::review::Side;
use mirilla_domain::thread::{Existing, ExistingComment, ExistingReview};
use mirilla_ports::forge::ForgeError;
use serde::Deserialize;

use crate::github::api::Api;
use crate::github::error::{CallError, Named};
use crate::github::identity::{Identity, User};
use crate::github::threads;

const NAMED: Named = Named {
    action: "list reviews and comments",
    what: "the pull request",
    writes: false,
};

/// Bound for one page: a hundred texts of 65,536 characters, each with its piece of diff.
const MAX_PAGE_BYTES: u64 = 64 * 1024 * 1024;

/// A review; whatever may be missing may be missing.
#[derive(Debug, Deserialize)]
pub(crate) struct Review {
    pub(crate) id: u64,
    #[serde(default)]
    user: Option<User>,
    #[serde(default)]
    state: Option<String>,
    #[serde(default)]
    body: Option<String>,
}

/// A line comment. `line` is null or absent once it is outdated, `user` once the account is deleted.
#[derive(Debug, Deserialize)]
pub(crate) struct Comment {
    pub(crate) id: u64,
    #[serde(default)]
    in_reply_to_id: Option<u64>,
    #[serde(default)]
    pull_request_review_id: Option<u64>,
    #[serde(default)]
    user: Option<User>,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    line: Option<u32>,
    #[serde(default)]
    original_line: Option<u32>,
    #[serde(default)]
    side: Option<String>,
    #[serde(default)]
    position: Option<u64>,
    #[serde(default)]
    subject_type: Option<String>,
    #[serde(default)]
    body: Option<String>,
}

impl Review {
    fn into_domain(self, us: &Identity) -> ExistingReview {
        ExistingReview {
            id: ReviewId::new(self.id),
            ours: us.is(self.user.as_ref()),
            pending: self.state.as_deref() == Some("PENDING"),
            body: self.body.unwrap_or_default(),
        }
    }
}

impl Comment {
    fn into_domain(self, us: &Identity) -> ExistingComment {
        ExistingComment {
            id: CommentId::new(self.id),
            in_reply_to: self.in_reply_to_id.map(CommentId::new),
            review: self.pull_request_review_id.map(ReviewId::new),
            ours: us.is(self.user.as_ref()),
            author: self.user.map(|user| user.login),
            path: self.path.unwrap_or_default(),
            line: self.line,
            original_line: self.original_line,
            side: match self.side.as_deref() {
                Some("LEFT") => Side::Left,
                _ => Side::Right,
            },
            body: self.body.unwrap_or_default(),
        }
    }

    /// Returns whether the comment shows on the pull request: on a line, or on a file.
    pub(crate) fn is_shown(&self) -> bool {
        self.line.is_some()
            || self.position.is_some()
            || self.subject_type.as_deref() == Some("file")
    }
}

/// Lists everything; `truncated` if a list did not end within the bound on pages.
pub(crate) async fn list(
    api: &Api,
    us: &Identity,
    repo: &RepoName,
    pr: PrNumber,
) -> Result<Existing, ForgeError> {
    ask(api, us, repo, pr)
        .await
        .map_err(|error| error.into_forge(NAMED))
}

async fn ask(
    api: &Api,
    us: &Identity,
    repo: &RepoName,
    pr: PrNumber,
) -> Result<Existing, CallError> {
    let reviews = api
        .pages::<Review>(
            "GET /repos/{owner}/{repo}/pulls/{number}/reviews",
            api.pull_url(repo, pr, &["reviews"]),
            MAX_PAGE_BYTES,
        )
        .await?;
    let comments = api
        .pages::<Comment>(
            "GET /repos/{owner}/{repo}/pulls/{number}/comments",
            api.pull_url(repo, pr, &["comments"]),
            MAX_PAGE_BYTES,
        )
        .await?;
    let mut existing = Existing {
        reviews: reviews
            .items
            .into_iter()
            .map(|r| r.into_domain(us))
            .collect(),
        comments: comments
            .items
            .into_iter()
            .map(|c| c.into_domain(us))
            .collect(),
        truncated: reviews.truncated || comments.truncated,
        threads: Vec::new(),
    };
    // Without a comment of ours there is no thread to care about, and a call is saved.
    if existing.comments.iter().any(|comment| comment.ours) {
        let threads = threads::list(api, us, repo, pr).await?;
        existing.truncated |= threads.truncated;
        existing.threads = threads.items;
    }
    Ok(existing)
}
