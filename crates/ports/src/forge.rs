//! A forge: the half that reads and the half that writes.

use std::time::Duration;

use async_trait::async_trait;
use mirilla_domain::ids::{
    Account, AccountId, CommentId, CommitSha, PrNumber, PullRequestRef, RepoName, ReviewId,
    Timestamp,
};
use mirilla_domain::request::CommentPlace;
use mirilla_domain::snapshot::{MissingFile, PullRequest, StoredObject, TrustedFiles};
use mirilla_domain::thread::{Existing, ExistingThread};

pub use mirilla_domain::plan::{NewComment, NewReview};

use crate::artifacts::{ArtifactError, ArtifactWriter};

/// Why the forge did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum ForgeError {
    /// Not there, or not visible to this token.
    #[error("{what} is not there, or this token may not see it")]
    NotFound {
        /// What was asked for, in our own words.
        what: &'static str,
    },
    /// The token may not do this; trying again does not help.
    #[error("the token may not {action}")]
    Forbidden {
        /// What was tried.
        action: &'static str,
    },
    /// The token is wrong or expired, and a fresh one did not help.
    #[error("the forge does not accept the token")]
    Unauthorized,
    /// A limit of the forge; try again after the given time.
    #[error("the forge limits requests; wait {} seconds", after.as_secs())]
    RateLimited {
        /// How long to wait.
        after: Duration,
    },
    /// The forge refuses the content of a write (422).
    #[error("the forge refuses the {what}: {reason}")]
    Unprocessable {
        /// What was written.
        what: &'static str,
        /// Which of the known reasons.
        reason: Refusal,
    },
    /// The write was sent and its answer lost: it may have landed, or may land yet.
    #[error("the answer to a write was lost; it may have landed")]
    Unknown {
        /// What broke.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The forge fails, answers nonsense or cannot be reached; nothing was changed.
    #[error("the forge failed at {action}")]
    Unavailable {
        /// What was tried.
        action: &'static str,
        /// What broke.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// An artifact could not be written while streaming to it.
    #[error("the archive could not be stored")]
    Artifact(#[from] ArtifactError),
}

/// The reasons for a 422 that call for different answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Some comment's anchor is not part of the diff; which one is not said. Others may stand by now.
    #[error("an anchor is not part of the diff")]
    Anchor,
    /// A review of ours was begun and never submitted.
    #[error("a pending review exists")]
    PendingReview,
    /// The body is too long.
    #[error("the text is too long")]
    TooLong,
    /// The commit is not part of the pull request (any more).
    #[error("the commit is not part of the pull request")]
    Commit,
    /// Something else.
    #[error("another reason")]
    Other,
}

/// A diff as fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedDiff {
    /// Unified diff text.
    pub bytes: Vec<u8>,
    /// Files whose changes the forge did not give.
    pub missing: Vec<MissingFile>,
    /// The commit it was taken against.
    pub merge_base: CommitSha,
}

/// A comment of a person, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaidComment {
    /// The pull request (or issue) it is on.
    pub pr: PrNumber,
    /// Who wrote it; `None` for a deleted account.
    pub author: Option<Account>,
    /// That account's number.
    pub author_id: Option<AccountId>,
    /// Whether a bot wrote it.
    pub by_bot: bool,
    /// Whether our own account wrote it.
    pub ours: bool,
    /// When it was written.
    pub created_at: Timestamp,
    /// What it says.
    pub body: String,
}

/// Who wrote the commits of a pull request, as the forge takes their addresses for accounts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangeAuthors {
    /// Authors and committers. A commit of an address that belongs to no account has none.
    pub logins: Vec<String>,
    /// Whether all commits were listed.
    pub complete: bool,
}

/// Reads. Holds a token that may read one repository.
#[async_trait]
pub trait ForgeRead: Send + Sync {
    /// Returns how many percent of the forge's limit on calls its last answers left, at the least;
    /// `None` if it said nothing about that.
    fn calls_left(&self) -> Option<u64> {
        None
    }

    /// Returns the pull request as it is now.
    async fn pull_request(
        &self,
        repo: &RepoName,
        id: &PullRequestRef,
    ) -> Result<PullRequest, ForgeError>;

    /// Returns the diff between merge base and head, rebuilt from the file list where the forge
    /// refuses to give it whole.
    async fn diff(&self, pull_request: &PullRequest) -> Result<FetchedDiff, ForgeError>;

    /// Returns the diff, given the merge base of exactly this pull request's base tip and head, which
    /// depends on those two commits alone: saves asking for it again.
    async fn diff_from(
        &self,
        pull_request: &PullRequest,
        merge_base: &CommitSha,
    ) -> Result<FetchedDiff, ForgeError> {
        let fetched = self.diff(pull_request).await?;
        Ok(FetchedDiff {
            merge_base: merge_base.clone(),
            ..fetched
        })
    }

    /// Returns those of `paths` that exist at `rev` (a commit id or a branch name), with the commit
    /// that `rev` is; a trailing `/` asks for a folder's files, not deeper. In as few calls as the
    /// forge allows.
    async fn files(
        &self,
        repo: &RepoName,
        rev: &str,
        paths: &[&str],
    ) -> Result<TrustedFiles, ForgeError>;

    /// Returns what [`ForgeRead::files`] does and, read no earlier, the pull request as it is now.
    ///
    /// A collector closes its snapshot with this; it is one call where the forge has one for both.
    async fn files_and_pull_request(
        &self,
        pull_request: &PullRequest,
        rev: &str,
        paths: &[&str],
    ) -> Result<(TrustedFiles, PullRequest), ForgeError> {
        let files = self.files(&pull_request.repo_name, rev, paths).await?;
        let live = self
            .pull_request(&pull_request.repo_name, &pull_request.id)
            .await?;
        Ok((files, live))
    }

    /// Streams the archive of a commit into `writer`.
    async fn archive(
        &self,
        repo: &RepoName,
        commit: &CommitSha,
        writer: Box<dyn ArtifactWriter>,
    ) -> Result<StoredObject, ForgeError>;

    /// Returns all reviews and line comments, all pages up to the adapter's bound.
    async fn existing(&self, repo: &RepoName, pr: PrNumber) -> Result<Existing, ForgeError>;

    /// Returns the threads of line comments as they are now, in one call for a hundred, up to the adapter's
    /// bound.
    async fn threads(
        &self,
        repo: &RepoName,
        pr: PrNumber,
    ) -> Result<Vec<ExistingThread>, ForgeError>;

    /// Returns one comment as it is now. GitHub knows it by its own number, and the answer says which pull
    /// request it is on; GitLab knows it only below the one that is named.
    async fn comment(
        &self,
        repo: &RepoName,
        pr: PrNumber,
        place: CommentPlace,
        id: CommentId,
    ) -> Result<SaidComment, ForgeError>;

    /// Returns who wrote the commits of a pull request.
    async fn change_authors(
        &self,
        repo: &RepoName,
        pr: PrNumber,
    ) -> Result<ChangeAuthors, ForgeError>;

    /// Returns whether somebody may write to the repository now. Nobody that the forge does not know may.
    async fn may_write(&self, repo: &RepoName, who: &Account) -> Result<bool, ForgeError>;
}

/// Writes. Holds a token that may write comments to one repository.
#[async_trait]
pub trait ForgeWrite: Send + Sync {
    /// Posts one review with all its comments.
    ///
    /// Where the forge takes a review whole, a refusal means that nothing was posted. Where it takes comments
    /// one by one, comments may stand after any failure, but never the body: it comes last.
    async fn create_review(
        &self,
        repo: &RepoName,
        pr: PrNumber,
        review: &NewReview,
    ) -> Result<ReviewId, ForgeError>;

    /// Replaces the body of a review of ours; notifies nobody.
    async fn edit_review(
        &self,
        repo: &RepoName,
        pr: PrNumber,
        review: ReviewId,
        body: &str,
    ) -> Result<(), ForgeError>;

    /// Removes a review of ours that was begun and never submitted.
    async fn delete_pending_review(
        &self,
        repo: &RepoName,
        pr: PrNumber,
        review: ReviewId,
    ) -> Result<(), ForgeError>;

    /// Returns the comments that really hang on a review: what was asked for is compared with it.
    async fn review_comments(
        &self,
        repo: &RepoName,
        pr: PrNumber,
        review: ReviewId,
    ) -> Result<Vec<CommentId>, ForgeError>;

    /// Shows the author of a comment that it was seen (`eyes`). Doing it twice is doing it once.
    async fn acknowledge(
        &self,
        repo: &RepoName,
        pr: PrNumber,
        place: CommentPlace,
        comment: CommentId,
    ) -> Result<(), ForgeError>;

    /// Comments on the pull request as a whole.
    async fn say(&self, repo: &RepoName, pr: PrNumber, body: &str)
    -> Result<CommentId, ForgeError>;
}
