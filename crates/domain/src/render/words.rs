//! The one gate between untrusted text and what is posted.
//!
//! **Invariant:** every function here returns text that renders without mention, image, foreign link,
//! raw HTML or command, whatever it is given.

use crate::plan::PlanPolicy;
use crate::review::Severity;
use crate::sanitise::{self, TextPolicy};

/// Returns running text as Markdown of at most `max_chars` characters; empty if nothing is left.
pub(super) fn prose(text: &str, max_chars: usize, policy: &PlanPolicy) -> String {
    sanitise::body(text, &limits(max_chars, policy))
}

/// Returns a title on one line that can stand in bold text, a list and a table's cell.
pub(super) fn title(text: &str, category: &str, policy: &PlanPolicy) -> String {
    if text.trim().is_empty() {
        return category_label(category, policy);
    }
    sanitise::title(text, &limits(TextPolicy::default().max_chars, policy))
}

/// Returns a path, with its line, as a code span for any place.
pub(super) fn place(path: &str, line: Option<u32>) -> String {
    match line {
        Some(line) => sanitise::inline_code(&format!("{path}:{line}")),
        None => sanitise::inline_code(path),
    }
}

/// Returns a short name as a code span for any place.
pub(super) fn code(name: &str) -> String {
    sanitise::inline_code(name)
}

/// Returns replacement code as a suggestion, if it can be offered exactly as it is.
pub(super) fn suggestion(code: &str) -> Option<String> {
    sanitise::suggestion(code)
}

/// `error-handling` reads `error handling`.
pub(super) fn category_label(category: &str, policy: &PlanPolicy) -> String {
    let spaced = category.replace('-', " ");
    sanitise::title(&spaced, &limits(TextPolicy::default().max_chars, policy))
}

/// The badge word.
pub(super) const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "Critical",
        Severity::High => "High",
        Severity::Medium => "Medium",
        Severity::Low => "Low",
    }
}

/// `12345` reads `12,345`.
pub(super) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        let left = digits.len().saturating_sub(at);
        if at > 0 && left.is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 file`, `2 files`.
pub(super) fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

fn limits(max_chars: usize, policy: &PlanPolicy) -> TextPolicy {
    TextPolicy {
        link_hosts: policy.link_hosts.clone(),
        max_chars,
        ..TextPolicy::default()
    }
}
