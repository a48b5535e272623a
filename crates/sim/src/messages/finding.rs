//! A finding before it is put into the shape a schema wants.

/// A finding, whatever the product calls its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimFinding {
    /// The file.
    pub path: String,
    /// The first line of the new file that it is about.
    pub line: u32,
    /// The last one.
    pub end_line: u32,
    /// `critical`, `high`, `medium` or `low`.
    pub severity: &'static str,
    /// What kind of defect, in kebab-case.
    pub category: &'static str,
    /// One line.
    pub title: String,
    /// Why it is a defect.
    pub message: String,
    /// How sure, in percent.
    pub confidence: u8,
    /// The line as it was shown.
    pub quote: String,
    /// The function it is in; empty if that is not seen.
    pub symbol: String,
    /// The repository's rule that it breaks; empty if none.
    pub rule: String,
    /// What should stand in place of the lines.
    pub suggestion: Option<String>,
}

impl SimFinding {
    /// Returns a finding of high severity and correctness on one line.
    pub fn new(path: impl Into<String>, line: u32, title: impl Into<String>) -> Self {
        let title = title.into();
        Self {
            path: path.into(),
            line,
            end_line: line,
            severity: "high",
            category: "correctness",
            message: format!("{title}."),
            title,
            confidence: 90,
            quote: String::new(),
            symbol: String::new(),
            rule: String::new(),
            suggestion: None,
        }
    }
}
