//! `mirilla review --keep DIR`: the run as files.
//!
//! **Invariant:** what is kept is what the review stage wrote and what the plan was made from, byte for byte.

use anyhow::{Context as _, Result};
use mirilla_domain::plan::{self, Plan, PlanInput};

use super::{Files, Subject};
use crate::run_folder::{DIFF, META, PLAN, PLAN_INPUT, REVIEW, RULES, RUN, RunFolder};

/// Writes a run into its folder.
pub(super) fn write(
    folder: &RunFolder,
    subject: &Subject,
    files: &Files,
    input: &PlanInput<'_>,
    plan: &Plan,
) -> Result<()> {
    let run = files.run.as_deref();
    let diff = (subject.diff.as_slice(), [].as_slice());
    let kept = plan::keep(input, diff, Some(&files.review), run, plan)
        .context("the run cannot be kept")?;
    folder.write(DIFF, &subject.diff)?;
    folder.write(RULES, &serde_json::to_vec(&subject.trusted)?)?;
    if let Some(meta) = &files.meta {
        folder.write(META, meta)?;
    }
    if let Some(run) = run {
        folder.write(RUN, run)?;
    }
    folder.write(REVIEW, &files.review)?;
    folder.write(PLAN_INPUT, &kept.input)?;
    folder.write(PLAN, &kept.plan)
}
