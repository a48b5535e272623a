//! The words of a check: why, what is open and where, what was read, and the counts for programs.
//!
//! **Invariant:** titles, explanations and paths get in through [`Words`] alone; an annotation's path is the
//! diff's own, because the forge looks it up.

use std::collections::BTreeSet;

use super::words::{self, Words};
use super::{MAX_BODY_BYTES, coverage};
use crate::anchor::Anchor;
use crate::gate::{
    Annotation, Basis, CheckReport, FindingFact, Level, Standing, Verdict, machine_line, reasons,
    title,
};
use crate::plan::{CoverageReport, Item};
use crate::review::{Severity, Side};
use crate::settings::OnInconclusive;

/// The most annotations: each fifty are a call.
const MAX_ANNOTATIONS: usize = 100;
/// Findings named in the summary.
const MAX_NAMED: usize = 50;
const MAX_TITLE_CHARS: usize = 250;
/// What of a person's reason is shown.
const MAX_REASON_CHARS: usize = 300;
const MAX_MESSAGE_CHARS: usize = 4_000;
/// Room for what stands around the table of files.
const FRAME_BYTES: usize = 1_000;

/// What a check tells.
pub(crate) struct CheckWords<'a> {
    pub(crate) verdict: Verdict,
    pub(crate) on_inconclusive: OnInconclusive,
    /// The mildest severity that fails.
    pub(crate) threshold: Option<Severity>,
    pub(crate) coverage: &'a CoverageReport,
    /// In the order people read them in.
    pub(crate) items: &'a [Item],
    /// What somebody who may do so declined.
    pub(crate) declined: &'a [Declined<'a>],
    pub(crate) words: &'a Words<'a>,
}

/// A finding that does not count, because somebody who may do so said why it should not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Declined<'a> {
    pub(crate) severity: Severity,
    /// Untrusted, and perhaps empty.
    pub(crate) title: &'a str,
    pub(crate) category: &'a str,
    pub(crate) path: &'a str,
    pub(crate) line: Option<u32>,
    /// The account, as the forge names it.
    pub(crate) by: &'a str,
    /// What they said. Untrusted.
    pub(crate) reason: &'a str,
}

/// Returns the check of a change that was planned.
pub(crate) fn check(what: &CheckWords<'_>) -> CheckReport {
    let open: Vec<&Item> = what
        .items
        .iter()
        .filter(|item| FindingFact::of(item.severity, &item.fate).standing == Standing::Open)
        .collect();
    let of = |severity| {
        let same = |item: &&&Item| item.severity == Some(severity);
        open.iter().filter(same).count()
    };
    let machine = machine_line(
        &what.verdict,
        &[
            ("files", what.coverage.files().len()),
            ("read", what.coverage.read()),
            ("carried", what.coverage.carried()),
            ("declined", what.declined.len()),
            ("critical", of(Severity::Critical)),
            ("high", of(Severity::High)),
            ("medium", of(Severity::Medium)),
            ("low", of(Severity::Low)),
        ],
    );
    let mut parts = vec![
        reasons(&what.verdict),
        findings(&open, what.words),
        declined(what.declined, what.words),
    ];
    let used: usize = parts
        .iter()
        .fold(machine.len(), |sum, part| sum.saturating_add(part.len()));
    let left = MAX_BODY_BYTES
        .saturating_sub(used)
        .saturating_sub(FRAME_BYTES);
    parts.push(coverage::table(what.coverage, what.words, left));
    parts.push(machine);
    parts.retain(|part| !part.is_empty());
    CheckReport {
        title: title(&what.verdict),
        verdict: what.verdict.clone(),
        on_inconclusive: what.on_inconclusive,
        summary: parts.join("\n\n"),
        basis: Some(Basis {
            files: what.coverage.files().len(),
            read: what.coverage.read(),
            carried: what.coverage.carried(),
            skipped: what.coverage.skipped(),
            declined: what.declined.len(),
            declined_by: decliners(what.declined),
        }),
        annotations: open
            .iter()
            .filter_map(|item| annotation(item, what))
            .take(MAX_ANNOTATIONS)
            .collect(),
    }
}

/// `- High: the title, at path:line`
fn findings(open: &[&Item], words: &Words<'_>) -> String {
    let mut lines: Vec<String> = open
        .iter()
        .take(MAX_NAMED)
        .map(|item| {
            let severity = item.severity.map_or("Unknown", words::severity);
            let line = item.anchor.as_ref().map_or(item.line, Anchor::first);
            let place = words.place(&item.path, (line > 0).then_some(line));
            let title = words.title(&item.title, &item.category);
            format!("- **{severity}:** {title}, {place}")
        })
        .collect();
    let more = open.len().saturating_sub(MAX_NAMED);
    if more > 0 {
        lines.push(format!("- and {more} more"));
    }
    lines.join("\n")
}

/// `- **High:** the title, at path:line: declined by @login, because …`
fn declined(declined: &[Declined<'_>], words: &Words<'_>) -> String {
    if declined.is_empty() {
        return String::new();
    }
    let mut lines = vec!["**Declined**, so that it does not count:".to_owned()];
    lines.extend(declined.iter().take(MAX_NAMED).map(|one| {
        let severity = words::severity(one.severity);
        let title = words.title(one.title, one.category);
        let place = words.place(one.path, one.line);
        let by = words.code(one.by);
        let reason: String = one.reason.chars().take(MAX_REASON_CHARS).collect();
        let reason = words.title(&reason, "no reason that can be shown");
        format!("- **{severity}:** {title}, {place}: by {by}, who says: {reason}")
    }));
    let more = declined.len().saturating_sub(MAX_NAMED);
    if more > 0 {
        lines.push(format!("- and {more} more"));
    }
    lines.join("\n")
}

/// Each of them once, in the order of names.
fn decliners(declined: &[Declined<'_>]) -> Vec<String> {
    let people: BTreeSet<&str> = declined.iter().map(|one| one.by).collect();
    people.into_iter().map(str::to_owned).collect()
}

/// The forge shows annotations on the new side only.
fn annotation(item: &Item, what: &CheckWords<'_>) -> Option<Annotation> {
    let anchor = item.anchor.filter(|anchor| anchor.side == Side::Right)?;
    // Only under the name that the diff has: what was redacted is no name.
    what.coverage.state(&item.path)?;
    let counts = item
        .severity
        .zip(what.threshold)
        .is_some_and(|(severity, threshold)| severity >= threshold);
    let title = what.words.title(&item.title, &item.category);
    let message = what.words.prose(&item.message, MAX_MESSAGE_CHARS);
    Some(Annotation {
        path: item.path.clone(),
        first: anchor.first(),
        last: anchor.line,
        level: if counts {
            Level::Failure
        } else {
            Level::Warning
        },
        message: if message.is_empty() {
            title.clone()
        } else {
            message
        },
        title: title.chars().take(MAX_TITLE_CHARS).collect(),
    })
}
