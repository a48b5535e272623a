//! The demo's page, made from what stands on the pull request and from a replay of the plan.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use mirilla_domain::code::SkipReason;
use mirilla_domain::review::{Fate, Review};
use mirilla_domain::snapshot::Keys;
use mirilla_domain::thousands;
use mirilla_local::DirArtifacts;
use mirilla_ports::Artifacts as _;

use super::Forge;
use super::change;
use super::loopback::Loopback;
use super::show::without_markers;
use crate::html::{FileView, Page, Row};

/// Largest findings file that is read.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// Returns the page of the pull request as it stands.
pub(super) async fn of(
    host: &Loopback,
    github: &Forge,
    number: u64,
    log: &[String],
) -> Result<Page> {
    let seen = github.pull_request_page(change::REPO, number)?;
    let reviews = findings(host).await?;
    let mut page = Page {
        title: seen.title.clone(),
        subtitle: format!(
            "{}#{number} · {} · model: simulated",
            change::REPO,
            seen.head
        ),
        log: log.to_vec(),
        ..Page::default()
    };
    let comments = seen
        .reviews
        .iter()
        .map(|review| review.comments.len())
        .sum::<usize>();
    page.figures
        .push(("comments on lines".to_owned(), comments.to_string()));
    if let Some(review) = seen.reviews.last() {
        page.body = without_markers(&review.body);
    }
    for file in &seen.files {
        page.files.push(view(file));
    }
    if let Some(last) = reviews.last() {
        coverage(&mut page, last);
        dropped(&mut page, last);
    }
    let cost = reviews
        .iter()
        .fold(mirilla_domain::money::PicoUsd::ZERO, |sum, review| {
            sum.plus(review.cost)
        });
    let calls: u32 = reviews.iter().map(|review| review.turns).sum();
    let usage = reviews
        .iter()
        .fold(mirilla_domain::money::Usage::default(), |sum, review| {
            sum.plus(&review.usage)
        });
    page.figures.extend([
        ("reviews".to_owned(), reviews.len().to_string()),
        ("calls to the model".to_owned(), calls.to_string()),
        ("tokens in".to_owned(), thousands(usage.total_input())),
        ("tokens out".to_owned(), thousands(usage.output_tokens)),
        ("cost".to_owned(), cost.to_string()),
    ]);
    Ok(page)
}

/// Returns the findings files of the run, oldest first.
async fn findings(host: &Loopback) -> Result<Vec<Review>> {
    let artifacts = DirArtifacts::open(&host.data().artifacts())?;
    let mut found = Vec::new();
    for key in artifacts.list(Keys::findings_prefix()).await? {
        let bytes = artifacts.get(&key, MAX_BYTES).await?;
        let review: Review =
            serde_json::from_slice(&bytes).context("a findings file cannot be read")?;
        found.push(review);
    }
    // Job ids are hashes: the run that the pull request's present head belongs to comes last.
    Ok(found)
}

fn view(file: &mirilla_sim::FileView) -> FileView {
    let mut rows = Vec::new();
    for line in &file.lines {
        let number = |number: Option<u64>| number.and_then(|number| u32::try_from(number).ok());
        // The forge lists a hunk's header as a line with this sign.
        if line.sign == '@' {
            rows.push(Row::Gap(format!("@@{}", line.text.trim_start_matches('@'))));
            continue;
        }
        rows.push(Row::Line {
            old: number(line.old),
            new: number(line.new),
            sign: line.sign,
            text: line.text.clone(),
        });
        for comment in line.threads.iter().flat_map(|thread| &thread.comments) {
            rows.push(Row::Comment {
                author: comment.author.clone(),
                severity: severity_word(&comment.body),
                body: without_markers(&comment.body),
            });
        }
    }
    FileView {
        path: match &file.old_path {
            Some(old) if *old != file.path => format!("{old} → {}", file.path),
            _ => file.path.clone(),
        },
        note: format!("+{} −{}", file.additions, file.deletions),
        rows,
    }
}

/// Returns the severity that a comment names first, for its colour.
fn severity_word(body: &str) -> String {
    let start: String = body.chars().take(40).collect::<String>().to_lowercase();
    mirilla_domain::review::Severity::ALL
        .into_iter()
        .map(mirilla_domain::review::Severity::as_str)
        .find(|word| start.contains(word))
        .unwrap_or_default()
        .to_owned()
}

fn coverage(page: &mut Page, review: &Review) {
    for line in &review.coverage {
        let (fate, why) = match &line.fate {
            Fate::Reviewed => ("reviewed", ""),
            Fate::Carried => ("carried", ""),
            Fate::Skipped(reason) => ("skipped", SkipReason::explain(*reason)),
            Fate::Failed(reason) => ("failed", reason.explain()),
        };
        page.coverage
            .push((line.path.clone(), fate.to_owned(), why.to_owned()));
    }
}

fn dropped(page: &mut Page, review: &Review) {
    let shown: BTreeSet<&str> = page.files.iter().map(|file| file.path.as_str()).collect();
    for finding in &review.findings {
        if !shown.contains(finding.path.as_str()) {
            let place = format!("{}:{}", finding.path, finding.line);
            page.dropped
                .push((finding.title.clone(), place, "not in the change".to_owned()));
        }
    }
    for rejected in &review.rejected {
        page.dropped.push((
            format!("item {} of the model's answer", rejected.item),
            String::new(),
            rejected.reason.clone(),
        ));
    }
}
