//! GitLab's code quality report: what a merge request's widget and its diff show.
//!
//! The fields are those of
//! <https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format>: a subset of Code Climate's
//! issue, one JSON array, no byte order mark. GitLab shows the first of two findings with one fingerprint, so
//! here each has its own.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{fingerprint, lines};
use crate::plan::Item;
use crate::review::Severity;

#[derive(Serialize)]
struct Issue<'a> {
    description: String,
    check_name: &'a str,
    fingerprint: String,
    severity: &'static str,
    location: Location<'a>,
}

#[derive(Serialize)]
struct Location<'a> {
    path: &'a str,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: u32,
    end: u32,
}

/// Returns a report of these items as pretty-printed JSON.
///
/// # Errors
///
/// None in practice: every field is a string or a number.
pub fn codequality<'a>(items: impl Iterator<Item = &'a Item>) -> Result<String, serde_json::Error> {
    let mut known = BTreeSet::new();
    let issues: Vec<Issue<'_>> = items
        .map(|item| {
            // The widget has no place for what stands on no line of the new file: its first line is the
            // customary one.
            let (begin, end) = lines(item).unwrap_or((1, 1));
            Issue {
                description: description(item),
                check_name: &item.category,
                fingerprint: unique(&mut known, &fingerprint(item)),
                severity: severity(item.severity),
                location: Location {
                    path: &item.path,
                    lines: Lines { begin, end },
                },
            }
        })
        .collect();
    serde_json::to_string_pretty(&issues)
}

fn description(item: &Item) -> String {
    if item.message.is_empty() {
        return item.title.clone();
    }
    format!("{}: {}", item.title, item.message)
}

fn unique(known: &mut BTreeSet<String>, fingerprint: &str) -> String {
    let mut name = fingerprint.to_owned();
    let mut count = 1_u32;
    while !known.insert(name.clone()) {
        count = count.saturating_add(1);
        name = format!("{fingerprint}-{count}");
    }
    name
}

/// GitLab knows `info`, `minor`, `major`, `critical` and `blocker`.
const fn severity(severity: Option<Severity>) -> &'static str {
    match severity {
        Some(Severity::Critical) => "blocker",
        Some(Severity::High) => "critical",
        Some(Severity::Medium) => "major",
        Some(Severity::Low) => "minor",
        None => "info",
    }
}
