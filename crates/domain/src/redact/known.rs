//! Finds secrets whose value is known, in whatever form they come back: whole, in pieces, encoded, spaced
//! out, in another case.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// A piece of this length gives a secret away.
const FRAGMENT: usize = 8;
/// A piece that consists of words gives it away from this length on.
const STRETCH: usize = 16;
/// Shorter pieces count if together they are most of it.
const SCRAP: usize = 6;
/// Values shorter than this are not searched for: they are words.
const MIN_VALUE: usize = 8;
/// Scraps are looked for in values from this length on.
const MIN_SCRAPPED: usize = 16;

/// A secret and the forms it may take, reduced to lower-case letters and digits.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) kind: String,
    /// Fragments of the value and its encodings that no ordinary text contains.
    fragments: HashSet<Vec<u8>>,
    /// Longer pieces, of letters too, and their length.
    stretches: HashSet<Vec<u8>>,
    stretch: usize,
    /// Short pieces of the value: piece to the positions it has there.
    scraps: HashMap<Vec<u8>, Vec<usize>>,
    /// How much of the value the short pieces cover.
    coverable: usize,
}

impl Known {
    /// Prepares a value; `None` if it is too short to be told from words.
    pub(super) fn new(kind: &str, value: &str) -> Option<Self> {
        let value = value.trim();
        let plain = squeeze(value.as_bytes()).0;
        if plain.len() < MIN_VALUE {
            return None;
        }
        let mut fragments = HashSet::new();
        let mut stretches = HashSet::new();
        let stretch = plain.len().min(STRETCH);
        for form in forms(value) {
            let form = squeeze(&form).0;
            let telling = form.windows(FRAGMENT).filter(|piece| is_telling(piece));
            fragments.extend(telling.map(<[u8]>::to_vec));
            stretches.extend(form.windows(stretch).map(<[u8]>::to_vec));
        }
        let mut scraps: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
        let mut coverable = HashSet::new();
        for (at, piece) in plain
            .windows(SCRAP)
            .enumerate()
            .filter(|(_, piece)| is_telling(piece))
        {
            scraps.entry(piece.to_vec()).or_default().push(at);
            coverable.extend(at..at.saturating_add(SCRAP));
        }
        // Scraps of words would be found everywhere.
        if plain.len() < MIN_SCRAPPED || coverable.len().saturating_mul(2) < plain.len() {
            scraps.clear();
        }
        Some(Self {
            kind: kind.to_owned(),
            fragments,
            stretches,
            stretch,
            scraps,
            coverable: coverable.len(),
        })
    }

    /// Finds every place of `text` that gives the secret away; ranges are in bytes and may overlap.
    pub(super) fn find(&self, text: &Squeezed) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        for (at, piece) in text.bytes.windows(FRAGMENT).enumerate() {
            if self.fragments.contains(piece) {
                found.extend(text.range(at, FRAGMENT));
            }
        }
        for (at, piece) in text.bytes.windows(self.stretch).enumerate() {
            if self.stretches.contains(piece) {
                found.extend(text.range(at, self.stretch));
            }
        }
        let mut scraps = Vec::new();
        let mut covered = HashSet::new();
        for (at, piece) in text.bytes.windows(SCRAP).enumerate() {
            if let Some(places) = self.scraps.get(piece) {
                scraps.extend(text.range(at, SCRAP));
                for &place in places {
                    covered.extend(place..place.saturating_add(SCRAP));
                }
            }
        }
        if covered.len().saturating_mul(2) >= self.coverable {
            found.extend(scraps);
        }
        found
    }
}

/// A text reduced to lower-case letters and digits, with the way back.
pub(super) struct Squeezed {
    bytes: Vec<u8>,
    origin: Vec<usize>,
}

impl Squeezed {
    pub(super) fn new(text: &str) -> Self {
        let (bytes, origin) = squeeze(text.as_bytes());
        Self { bytes, origin }
    }

    /// The range in the original text of `len` characters at `at`.
    fn range(&self, at: usize, len: usize) -> Option<Range<usize>> {
        let first = self.origin.get(at)?;
        let last = self.origin.get(at.saturating_add(len).saturating_sub(1))?;
        Some(*first..last.saturating_add(1))
    }
}

/// Keeps letters and digits, in lower case, and where they stood.
fn squeeze(text: &[u8]) -> (Vec<u8>, Vec<usize>) {
    text.iter()
        .enumerate()
        .filter(|(_, c)| c.is_ascii_alphanumeric())
        .map(|(at, c)| (c.to_ascii_lowercase(), at))
        .unzip()
}

/// The value as it is, backwards, and encoded.
fn forms(value: &str) -> Vec<Vec<u8>> {
    let body = without_public_prefix(value);
    let bytes = value.as_bytes();
    let mut out = vec![
        body.as_bytes().to_vec(),
        body.bytes().rev().collect(),
        hex::encode(bytes).into_bytes(),
    ];
    let mut escaped = String::new();
    for byte in bytes {
        if byte.is_ascii_alphanumeric() {
            escaped.push(char::from(*byte));
        } else {
            escaped.push_str(&hex::encode([*byte]));
        }
    }
    out.push(escaped.into_bytes());
    // Escapes as `\x73`, `0x73`, and decimal codes.
    let spelled = |prefix: &str| -> Vec<u8> {
        let codes: Vec<String> = bytes
            .iter()
            .map(|byte| format!("{prefix}{byte:02x}"))
            .collect();
        codes.concat().into_bytes()
    };
    out.extend([spelled("x"), spelled("0x")]);
    out.push(
        bytes
            .iter()
            .map(u8::to_string)
            .collect::<Vec<_>>()
            .concat()
            .into_bytes(),
    );
    // Base64 of text around the value shifts it by up to two bytes; the characters at the ends depend on
    // what is around and are left out. Squeezing makes the URL-safe alphabet equal.
    for shift in 0..3_usize {
        let mut padded = vec![0_u8; shift];
        padded.extend_from_slice(bytes);
        let encoded = STANDARD_NO_PAD.encode(&padded);
        let skip = [0, 2, 3].get(shift).copied().unwrap_or(3);
        let end = encoded.len().saturating_sub(2);
        out.push(
            encoded
                .get(skip..end)
                .unwrap_or_default()
                .as_bytes()
                .to_vec(),
        );
    }
    out
}

/// The value after a prefix that only says whose it is, such as `sk-ant-api03-` or `ghs_`.
fn without_public_prefix(value: &str) -> &str {
    let head = value.get(..16).unwrap_or(value);
    let end = head.rfind(['_', '-']).map_or(0, |at| at.saturating_add(1));
    let prefix = value.get(..end).unwrap_or_default();
    let is_public = prefix.split(['_', '-']).all(|part| part.len() <= 6);
    if is_public {
        value.get(end..).unwrap_or(value)
    } else {
        value
    }
}

/// A piece that could not be part of an ordinary word.
fn is_telling(piece: &[u8]) -> bool {
    let vowel = |c: &u8| matches!(c, b'a' | b'e' | b'i' | b'o' | b'u' | b'y');
    piece.iter().any(u8::is_ascii_digit) || !piece.iter().any(vowel)
}
