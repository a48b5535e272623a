//! Which suggestions may be offered. One click commits them under a maintainer's name, so they are held
//! to more than any other text.
//!
//! **Invariant:** an offered suggestion replaces exactly the added lines that the comment is anchored
//! to, keeps their brackets balanced, and adds no URL, no long opaque text, no character outside ASCII and
//! no placeholder of ours that those lines do not have.

use crate::anchor::{Anchor, FileLines, ShownLine, Wanted};
use crate::review::Side;

/// Text without a break that is this long can hide a secret or a payload.
const MAX_OPAQUE_CHARS: usize = 24;
/// How the places begin at which something was taken out of a text: of what a model wrote, and of what it was
/// shown.
const PLACEHOLDERS: [&str; 2] = ["[redacted: ", "[masked: "];
/// Files whose change has effects that a reader of one line does not see: exact names.
const GUARDED_NAMES: [&str; 20] = [
    ".gitattributes",
    ".gitlab-ci.yml",
    ".gitmodules",
    ".mirilla.toml",
    "AGENTS.md",
    "CLAUDE.md",
    "CODEOWNERS",
    "Cargo.lock",
    "Gemfile.lock",
    "Jenkinsfile",
    "Pipfile.lock",
    "REVIEW.md",
    "azure-pipelines.yml",
    "composer.lock",
    "copilot-instructions.md",
    "go.sum",
    "package-lock.json",
    "pnpm-lock.yaml",
    "poetry.lock",
    "yarn.lock",
];
/// And folders.
const GUARDED_FOLDERS: [&str; 5] = [
    ".circleci/",
    ".github/",
    ".gitlab/",
    ".mirilla/",
    ".woodpecker/",
];

/// Returns whether the anchor is exactly what the finding named: a suggestion for other lines would
/// replace code that its author did not look at.
pub(super) fn is_exact(wanted: &Wanted<'_>, anchor: &Anchor) -> bool {
    let other = wanted.end_line.unwrap_or(wanted.line);
    anchor.first() == wanted.line.min(other) && anchor.line == wanted.line.max(other)
}

/// Returns whether `text` may be offered in place of the anchored lines.
pub(super) fn may_offer(
    path: &str,
    lines: &FileLines,
    anchor: &Anchor,
    message: &str,
    text: &str,
) -> bool {
    let replaced = lines.between(anchor.side, anchor.first(), anchor.line);
    let old: Vec<&str> = replaced.iter().map(|line| line.text.as_str()).collect();
    let old = old.join("\n");
    anchor.side == Side::Right
        && !is_guarded(path)
        && replaced.iter().all(ShownLine::is_changed)
        && balance(text) == balance(&old)
        && !adds_url(text, &old)
        && PLACEHOLDERS
            .iter()
            .all(|placeholder| !text.contains(placeholder) || old.contains(placeholder))
        && text.chars().all(|c| c.is_ascii() || old.contains(c))
        && opaque_runs(text).all(|run| old.contains(run) || message.contains(run))
        && !same_text(text, &old)
}

fn is_guarded(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let rooted = format!("/{path}");
    GUARDED_NAMES
        .iter()
        .any(|guarded| guarded.eq_ignore_ascii_case(name))
        || name.to_ascii_lowercase().ends_with(".lock")
        || name.ends_with(".instructions.md")
        || GUARDED_FOLDERS
            .iter()
            .any(|folder| rooted.contains(&format!("/{folder}")))
}

/// Closing minus opening, per kind of bracket.
fn balance(text: &str) -> [i64; 3] {
    let mut open = [0_i64; 3];
    for c in text.chars() {
        let (slot, step): (usize, i64) = match c {
            '(' => (0, 1),
            ')' => (0, -1),
            '[' => (1, 1),
            ']' => (1, -1),
            '{' => (2, 1),
            '}' => (2, -1),
            _ => continue,
        };
        if let Some(count) = open.get_mut(slot) {
            *count = count.saturating_add(step);
        }
    }
    open
}

/// Whether a word with a scheme or host stands in the text and not in the old lines.
fn adds_url(text: &str, old: &str) -> bool {
    text.split_whitespace()
        .filter(|word| {
            let word = word.to_ascii_lowercase();
            word.contains("://") || word.contains("www.") || word.contains("\\\\")
        })
        .any(|word| !old.contains(word))
}

fn opaque_runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || "+/=_-".contains(c)))
        .filter(|run| run.len() >= MAX_OPAQUE_CHARS)
}

fn same_text(text: &str, old: &str) -> bool {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    plain(text) == plain(old)
}
