//! The part of a review's body that says which files were read.
//!
//! **Invariant:** the numbers cover every changed file, also those whose names are not listed.

use std::collections::BTreeMap;

use super::words::Words;
use crate::plan::{CoverageReport, FileState};

/// More names than this are not read; the rest is counted.
const MAX_NAMES: usize = 50;
/// Room for what stands around the rows.
const FRAME_BYTES: usize = 400;

/// Returns the folded table, at most about `budget` bytes; empty if nothing was changed.
pub(super) fn table(report: &CoverageReport, words: &Words<'_>, budget: usize) -> String {
    let total = report.files().len();
    if total == 0 {
        return String::new();
    }
    let mut files: Vec<_> = report.files().iter().collect();
    // What was not read is what a reader looks for.
    files.sort_by_key(|file| file.state.is_read());
    let mut rows = String::new();
    let mut shown = 0_usize;
    for file in files.iter().take(MAX_NAMES) {
        let row = format!(
            "\n| {} | {} |",
            words.code(&file.path),
            file.state.explain_in_full()
        );
        if rows.len().saturating_add(row.len()) > budget.saturating_sub(FRAME_BYTES) {
            break;
        }
        rows.push_str(&row);
        shown = shown.saturating_add(1);
    }
    let rest = files.get(shown..).unwrap_or_default();
    let more = if rest.is_empty() {
        String::new()
    } else {
        let unread = rest.iter().filter(|file| !file.state.is_read()).count();
        format!(
            "\n\nand {} more: {} read, {unread} not",
            rest.len(),
            rest.len().saturating_sub(unread)
        )
    };
    format!(
        "<details><summary>Files: {} of {total} read{}</summary>\n\n| File | What became of it |\n| --- | --- |{rows}{more}\n\n</details>",
        report.read(),
        reasons(report)
    )
}

/// `; not read: cost-cap 50, lockfile 11`, most frequent first.
fn reasons(report: &CoverageReport) -> String {
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    for file in report.files() {
        if let Some(code) = file.state.code() {
            let count = counts.entry(code).or_default();
            *count = count.saturating_add(1);
        }
    }
    if counts.is_empty() {
        return String::new();
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(code, count)| (std::cmp::Reverse(*count), *code));
    let parts: Vec<String> = counts
        .into_iter()
        .map(|(code, count)| format!("{code} {count}"))
        .collect();
    format!("; not read: {}", parts.join(", "))
}

impl FileState {
    /// Returns the reason's code, if the file does not count as read.
    pub(super) const fn code(self) -> Option<&'static str> {
        match self {
            Self::Reviewed | Self::Carried => None,
            Self::Skipped(reason) => Some(reason.as_str()),
            Self::Failed(reason) => Some(reason.as_str()),
            Self::Stale => Some("changed-since"),
            Self::NotCovered => Some("not-covered"),
        }
    }

    fn explain_in_full(self) -> String {
        match self {
            Self::Reviewed | Self::Carried => self.explain().to_owned(),
            Self::Skipped(_) => format!("skipped: {}", self.explain()),
            Self::Failed(_) | Self::Stale | Self::NotCovered => {
                format!("not read: {}", self.explain())
            }
        }
    }
}
