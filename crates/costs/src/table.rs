//! The rows of the measurement, as Markdown.

use crate::change::{Change, Commit};
use crate::reviewing::Run;

/// Files that a review must have read for its second push to count towards the sum.
const MANY_FILES: usize = 8;

/// One commit.
pub(crate) struct Row {
    number: u32,
    name: String,
    files: usize,
    reviewed: usize,
    calls: usize,
    covered: u64,
    sent: u64,
    weighted: u64,
    /// The pushes that touch the smallest, the median and the largest file.
    pushes: Vec<Push>,
    skipped: String,
}

/// A second push that touches one file.
#[derive(Debug, Clone)]
pub(crate) struct Push {
    /// The file.
    pub(crate) path: String,
    /// Weighted tokens of its review.
    weighted: u64,
    /// Those about files that had been read before.
    again: u64,
    /// Files that it read, and files that were carried.
    covered: usize,
}

impl Push {
    pub(crate) fn of(path: String, run: &Run) -> Self {
        Self {
            path,
            weighted: run.weighted,
            again: run.again,
            covered: run.reviewed.len().saturating_add(run.carried),
        }
    }
}

impl Row {
    pub(crate) fn of(commit: &Commit, change: &Change, first: &Run, pushes: Vec<Push>) -> Self {
        let covered = first.reviewed.iter().map(|path| change.tokens_of(path));
        Self {
            number: commit.number,
            name: commit.name(),
            files: change.files(),
            reviewed: first.reviewed.len(),
            calls: first.calls,
            covered: covered.sum(),
            sent: first.sent,
            weighted: first.weighted,
            pushes,
            skipped: first.not_read.clone(),
        }
    }

    /// Returns what a push costs as a share of the first review: again, and for files that the cap had cut off.
    fn push(&self, at: usize) -> String {
        let Some(push) = self.pushes.get(at) else {
            return "–".to_owned();
        };
        let again = ratio(push.again, self.weighted);
        let more = push.covered.saturating_sub(self.reviewed);
        if more == 0 {
            return format!("{again:.2}");
        }
        let on = ratio(push.weighted.saturating_sub(push.again), self.weighted);
        format!("{again:.2} (+ {on:.2} for {more} more files)")
    }

    /// Returns the row.
    pub(crate) fn line(&self) -> String {
        format!(
            "| {} | {} | {}/{}{} | {} | {} | {} | {} | {:.2} | {} | {} | {} |",
            self.number,
            self.name,
            self.reviewed,
            self.files,
            self.skipped,
            self.calls,
            self.covered,
            self.sent,
            self.weighted,
            ratio(self.weighted, self.covered),
            self.push(1),
            self.push(0),
            self.push(2),
        )
    }
}

/// Returns the whole table with its sums.
pub(crate) fn markdown(rows: &[Row]) -> String {
    let mut lines = vec![
        String::new(),
        "| # | commit | files read | calls | tokens of them | input tokens | weighted | ratio | second push, median file | smallest | largest |".to_owned(),
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |".to_owned(),
    ];
    lines.extend(rows.iter().map(Row::line));
    let sum = |of: fn(&Row) -> u64| rows.iter().map(of).sum::<u64>();
    let (covered, sent, weighted) = (
        sum(|row| row.covered),
        sum(|row| row.sent),
        sum(|row| row.weighted),
    );
    lines.push(format!(
        "| | sum | | | {covered} | {sent} | {weighted} | {:.2} | | | |",
        ratio(weighted, covered)
    ));
    lines.push(String::new());
    let many: Vec<&Row> = rows
        .iter()
        .filter(|row| row.reviewed >= MANY_FILES)
        .collect();
    let first: u64 = many.iter().map(|row| row.weighted).sum();
    for (at, which) in [(1, "median"), (0, "smallest"), (2, "largest")] {
        let pushes = many.iter().filter_map(|row| row.pushes.get(at));
        let (again, second) = pushes.fold((0, 0), |sum, push| {
            (sum.0 + push.again, sum.1 + push.weighted)
        });
        lines.push(format!(
            "Second push that touches the {which} file, over the {} commits with {MANY_FILES} or more files read: {again} of {first}, {:.3}; with the files that the cap had cut off {second}, {:.3}",
            many.len(),
            ratio(again, first),
            ratio(second, first)
        ));
    }
    lines.join("\n")
}

#[expect(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    reason = "shares that are shown with two digits"
)]
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}
