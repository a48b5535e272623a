//! Takes secrets out of text: out of the diff before a model sees it, and out of a model's words before
//! anyone does.
//!
//! Three nets, each for what the others cannot know: values that are *known* (the process's own
//! credentials), the *shapes* of common credentials, and, for text that is posted, *opaque runs* that do
//! not stand in the diff. The first two also work on what the model is shown.
//!
//! **Invariant:** no part of a found secret is in the result or in the report, only its kind; and lines of
//! a diff stay lines.

mod credential;
mod known;
mod mask;
mod opaque;
pub(crate) mod pem;
pub(crate) mod shapes;
pub(crate) mod value;

use std::collections::BTreeMap;
use std::ops::Range;

pub use credential::credential_shape;
pub use mask::{Masked, Masker, mask_diff};
pub use opaque::Haystack;

use known::{Known, Squeezed};

/// The kind reported for an opaque run.
const OPAQUE: &str = "opaque-text";

/// Finds and removes secrets. Keeps pieces of the known values in memory and prints none of them.
#[derive(Clone, Default)]
pub struct Redactor {
    known: Vec<Known>,
}

impl std::fmt::Debug for Redactor {
    /// Prints how many values are known, never the values.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor")
            .field("known", &self.known.len())
            .finish_non_exhaustive()
    }
}

/// Text without its secrets, and what was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redacted {
    /// The text, each secret replaced by `[redacted: kind]`.
    pub text: String,
    /// How many secrets of each kind were replaced. A metric, and an alarm.
    pub counts: BTreeMap<String, usize>,
}

impl Redacted {
    /// Returns how many secrets were replaced in all.
    #[must_use]
    pub fn total(&self) -> usize {
        self.counts
            .values()
            .fold(0, |sum, count| sum.saturating_add(*count))
    }
}

impl Redactor {
    /// Prepares a redactor that knows the given values, each with the kind to show in its place.
    ///
    /// A kind is short kebab-case (`model-key`). Values of fewer than 8 letters and digits are passed
    /// over: they cannot be told from words.
    #[must_use]
    pub fn new<'a>(known: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self {
            known: known
                .into_iter()
                .filter_map(|(kind, value)| Known::new(kind, value))
                .collect(),
        }
    }

    /// Returns `text` without known values and without whatever has the shape of a credential.
    #[must_use]
    pub fn redact(&self, text: &str) -> Redacted {
        replace(text, self.spans(text))
    }

    /// Like [`Redactor::redact`], and also replaces every opaque run (24 or more of
    /// `[A-Za-z0-9+/=_-]` that mix letters and digits, or 32 hexadecimal digits) that does not stand
    /// literally in `public`.
    ///
    /// For everything that is posted. Time is linear in the text for ordinary text, and bounded by
    /// the text's runs times the size of `public` in the worst case.
    #[must_use]
    pub fn redact_for_posting(&self, text: &str, public: &Haystack<'_>) -> Redacted {
        let mut spans = self.spans(text);
        let opaque = opaque::find(text, public).into_iter();
        spans.extend(opaque.map(|range| Span {
            range,
            kind: OPAQUE,
            rank: 2,
        }));
        replace(text, spans)
    }

    fn spans(&self, text: &str) -> Vec<Span<'_>> {
        let shapes = shapes::find(text.as_bytes()).into_iter();
        let mut spans: Vec<Span<'_>> = shapes
            .map(|hit| Span {
                range: hit.range,
                kind: hit.kind,
                rank: 1,
            })
            .collect();
        if !self.known.is_empty() {
            let squeezed = Squeezed::new(text);
            for known in &self.known {
                let found = known.find(&squeezed).into_iter();
                spans.extend(found.map(|range| Span {
                    range,
                    kind: &known.kind,
                    rank: 0,
                }));
            }
        }
        spans
    }
}

/// Something to replace. Where spans overlap, the lowest rank names the whole.
struct Span<'a> {
    range: Range<usize>,
    kind: &'a str,
    rank: u8,
}

/// Replaces the spans, overlapping ones and those that only white space parts as one.
fn replace(text: &str, mut spans: Vec<Span<'_>>) -> Redacted {
    spans.sort_by_key(|span| (span.range.start, std::cmp::Reverse(span.range.end)));
    let mut merged: Vec<Span<'_>> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if last.joins(&span, text) => {
                last.range.end = last.range.end.max(span.range.end);
                if span.rank < last.rank {
                    (last.kind, last.rank) = (span.kind, span.rank);
                }
            }
            _ => merged.push(span),
        }
    }
    let mut out = Redacted {
        text: String::with_capacity(text.len()),
        counts: BTreeMap::new(),
    };
    let mut from = 0_usize;
    for Span { range, kind, .. } in merged {
        out.text
            .push_str(text.get(from..range.start).unwrap_or_default());
        out.text.push_str("[redacted: ");
        out.text.push_str(kind);
        out.text.push(']');
        let count = out.counts.entry(kind.to_owned()).or_default();
        *count = count.saturating_add(1);
        from = range.end;
    }
    out.text.push_str(text.get(from..).unwrap_or_default());
    out
}

impl Span<'_> {
    /// Says whether a later span is part of this one, or goes on with it after white space.
    fn joins(&self, next: &Self, text: &str) -> bool {
        next.range.start <= self.range.end
            || (self.kind == next.kind && is_blank(text, self.range.end, next.range.start))
    }
}

/// Says whether only white space is between two positions.
fn is_blank(text: &str, from: usize, to: usize) -> bool {
    text.get(from..to)
        .is_some_and(|between| between.chars().all(char::is_whitespace))
}
