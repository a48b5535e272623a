//! What stands on a pull request: reviews, line comments and, where some of them are ours, threads.

use mirilla_domain::ids::{CommentId, PrNumber, RepoName, ReviewId};
use mirilla_domain::review::Side;
use mirilla_domain::thread::{Existing, ExistingComment, ExistingReview, ExistingThread};
use mirilla_ports::forge::ForgeError;
use serde::Deserialize;

use crate::error::{CallError, Named};
use crate::github::api::{Api, End};
use crate::github::identity::{Identity, User};
use crate::github::threads;
use crate::kept::kept;
use crate::refused::Refused;

const NAMED: Named = Named {
    action: "list reviews and comments",
    what: "the pull request",
    writes: false,
};

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
    #[serde(default)]
    created_at: Option<String>,
    #[serde(default)]
    updated_at: Option<String>,
}

impl Review {
    fn into_domain(self, us: &Identity) -> ExistingReview {
        let ours = us.is(self.user.as_ref());
        ExistingReview {
            id: ReviewId::new(self.id),
            ours,
            pending: self.state.as_deref() == Some("PENDING"),
            body: kept(self.body.unwrap_or_default(), ours),
        }
    }
}

impl Comment {
    fn into_domain(self, us: &Identity) -> ExistingComment {
        let ours = us.is(self.user.as_ref());
        ExistingComment {
            edited: self.created_at != self.updated_at,
            id: CommentId::new(self.id),
            in_reply_to: self.in_reply_to_id.map(CommentId::new),
            review: self.pull_request_review_id.map(ReviewId::new),
            ours,
            author: self.user.map(|user| user.login),
            path: self.path.unwrap_or_default(),
            line: self.line,
            original_line: self.original_line,
            side: match self.side.as_deref() {
                Some("LEFT") => Side::Left,
                _ => Side::Right,
            },
            body: kept(self.body.unwrap_or_default(), ours),
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

/// Lists the threads alone. One that the bound on pages cut off is not in it.
pub(crate) async fn threads(
    api: &Api,
    us: &Identity,
    repo: &RepoName,
    pr: PrNumber,
) -> Result<Vec<ExistingThread>, ForgeError> {
    let listed = threads::list(api, us, repo, pr).await;
    let listed = listed.map(|(threads, _end)| threads);
    listed.map_err(|error| error.into_forge(NAMED))
}

async fn ask(
    api: &Api,
    us: &Identity,
    repo: &RepoName,
    pr: PrNumber,
) -> Result<Existing, CallError> {
    let mut existing = Existing::default();
    let reviews = api
        .pages(
            "GET /repos/{owner}/{repo}/pulls/{number}/reviews",
            &api.pull_url(repo, pr, &["reviews"]),
            &mut |page: Vec<Review>| {
                let page = page.into_iter().map(|review| review.into_domain(us));
                existing.reviews.extend(page);
            },
        )
        .await?;
    let comments = api
        .pages(
            "GET /repos/{owner}/{repo}/pulls/{number}/comments",
            &api.pull_url(repo, pr, &["comments"]),
            &mut |page: Vec<Comment>| {
                let page = page.into_iter().map(|comment| comment.into_domain(us));
                existing.comments.extend(page);
            },
        )
        .await?;
    existing.truncated = [reviews, comments].contains(&End::Cut);
    // Without a comment of ours there is no thread to care about, and a call is saved.
    if existing.comments.iter().any(|comment| comment.ours) {
        match threads::list(api, us, repo, pr).await {
            Ok((threads, end)) => {
                existing.truncated |= end == End::Cut;
                existing.threads = threads;
            }
            // An Enterprise Server whose schema is older: what REST tells must do.
            Err(CallError::Refused(Refused::Graphql(_))) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(existing)
}
