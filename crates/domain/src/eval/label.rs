//! Where a known defect is.

use mirilla_diff::{FileDiff, Line, LineKind};
use serde::{Deserialize, Serialize};

use super::TOLERANCE_LINES;
use crate::digest;
use crate::review::Category;

/// A label over more lines than this points nowhere.
pub const MAX_LABEL_LINES: u32 = 40;

/// A known defect of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// The file, as the diff names its new side.
    pub path: String,
    /// The first line, on the new side, from 1.
    pub line: u32,
    /// The last line, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// What kind of defect, if one kind fits; for the reader, it decides nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// What is wrong, in a sentence.
    pub what: String,
}

/// What is wrong with a label.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LabelProblem {
    /// It says nothing.
    #[error("`what` is empty")]
    Silent,
    /// Its lines are in the wrong order, zero or too many.
    #[error("lines {first} to {last} are no range of 1 to {MAX_LABEL_LINES} lines")]
    Range {
        /// The first line.
        first: u32,
        /// The last line.
        last: u32,
    },
    /// The diff has no such file.
    #[error("the diff has no file `{0}`")]
    UnknownPath(String),
    /// The diff does not show one of its lines.
    #[error("the diff does not show line {line} of `{path}`")]
    NotShown {
        /// The file.
        path: String,
        /// The line.
        line: u32,
    },
    /// Nothing changed near it.
    #[error("nothing changed within {TOLERANCE_LINES} lines of line {line} of `{path}`")]
    Unchanged {
        /// The file.
        path: String,
        /// The first line.
        line: u32,
    },
}

impl Label {
    /// Returns the last line.
    pub fn last(&self) -> u32 {
        self.end_line.unwrap_or(self.line)
    }

    /// Returns how far a range of lines is from this label: 0 if they overlap.
    pub fn distance(&self, first: u32, last: u32) -> u32 {
        self.line
            .saturating_sub(last)
            .max(first.saturating_sub(self.last()))
    }

    /// Checks what can be checked without the diff: that there is a range of lines and a text.
    pub fn check_form(&self) -> Result<(), LabelProblem> {
        let (first, last) = (self.line, self.last());
        let length = last.checked_sub(first);
        if first == 0 || length.is_none_or(|length| length >= MAX_LABEL_LINES) {
            return Err(LabelProblem::Range { first, last });
        }
        if self.what.trim().is_empty() {
            return Err(LabelProblem::Silent);
        }
        Ok(())
    }

    /// Checks that the label points at lines that the diff shows, near something that changed.
    pub fn check(&self, files: &[FileDiff<'_>]) -> Result<(), LabelProblem> {
        self.check_form()?;
        let (first, last) = (self.line, self.last());
        let here: Vec<&FileDiff<'_>> = files
            .iter()
            .filter(|file| digest::name(file) == self.path)
            .collect();
        if here.is_empty() {
            return Err(LabelProblem::UnknownPath(self.path.clone()));
        }
        let lines: Vec<Line<'_>> = here.iter().flat_map(|file| file.lines()).collect();
        let shown = |line: u32| lines.iter().any(|one| one.new == Some(line));
        if let Some(line) = (first..=last).find(|line| !shown(*line)) {
            return Err(LabelProblem::NotShown {
                path: self.path.clone(),
                line,
            });
        }
        let near = changed_at(&lines)
            .into_iter()
            .any(|line| self.distance(line, line) <= TOLERANCE_LINES);
        near.then_some(()).ok_or_else(|| LabelProblem::Unchanged {
            path: self.path.clone(),
            line: first,
        })
    }

    /// Returns the text of the label's first added line, or of its first line if none was added.
    pub fn text(&self, files: &[FileDiff<'_>]) -> Option<String> {
        let lines = files
            .iter()
            .filter(|file| digest::name(file) == self.path)
            .flat_map(FileDiff::lines);
        let within = |line: &Line<'_>| {
            (line.new).is_some_and(|new| (self.line..=self.last()).contains(&new))
        };
        lines
            .filter(within)
            .min_by_key(|line| (line.kind != LineKind::Added, line.new))
            .map(|line| String::from_utf8_lossy(line.text).into_owned())
    }
}

/// Returns the new-side lines at which something changed: added ones, and those around deleted ones.
fn changed_at(lines: &[Line<'_>]) -> Vec<u32> {
    let mut changed = Vec::new();
    let mut before = None;
    let mut after_deleted = false;
    for line in lines {
        if let Some(new) = line.new {
            if after_deleted || line.kind == LineKind::Added {
                changed.push(new);
            }
            after_deleted = false;
            before = Some(new);
        } else if line.kind == LineKind::Deleted {
            after_deleted = true;
            changed.extend(before);
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &[u8] = b"diff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n@@ -10,9 +10,8 @@\n a\n b\n c\n d\n-gone\n e\n f\n g\n h\n";

    fn label(line: u32, end_line: Option<u32>) -> Label {
        Label {
            path: "a.c".to_owned(),
            line,
            end_line,
            category: None,
            what: "the check is gone".to_owned(),
        }
    }

    #[test]
    fn a_deletion_is_labelled_by_the_lines_around_it() {
        let parsed = mirilla_diff::parse(DIFF);
        assert_eq!(label(13, Some(14)).check(&parsed.files), Ok(()));
        let text = label(13, Some(14)).text(&parsed.files);
        assert_eq!(text.as_deref(), Some("d"));
    }

    #[test]
    fn a_label_that_points_nowhere_is_told() {
        let parsed = mirilla_diff::parse(DIFF);
        let check = |label: Label| label.check(&parsed.files).unwrap_err().to_string();
        assert_eq!(
            check(label(18, None)),
            "the diff does not show line 18 of `a.c`"
        );
        assert_eq!(
            check(label(0, None)),
            "lines 0 to 0 are no range of 1 to 40 lines"
        );
        assert_eq!(
            check(label(14, Some(13))),
            "lines 14 to 13 are no range of 1 to 40 lines"
        );
        let mut other = label(13, None);
        other.path = "b.c".to_owned();
        assert_eq!(check(other), "the diff has no file `b.c`");
        let mut silent = label(13, None);
        silent.what = " ".to_owned();
        assert_eq!(check(silent), "`what` is empty");
    }

    #[test]
    fn a_label_far_from_every_change_is_told() {
        let parsed = mirilla_diff::parse(
            b"diff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n@@ -1,7 +1,8 @@\n+new\n a\n b\n c\n d\n e\n f\n g\n",
        );
        assert!(label(4, None).check(&parsed.files).is_ok());
        assert_eq!(
            label(5, None).check(&parsed.files).unwrap_err(),
            LabelProblem::Unchanged {
                path: "a.c".to_owned(),
                line: 5
            }
        );
    }

    #[test]
    fn distance_is_nothing_where_ranges_share_a_line() {
        let label = label(10, Some(12));
        let distances = [
            (1, 4),
            (8, 9),
            (9, 10),
            (11, 11),
            (12, 30),
            (15, 15),
            (16, 20),
        ]
        .map(|(first, last)| label.distance(first, last));
        assert_eq!(distances, [6, 1, 0, 0, 0, 3, 4]);
    }
}
