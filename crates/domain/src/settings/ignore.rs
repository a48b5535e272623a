//! Ignore rules with the meaning that git gives them.

use std::fmt;
use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// A list of gitignore patterns, compiled.
pub struct Ignore {
    matcher: Gitignore,
}

impl Ignore {
    /// Compiles patterns in order: a later one overrides an earlier one, `!` takes a file back.
    ///
    /// Returns the first pattern that cannot be compiled with the reason; see [`check_pattern`].
    pub fn new<'p>(patterns: impl IntoIterator<Item = &'p str>) -> Result<Self, BadPattern> {
        let mut builder = new_builder();
        for pattern in patterns {
            add(&mut builder, pattern)?;
        }
        let matcher = builder.build().map_err(|error| BadPattern {
            pattern: String::new(),
            reason: error.to_string(),
        })?;
        Ok(Self { matcher })
    }

    /// Returns a list that ignores nothing.
    pub fn none() -> Self {
        Self {
            matcher: Gitignore::empty(),
        }
    }

    /// Returns whether git would ignore the file `path` (relative to the repository, `/` between
    /// parts) if nothing of it were tracked.
    ///
    /// As in git, a file in an ignored folder cannot be taken back.
    pub fn matches(&self, path: &str) -> bool {
        let folders = path
            .match_indices('/')
            .filter_map(|(at, _)| path.get(..at))
            .filter(|folder| !folder.is_empty());
        for folder in folders {
            if self.matcher.matched(Path::new(folder), true).is_ignore() {
                return true;
            }
        }
        !path.is_empty() && self.matcher.matched(Path::new(path), false).is_ignore()
    }
}

impl fmt::Debug for Ignore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ignore")
            .field("patterns", &self.matcher.len())
            .finish()
    }
}

/// A pattern that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the pattern `{pattern}` is not valid: {reason}")]
pub struct BadPattern {
    /// The pattern as written.
    pub pattern: String,
    /// What is wrong with it.
    pub reason: String,
}

/// Checks one pattern; `Ok(Some(_))` is a warning: it is valid but cannot do what it seems to.
pub fn check_pattern(pattern: &str) -> Result<Option<String>, BadPattern> {
    add(&mut new_builder(), pattern)?;
    let bare = pattern.trim();
    if bare.is_empty() {
        return Ok(Some(
            "the pattern is empty and matches nothing; remove it".to_owned(),
        ));
    }
    if pattern.starts_with('#') {
        return Ok(Some(format!(
            "`{pattern}` is a comment and matches nothing; write `\\{pattern}` for a name that begins with `#`"
        )));
    }
    if bare.contains(',') && !bare.contains(['[', '\\']) {
        return Ok(Some(format!(
            "`{pattern}` is one pattern with a comma in it; write two strings to list two patterns"
        )));
    }
    Ok(None)
}

fn new_builder() -> GitignoreBuilder {
    let mut builder = GitignoreBuilder::new("");
    // git reads an unclosed bracket as a pattern that matches nothing: a rule that protects nothing.
    builder.allow_unclosed_class(false);
    builder
}

fn add(builder: &mut GitignoreBuilder, pattern: &str) -> Result<(), BadPattern> {
    let bad = |reason: String| BadPattern {
        pattern: pattern.to_owned(),
        reason,
    };
    if pattern.contains(['\n', '\r', '\0']) {
        return Err(bad("it holds a line break".to_owned()));
    }
    builder
        .add_line(None, &as_git_reads(pattern))
        .map(|_| ())
        .map_err(|error| match error {
            ignore::Error::Glob { err, .. } => bad(err),
            other => bad(other.to_string()),
        })
}

/// Rewrites what the glob compiler reads differently from git: braces are plain characters, a run of
/// asterisks is `**` only if it is all of a path's part, and one asterisk otherwise.
fn as_git_reads(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let (mut escaped, mut in_class) = (false, false);
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        if c == '*' && !escaped && !in_class {
            let behind = rest.trim_start_matches('*');
            let run = rest.len().saturating_sub(behind.len());
            let begins = out.is_empty() || out.ends_with('/') || out == "!";
            let ends = behind.is_empty() || behind.starts_with('/');
            out.push_str(if run > 1 && begins && ends { "**" } else { "*" });
            rest = behind;
            continue;
        }
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => in_class = true,
            ']' => in_class = false,
            '{' | '}' if !in_class => out.push('\\'),
            _ => {}
        }
        out.push(c);
        rest = after;
    }
    out
}
