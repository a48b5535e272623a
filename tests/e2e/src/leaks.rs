//! Finds secrets and source where they must not be, whatever they were encoded as.
//!
//! A text leaks a sentinel if it holds any piece of eight characters of it: as it is, as base64 in any of
//! its three alignments and both alphabets, as hex, or percent-encoded. The whole value in any of these
//! forms holds such pieces.

use std::collections::{BTreeSet, HashMap};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Characters of the shortest piece that counts.
const PIECE: usize = 8;
/// The same of a value that is itself hex digits, which ids and digests are full of.
const HEX_PIECE: usize = 16;

/// What must not be found, by name.
#[derive(Debug, Clone, Default)]
pub struct Sentinels {
    /// Every form of every piece, by its length, with the sentinel's name and the form's.
    forms: HashMap<usize, HashMap<Vec<u8>, (String, &'static str)>>,
}

impl Sentinels {
    /// Adds a value of at least eight characters, all of which should look random: pieces that are words
    /// would be found everywhere.
    pub fn add(&mut self, name: &str, value: &str) {
        let digits = value.bytes().all(|byte| byte.is_ascii_hexdigit());
        let length = if digits { HEX_PIECE } else { PIECE };
        self.add_pieces(name, value.as_bytes(), length);
    }

    /// Adds a value that is no text, under the same conditions.
    pub fn add_bytes(&mut self, name: &str, value: &[u8]) {
        self.add_pieces(name, value, PIECE);
    }

    fn add_pieces(&mut self, name: &str, value: &[u8], length: usize) {
        assert!(value.len() >= length, "{name} is too short");
        for piece in value.windows(length) {
            for (form, bytes) in forms(piece) {
                let same = self.forms.entry(bytes.len()).or_default();
                same.entry(bytes).or_insert_with(|| (name.to_owned(), form));
            }
        }
    }

    /// Returns what a text leaks, each as `name, as form`.
    pub fn found_in(&self, text: &[u8]) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for (length, forms) in &self.forms {
            let first: BTreeSet<u8> = forms.keys().map(|form| form[0]).collect();
            let begins: Vec<bool> = (0..=u8::MAX).map(|byte| first.contains(&byte)).collect();
            for window in text.windows(*length) {
                if begins[usize::from(window[0])]
                    && let Some((name, form)) = forms.get(window)
                {
                    found.insert(format!("{name}, {form}"));
                }
            }
        }
        found
    }
}

/// Returns every way in which a piece may be written.
fn forms(piece: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let each = |write: &dyn Fn(u8) -> String| -> Vec<u8> {
        piece
            .iter()
            .map(|byte| write(*byte))
            .collect::<String>()
            .into()
    };
    let unless_plain = |byte: u8, otherwise: String| {
        let plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if plain {
            char::from(byte).to_string()
        } else {
            otherwise
        }
    };
    let mut forms = vec![
        ("as it is", piece.to_vec()),
        ("as hex", each(&|byte| format!("{byte:02x}"))),
        ("as hex", each(&|byte| format!("{byte:02X}"))),
        (
            "in a URL",
            each(&|byte| unless_plain(byte, format!("%{byte:02X}"))),
        ),
        (
            "in a URL",
            each(&|byte| unless_plain(byte, format!("%{byte:02x}"))),
        ),
        ("in a URL", each(&|byte| format!("%{byte:02X}"))),
        ("in a URL", each(&|byte| format!("%{byte:02x}"))),
    ];
    for lead in 0..3 {
        let padded = [&vec![0; lead], piece].concat();
        // The characters that hold bits of the piece and of none of its neighbours.
        let from = (lead * 8).div_ceil(6);
        let to = padded.len() * 8 / 6;
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            let encoded = engine.encode(&padded);
            forms.push(("as base64", encoded.as_bytes()[from..to].to_vec()));
        }
    }
    forms
}

#[cfg(test)]
mod tests;
