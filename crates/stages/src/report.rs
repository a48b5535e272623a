//! What a stage tells about a finished message: lines for people, fields for machines.
//!
//! **Invariant:** nothing a repository contains but escaped file names and titles of findings that
//! were sanitised; no diff text, no prompt, no answer.

use mirilla_domain::ids::JobId;

/// What became of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The job.
    pub job: JobId,
    /// What happened, as a stable kebab-case word.
    pub outcome: &'static str,
    /// Worker lines for a person, in order.
    pub lines: Vec<String>,
}

impl Report {
    /// Returns a report without lines.
    pub const fn silent(job: JobId, outcome: &'static str) -> Self {
        Self {
            job,
            outcome,
            lines: Vec::new(),
        }
    }

    /// Adds a line.
    pub fn line(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }
}
