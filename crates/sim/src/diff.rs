//! What `git diff --raw -z --patch` printed, split into files, hunks and lines.
//!
//! This is deliberately not the product's own diff parser: names, modes and object ids come from
//! git's raw list, so a mistake in the product cannot hide behind the same mistake here.

use std::ops::Range;

use super::git::GitError;

/// A diff as git printed it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Diff {
    /// The patch text, as it is served with the `diff` media type.
    pub(crate) text: Vec<u8>,
    /// The changed files in git's order.
    pub(crate) files: Vec<FileDiff>,
}

/// One changed file.
#[derive(Debug, Clone)]
pub(crate) struct FileDiff {
    /// The path after the change; before it, if the file was deleted.
    pub(crate) path: Vec<u8>,
    /// The path before the change, if it differs.
    pub(crate) old_path: Option<Vec<u8>>,
    /// Git's status letter.
    pub(crate) letter: u8,
    /// Modes in git's six digits; `000000` where there is no file.
    pub(crate) old_mode: String,
    pub(crate) new_mode: String,
    pub(crate) old_oid: String,
    pub(crate) new_oid: String,
    pub(crate) additions: u64,
    pub(crate) deletions: u64,
    pub(crate) hunks: Vec<Hunk>,
    /// Where the hunks lie in the text, first `@@` to the last line feed.
    patch: Range<usize>,
    /// Where its sections lie in the text, from `diff --git` on: one, or two for a change of type.
    pub(crate) sections: Vec<Range<usize>>,
}

/// One hunk.
#[derive(Debug, Clone)]
pub(crate) struct Hunk {
    /// First line on the old side.
    pub(crate) old_start: u64,
    /// First line on the new side.
    pub(crate) new_start: u64,
    /// Position of the `@@` line: 0 for the first hunk of a file.
    position: u64,
    /// The `@@` line in the text.
    header: Range<usize>,
    pub(crate) lines: Vec<Line>,
}

/// One line of a hunk.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// Line number on the old side, for removed and context lines.
    pub(crate) old: Option<u64>,
    /// Line number on the new side, for added and context lines.
    pub(crate) new: Option<u64>,
    /// The line in the text, with its sign, without its line feed.
    pub(crate) text: Range<usize>,
}

/// A side of the diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The base.
    Left,
    /// The head.
    Right,
}

impl Side {
    /// Returns the API's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Left => "LEFT",
            Self::Right => "RIGHT",
        }
    }

    /// Reads the API's word.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "LEFT" => Some(Self::Left),
            "RIGHT" => Some(Self::Right),
            _ => None,
        }
    }
}

/// Where a line lies in a file's diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spot {
    /// Index of the hunk.
    pub(crate) hunk: usize,
    /// Index of the line in the hunk.
    pub(crate) line: usize,
    /// GitHub's legacy position: lines below the file's first `@@`.
    pub(crate) position: u64,
}

impl Diff {
    /// Splits the output of one `git diff --raw -z --patch`.
    pub(crate) fn parse(output: Vec<u8>) -> Result<Self, GitError> {
        let (mut files, consumed) = parse_raw(&output)?;
        let mut text = output;
        text.drain(..consumed);
        let mut walker = Walker { text: &text, at: 0 };
        for file in &mut files {
            // A change of type is printed as a deletion and a creation.
            let sections = if file.letter == b'T' { 2 } else { 1 };
            for _ in 0..sections {
                let start = walker.at;
                walker.section(file)?;
                file.sections.push(start..walker.at.min(text.len()));
            }
        }
        if walker.at != text.len() {
            return Err(odd("text after the last file"));
        }
        Ok(Self { text, files })
    }

    /// Returns the file with this path.
    pub(crate) fn file(&self, path: &[u8]) -> Option<&FileDiff> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Returns how many lines the text has.
    pub(crate) fn line_count(&self) -> usize {
        memchr::memchr_iter(b'\n', &self.text).count()
    }

    /// Returns the patch of a file as the file list shows it: from the first `@@`, without the
    /// last line feed; `None` if it has no hunk, or two sections.
    pub(crate) fn patch(&self, file: &FileDiff) -> Option<&[u8]> {
        if file.letter == b'T' {
            return None;
        }
        let patch = self
            .text
            .get(file.patch.clone())
            .filter(|patch| !patch.is_empty())?;
        Some(patch.strip_suffix(b"\n").unwrap_or(patch))
    }

    /// Returns a hunk's text from its header to a line, as comments quote it.
    pub(crate) fn hunk_up_to(&self, file: &FileDiff, spot: Spot) -> String {
        let Some(hunk) = file.hunks.get(spot.hunk) else {
            return String::new();
        };
        let end = hunk
            .lines
            .get(spot.line)
            .map_or(hunk.header.end, |line| line.text.end);
        let quoted = self.text.get(hunk.header.start..end).unwrap_or_default();
        String::from_utf8_lossy(quoted).into_owned()
    }

    /// Returns a line's text without its sign.
    pub(crate) fn line_text(&self, line: &Line) -> String {
        let text = self.text.get(line.text.clone()).unwrap_or_default();
        String::from_utf8_lossy(text.get(1..).unwrap_or_default()).into_owned()
    }

    /// Returns a hunk's `@@` line.
    pub(crate) fn header(&self, hunk: &Hunk) -> String {
        String::from_utf8_lossy(self.text.get(hunk.header.clone()).unwrap_or_default()).into_owned()
    }
}

impl FileDiff {
    /// Returns where a line of one side lies, if it is part of a hunk.
    pub(crate) fn locate(&self, side: Side, number: u64) -> Option<Spot> {
        self.spots().find_map(|(spot, line)| {
            let here = match side {
                Side::Left => line.old,
                Side::Right => line.new,
            };
            (here == Some(number)).then_some(spot)
        })
    }

    /// Returns the line at a legacy position: its spot, its side and its number.
    pub(crate) fn at_position(&self, position: u64) -> Option<(Spot, Side, u64)> {
        let (spot, line) = self.spots().find(|(spot, _)| spot.position == position)?;
        match (line.new, line.old) {
            (Some(new), _) => Some((spot, Side::Right, new)),
            (None, Some(old)) => Some((spot, Side::Left, old)),
            (None, None) => None,
        }
    }

    fn spots(&self) -> impl Iterator<Item = (Spot, &Line)> {
        self.hunks
            .iter()
            .enumerate()
            .flat_map(|(hunk_index, hunk)| {
                (hunk.position.saturating_add(1)..)
                    .zip(hunk.lines.iter().enumerate())
                    .map(move |(position, (line_index, line))| {
                        (
                            Spot {
                                hunk: hunk_index,
                                line: line_index,
                                position,
                            },
                            line,
                        )
                    })
            })
    }
}

fn odd(what: &str) -> GitError {
    GitError::Unexpected {
        command: "diff".to_owned(),
        what: what.to_owned(),
    }
}

/// Reads git's raw list and returns how many bytes it took, separator included.
fn parse_raw(output: &[u8]) -> Result<(Vec<FileDiff>, usize), GitError> {
    let mut files = Vec::new();
    let mut at = 0_usize;
    let next = |at: &mut usize| -> Result<Vec<u8>, GitError> {
        let rest = output.get(*at..).unwrap_or_default();
        let end = rest
            .iter()
            .position(|&b| b == 0)
            .ok_or_else(|| odd("raw list without end"))?;
        let field = rest.get(..end).unwrap_or_default().to_vec();
        *at = at.saturating_add(end).saturating_add(1);
        Ok(field)
    };
    while output.get(at) == Some(&b':') {
        let head = String::from_utf8_lossy(&next(&mut at)?).into_owned();
        let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, old_oid, new_oid, status] = words.as_slice() else {
            return Err(odd(&head));
        };
        let letter = status.bytes().next().ok_or_else(|| odd(&head))?;
        let first = next(&mut at)?;
        let (old_path, path) = match letter {
            b'R' | b'C' => (Some(first), next(&mut at)?),
            _ => (None, first),
        };
        files.push(FileDiff {
            path,
            old_path,
            letter,
            old_mode: (*old_mode).to_owned(),
            new_mode: (*new_mode).to_owned(),
            old_oid: (*old_oid).to_owned(),
            new_oid: (*new_oid).to_owned(),
            additions: 0,
            deletions: 0,
            hunks: Vec::new(),
            patch: 0..0,
            sections: Vec::new(),
        });
    }
    // One more NUL stands between the list and the patch, if there is a list at all.
    if output.get(at) == Some(&0) {
        at = at.saturating_add(1);
    }
    Ok((files, at))
}

struct Walker<'a> {
    text: &'a [u8],
    at: usize,
}

impl Walker<'_> {
    /// Reads one `diff --git` section into `file`.
    fn section(&mut self, file: &mut FileDiff) -> Result<(), GitError> {
        let first = self.line();
        if !self.starts(&first, b"diff --git ") {
            return Err(odd("a file without its section"));
        }
        self.at = after(&first);
        let mut position = 0_u64;
        loop {
            let line = self.line();
            if line.is_empty() || self.starts(&line, b"diff --git ") {
                return Ok(());
            }
            if self.starts(&line, b"@@ ") {
                if file.patch.is_empty() {
                    file.patch = line.start..line.start;
                } else if position == 0 {
                    // The second half of a change of type continues the positions.
                    position = file
                        .hunks
                        .last()
                        .map_or(0, |hunk| hunk.position + count(hunk.lines.len()))
                        .saturating_add(1);
                }
                position = self.hunk(file, position)?;
            } else {
                self.at = after(&line);
            }
        }
    }

    /// Reads one hunk, which starts here, and returns the position after it.
    fn hunk(&mut self, file: &mut FileDiff, position: u64) -> Result<u64, GitError> {
        let header = self.line();
        let text = String::from_utf8_lossy(self.text.get(header.clone()).unwrap_or_default());
        let ((old_start, old_len), (new_start, new_len)) =
            ranges(&text).ok_or_else(|| odd(&text))?;
        self.at = after(&header);
        let (mut old, mut new) = (old_start, new_start);
        let (old_end, new_end) = (
            old_start.saturating_add(old_len),
            new_start.saturating_add(new_len),
        );
        let mut lines = Vec::new();
        while old < old_end || new < new_end {
            let range = self.line();
            let sign = self.text.get(range.start).copied().unwrap_or(b'\n');
            let line = match sign {
                b' ' => Line {
                    old: Some(old),
                    new: Some(new),
                    text: range.clone(),
                },
                b'-' => Line {
                    old: Some(old),
                    new: None,
                    text: range.clone(),
                },
                b'+' => Line {
                    old: None,
                    new: Some(new),
                    text: range.clone(),
                },
                b'\\' => Line {
                    old: None,
                    new: None,
                    text: range.clone(),
                },
                _ => return Err(odd("a hunk that is shorter than it says")),
            };
            old = old.saturating_add(u64::from(line.old.is_some()));
            new = new.saturating_add(u64::from(line.new.is_some()));
            file.deletions = file
                .deletions
                .saturating_add(u64::from(line.old.is_some() && line.new.is_none()));
            file.additions = file
                .additions
                .saturating_add(u64::from(line.new.is_some() && line.old.is_none()));
            lines.push(line);
            self.at = after(&range);
        }
        let note = self.line();
        if self.text.get(note.start) == Some(&b'\\') {
            self.at = after(&note);
            lines.push(Line {
                old: None,
                new: None,
                text: note,
            });
        }
        let end = position
            .saturating_add(count(lines.len()))
            .saturating_add(1);
        file.patch.end = self.at.min(self.text.len());
        file.hunks.push(Hunk {
            old_start,
            new_start,
            position,
            header,
            lines,
        });
        Ok(end)
    }

    /// Returns the current line without its line feed; empty at the end of the text.
    fn line(&self) -> Range<usize> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let len = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
        self.at..self.at.saturating_add(len)
    }

    fn starts(&self, line: &Range<usize>, prefix: &[u8]) -> bool {
        self.text
            .get(line.clone())
            .is_some_and(|text| text.starts_with(prefix))
    }
}

fn after(line: &Range<usize>) -> usize {
    line.end.saturating_add(1)
}

fn count(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

/// Reads `@@ -a,b +c,d @@`; a count that is left out is one.
fn ranges(header: &str) -> Option<((u64, u64), (u64, u64))> {
    let mut words = header.split(' ').skip(1);
    let old = words.next()?.strip_prefix('-')?;
    let new = words.next()?.strip_prefix('+')?;
    let range = |text: &str| -> Option<(u64, u64)> {
        match text.split_once(',') {
            Some((start, len)) => Some((start.parse().ok()?, len.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        }
    };
    Some((range(old)?, range(new)?))
}
