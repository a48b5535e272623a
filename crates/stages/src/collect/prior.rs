//! What the last review of the pull request said, for the reviewer to compare with.
//!
//! **Invariant:** only the bytes that the poster accepted, by the hash that the ledger holds, of the same
//! pull request, against the same merge base. Whatever is missing or different, the review is a full one;
//! it never fails for want of this.

use mirilla_domain::ids::{CommitSha, sha256};
use mirilla_domain::job::{Job, JobState};
use mirilla_domain::plan::MAX_FILE_BYTES;
use mirilla_domain::snapshot::{Keys, StoredObject};
use mirilla_ports::{ArtifactError, LedgerError};

use super::CollectPorts;
use crate::error::StageError;

/// Stores the last accepted review of the job's pull request in its snapshot, if there is one that counts.
pub(super) async fn keep(
    ports: CollectPorts<'_>,
    job: &Job,
    merge_base: &CommitSha,
) -> Result<Option<StoredObject>, StageError> {
    let Some(earlier) = accepted(ports, job, merge_base).await? else {
        return Ok(None);
    };
    let key = Keys::findings(&earlier.id, earlier.attempt);
    let limit = u64::try_from(MAX_FILE_BYTES).unwrap_or(u64::MAX);
    let bytes = match ports.artifacts.get(&key, limit).await {
        Ok(bytes) => bytes,
        Err(ArtifactError::NotFound { .. } | ArtifactError::TooLarge { .. }) => return Ok(None),
        Err(error) => {
            let error = mirilla_telemetry::chain(&error);
            tracing::warn!("the last review cannot be read, so everything is: {error}");
            return Ok(None);
        }
    };
    if earlier.findings_sha256 != Some(sha256(&bytes)) {
        tracing::warn!("the last review is not the one that was accepted, so everything is read");
        return Ok(None);
    }
    let stored = ports.artifacts.put(&Keys::prior(&job.id), &bytes).await?;
    Ok(Some(stored))
}

/// Returns the job of the last review that was posted, if what it says may still count.
async fn accepted(
    ports: CollectPorts<'_>,
    job: &Job,
    merge_base: &CommitSha,
) -> Result<Option<Job>, LedgerError> {
    let pull_request = job.key.pull_request();
    let record = ports.ledger.pull_request(&pull_request).await?;
    let Some(posted) = record.and_then(|record| record.last_posted) else {
        return Ok(None);
    };
    if posted.merge_base != *merge_base || posted.job == job.id {
        return Ok(None);
    }
    let earlier = ports.ledger.job(&posted.job).await?;
    Ok(earlier.filter(|earlier| {
        // A generation is raised to have the change read once more: what was said before does not count.
        earlier.key.pull_request() == pull_request
            && earlier.key.base_ref == job.key.base_ref
            && earlier.key.generation == job.key.generation
            && earlier.state == JobState::Posted
            && earlier.findings_sha256.is_some()
    }))
}
