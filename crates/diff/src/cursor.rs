//! A position in the input that only moves forward, a line at a time.
//!
//! **Invariant:** a line ends at LF and nowhere else; CR, form feed and the Unicode separators are
//! content.

use memchr::memchr;

/// The input and how much of it is still unread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    input: &'a [u8],
    rest: &'a [u8],
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

impl<'a> Cursor<'a> {
    pub(crate) fn new(input: &'a [u8]) -> Self {
        Self { input, rest: input }
    }

    /// Returns what is unread.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns the count of bytes read so far.
    pub(crate) fn offset(&self) -> usize {
        self.input.len().saturating_sub(self.rest.len())
    }

    /// Returns the bytes from `start` to the current position.
    pub(crate) fn since(&self, start: usize) -> &'a [u8] {
        self.input.get(start..self.offset()).unwrap_or_default()
    }

    /// Returns the next line without consuming it, or nothing at the end.
    pub(crate) fn peek(&self) -> Option<RawLine<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        Some(match memchr(b'\n', self.rest) {
            Some(end) => RawLine {
                text: self.rest.get(..end).unwrap_or_default(),
                ended: true,
            },
            None => RawLine {
                text: self.rest,
                ended: false,
            },
        })
    }

    /// Consumes `line`, which `peek` returned.
    pub(crate) fn consume(&mut self, line: RawLine<'_>) {
        let length = line.text.len().saturating_add(usize::from(line.ended));
        self.rest = self.rest.get(length..).unwrap_or_default();
    }

    /// Goes on at `rest`, a suffix of what was unread.
    pub(crate) fn resume_at(&mut self, rest: &'a [u8]) {
        debug_assert!(rest.len() <= self.rest.len(), "a cursor never goes back");
        self.rest = rest;
    }
}

/// Returns what follows the first LF of `bytes`, or nothing if there is none.
pub(crate) fn after_line(bytes: &[u8]) -> Option<&[u8]> {
    let end = memchr(b'\n', bytes)?;
    bytes.get(end.saturating_add(1)..)
}
