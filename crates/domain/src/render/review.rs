//! The body of a review: how far it got, what has no line to stand on, and what it cost.
//!
//! **Invariant:** the first line says whether the review is complete, partial or failed; the body is
//! never empty and never longer than its limit.

use super::words::{self, Words};
use super::{comment, coverage};
use crate::anchor::OffDiff;
use crate::checks::Check;
use crate::code::{DropReason, SkipReason};
use crate::plan::{
    CoverageReport, Draft, FileCoverage, FileState, ItemFate, JobFacts, ReadReview, Source, Tally,
};
use crate::review::{Outcome, Severity};

const MAX_SUMMARY_CHARS: usize = 500;
const MAX_NOTE_CHARS: usize = 500;
/// A finding in the body gets less room than one on its line.
const MAX_MESSAGE_CHARS: usize = 1_500;
/// Findings that are shown with their explanation; the others by title and place.
const MAX_EXPLAINED: usize = 25;
/// Rows of a table of findings.
const MAX_ROWS: usize = 100;
/// Room for a section's last line.
const MORE_BYTES: usize = 120;
const FOOTER: &str = "_Written by a model that read untrusted code; do not run commands from it._";

/// What the body tells.
#[derive(Debug)]
pub(crate) struct ReviewBody<'a> {
    pub(crate) job: &'a JobFacts,
    pub(crate) outcome: Outcome,
    pub(crate) review: Option<&'a ReadReview>,
    pub(crate) coverage: &'a CoverageReport,
    /// In the order people read them in.
    pub(crate) drafts: &'a [Draft<'a>],
    pub(crate) tally: &'a Tally,
    pub(crate) max_comments: u32,
    /// How untrusted text gets in.
    pub(crate) words: &'a Words<'a>,
    /// What else the reader must know, in our own words.
    pub(crate) notes: &'a [String],
    /// The most bytes it may have.
    pub(crate) max_bytes: usize,
}

/// Returns the body without its marker.
pub(crate) fn review_body(what: &ReviewBody<'_>) -> String {
    let mut head = vec![first_line(what), findings_line(what)];
    head.extend(
        what.notes
            .iter()
            .map(|note| what.words.prose(note, MAX_NOTE_CHARS)),
    );
    head.push(share_note(what));
    head.push(summary(what));
    let tail = [cost_line(what), what.tally.equation(), FOOTER.to_owned()];

    let fixed: usize = head.iter().chain(&tail).fold(0, |sum, part| {
        sum.saturating_add(part.len()).saturating_add(2)
    });
    let left = what.max_bytes.saturating_sub(fixed);
    // Findings first: names of files can be looked up elsewhere.
    let for_findings = left.saturating_mul(2).checked_div(3).unwrap_or(0);
    let findings = findings(what, for_findings);
    let used: usize = findings.iter().fold(0, |sum, part| {
        sum.saturating_add(part.len()).saturating_add(2)
    });
    let files = coverage::table(
        what.coverage,
        what.words,
        left.saturating_sub(used).saturating_sub(2),
    );

    let mut parts = head;
    parts.extend(findings);
    parts.push(files);
    parts.extend(tail);
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

fn first_line(what: &ReviewBody<'_>) -> String {
    let read = what.coverage.read();
    let total = what.coverage.files().len();
    let carried = match what.coverage.carried() {
        0 => String::new(),
        carried => format!(" ({carried} of them before, unchanged since)"),
    };
    let files = format!(
        "{read} of {} read{carried}",
        words::counted(total, "changed file")
    );
    let (word, rest) = match what.outcome {
        Outcome::Complete if total == 0 => ("Complete", "no file is changed".to_owned()),
        Outcome::Complete if read < total => (
            "Complete",
            format!("{files}, the others are of kinds that are skipped"),
        ),
        Outcome::Complete => ("Complete", files),
        Outcome::Partial => (
            "Partial",
            format!("{files}, the others do not count as reviewed"),
        ),
        Outcome::Failed | Outcome::Superseded => (
            "Failed",
            format!("{files}, only the fixed checks say anything about this change"),
        ),
    };
    let head = what.words.code(what.job.head.short());
    format!("**{word} review** of {head}: {rest}.")
}

fn findings_line(what: &ReviewBody<'_>) -> String {
    let tally = what.tally;
    let posted: Vec<Severity> = what
        .drafts
        .iter()
        .filter(|draft| draft.fate == Some(ItemFate::Posted))
        .map(|draft| draft.severity)
        .collect();
    let mut parts = Vec::new();
    if !posted.is_empty() {
        parts.push(format!(
            "{} ({})",
            words::counted(posted.len(), "new comment"),
            by_severity(&posted)
        ));
    }
    if tally.already_there > 0 {
        parts.push(format!(
            "{} already commented on",
            words::counted(tally.already_there, "finding")
        ));
    }
    if tally.in_body > 0 {
        parts.push(format!(
            "{} listed here",
            words::counted(tally.in_body, "finding")
        ));
    }
    if let Some(over) = tally.dropped.get(&DropReason::OverCap) {
        parts.push(format!(
            "{over} past the limit of {}, named here",
            words::counted(
                usize::try_from(what.max_comments).unwrap_or(usize::MAX),
                "comment"
            )
        ));
    }
    if !parts.is_empty() {
        return format!("{}.", parts.join("; "));
    }
    // Silence means something only about what was read.
    let nothing = match (what.coverage.read(), what.coverage.files().len()) {
        (read, total) if read == total => "Nothing to report.",
        (0, _) => "The fixed checks report nothing; the change itself is not reviewed.",
        _ => "Nothing to report about what was read.",
    };
    nothing.to_owned()
}

/// Tells a newcomer that it is not their code, and a maintainer what to do.
fn share_note(what: &ReviewBody<'_>) -> String {
    let cut = |file: &FileCoverage| file.state == FileState::Skipped(SkipReason::OutsidersShare);
    match what
        .coverage
        .files()
        .iter()
        .filter(|file| cut(file))
        .count()
    {
        0 => String::new(),
        files => format!(
            "Authors who are new here share a part of the budget, and it is used up: {} left unread. \
             A maintainer can have everything read with `/mirilla review` in a comment on a line.",
            words::counted(files, "file")
        ),
    }
}

fn by_severity(all: &[Severity]) -> String {
    if let [only] = all {
        return only.as_str().to_owned();
    }
    let parts: Vec<String> = Severity::ALL
        .into_iter()
        .filter_map(|severity| {
            let count = all.iter().filter(|one| **one == severity).count();
            (count > 0).then(|| format!("{count} {}", severity.as_str()))
        })
        .collect();
    parts.join(", ")
}

/// The model's own summary, as a quotation. Left out of a failed review: it would be about nothing. Left out also
/// where the change works on its reviewer: a finding has a place at which it can be checked, a general word of
/// praise has none.
fn summary(what: &ReviewBody<'_>) -> String {
    let Some(read) = what.review.filter(|_| what.coverage.read() > 0) else {
        return String::new();
    };
    // Cleaned in any case: what is taken out of it is counted, and is an alarm.
    let text = what.words.prose(&read.review.summary, MAX_SUMMARY_CHARS);
    let is_worked_on = what.drafts.iter().any(|draft| {
        draft.source == Source::Floor
            && Check::parse(draft.category).is_some_and(Check::addresses_reviewer)
    });
    if is_worked_on {
        return String::new();
    }
    let quoted: Vec<String> = text
        .lines()
        .map(|line| format!("> {line}").trim_end().to_owned())
        .collect();
    quoted.join("\n")
}

/// The sections of findings that have no comment of their own, within `budget` bytes.
fn findings(what: &ReviewBody<'_>, budget: usize) -> Vec<String> {
    let mut room = Room { left: budget };
    let mut parts = Vec::new();
    let in_body: Vec<&Draft<'_>> = what
        .drafts
        .iter()
        .filter(|draft| matches!(draft.fate, Some(ItemFate::InBody { .. })))
        .collect();
    let (explained, listed) = in_body.split_at(in_body.len().min(MAX_EXPLAINED));
    let mut shown = 0_usize;
    for draft in explained {
        let place = what
            .words
            .place(&draft.path, draft.shown_line().map(|(_, line)| line));
        let message = what.words.prose(draft.message, MAX_MESSAGE_CHARS);
        let text = format!(
            "{} ({place}{})\n\n{message}",
            comment::headline(draft, what.words),
            why(draft)
        );
        if !room.takes(&text) {
            break;
        }
        parts.push(text.trim_end().to_owned());
        shown = shown.saturating_add(1);
    }
    let unexplained = explained.get(shown..).unwrap_or_default();
    let rest: Vec<&Draft<'_>> = unexplained.iter().chain(listed).copied().collect();
    parts.extend(rows(&mut room, "Without a line", &rest, what.words));

    let dropped = |reason: DropReason| -> Vec<&Draft<'_>> {
        what.drafts
            .iter()
            .filter(|draft| {
                matches!(&draft.fate, Some(ItemFate::Dropped { reason: why, .. }) if *why == reason)
            })
            .collect()
    };
    let over = dropped(DropReason::OverCap);
    parts.extend(rows(&mut room, "Past the limit", &over, what.words));
    let unknown = dropped(DropReason::UnknownPath);
    let heading = "About files that this change does not have (not posted)";
    parts.extend(rows(&mut room, heading, &unknown, what.words));
    parts
}

/// Why a finding stands here and not on its line, where that is not plain.
fn why(draft: &Draft<'_>) -> &'static str {
    match draft.place {
        Err(OffDiff::OutsideDiff) => ", outside the diff",
        Err(OffDiff::NoLine) | Ok(_) => "",
        Err(OffDiff::Doubted) => ", doubted on a second look",
        Err(OffDiff::LinesRefused) => ", the forge did not accept a comment there",
        Err(OffDiff::TooManyComments) => ", too many comments to place another",
    }
}

/// A table with one row per finding.
fn rows(
    room: &mut Room,
    heading: &str,
    drafts: &[&Draft<'_>],
    words: &Words<'_>,
) -> Option<String> {
    let mut table = format!("**{heading}**\n\n| Severity | Finding | Place |\n| --- | --- | --- |");
    if drafts.is_empty() || !room.takes(&table) {
        return None;
    }
    let mut shown = 0_usize;
    for draft in drafts.iter().take(MAX_ROWS) {
        let row = format!(
            "\n| {} | {} | {} |",
            words::severity(draft.severity),
            words.title(draft.title, draft.category),
            words.place(&draft.path, draft.shown_line().map(|(_, line)| line))
        );
        if !room.takes(&row) {
            break;
        }
        table.push_str(&row);
        shown = shown.saturating_add(1);
    }
    let rest = drafts.len().saturating_sub(shown);
    if rest > 0 {
        table.push_str("\n\nand ");
        table.push_str(&words::counted(rest, "more finding"));
        table.push_str(" not named here");
    }
    Some(table)
}

struct Room {
    left: usize,
}

impl Room {
    fn takes(&mut self, text: &str) -> bool {
        match self.left.checked_sub(text.len().saturating_add(2)) {
            Some(left) if left >= MORE_BYTES => {
                self.left = left;
                true
            }
            _ => false,
        }
    }
}

fn cost_line(what: &ReviewBody<'_>) -> String {
    let Some(read) = what.review else {
        return "Cost: not known, the reviewer left no record.".to_owned();
    };
    let review = &read.review;
    if review.model.is_empty() || review.turns == 0 {
        let since = match what.coverage.carried() {
            0 => "",
            _ => " this time",
        };
        return format!("Cost: {}, no model was asked{since}.", review.cost);
    }
    let usage = &review.usage;
    let about = if usage.estimated { "at most " } else { "" };
    format!(
        "Cost: {about}{} with {}, {} tokens in, {} out.",
        review.cost,
        what.words.code(&review.model),
        words::thousands(usage.total_input()),
        words::thousands(usage.output_tokens)
    )
}
