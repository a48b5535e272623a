//! A position in the input that only moves forward, a line at a time.
//!
//! **Invariant:** a line ends at LF and nowhere else; CR, form feed and the Unicode separators are
//! content.

mod line_ends;

use memchr::memchr;

use self::line_ends::LineEnds;

/// The input and how much of it is still unread.
#[derive(Debug)]
pub(crate) struct Cursor<'a> {
    input: &'a [u8],
    /// Where the next line begins.
    at: usize,
    /// Where the lines from `at` on end.
    ends: LineEnds<'a>,
}

/// One line of the input, not yet consumed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawLine<'a> {
    /// The line without its LF.
    pub(crate) text: &'a [u8],
    /// Whether the LF was there; only the last line of an input can lack it.
    pub(crate) ended: bool,
}

impl<'a> RawLine<'a> {
    /// Returns the text of a header line. A diff saved with CRLF ends its header lines in CR, which is
    /// never part of a name: git quotes a path that has one.
    pub(crate) fn header(self) -> &'a [u8] {
        self.text.strip_suffix(b"\r").unwrap_or(self.text)
    }
}

/// Lines that begin with the same byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// How many there were.
    pub(crate) lines: u32,
    /// Whether the next one begins so as well, but is the last of the input and has no LF.
    pub(crate) unended: bool,
}

impl<'a> Cursor<'a> {
    /// Starts at the first line, after a byte order mark: some shells put one in front of what they
    /// redirect to a file, and the first file's header would not be seen.
    pub(crate) fn new(input: &'a [u8]) -> Self {
        let text = input.strip_prefix(b"\xef\xbb\xbf").unwrap_or(input);
        Self {
            input,
            at: input.len().saturating_sub(text.len()),
            ends: LineEnds::new(input),
        }
    }

    /// Returns what is unread.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.input.get(self.at..).unwrap_or_default()
    }

    /// Returns the first unread byte.
    pub(crate) fn first(&self) -> Option<u8> {
        self.input.get(self.at).copied()
    }

    /// Returns the count of bytes read so far.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// Returns the bytes from `start` to the current position.
    pub(crate) fn since(&self, start: usize) -> &'a [u8] {
        self.input.get(start..self.at).unwrap_or_default()
    }

    /// Returns the next line without consuming it, or nothing at the end.
    pub(crate) fn peek(&mut self) -> Option<RawLine<'a>> {
        if self.at >= self.input.len() {
            return None;
        }
        let end = self.ends.peek();
        Some(RawLine {
            text: self
                .input
                .get(self.at..end.unwrap_or(self.input.len()))
                .unwrap_or_default(),
            ended: end.is_some(),
        })
    }

    /// Consumes the next line.
    pub(crate) fn skip_line(&mut self) {
        self.at = match self.ends.next() {
            Some(end) => end.saturating_add(1),
            None => self.input.len(),
        };
    }

    /// Consumes up to `limit` lines that begin with `prefix`, unless they lack their LF.
    ///
    /// Nearly every line of a diff is read here.
    pub(crate) fn take_run(&mut self, prefix: u8, limit: u32) -> Run {
        let mut left = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut unended = false;
        while left > 0 && self.first() == Some(prefix) {
            let known = self.ends.known();
            if known.is_empty() {
                unended = true;
                break;
            }
            let known = known.get(..left).unwrap_or(known);
            let mut at = self.at;
            let is_next = |end: &&usize| {
                let begins = self.input.get(at) == Some(&prefix);
                if begins {
                    at = end.saturating_add(1);
                }
                begins
            };
            let taken = known.iter().take_while(is_next).count();
            self.at = at;
            self.ends.take(taken);
            left = left.saturating_sub(taken);
        }
        Run {
            lines: limit.saturating_sub(u32::try_from(left).unwrap_or(limit)),
            unended,
        }
    }

    /// Consumes everything.
    pub(crate) fn skip_all(&mut self) {
        self.at = self.input.len();
        self.ends.skip_all();
    }
}

/// Returns what follows the first LF of `bytes`, or nothing if there is none.
pub(crate) fn after_line(bytes: &[u8]) -> Option<&[u8]> {
    let end = memchr(b'\n', bytes)?;
    bytes.get(end.saturating_add(1)..)
}
