//! Which lines are worth a closer look, in one pass over their bytes.
//!
//! Nearly all lines hold nothing that a pattern of the checks could match. One automaton of literals finds
//! the others, in time linear in the bytes, whatever they are.
//!
//! **Invariant:** a line that a pattern of a credential matches has its hint (the tests generate such lines).

mod table;

use std::ops::BitOrAssign;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use table::{EXACT, FOLDED};

/// What a line may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hints(u8);

impl Hints {
    /// A credential by its form, or a private key's armour.
    pub(super) const FORM: Self = Self(1);
    /// A name beside which a value is a secret.
    pub(super) const NAME: Self = Self(2);
    /// Text for a reviewer.
    pub(super) const REVIEWER: Self = Self(4);
    /// An assertion.
    pub(super) const ASSERTION: Self = Self(8);
    /// A test that does not run.
    pub(super) const SKIP: Self = Self(16);
    /// A test over a table of cases.
    pub(super) const TABLE: Self = Self(32);

    /// Says whether one of the hints of `other` is here.
    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the hints of a text of one line.
    pub(super) fn of(line: &[u8]) -> Self {
        let mut all = Self::default();
        find(line, |_, hints| all |= hints);
        all
    }
}

impl BitOrAssign for Hints {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// What must stand around a literal for it to count.
#[derive(Clone, Copy)]
enum Around {
    /// Anything.
    Any,
    /// No letter, digit or underscore before.
    Starts,
    /// None before and none after.
    Word,
    /// So many hexadecimal digits after.
    Hex(usize),
    /// So many letters or digits after.
    Alnum(usize),
    /// A digit after.
    Digit,
    /// An at sign after, before a slash or white space.
    At,
}

/// Literals that say the same.
type Group = (&'static [&'static str], Hints, Around);

/// An automaton, and what each of its literals says.
struct Finder {
    automaton: AhoCorasick,
    says: Vec<Says>,
}

/// What one literal says.
struct Says {
    /// The bytes it must have, where its case counts.
    exactly: Option<&'static [u8]>,
    hints: Hints,
    around: Around,
}

impl Finder {
    fn new() -> Option<Self> {
        let all = [(EXACT, true), (FOLDED, false)];
        let literals = all.iter().flat_map(|(groups, exact)| {
            groups.iter().flat_map(|(literals, hints, around)| {
                literals.iter().map(|literal| {
                    let says = Says {
                        exactly: exact.then_some(literal.as_bytes()),
                        hints: *hints,
                        around: *around,
                    };
                    (*literal, says)
                })
            })
        });
        let (literals, says): (Vec<&str>, Vec<Says>) = literals.unzip();
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(literals)
            .ok()?;
        Some(Self { automaton, says })
    }
}

impl Around {
    fn fits(self, text: &[u8], start: usize, end: usize) -> bool {
        let before = || start.checked_sub(1).and_then(|at| text.get(at));
        let after = || text.get(end..).unwrap_or_default();
        let all = |count: usize, is: fn(&u8) -> bool| {
            after().get(..count).is_some_and(|next| next.iter().all(is))
        };
        match self {
            Self::Any => true,
            Self::Starts => !before().copied().is_some_and(is_word),
            Self::Word => {
                !before().copied().is_some_and(is_word)
                    && !after().first().copied().is_some_and(is_word)
            }
            Self::Hex(count) => all(count, u8::is_ascii_hexdigit),
            Self::Alnum(count) => all(count, u8::is_ascii_alphanumeric),
            Self::Digit => all(1, u8::is_ascii_digit),
            Self::At => {
                // Stops where another address could start: no byte is looked at twice.
                let ends = |c: &u8| c.is_ascii_whitespace() || matches!(c, b'/' | b'@');
                after().iter().find(|c| ends(c)) == Some(&b'@')
            }
        }
    }
}

fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'_'
}

static FINDER: LazyLock<Option<Finder>> = LazyLock::new(Finder::new);

/// Calls `each` with the offset of every literal's last byte and its hint, in order.
pub(super) fn find(text: &[u8], mut each: impl FnMut(usize, Hints)) {
    let Some(finder) = FINDER.as_ref() else {
        return;
    };
    for found in finder.automaton.find_overlapping_iter(text) {
        let Some(says) = finder.says.get(found.pattern().as_usize()) else {
            continue;
        };
        let (start, end) = (found.start(), found.end());
        let spelled = says
            .exactly
            .is_none_or(|literal| text.get(start..end) == Some(literal));
        if spelled && says.around.fits(text, start, end) {
            each(end.saturating_sub(1), says.hints);
        }
    }
}

#[cfg(test)]
mod tests;
