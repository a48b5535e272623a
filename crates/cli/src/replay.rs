//! `mirilla replay`: the plan of a kept run, made again.
//!
//! Beside the plan it holds every file of the run against the others: hashes, the record's sums against
//! the review's, and the recorded answers, read once more, against the findings.
//!
//! **Invariant:** nothing is contacted and nothing is written. It ends well only if the plan is the one
//! that was kept, byte for byte, and no file of the run was changed.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use mirilla_domain::escape;
use mirilla_domain::ids::sha256;
use mirilla_domain::plan::{self, KeptInput, Plan, ReplayError};
use mirilla_domain::record::{self, RunRecord};
use mirilla_domain::redact;
use serde_json::Value;

use crate::arguments;
use crate::failure::Failure;
use crate::output;
use crate::run_folder::{DIFF, META, PLAN, PLAN_INPUT, REVIEW, RULES, RUN, RunFolder};

/// Runs the command.
pub(crate) fn run(arguments: &arguments::Replay) -> Result<ExitCode> {
    repeat(&arguments.run, |_plan, bytes| print_json(bytes))
}

/// Prints the bytes of a plan's file.
pub(crate) fn print_json(plan: &[u8]) {
    output::data(&escape::json(&String::from_utf8_lossy(plan)));
}

/// Makes the plan of a kept run again, shows it with the bytes of its file, and fails if it is another one.
pub(crate) fn repeat(run: &Path, show: impl FnOnce(&Plan, &[u8])) -> Result<ExitCode> {
    let folder = RunFolder::named(run)?;
    let input = KeptInput::read(&folder.read(PLAN_INPUT)?)
        .with_context(|| format!("{PLAN_INPUT} cannot be used"))?;
    let diff = folder.read(DIFF)?;
    let review = folder.find(REVIEW)?;
    let stored = folder.read(PLAN)?;
    let mut problems = Vec::new();
    match folder.find(RUN)? {
        Some(bytes) => {
            check_record(&input, &bytes, &diff, review.as_deref(), &mut problems);
            check_snapshot(&folder, &bytes, &mut problems)?;
        }
        None if input.run_sha256.is_some() => problems.push(format!("{RUN} is missing")),
        None => {}
    }
    let (plan, again) = match input.replay(&diff, review.as_deref()) {
        Ok(made) => made,
        Err(error @ (ReplayError::OtherFile { .. } | ReplayError::Review { .. })) => {
            problems.push(error.to_string());
            return Err(failed(&input, &problems));
        }
        Err(error) => return Err(error).context("the plan cannot be made again"),
    };
    show(&plan, &again);
    if sha256(&stored) != input.plan_sha256 {
        problems.push(format!("{PLAN} was changed after it was kept"));
    }
    if again != stored {
        problems.push(difference(&again, &stored));
    }
    if !problems.is_empty() {
        return Err(failed(&input, &problems));
    }
    output::note("the plan is the one that was kept, byte for byte");
    Ok(ExitCode::SUCCESS)
}

/// Holds the record against the other files.
fn check_record(
    input: &KeptInput,
    bytes: &[u8],
    diff: &[u8],
    review: Option<&[u8]>,
    problems: &mut Vec<String>,
) {
    match &input.run_sha256 {
        Some(wanted) if *wanted != sha256(bytes) => {
            problems.push(format!("{RUN} was changed after it was kept"));
        }
        Some(_) => {}
        None => output::note(&format!(
            "note: {RUN} was not at hand when the plan was kept; it is held against the review alone"
        )),
    }
    let record = match RunRecord::read(bytes) {
        Ok(record) => record,
        Err(error) => {
            problems.push(format!("{RUN} cannot be used: {error}"));
            return;
        }
    };
    if (&record.job, record.attempt) != (&input.job.job, input.job.attempt) {
        problems.push(format!("{RUN} is the record of another run"));
    }
    let Some(bytes) = review else { return };
    if record.review_sha256 != sha256(bytes) {
        problems.push(format!("{RUN} belongs to another review than {REVIEW}"));
    }
    let Ok(read) = plan::read_review(bytes) else {
        return;
    };
    if record.inputs.diff_sha256 != sha256(diff) {
        output::note(
            "note: the diff was another one when the model read it; its answers are not read again",
        );
        return;
    }
    let masked = redact::mask_diff(diff);
    let shown = mirilla_diff::parse(&masked.diff);
    let (wrong, unread) = record::check_answers(&record, &read.review, &shown.files);
    problems.extend(wrong.iter().map(ToString::to_string));
    for call in unread {
        output::note(&format!(
            "note: the answer of call {call} is kept in part only and is not read again"
        ));
    }
}

/// Holds the snapshot's files, as far as they were kept, against the record of what was read.
fn check_snapshot(folder: &RunFolder, record: &[u8], problems: &mut Vec<String>) -> Result<()> {
    let Ok(record) = RunRecord::read(record) else {
        return Ok(());
    };
    for (file, wanted) in [
        (RULES, &record.inputs.rules_sha256),
        (META, &record.inputs.meta_sha256),
    ] {
        if folder
            .find(file)?
            .is_some_and(|bytes| sha256(&bytes) != *wanted)
        {
            problems.push(format!("{file} is not the one that was read"));
        }
    }
    Ok(())
}

fn failed(input: &KeptInput, problems: &[String]) -> anyhow::Error {
    let ours = env!("CARGO_PKG_VERSION");
    let hint = if input.program == ours {
        "a file of the run was changed, or this program was".to_owned()
    } else {
        format!(
            "the run was kept by version {}, and this is version {ours}",
            input.program
        )
    };
    let message = format!("the run cannot be repeated: {}", problems.join("; "));
    Failure::new(message).hint(hint).into()
}

/// Names the first place where two plans differ.
fn difference(again: &[u8], stored: &[u8]) -> String {
    let parsed = |bytes| serde_json::from_slice::<Value>(bytes);
    let (Ok(again), Ok(stored)) = (parsed(again), parsed(stored)) else {
        return format!("{PLAN} is not JSON");
    };
    match first_difference(&again, &stored, "") {
        Some(place) => format!("the plan differs from {PLAN} at {place}"),
        None => format!("the plan says the same as {PLAN} in other bytes"),
    }
}

/// Returns the JSON pointer of the first difference.
fn first_difference(one: &Value, other: &Value, at: &str) -> Option<String> {
    let place = || if at.is_empty() { "/" } else { at }.to_owned();
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => one
            .iter()
            .find_map(|(key, value)| {
                let at = format!("{at}/{key}");
                match other.get(key) {
                    Some(there) => first_difference(value, there, &at),
                    None => Some(at),
                }
            })
            .or_else(|| {
                let added = other.keys().find(|key| !one.contains_key(*key));
                added.map(|key| format!("{at}/{key}"))
            }),
        (Value::Array(one), Value::Array(other)) => one
            .iter()
            .zip(other)
            .enumerate()
            .find_map(|(index, (one, other))| {
                first_difference(one, other, &format!("{at}/{index}"))
            })
            .or_else(|| (one.len() != other.len()).then(place)),
        _ => (one != other).then(place),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn first_difference_is_a_json_pointer() {
        let plan = json!({"a": [1, {"b": "x"}], "c": null});
        for (other, place) in [
            (json!({"a": [1, {"b": "y"}], "c": null}), Some("/a/1/b")),
            (json!({"a": [1, {}], "c": null}), Some("/a/1/b")),
            (json!({"a": [1], "c": null}), Some("/a")),
            (json!({"a": [1, {"b": "x"}], "c": null, "d": 1}), Some("/d")),
            (json!([]), Some("/")),
            (plan.clone(), None),
        ] {
            let found = first_difference(&plan, &other, "");
            assert_eq!(found.as_deref(), place, "{other}");
        }
    }
}
