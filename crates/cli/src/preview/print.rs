//! A preview's findings as text, JSON, a report for another tool, or a page.

use anyhow::Result;
use mirilla_domain::anchor::OffDiff;
use mirilla_domain::code::SkipReason;
use mirilla_domain::escape;
use mirilla_domain::export::{self, Export};
use mirilla_domain::plan::{Item, ItemFate};
use mirilla_domain::review::{Fate, Severity};
use serde_json::{Value, json};

use crate::html::{self, FileView, Page, Row};
use crate::output;
use crate::rehearsal::Rehearsed;

/// How many of the files that were read are listed; those that were not are listed all.
const MAX_READ_SHOWN: usize = 50;

/// Returns the worst severity that would be reported; what a second look doubts decides nothing.
pub(super) fn worst(previewed: &Rehearsed) -> Option<Severity> {
    let certain = reported(previewed).filter(|item| !is_doubted(item));
    certain.filter_map(|item| item.severity).max()
}

fn is_doubted(item: &Item) -> bool {
    let place = OffDiff::Doubted;
    matches!(&item.fate, ItemFate::InBody { place: found, .. } if *found == place)
}

fn reported(previewed: &Rehearsed) -> impl Iterator<Item = &Item> {
    export::reported(&previewed.plan.items)
}

/// Prints findings for a terminal.
pub(super) fn text(previewed: &Rehearsed) {
    for item in reported(previewed) {
        let severity = item.severity.map_or("", Severity::as_str).to_uppercase();
        let place = match item.line {
            0 => escape::terminal(&item.path).into_owned(),
            line => format!("{}:{line}", escape::terminal(&item.path)),
        };
        output::data_line(&format!(
            "{place}  {severity}{}  {}",
            if is_doubted(item) {
                " (doubted on a second look)"
            } else {
                ""
            },
            escape::terminal(&item.title)
        ));
        for line in item.message.lines() {
            output::data_line(&format!("    {}", escape::terminal(line)));
        }
    }
    output::data_line(&summary(previewed));
    for (path, why) in unread(previewed) {
        output::note(&format!("  not read   {} ({why})", escape::terminal(&path)));
    }
    let read = || {
        let lines = previewed.review.coverage.iter();
        lines.filter(|line| is_read(&line.fate))
    };
    for line in read().take(MAX_READ_SHOWN) {
        output::note(&format!("  read       {}", escape::terminal(&line.path)));
    }
    match read().count().saturating_sub(MAX_READ_SHOWN) {
        0 => {}
        more => output::note(&format!("  read       and {more} more")),
    }
}

/// `2 findings (1 high, 1 medium) in 9a..b1; 5 of 7 files read; cost $0.0123`
fn summary(previewed: &Rehearsed) -> String {
    let count = reported(previewed).count();
    let by: Vec<String> = Severity::ALL
        .into_iter()
        .filter_map(|severity| {
            let count = reported(previewed)
                .filter(|item| item.severity == Some(severity))
                .count();
            (count > 0).then(|| format!("{count} {}", severity.as_str()))
        })
        .collect();
    let by = if by.is_empty() {
        String::new()
    } else {
        format!(" ({})", by.join(", "))
    };
    let coverage = &previewed.review.coverage;
    let read = coverage.iter().filter(|line| is_read(&line.fate)).count();
    let model = match previewed.review.model.as_str() {
        "" => format!(
            "no model was asked, so {} not read by one",
            match coverage.len() {
                1 => "1 file was".to_owned(),
                files => format!("{files} files were"),
            }
        ),
        model => format!(
            "{model} read {read} of {} files for {}",
            coverage.len(),
            previewed.review.cost
        ),
    };
    format!(
        "{count} {}{by} in {}; {model}",
        if count == 1 { "finding" } else { "findings" },
        escape::terminal(&previewed.name)
    )
}

fn is_read(fate: &Fate) -> bool {
    matches!(fate, Fate::Reviewed | Fate::Carried)
}

fn unread(previewed: &Rehearsed) -> Vec<(String, &'static str)> {
    let lines = previewed
        .review
        .coverage
        .iter()
        .filter_map(|line| match &line.fate {
            Fate::Skipped(SkipReason::NoModel) | Fate::Reviewed | Fate::Carried => None,
            Fate::Skipped(reason) => Some((line.path.clone(), reason.explain())),
            Fate::Failed(reason) => Some((line.path.clone(), reason.explain())),
        });
    lines.collect()
}

/// Prints one JSON object.
pub(super) fn json(previewed: &Rehearsed) -> Result<()> {
    let findings: Vec<Value> = reported(previewed)
        .map(|item| {
            json!({
                "path": item.path,
                "line": item.line,
                "severity": item.severity,
                "category": item.category,
                "source": item.source,
                "title": item.title,
                "message": item.message,
            })
        })
        .collect();
    let value = json!({
        "schema": "mirilla.preview.v1",
        "subject": previewed.name,
        "outcome": previewed.review.outcome,
        "model": Some(&previewed.review.model).filter(|model| !model.is_empty()),
        "cost_usd": previewed.review.cost.exact(),
        "usage": previewed.review.usage,
        "findings": findings,
        "tally": previewed.plan.tally,
        "coverage": previewed.review.coverage,
    });
    print_json(&serde_json::to_string_pretty(&value)?);
    Ok(())
}

/// Prints a SARIF log.
pub(super) fn sarif(previewed: &Rehearsed) -> Result<()> {
    print_json(&export::sarif(&exported(previewed))?);
    Ok(())
}

/// Prints a code quality report.
pub(super) fn codequality(previewed: &Rehearsed) -> Result<()> {
    print_json(&export::codequality(reported(previewed))?);
    Ok(())
}

fn exported(previewed: &Rehearsed) -> Export<'_> {
    Export {
        items: &previewed.plan.items,
        review: &previewed.review,
        version: env!("CARGO_PKG_VERSION"),
    }
}

fn print_json(text: &str) {
    output::data_line(&escape::json(text));
}

/// Prints a page.
pub(super) fn html(previewed: &Rehearsed) {
    let parsed = mirilla_diff::parse(&previewed.diff);
    let mut page = Page {
        title: format!("Review of {}", previewed.name),
        subtitle: summary(previewed),
        ..Page::default()
    };
    for file in &parsed.files {
        let path = file.display_path().into_owned();
        let mut rows = Vec::new();
        for hunk in &file.hunks {
            rows.push(Row::Gap(
                String::from_utf8_lossy(hunk.heading).trim().to_owned(),
            ));
            for line in hunk.lines() {
                rows.push(Row::Line {
                    old: line.old,
                    new: line.new,
                    sign: match line.kind {
                        mirilla_diff::LineKind::Added => '+',
                        mirilla_diff::LineKind::Deleted => '-',
                        mirilla_diff::LineKind::Context => ' ',
                    },
                    text: String::from_utf8_lossy(line.text).into_owned(),
                });
                let here = reported(previewed).filter(|item| {
                    item.path == path
                        && item.fate == ItemFate::Posted
                        && Some(item.line) == line.new
                });
                rows.extend(here.map(comment));
            }
        }
        page.files.push(FileView {
            path,
            note: String::new(),
            rows,
        });
    }
    for item in &previewed.plan.items {
        let why = match &item.fate {
            ItemFate::Dropped { reason, .. } => reason.explain(),
            ItemFate::InBody {
                place: OffDiff::Doubted,
                ..
            } => "doubted on a second look",
            ItemFate::InBody { .. } => "its line is not part of the change",
            ItemFate::Posted | ItemFate::AlreadyThere { .. } => continue,
        };
        let place = format!("{}:{}", item.path, item.line);
        page.dropped
            .push((item.title.clone(), place, why.to_owned()));
    }
    for line in &previewed.review.coverage {
        let (fate, why) = match &line.fate {
            Fate::Reviewed => ("reviewed", ""),
            Fate::Carried => ("carried", ""),
            Fate::Skipped(reason) => ("skipped", reason.explain()),
            Fate::Failed(reason) => ("failed", reason.explain()),
        };
        page.coverage
            .push((line.path.clone(), fate.to_owned(), why.to_owned()));
    }
    output::data(&html::render(&page));
}

fn comment(item: &Item) -> Row {
    let severity = item.severity.map_or("", Severity::as_str);
    let policy = mirilla_domain::sanitise::TextPolicy::default();
    Row::Comment {
        author: item.category.clone(),
        severity: severity.to_owned(),
        body: format!(
            "**{}** {}\n\n{}",
            severity.to_uppercase(),
            mirilla_domain::sanitise::title(&item.title, &policy),
            mirilla_domain::sanitise::body(&item.message, &policy)
        ),
    }
}
