//! What travels between the stages.
//!
//! **Invariant:** a message holds ids, keys and rights to objects, never content.

use mirilla_domain::ids::{AttemptNo, JobId};
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

impl Message {
    /// Returns the job the message is about.
    pub const fn job(&self) -> &JobId {
        match self {
            Self::CollectV1 { job }
            | Self::ProbeV1 { job }
            | Self::ReviewV1 { job, .. }
            | Self::PostV1 { job, .. } => job,
        }
    }
}
