//! Checks on a commit: what a gate says, where a merge can wait for it.
//!
//! **Invariant:** a check is no review. There is no call here by which a pull request is approved, or
//! changes to it are requested.

use async_trait::async_trait;
use mirilla_domain::gate::{Annotation, CheckName, Conclusion};
use mirilla_domain::ids::{CheckId, CommitSha, JobId, PrNumber, RepoName, ReviewId};

use crate::forge::ForgeError;

/// A check as it is to stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCheck {
    /// What it is called.
    pub name: CheckName,
    /// The commit it hangs on.
    pub head: CommitSha,
    /// The job it speaks for: by this name it is found again.
    pub job: JobId,
    /// Where it leads: the pull request, on the forge itself.
    pub pr: PrNumber,
    /// And the review on it, if there is one.
    pub review: Option<ReviewId>,
    /// How it ends; nothing as long as it runs.
    pub conclusion: Option<Conclusion>,
    /// One line, sanitised.
    pub title: String,
    /// Markdown, sanitised.
    pub summary: String,
    /// Findings at their places, any number.
    pub annotations: Vec<Annotation>,
}

/// A check of ours as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckFound {
    /// The forge's number.
    pub id: CheckId,
    /// The job it speaks for, as we wrote it.
    pub job: String,
    /// The forge's word for how it ended; nothing as long as it runs.
    pub conclusion: Option<String>,
    /// How many annotations it has: they can be added to, and never taken back.
    pub annotations: usize,
}

/// Writes checks. Holds a token that may write them to one repository.
#[async_trait]
pub trait ForgeChecks: Send + Sync {
    /// Returns our own checks of a name on a commit, the newest first, at most a hundred. None where the
    /// forge has only marks that cannot be told apart (commit statuses).
    async fn checks(
        &self,
        repo: &RepoName,
        head: &CommitSha,
        name: CheckName,
    ) -> Result<Vec<CheckFound>, ForgeError>;

    /// Writes a check: over one that was found, or a new one. Returns its number, where it has one.
    async fn write_check(
        &self,
        repo: &RepoName,
        known: Option<&CheckFound>,
        check: &NewCheck,
    ) -> Result<Option<CheckId>, ForgeError>;
}
