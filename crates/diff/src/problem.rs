//! What is wrong with an input, and where.

use std::fmt;

use memchr::memchr_iter;

/// One thing that could not be read as it stands. The parser goes on after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where in the input, in bytes.
    pub offset: usize,
    /// Which line of the input, 1-based.
    pub line: usize,
    /// What is wrong.
    pub kind: ProblemKind,
    /// The raw path of the file it is about, if that is known. Untrusted: escape it before printing,
    /// which is why `Display` leaves it out.
    pub path: Option<Vec<u8>>,
}

/// What can be wrong with an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProblemKind {
    /// The input ends inside a file header, a hunk or a binary block.
    Truncated,
    /// A file section was longer than the reader keeps; its rest was dropped.
    SectionTooLarge,
    /// A hunk has fewer or other lines than its header declares.
    HunkTooShort,
    /// Lines follow a hunk that its header does not declare.
    HunkTooLong,
    /// A line starts like a hunk header but is none.
    BadHunkHeader,
    /// A hunk starts before the end of the one before it.
    HunkOutOfOrder,
    /// A hunk belongs to no file.
    HunkWithoutFile,
    /// A file header from which no path can be told.
    NoPath,
    /// A combined diff (`diff --cc`), which has no line of its own on two sides.
    Combined,
    /// A file in conflict, of which git prints the name only.
    Unmerged,
    /// The header announces a change that is not there.
    ContentMissing,
}

impl ProblemKind {
    /// Returns the problem as a sentence without its place.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Truncated => "the diff ends here in the middle of a file",
            Self::SectionTooLarge => "the file's diff is too large and was cut",
            Self::HunkTooShort => "the hunk does not have the lines its header declares",
            Self::HunkTooLong => "the hunk has more lines than its header declares",
            Self::BadHunkHeader => "the hunk header is malformed",
            Self::HunkOutOfOrder => "the hunk starts before the end of the previous one",
            Self::HunkWithoutFile => "the hunk belongs to no file",
            Self::NoPath => "the file header has no usable path",
            Self::Combined => "combined diffs are skipped",
            Self::Unmerged => "the file is in conflict and has no diff",
            Self::ContentMissing => "the file header announces a change that is not there",
        }
    }
}

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.kind)
    }
}

/// Collects problems and numbers their lines.
///
/// Each kind is reported once per file: a hostile file of a million malformed headers is one problem,
/// not a million copies of its path. Offsets ascend, so that newlines are counted once over the input.
#[derive(Debug)]
pub(crate) struct Problems<'a> {
    input: &'a [u8],
    counted_to: usize,
    line: usize,
    found: Vec<Problem>,
    /// Where the problems of the current file begin in `found`.
    file: usize,
}

impl<'a> Problems<'a> {
    pub(crate) fn new(input: &'a [u8]) -> Self {
        Self {
            input,
            counted_to: 0,
            line: 1,
            found: Vec::new(),
            file: 0,
        }
    }

    /// Starts the next file.
    pub(crate) fn next_file(&mut self) {
        self.file = self.found.len();
    }

    pub(crate) fn add(&mut self, offset: usize, kind: ProblemKind) {
        if self.found.iter().skip(self.file).any(|p| p.kind == kind) {
            return;
        }
        let between = self.input.get(self.counted_to..offset).unwrap_or_default();
        let lines = memchr_iter(b'\n', between).count();
        self.line = self.line.saturating_add(lines);
        self.counted_to = offset.max(self.counted_to);
        self.found.push(Problem {
            offset,
            line: self.line,
            kind,
            path: None,
        });
    }

    /// Says which path the current file's problems are about.
    pub(crate) fn name(&mut self, path: &[u8]) {
        for problem in self.found.iter_mut().skip(self.file) {
            problem.path = Some(path.to_vec());
        }
    }

    pub(crate) fn into_found(self) -> Vec<Problem> {
        self.found
    }
}
