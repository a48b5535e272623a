//! Finds lines by a regular expression, in time linear in the text.

use regex::bytes::{Regex, RegexBuilder};

use crate::eyes::page::shortened;
use crate::prompt::push_numbered;
use crate::redact::Masker;

/// Longest expression.
const MAX_PATTERN_BYTES: usize = 500;
/// Largest compiled expression, and its cache.
const MAX_COMPILED_BYTES: usize = 1024 * 1024;

/// Why an expression cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// There is nothing to look for.
    #[error("the pattern is empty")]
    Empty,
    /// It is too long.
    #[error("the pattern is longer than {MAX_PATTERN_BYTES} bytes")]
    TooLong,
    /// It is no expression, or one that needs too much memory.
    #[error("the pattern is no regular expression: {0}")]
    Invalid(String),
}

/// A compiled expression.
#[derive(Debug, Clone)]
pub struct Search {
    expression: Regex,
}

/// What was found in one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The first lines, each as `NUMBER MARK TEXT`.
    pub text: String,
    /// How many lines are in it.
    pub shown: usize,
    /// Whether there are more.
    pub more: bool,
}

impl Search {
    /// Compiles an expression without look-around or back-references, which no linear search has.
    pub fn new(pattern: &str) -> Result<Self, PatternError> {
        if pattern.is_empty() {
            return Err(PatternError::Empty);
        }
        if pattern.len() > MAX_PATTERN_BYTES {
            return Err(PatternError::TooLong);
        }
        let expression = RegexBuilder::new(pattern)
            .size_limit(MAX_COMPILED_BYTES)
            .dfa_size_limit(MAX_COMPILED_BYTES)
            .build()
            .map_err(|error| PatternError::Invalid(error.to_string()))?;
        Ok(Self { expression })
    }

    /// Finds at most `most` lines of a text. What is masked is not found: no question about a secret is
    /// answered.
    pub fn find(&self, text: &[u8], most: usize, added: impl Fn(u32) -> bool) -> Found {
        let mut found = Found::default();
        let lines = || {
            text.split(|byte| *byte == b'\n')
                .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        };
        if !lines().any(|line| self.expression.is_match(line)) {
            return found;
        }
        let mut masker = Masker::default();
        for (number, line) in (1_u32..).zip(lines()) {
            let masked = masker.line(line);
            if !self.expression.is_match(&masked) {
                continue;
            }
            if found.shown == most {
                found.more = true;
                break;
            }
            let mark = if added(number) { '+' } else { ' ' };
            push_numbered(&mut found.text, Some(number), 1, mark, &shortened(&masked));
            found.shown = found.shown.saturating_add(1);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_with_their_numbers() {
        let search = Search::new(r"\bfoo\b").unwrap();
        let found = search.find(b"a foo\nfood\nfoo\r\nfoo", 2, |number| number == 3);
        assert_eq!(found.text, "1   a foo\n3 + foo\n");
        assert!(found.more && found.shown == 2);
        assert_eq!(search.find(b"bar", 9, |_| false), Found::default());
        let end = Search::new("^foo$").unwrap();
        assert_eq!(end.find(b"xfoo\nfoo\r\n", 9, |_| false).text, "2   foo\n");
    }

    #[test]
    fn a_secret_is_neither_shown_nor_found() {
        let token = format!(
            "token = ghp_{}\n",
            "a1B2c3D4e5".repeat(4).get(..36).unwrap()
        );
        let asked = Search::new("token = ghp_a1B").unwrap();
        assert_eq!(asked.find(token.as_bytes(), 9, |_| false), Found::default());
        let shown = Search::new("token")
            .unwrap()
            .find(token.as_bytes(), 9, |_| false);
        assert!(
            shown.text.contains("[masked: ") && !shown.text.contains("a1B2"),
            "{shown:?}"
        );
    }

    #[test]
    fn expressions_that_cannot_be_searched_for_are_refused() {
        assert_eq!(Search::new("").unwrap_err(), PatternError::Empty);
        assert_eq!(
            Search::new(&"a".repeat(501)).unwrap_err(),
            PatternError::TooLong
        );
        for pattern in ["(", "a{1000}{1000}{1000}", r"(?<!a)b", r"(a)\1"] {
            let refused = Search::new(pattern);
            assert!(
                matches!(refused, Err(PatternError::Invalid(_))),
                "{pattern}"
            );
        }
    }

    #[test]
    fn time_is_linear_in_the_text() {
        // Backtracking needs 2^n steps for this one.
        let search = Search::new("(x+x+)+y").unwrap();
        let text = "x".repeat(200_000);
        assert_eq!(search.find(text.as_bytes(), 1, |_| false).shown, 0);
    }
}
