//! Keeps a run: the diff, the review, the record, the plan, and what else it was made from.
//!
//! **Invariant:** nothing is read back here, and no posting fails for want of it.

use mirilla_domain::plan::{self, Plan, PlanInput};
use mirilla_domain::snapshot::Keys;
use mirilla_ports::forge::FetchedDiff;

use super::{KeepRuns, Posting};

/// Largest record that is kept.
const MAX_RECORD_BYTES: u64 = 8 * 1024 * 1024;

/// Keeps what a plan was made from, as the files that `mirilla replay` reads.
///
/// A plan that changes nothing does not replace one that did: it is what a try after a crash makes.
pub(super) async fn keep(
    posting: &Posting<'_>,
    input: &PlanInput<'_>,
    fetched: &FetchedDiff,
    review: Option<&[u8]>,
    plan: &Plan,
) {
    let artifacts = posting.ports.artifacts;
    let (job, attempt) = (&posting.job.id, posting.job.attempt);
    let plan_key = Keys::kept(job, attempt, "plan.json");
    if plan.is_noop() {
        let there = artifacts.list(&plan_key).await;
        if there.is_ok_and(|keys| keys.contains(&plan_key)) {
            return;
        }
    }
    // A run without a model has none.
    let record = match posting.settings.keep_runs {
        KeepRuns::Whole => {
            let key = Keys::run(job, attempt);
            artifacts.get(&key, MAX_RECORD_BYTES).await.ok()
        }
        // Not even asked for: a refused call is an alarm where calls are watched.
        KeepRuns::WithoutRecord | KeepRuns::No => None,
    };
    let diff = (fetched.bytes.as_slice(), fetched.missing.as_slice());
    let kept = match plan::keep(input, diff, review, record.as_deref(), plan) {
        Ok(kept) => kept,
        Err(error) => {
            let error = mirilla_telemetry::chain(&error);
            tracing::warn!("the run is not kept: {error}");
            return;
        }
    };
    let files = [
        ("run.json", record.as_deref()),
        ("review.json", review),
        ("diff.patch", Some(fetched.bytes.as_slice())),
        ("plan-input.json", Some(kept.input.as_slice())),
        ("plan.json", Some(kept.plan.as_slice())),
    ];
    for (file, bytes) in files {
        let Some(bytes) = bytes else { continue };
        if let Err(error) = artifacts.put(&Keys::kept(job, attempt, file), bytes).await {
            let error = mirilla_telemetry::chain(&error);
            tracing::warn!("the run is not kept: {error}");
            return;
        }
    }
}
