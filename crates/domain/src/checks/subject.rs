//! What a change takes out of the code, to tell a test that goes with its subject from one that is dropped.
//!
//! **Invariant:** the memory is fixed, whatever the size of the change. In a change of thousands of names
//! two of them may be taken for one.

use mirilla_diff::{Line, LineKind};

/// Shorter words say too little about what a test is about.
const MIN_WORD: usize = 5;
/// Shorter names of declarations do.
const MIN_NAME: usize = 3;
/// From this many lines of code that are gone and not replaced, a change removes something.
const REMOVAL: u64 = 5;
/// Words that a set tells apart, as a power of two.
const SET_BITS: u32 = 20;

/// The bytes that words are made of: letters, digits and the underscore.
const WORD: [bool; 256] = {
    let mut is = [false; 256];
    let mut rest: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    while let [byte, more @ ..] = rest {
        #[expect(
            clippy::indexing_slicing,
            clippy::as_conversions,
            reason = "a byte is within 256, and a constant is checked when it is compiled"
        )]
        {
            is[*byte as usize] = true;
        }
        rest = more;
    }
    is
};

/// What the change does to code that is no test, and what its deleted tests spoke of.
#[derive(Debug, Default)]
pub(super) struct Subject {
    added: u64,
    deleted: u64,
    /// Words of lines of code that are gone.
    gone: Words,
    /// Words of lines of code that are still there, as far as the diff shows it.
    there: Words,
    /// Names that deleted and added lines of code declare.
    undeclared: Words,
    declared: Words,
    /// Words of deleted lines of tests.
    tested: Words,
}

impl Subject {
    /// Takes a line of code that is no test.
    pub(super) fn code(&mut self, line: &Line<'_>) {
        let text = line.text.trim_ascii();
        if text.is_empty() || is_comment(text) {
            return;
        }
        match line.kind {
            LineKind::Added => {
                self.added = self.added.saturating_add(1);
                self.there.add(text, MIN_WORD);
                self.declared.add(declared(text), MIN_NAME);
            }
            LineKind::Deleted => {
                self.deleted = self.deleted.saturating_add(1);
                self.gone.add(text, MIN_WORD);
                self.undeclared.add(declared(text), MIN_NAME);
            }
            LineKind::Context => self.there.add(text, MIN_WORD),
        }
    }

    /// Takes a deleted line of a test.
    pub(super) fn test(&mut self, line: &[u8]) {
        self.tested.add(line, MIN_NAME);
    }

    /// Says whether the change removes code that deleted tests can have been about: a good deal more than it
    /// adds, a declaration of a name that they use, or each mention of such a name.
    pub(super) fn is_gone(&self) -> bool {
        self.deleted.saturating_sub(self.added) >= REMOVAL
            || self.undeclared.has_of(&self.tested, &self.declared)
            || self.gone.has_of(&self.tested, &self.there)
    }
}

/// The name that a line of code declares; empty if it declares none.
fn declared(text: &[u8]) -> &[u8] {
    const MODIFIERS: [&[u8]; 13] = [
        b"pub",
        b"public",
        b"private",
        b"protected",
        b"internal",
        b"static",
        b"final",
        b"abstract",
        b"override",
        b"async",
        b"export",
        b"default",
        b"unsafe",
    ];
    const KEYWORDS: [&[u8]; 14] = [
        b"def",
        b"fn",
        b"func",
        b"fun",
        b"function",
        b"class",
        b"struct",
        b"enum",
        b"trait",
        b"interface",
        b"type",
        b"module",
        b"const",
        b"macro_rules",
    ];
    let words = text.split(|c| !is_word(*c)).filter(|word| !word.is_empty());
    let mut words = words.skip_while(|word| MODIFIERS.contains(word));
    if !words.next().is_some_and(|word| KEYWORDS.contains(&word)) {
        return b"";
    }
    words.find(|word| *word != b"self").unwrap_or_default()
}

fn is_word(byte: u8) -> bool {
    WORD.get(usize::from(byte)).is_some_and(|is| *is)
}

/// A comment of the common languages, on a line of its own.
pub(super) fn is_comment(text: &[u8]) -> bool {
    let starts: [&[u8]; 5] = [b"//", b"#", b"*", b"/*", b"--"];
    starts.iter().any(|start| text.starts_with(start))
}

/// A set of words, by their hashes.
#[derive(Debug, Default)]
struct Words(Vec<u64>);

impl Words {
    /// Adds the words of a text that are no shorter than `min`.
    fn add(&mut self, text: &[u8], min: usize) {
        let (mut hash, mut len) = (0_u64, 0_usize);
        for &byte in text {
            if is_word(byte) {
                // Quick, and no attack on it gains more than naming what the tests name.
                hash = hash.rotate_left(5) ^ u64::from(byte);
                len = len.saturating_add(1);
            } else {
                if len >= min {
                    self.insert(hash);
                }
                (hash, len) = (0, 0);
            }
        }
        if len >= min {
            self.insert(hash);
        }
    }

    fn insert(&mut self, hash: u64) {
        if self.0.is_empty() {
            self.0.resize(1 << (SET_BITS - 6), 0);
        }
        let bit = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SET_BITS);
        let place = usize::try_from(bit >> 6).unwrap_or(usize::MAX);
        if let Some(bits) = self.0.get_mut(place) {
            *bits |= 1 << (bit & 63);
        }
    }

    /// Says whether a word is in this set and in `both`, and not in `but`.
    fn has_of(&self, both: &Self, but: &Self) -> bool {
        let but = but.0.iter().copied().chain(std::iter::repeat(0));
        let pairs = self.0.iter().zip(&both.0).zip(but);
        pairs
            .into_iter()
            .any(|((ours, theirs), but)| ours & theirs & !but != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kind: LineKind, text: &str) -> Line<'_> {
        Line {
            kind,
            old: Some(1),
            new: Some(1),
            text: text.as_bytes(),
            no_newline: false,
        }
    }

    #[test]
    fn subject_is_gone_with_a_name_that_tests_use() {
        let mut subject = Subject::default();
        subject.code(&line(LineKind::Deleted, "return flatten(values);"));
        subject.test(b"assert flatten([1]) == [1]");
        assert!(subject.is_gone());
        subject.code(&line(LineKind::Context, "use flatten;"));
        assert!(!subject.is_gone(), "the name is still there");
    }

    #[test]
    fn subject_is_gone_with_its_declaration() {
        let mut subject = Subject::default();
        subject.code(&line(LineKind::Deleted, "def self.each"));
        subject.code(&line(LineKind::Context, "each { |body| yield body }"));
        subject.test(b"Body.method_defined?(:each).must_equal true");
        assert!(subject.is_gone());
        subject.code(&line(LineKind::Added, "  def each(&block)"));
        assert!(!subject.is_gone(), "it is declared in another way");
    }

    #[test]
    fn comments_and_short_words_are_no_subject() {
        let mut subject = Subject::default();
        subject.code(&line(LineKind::Deleted, "// refuses strangers"));
        subject.code(&line(LineKind::Deleted, "if a { go() }"));
        subject.test(b"refuses strangers: if a { go() }");
        assert!(!subject.is_gone());
    }

    #[test]
    fn subject_is_gone_with_many_lines_that_nothing_replaces() {
        let mut subject = Subject::default();
        for _ in 0..6 {
            subject.code(&line(LineKind::Deleted, "x = 1"));
        }
        assert!(subject.is_gone());
        for _ in 0..2 {
            subject.code(&line(LineKind::Added, "y = 1"));
        }
        assert!(!subject.is_gone());
    }
}
