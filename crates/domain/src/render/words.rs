//! The one gate between untrusted text and what is posted.
//!
//! Secrets are taken out before sanitising, which may join what markup had split, and looked for again
//! after it.
//!
//! **Invariant:** every method of [`Words`] returns text that renders without mention, image, foreign
//! link, raw HTML or command, and without an opaque run that is not public, whatever it is given.

use std::cell::Cell;

use crate::redact::{Haystack, Redactor};
use crate::review::Severity;
use crate::sanitise::{self, TextPolicy};

/// What stands in place of text that still looks like a credential after everything.
const WITHHELD: &str = "(text withheld: it looks like a credential)";

/// Cleans untrusted text for posting, and counts the secrets it took out.
#[derive(Debug)]
pub(crate) struct Words<'a> {
    redactor: &'a Redactor,
    public: &'a Haystack<'a>,
    link_hosts: &'a [String],
    redacted: Cell<usize>,
}

impl<'a> Words<'a> {
    pub(crate) fn new(
        redactor: &'a Redactor,
        public: &'a Haystack<'a>,
        link_hosts: &'a [String],
    ) -> Self {
        Self {
            redactor,
            public,
            link_hosts,
            redacted: Cell::new(0),
        }
    }

    /// Returns how many secrets were taken out so far.
    pub(crate) fn redacted(&self) -> usize {
        self.redacted.get()
    }

    /// Returns text without secrets, otherwise as it came: for records, not for posting.
    pub(crate) fn unsanitised(&self, text: &str) -> String {
        let clean = self.redactor.redact_for_posting(text, self.public);
        let count = self.redacted.get().saturating_add(clean.total());
        self.redacted.set(count);
        clean.text
    }

    /// Returns running text as Markdown of at most `max_chars` characters; empty if nothing is left.
    pub(super) fn prose(&self, text: &str, max_chars: usize) -> String {
        let policy = self.limits(max_chars);
        self.clean(text, |text| sanitise::body(text, &policy))
    }

    /// Returns a title on one line that can stand in bold text, a list and a table's cell.
    pub(super) fn title(&self, text: &str, category: &str) -> String {
        if text.trim().is_empty() {
            return self.category(category);
        }
        let policy = self.limits(TextPolicy::default().max_chars);
        self.clean(text, |text| sanitise::title(text, &policy))
    }

    /// Returns a path, with its line, as a code span for any place.
    pub(super) fn place(&self, path: &str, line: Option<u32>) -> String {
        match line {
            Some(line) => self.code(&format!("{path}:{line}")),
            None => self.code(path),
        }
    }

    /// Returns a short name as a code span for any place.
    pub(super) fn code(&self, name: &str) -> String {
        self.clean(name, sanitise::inline_code)
    }

    /// Returns replacement code as a suggestion, if it can be offered exactly as it is; `above` as in
    /// [`sanitise::suggestion`].
    pub(super) fn suggestion(&self, code: &str, above: Option<u32>) -> Option<String> {
        let is_public = self.unsanitised(code) == code;
        is_public
            .then(|| sanitise::suggestion(code, above))
            .flatten()
    }

    /// `error-handling` reads `error handling`.
    pub(super) fn category(&self, category: &str) -> String {
        let policy = self.limits(TextPolicy::default().max_chars);
        sanitise::title(&category.replace('-', " "), &policy)
    }

    fn clean(&self, text: &str, sanitise: impl Fn(&str) -> String) -> String {
        let bare = self.without_splitting_ticks(text);
        let text = bare.as_deref().unwrap_or(text);
        let first = sanitise(&self.unsanitised(text));
        let again = self.unsanitised(&first);
        if again == first {
            return first;
        }
        let second = sanitise(&again);
        if self.unsanitised(&second) == second {
            second
        } else {
            sanitise(WITHHELD)
        }
    }

    /// A reader sees one word where a code span ends inside it. If a secret hides so, the text loses its
    /// code spans.
    fn without_splitting_ticks(&self, text: &str) -> Option<String> {
        if !text.contains('`') {
            return None;
        }
        let found = |text: &str| self.redactor.redact_for_posting(text, self.public).total();
        let bare = text.replace('`', "");
        (found(&bare) > found(text)).then_some(bare)
    }

    fn limits(&self, max_chars: usize) -> TextPolicy {
        TextPolicy {
            link_hosts: self.link_hosts.to_vec(),
            max_chars,
            ..TextPolicy::default()
        }
    }
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
pub fn thousands(number: u64) -> String {
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
