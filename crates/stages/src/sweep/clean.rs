//! Removes what ended jobs leave behind.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use mirilla_domain::ids::{JobId, Timestamp};
use mirilla_domain::snapshot::Keys;

use super::{SweepPorts, SweepSettings};
use crate::error::StageError;

/// Where records and kept runs lie, each in a folder named by its job.
const RECORDS: [&str; 2] = ["work/", "runs/"];

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
            // Not the run's record beside it: what a run did is asked after it ended.
            ports.artifacts.delete(&Keys::progress(&id)).await?;
            cleaned = u64::saturating_add(cleaned, 1);
        }
    }
    if let Some(age) = settings.keep_runs {
        forget_runs(ports, settings, now.minus(age)).await?;
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

/// Removes records of jobs that ended before a moment, or of which nothing is known any more.
async fn forget_runs(
    ports: SweepPorts<'_>,
    settings: &SweepSettings,
    before: Timestamp,
) -> Result<(), StageError> {
    let mut jobs = BTreeSet::new();
    for prefix in RECORDS {
        let keys = ports.artifacts.list(prefix).await?;
        jobs.extend(
            keys.iter()
                .filter_map(|key| JobId::parse(key.split('/').nth(1)?).ok()),
        );
    }
    let mut forgotten = 0_usize;
    for id in jobs {
        let job = ports.ledger.job(&id).await?;
        if job.is_none_or(|job| job.state.is_terminal() && job.updated_at < before) {
            ports.artifacts.delete(&Keys::work(&id)).await?;
            ports.artifacts.delete(&Keys::runs(&id)).await?;
            forgotten = forgotten.saturating_add(1);
        }
        if forgotten >= settings.limit {
            break;
        }
    }
    Ok(())
}
