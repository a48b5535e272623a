//! Writes that stay on paper.
//!
//! **Invariant:** nothing here can reach a forge.

use async_trait::async_trait;
use mirilla_domain::gate::CheckName;
use mirilla_domain::ids::{CheckId, CommentId, CommitSha, PrNumber, RepoName, ReviewId};
use mirilla_domain::request::CommentPlace;
use mirilla_ports::checks::{CheckFound, NewCheck};
use mirilla_ports::forge::NewReview;
use mirilla_ports::{ForgeChecks, ForgeError, ForgeWrite};

/// Takes every write and does none.
pub(super) struct Paper;

#[async_trait]
impl ForgeWrite for Paper {
    async fn create_review(
        &self,
        _repo: &RepoName,
        _pr: PrNumber,
        _review: &NewReview,
    ) -> Result<ReviewId, ForgeError> {
        Ok(ReviewId::new(0))
    }

    async fn edit_review(
        &self,
        _repo: &RepoName,
        _pr: PrNumber,
        _review: ReviewId,
        _body: &str,
    ) -> Result<(), ForgeError> {
        Ok(())
    }

    async fn delete_pending_review(
        &self,
        _repo: &RepoName,
        _pr: PrNumber,
        _review: ReviewId,
    ) -> Result<(), ForgeError> {
        Ok(())
    }

    async fn review_comments(
        &self,
        _repo: &RepoName,
        _pr: PrNumber,
        _review: ReviewId,
    ) -> Result<Vec<CommentId>, ForgeError> {
        Ok(Vec::new())
    }

    async fn acknowledge(
        &self,
        _repo: &RepoName,
        _pr: PrNumber,
        _place: CommentPlace,
        _comment: CommentId,
    ) -> Result<(), ForgeError> {
        Ok(())
    }

    async fn say(
        &self,
        _repo: &RepoName,
        _pr: PrNumber,
        _body: &str,
    ) -> Result<CommentId, ForgeError> {
        Ok(CommentId::new(0))
    }
}

/// In a pipeline the job itself is the check: it needs no right to write another one.
#[async_trait]
impl ForgeChecks for Paper {
    async fn checks(
        &self,
        _repo: &RepoName,
        _head: &CommitSha,
        _name: CheckName,
    ) -> Result<Vec<CheckFound>, ForgeError> {
        Ok(Vec::new())
    }

    async fn write_check(
        &self,
        _repo: &RepoName,
        _known: Option<&CheckFound>,
        _check: &NewCheck,
    ) -> Result<Option<CheckId>, ForgeError> {
        Ok(None)
    }
}
