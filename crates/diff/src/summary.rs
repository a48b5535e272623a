//! Counts over a diff, for when the lines themselves are not wanted.

use std::io::{self, Read};

use crate::{
    file::{FileDiff, Parsed},
    parse::Parser,
    problem::Problem,
    reader::SectionReader,
};

/// What a diff amounts to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Changed files; a type change counts as two.
    pub files: usize,
    /// Added lines.
    pub added: usize,
    /// Deleted lines.
    pub deleted: usize,
    /// Files without lines because their content is binary.
    pub binary: usize,
    /// Files of which lines are missing.
    pub incomplete: usize,
    /// What could not be read as it stands.
    pub problems: usize,
}

impl Summary {
    fn add_file(&mut self, file: &FileDiff<'_>) {
        self.files = self.files.saturating_add(1);
        self.added = self.added.saturating_add(file.added.len());
        self.deleted = self.deleted.saturating_add(file.deleted.len());
        self.binary = self.binary.saturating_add(usize::from(file.binary));
        let incomplete = file.incomplete.is_some();
        self.incomplete = self.incomplete.saturating_add(usize::from(incomplete));
    }

    fn add_problems(&mut self, problems: &[Problem]) {
        self.problems = self.problems.saturating_add(problems.len());
    }

    fn add(&mut self, parsed: &Parsed<'_>) {
        for file in &parsed.files {
            self.add_file(file);
        }
        self.add_problems(&parsed.problems);
    }
}

/// Counts a diff in memory, one file at a time.
pub fn of_bytes(input: &[u8]) -> Summary {
    let mut summary = Summary::default();
    let mut parser = Parser::new(input);
    while let Some(file) = parser.next_file() {
        summary.add_file(&file);
    }
    summary.add_problems(&parser.into_problems());
    summary
}

/// Counts a diff as it is read. The memory it takes is that of the largest file section, so that no
/// count is cut short; for a bound give [`of_sections`] a reader with a limit.
pub fn of_reader(source: impl Read) -> io::Result<Summary> {
    of_sections(SectionReader::with_max(source, usize::MAX))
}

/// Counts what `sections` keeps: a section over its limit counts up to the cut, as incomplete.
pub fn of_sections<R: Read>(mut sections: SectionReader<R>) -> io::Result<Summary> {
    let mut summary = Summary::default();
    while let Some(section) = sections.next_ref()? {
        summary.add(&section.parse());
    }
    Ok(summary)
}
