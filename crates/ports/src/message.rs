//! What travels between the stages.
//!
//! **Invariant:** a message holds ids, keys and rights to objects, never content.

use mirilla_domain::ids::{AttemptNo, CommentId, CommitSha, JobId, PullRequestRef};
use mirilla_domain::request::CommentPlace;
use mirilla_domain::{command, merge_queue};
use serde::{Deserialize, Serialize};

use crate::artifacts::Grants;

/// A message of any queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "version")]
pub enum Message {
    /// Take a snapshot.
    #[serde(rename = "collect.v1")]
    CollectV1 {
        /// The job.
        job: JobId,
    },
    /// Look which head is live, and make sure that it has a job.
    #[serde(rename = "probe.v1")]
    ProbeV1 {
        /// The pull request's last job: it says where to look.
        job: JobId,
    },
    /// Look at a comment that may hold a command, and at who wrote it.
    #[serde(rename = "command.v1")]
    CommandV1(CommandMessage),
    /// Tell the author of a command that it was obeyed.
    #[serde(rename = "acknowledge.v1")]
    AcknowledgeV1(CommandMessage),
    /// Repeat a pull request's verdict on the commit of a merge queue.
    #[serde(rename = "merge-group.v1")]
    MergeGroupV1(GroupMessage),
    /// Read a snapshot.
    #[serde(rename = "review.v1")]
    ReviewV1 {
        /// The job.
        job: JobId,
        /// The try.
        attempt: AttemptNo,
        /// Who pays, at most how much: the reviewer has no ledger to look in.
        purses: Vec<mirilla_domain::money::CappedPurse>,
        /// What it may touch, where it has no rights of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grants: Option<Grants>,
    },
    /// Make a job's check say what the ledger says of the job: that it runs, or what it came to.
    #[serde(rename = "check.v1")]
    CheckV1 {
        /// The job.
        job: JobId,
    },
    /// Post findings, or what there is without them.
    #[serde(rename = "post.v1")]
    PostV1 {
        /// The job.
        job: JobId,
        /// The try.
        attempt: AttemptNo,
        /// The findings object; `None` when the reviewer is given up.
        findings: Option<String>,
    },
}

/// Which comment a message is about. Everything else stands in the ledger or on the forge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandMessage {
    /// The id under which the work is logged and counted: [`command::run_id`].
    pub run: JobId,
    /// The pull request.
    pub pull_request: PullRequestRef,
    /// Which list of comments it is in.
    pub place: CommentPlace,
    /// The comment.
    pub comment: CommentId,
}

impl CommandMessage {
    /// Names a comment.
    pub fn new(pull_request: PullRequestRef, place: CommentPlace, comment: CommentId) -> Self {
        Self {
            run: command::run_id(&pull_request, place, comment),
            pull_request,
            place,
            comment,
        }
    }
}

/// Which commit of a merge queue a message is about. Everything else stands in the ledger or on the forge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupMessage {
    /// The id under which the work is logged and counted: [`merge_queue::run_id`].
    pub run: JobId,
    /// The pull request whose change the commit holds.
    pub pull_request: PullRequestRef,
    /// The queue's commit.
    pub sha: CommitSha,
}

impl GroupMessage {
    /// Names a commit.
    pub fn new(pull_request: PullRequestRef, sha: CommitSha) -> Self {
        Self {
            run: merge_queue::run_id(&pull_request, &sha),
            pull_request,
            sha,
        }
    }
}

impl Message {
    /// Returns the job the message is about; for a command or a merge queue, the id of its run.
    pub const fn job(&self) -> &JobId {
        match self {
            Self::CommandV1(about) | Self::AcknowledgeV1(about) => &about.run,
            Self::MergeGroupV1(about) => &about.run,
            Self::CollectV1 { job }
            | Self::ProbeV1 { job }
            | Self::ReviewV1 { job, .. }
            | Self::CheckV1 { job }
            | Self::PostV1 { job, .. } => job,
        }
    }

    /// Returns the pull request of a message that is about no job.
    pub const fn pull_request(&self) -> Option<&PullRequestRef> {
        match self {
            Self::CommandV1(about) | Self::AcknowledgeV1(about) => Some(&about.pull_request),
            Self::MergeGroupV1(about) => Some(&about.pull_request),
            Self::CollectV1 { .. }
            | Self::ProbeV1 { .. }
            | Self::ReviewV1 { .. }
            | Self::CheckV1 { .. }
            | Self::PostV1 { .. } => None,
        }
    }
}
