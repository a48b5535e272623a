//! Which suggestions may be offered. One click commits them under a maintainer's name, so they are held
//! to more than any other text.
//!
//! **Invariant:** an offered suggestion replaces exactly the added lines that the comment is anchored
//! to, keeps their indentation and what their brackets open and close, and adds no URL, no long opaque text,
//! no character outside ASCII and no placeholder of ours that those lines do not have.
//!
//! A file with carriage returns gets none: a suggestion has no line ends of its own, and no forge says whether
//! it keeps those of the file.

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
        && !lines.side(anchor.side).iter().any(|line| line.has_return)
        && keeps_indent(replaced, text)
        && keeps_brackets(text, &old)
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

/// Whether the first line begins where the first replaced one did, and no line is indented with what those
/// lines are not indented with. Where only blank lines are replaced, nobody knows how deep the code is.
fn keeps_indent(replaced: &[ShownLine], text: &str) -> bool {
    let old: Vec<&str> = replaced
        .iter()
        .filter(|line| !line.text.is_empty())
        .map(|line| line.indent.as_str())
        .collect();
    let new: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(indent)
        .collect();
    let begins_there = match (old.first(), new.first()) {
        (_, None) => true,
        (old, new) => old == new,
    };
    begins_there && !mixes_anew(&old, &new)
}

fn indent(line: &str) -> &str {
    let code = line.trim_start_matches([' ', '\t']);
    line.strip_suffix(code).unwrap_or_default()
}

/// Whether the new lines are indented with blanks or tabs where the old ones are not, or with a tab after a
/// blank. Old lines at the margin allow either, but not both.
fn mixes_anew(old: &[&str], new: &[&str]) -> bool {
    let has = |lines: &[&str], what: &str| lines.iter().any(|line| line.contains(what));
    let (old_blank, old_tab) = (has(old, " "), has(old, "\t"));
    let (new_blank, new_tab) = (has(new, " "), has(new, "\t"));
    let is_mixed = if old_blank || old_tab {
        (new_blank && !old_blank) || (new_tab && !old_tab)
    } else {
        new_blank && new_tab
    };
    is_mixed || (has(new, " \t") && !has(old, " \t"))
}

/// Whether the lines around see the same brackets opened and closed, in the same order, with and without
/// those in strings.
fn keeps_brackets(text: &str, old: &str) -> bool {
    unmatched(text.chars()) == unmatched(old.chars())
        && unmatched(outside_strings(text)) == unmatched(outside_strings(old))
}

/// Returns the brackets that find no partner, in order: `)(` for `a) + (b`.
fn unmatched(text: impl Iterator<Item = char>) -> Vec<char> {
    let mut left = Vec::new();
    for c in text {
        let opening = match c {
            '(' | '[' | '{' => {
                left.push(c);
                continue;
            }
            ')' => '(',
            ']' => '[',
            '}' => '{',
            _ => continue,
        };
        if left.last() == Some(&opening) {
            left.pop();
        } else {
            left.push(c);
        }
    }
    left
}

/// Returns the text without what stands in quotes. A quote that is not closed on its line is none: an
/// apostrophe, or a lifetime.
fn outside_strings(text: &str) -> impl Iterator<Item = char> {
    text.lines().flat_map(|line| {
        let mut rest = line;
        std::iter::from_fn(move || {
            loop {
                let c = rest.chars().next()?;
                rest = rest.get(c.len_utf8()..)?;
                match matches!(c, '"' | '\'' | '`').then(|| after_string(rest, c)) {
                    Some(Some(after)) => rest = after,
                    _ => return Some(c),
                }
            }
        })
    })
}

/// Returns what follows a string's closing quote on the line.
fn after_string(text: &str, quote: char) -> Option<&str> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return text.get(at.saturating_add(c.len_utf8())..),
            _ => {}
        }
    }
    None
}

/// Whether a word with a scheme or host stands in the text and not in the old lines.
fn adds_url(text: &str, old: &str) -> bool {
    text.split_whitespace()
        .filter(|word| {
            let word = word.to_ascii_lowercase();
            word.contains("://")
                || word.contains("www.")
                || word.contains("\\\\")
                || names_host(&word)
        })
        .any(|word| !old.contains(word))
}

/// Whether a lower-case word names a host without a scheme: `//evil.test/x`, `git@evil.test:x`, `evil.test/x`.
fn names_host(word: &str) -> bool {
    let is_host = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    let parts: Vec<&str> = word
        .split(|c: char| !(is_host(c) || "/@:".contains(c)))
        .collect();
    parts.iter().any(|part| {
        let after_slashes = part
            .split_once("//")
            .is_some_and(|(_, host)| dotted(host, &['/', ':']));
        let after_at = part
            .split_once('@')
            .is_some_and(|(_, host)| dotted(host, &['/', ':']));
        let first = part
            .split_once('/')
            .is_some_and(|(host, _)| dotted(host, &[]));
        after_slashes || after_at || first
    })
}

/// Whether the text up to one of `ends` is a name with a dot in it, the last part of which is letters.
fn dotted(text: &str, ends: &[char]) -> bool {
    let host = text.split(ends).next().unwrap_or_default();
    host.rsplit_once('.').is_some_and(|(name, last)| {
        !name.is_empty() && last.len() >= 2 && last.chars().all(|c| c.is_ascii_alphabetic())
    })
}

fn opaque_runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || "+/=_-".contains(c)))
        .filter(|run| run.len() >= MAX_OPAQUE_CHARS)
}

fn same_text(text: &str, old: &str) -> bool {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    plain(text) == plain(old)
}
