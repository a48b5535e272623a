//! Removes what ended jobs leave behind.

use std::collections::HashSet;
use std::time::Duration;

use mirilla_domain::ids::{JobId, Timestamp};
use mirilla_domain::snapshot::Keys;

use super::{SweepPorts, SweepSettings};
use crate::error::StageError;

/// Removes snapshots and checkpoints of ended jobs, and archives that no open job needs.
pub(super) async fn clean(
    ports: SweepPorts<'_>,
    settings: &SweepSettings,
    now: Timestamp,
) -> Result<u64, StageError> {
    let mut cleaned = 0_u64;
    let mut seen = HashSet::new();
    for key in ports.artifacts.list("snapshots/").await? {
        let Some(id) = key.split('/').nth(1).and_then(|id| JobId::parse(id).ok()) else {
            continue;
        };
        if seen.len() >= settings.limit || !seen.insert(id.clone()) {
            continue;
        }
        if ports
            .ledger
            .job(&id)
            .await?
            .is_none_or(|job| job.state.is_terminal())
        {
            ports.artifacts.delete(&Keys::snapshot(&id)).await?;
            ports.artifacts.delete(&Keys::work(&id)).await?;
            cleaned = u64::saturating_add(cleaned, 1);
        }
    }
    // Listed first: an archive that is there belongs to a job that is in the ledger by now.
    let archives = ports.artifacts.list("archives/").await?;
    if archives.is_empty() {
        return Ok(cleaned);
    }
    let needed: HashSet<String> = ports
        .ledger
        .unfinished(now.plus(Duration::from_millis(1)), usize::MAX)
        .await?
        .iter()
        .map(|job| Keys::archive(&job.key.pull_request(), &job.key.head))
        .collect();
    for key in archives {
        if !needed.contains(&key) {
            ports.artifacts.delete(&key).await?;
        }
    }
    Ok(cleaned)
}
