//! A small reviewer that really reads what it is shown.
//!
//! It knows some twenty patterns of defects, in several languages, and reports them on the lines that
//! were added. It is no model: it exists so that the demo and the tests have findings that belong to
//! the diff at hand, the same ones every time, without a key and without cost.
//!
//! **Invariant:** a finding names a line that the prompt showed as added, or as context where
//! something was removed; and the same prompt gives the same answer.

use super::fit::fit;
use super::prompt::Prompt;

mod language;
mod patterns;
mod shown;

/// Most findings in one answer.
const MAX_FINDINGS: usize = 20;

/// Answers a prompt by the shape its schema wants.
pub(super) fn answer(prompt: &Prompt) -> String {
    let text = prompt.text();
    let files = shown::read(&text);
    let mut findings: Vec<_> = files.iter().flat_map(patterns::scan).collect();
    let rank = |severity| {
        ["critical", "high", "medium", "low"]
            .iter()
            .position(|s| *s == severity)
    };
    // Stable, so that equal ones stay in the order of the prompt.
    findings.sort_by_key(|finding| rank(finding.severity));
    findings.truncate(MAX_FINDINGS);
    let summary = match findings.first() {
        _ if files.is_empty() => "No numbered lines were shown.".to_owned(),
        None => "Nothing to report in what was shown.".to_owned(),
        Some(worst) => format!("Look at this first: {} ({}).", worst.title, worst.path),
    };
    fit(prompt.schema.as_ref(), &summary, &findings).to_string()
}
