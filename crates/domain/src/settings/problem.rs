//! What is wrong with a settings file, and where.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::escape;

/// How much of the offending line is shown.
const MAX_EXCERPT_CHARS: usize = 120;

/// Whether a problem breaks the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The value means something, but probably not what its writer thinks.
    Warning,
    /// The value cannot be used: the file counts as broken.
    Error,
}

/// One problem of a settings file or a rule file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Which file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, in characters, from 1.
    pub column: u32,
    /// Whether it breaks the file.
    pub level: Level,
    /// What is wrong and what to do; names the key or pattern.
    pub message: String,
    /// The line it stands on, cut to 120 characters; control characters are spelled out.
    pub excerpt: String,
}

impl Problem {
    /// Makes a problem about the byte `offset` of `text`.
    pub fn at(file: &str, text: &str, offset: usize, level: Level, message: String) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.matches('\n').count().saturating_add(1);
        let start = before.rfind('\n').map_or(0, |at| at.saturating_add(1));
        let column = before.get(start..).unwrap_or_default().chars().count();
        let whole = text.get(start..).unwrap_or_default();
        let whole = whole.lines().next().unwrap_or_default();
        let excerpt: String = whole.chars().take(MAX_EXCERPT_CHARS).collect();
        Self {
            file: file.to_owned(),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column.saturating_add(1)).unwrap_or(u32::MAX),
            level,
            message,
            excerpt: escape::terminal(&excerpt).into_owned(),
        }
    }

    /// Returns whether it breaks the file.
    pub fn is_error(&self) -> bool {
        self.level == Level::Error
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Warning => "warning",
            Level::Error => "error",
        };
        write!(
            f,
            "{}:{}:{}: {level}: {}",
            escape::terminal(&self.file),
            self.line,
            self.column,
            self.message
        )?;
        if !self.excerpt.is_empty() {
            write!(f, "\n  | {}", self.excerpt)?;
        }
        Ok(())
    }
}
