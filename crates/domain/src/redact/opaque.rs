//! Runs of characters that could be a secret of unknown form, and the text in which they may stand.

use std::collections::HashSet;

use memchr::memmem;

/// A run of mixed characters counts from this length on.
const MIN_MIXED: usize = 24;
/// A run of hexadecimal digits counts from this length on.
const MIN_HEX: usize = 32;

/// What the public can read anyway: the diff, its paths, the names of rules.
///
/// An opaque run that stands literally in it reveals nothing when it is posted.
#[derive(Clone, Default)]
pub struct Haystack<'a> {
    texts: Vec<&'a [u8]>,
    runs: HashSet<&'a [u8]>,
}

impl std::fmt::Debug for Haystack<'_> {
    /// Prints the size only: the text is the repository's.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes: usize = self.texts.iter().map(|text| text.len()).sum();
        f.debug_struct("Haystack")
            .field("bytes", &bytes)
            .finish_non_exhaustive()
    }
}

impl<'a> Haystack<'a> {
    /// Indexes the runs of `texts`. Takes time in proportion to their length.
    #[must_use]
    pub fn new(texts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let texts: Vec<&[u8]> = texts.into_iter().collect();
        let runs = texts
            .iter()
            .flat_map(|text| runs(text))
            .map(|(_, run)| trim(run))
            .collect();
        Self { texts, runs }
    }

    /// Says whether `run` stands literally in one of the texts.
    fn contains(&self, run: &[u8]) -> bool {
        self.runs.contains(run)
            || self
                .texts
                .iter()
                .any(|text| memmem::find(text, run).is_some())
    }
}

/// Finds the opaque runs of `text` that do not stand in `known`; returns their byte ranges.
pub(super) fn find(text: &str, known: &Haystack<'_>) -> Vec<std::ops::Range<usize>> {
    runs(text.as_bytes())
        .filter(|(_, run)| !known.contains(trim(run)))
        .map(|(start, run)| start..start.saturating_add(run.len()))
        .collect()
}

/// The opaque runs of `text` and where they start.
fn runs(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut start = 0_usize;
    text.split(|&c| !is_opaque(c)).filter_map(move |run| {
        let at = start;
        start = start.saturating_add(run.len()).saturating_add(1);
        is_suspicious(run).then_some((at, run))
    })
}

const fn is_opaque(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/' | b'=' | b'_' | b'-')
}

/// Long enough, and letters mixed with digits, or hexadecimal.
fn is_suspicious(run: &[u8]) -> bool {
    let mixed = || run.iter().any(u8::is_ascii_digit) && run.iter().any(u8::is_ascii_alphabetic);
    let hex = || {
        run.split(|c| !c.is_ascii_hexdigit())
            .any(|part| part.len() >= MIN_HEX)
    };
    run.len() >= MIN_MIXED && (mixed() || hex())
}

/// The run without separators at its ends, which belong to the sentence.
fn trim(run: &[u8]) -> &[u8] {
    let mut inner = run;
    while let [b'+' | b'/' | b'=' | b'_' | b'-', rest @ ..] = inner {
        inner = rest;
    }
    while let [rest @ .., b'+' | b'/' | b'=' | b'_' | b'-'] = inner {
        inner = rest;
    }
    inner
}
