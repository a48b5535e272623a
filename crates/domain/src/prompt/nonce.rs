//! The mark that tells our tags from tags written in a change.

use crate::ids::hash_fields;

/// Hex digits of a nonce.
const DIGITS: usize = 16;

/// A value that nobody outside this run knows, carried by every tag around untrusted text.
///
/// One per job. `Debug` does not print it.
#[derive(Clone, PartialEq, Eq)]
pub struct Nonce {
    digits: String,
}

impl Nonce {
    /// Makes a nonce from 16 random bytes; they must not be derived from the job.
    pub fn from_random(random: [u8; 16]) -> Self {
        Self::derive(&hex::encode(random))
    }

    fn derive(seed: &str) -> Self {
        let hash = hash_fields(&[b"mirilla.nonce.v1", seed.as_bytes()]);
        Self {
            digits: hash.chars().take(DIGITS).collect(),
        }
    }

    /// Returns a nonce that occurs in none of `texts`: this one, or one derived from it.
    pub fn absent_from(&self, texts: &[&str]) -> Self {
        let mut nonce = self.clone();
        // Finite texts hold finitely many of the derived values.
        while texts.iter().any(|text| text.contains(nonce.as_str())) {
            nonce = Self::derive(&nonce.digits);
        }
        nonce
    }

    /// Returns the digits.
    pub fn as_str(&self) -> &str {
        &self.digits
    }

    /// Returns `text` between tags of this nonce, each on a line of its own.
    pub fn enclose(&self, tag: &str, text: &str) -> String {
        let line_break = if text.ends_with('\n') || text.is_empty() {
            ""
        } else {
            "\n"
        };
        format!(
            "<{tag} nonce=\"{nonce}\">\n{text}{line_break}</{tag} nonce=\"{nonce}\">\n",
            nonce = self.digits
        )
    }
}

impl std::fmt::Debug for Nonce {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Nonce(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_is_never_one_that_stands_in_the_text() {
        let first = Nonce::from_random([7; 16]);
        let second = first.absent_from(&[first.as_str()]);
        assert_ne!(first, second);
        let third = first.absent_from(&[first.as_str(), second.as_str()]);
        assert!(third != first && third != second);
        assert_eq!(first.absent_from(&["no such text"]), first);
        assert_eq!(first.as_str().len(), DIGITS);
    }

    #[test]
    fn debug_keeps_it_secret() {
        let nonce = Nonce::from_random([9; 16]);
        assert!(!format!("{nonce:?}").contains(nonce.as_str()));
    }
}
