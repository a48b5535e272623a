//! Where a finding came from and what became of it, put together from the files of a run.
//!
//! **Invariant:** nothing is guessed: what a file does not say is absent.

use std::collections::BTreeMap;

use super::{CallFate, CallRecord, ChunkRecord, LookUpRecord, Origin, RunRecord, SecondLooked};
use crate::money::PicoUsd;
use crate::plan::{Item, Plan, Source};
use crate::review::{Finding, Review};

/// Fewer characters of a fingerprint than this name too much.
const MIN_FINGERPRINT_CHARS: usize = 4;

/// Which finding is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// The one whose fingerprint begins like this; lower-case hexadecimal.
    Fingerprint(String),
    /// Those at a line of a file, as the model named it or where it was anchored.
    Place {
        /// The file, or the end of its name.
        path: String,
        /// The line.
        line: u32,
    },
}

/// A text names no finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a finding is named by its fingerprint, a comment's marker, or PATH:LINE")]
pub struct WantedError;

impl Wanted {
    /// Reads a fingerprint or the beginning of one, a comment's text with its marker, or `path:line`.
    pub fn parse(text: &str) -> Result<Self, WantedError> {
        let text = text.trim();
        if let Some((_, marked)) = text.rsplit_once("finding=") {
            let end = marked.find(|c: char| !c.is_ascii_hexdigit());
            return Self::fingerprint(
                marked
                    .get(..end.unwrap_or(marked.len()))
                    .unwrap_or_default(),
            );
        }
        if let Some((path, line)) = text.rsplit_once(':') {
            let line = line.trim().parse().ok().ok_or(WantedError)?;
            let path = path.trim();
            if path.is_empty() {
                return Err(WantedError);
            }
            return Ok(Self::Place {
                path: path.to_owned(),
                line,
            });
        }
        Self::fingerprint(text)
    }

    fn fingerprint(text: &str) -> Result<Self, WantedError> {
        let usable =
            text.len() >= MIN_FINGERPRINT_CHARS && text.bytes().all(|b| b.is_ascii_hexdigit());
        if usable {
            Ok(Self::Fingerprint(text.to_ascii_lowercase()))
        } else {
            Err(WantedError)
        }
    }

    fn is_item(&self, item: &Item) -> bool {
        match self {
            Self::Fingerprint(prefix) => {
                let mut fingerprint = item.fingerprint.iter();
                fingerprint.any(|one| one.as_str().starts_with(prefix))
            }
            Self::Place { path, line } => {
                let anchored = item
                    .anchor
                    .as_ref()
                    .is_some_and(|anchor| (anchor.first()..=anchor.line).contains(line));
                is_path(path, &item.path) && (item.line == *line || anchored)
            }
        }
    }

    fn is_finding(&self, finding: &Finding) -> bool {
        match self {
            Self::Fingerprint(_) => false,
            Self::Place { path, line } => {
                let last = finding.end_line.unwrap_or(finding.line);
                is_path(path, &finding.path) && (finding.line..=last).contains(line)
            }
        }
    }
}

/// Whether `wanted` is a path or its last parts.
fn is_path(wanted: &str, path: &str) -> bool {
    path.strip_suffix(wanted)
        .is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// What is known of one finding.
#[derive(Debug, Clone)]
pub struct Explained<'a> {
    /// What the plan made of it, if there is a plan.
    pub item: Option<&'a Item>,
    /// The finding and its number in the review, from 1; nothing for a hit of a fixed check.
    pub finding: Option<(u32, &'a Finding)>,
    /// Where it came from, if there is a record.
    pub origin: Option<&'a Origin>,
    /// Its chunk.
    pub chunk: Option<&'a ChunkRecord>,
    /// The calls of the conversation that named it, the answer last; those that were kept.
    pub calls: Vec<&'a CallRecord>,
    /// What the second look made of it.
    pub second_look: Option<&'a SecondLooked>,
    /// How many findings the same answer named.
    pub named_together: usize,
}

impl<'a> Explained<'a> {
    /// Returns what was looked up before it was named.
    pub fn look_ups(&self) -> impl Iterator<Item = &'a LookUpRecord> {
        self.calls.iter().flat_map(|call| &call.look_ups)
    }

    /// Returns what the conversation that named it cost.
    pub fn cost(&self) -> PicoUsd {
        let costs = self.calls.iter().map(|call| call.cost);
        costs.fold(PicoUsd::ZERO, PicoUsd::plus)
    }
}

/// Returns everything that the files of a run say about a finding; more than one if the name fits
/// several.
pub fn explain<'a>(
    wanted: &Wanted,
    record: Option<&'a RunRecord>,
    review: &'a Review,
    plan: Option<&'a Plan>,
) -> Vec<Explained<'a>> {
    let items = plan.map_or(&[][..], |plan| &plan.items);
    let found = pairs(items, review);
    let mut explained: Vec<Explained<'a>> = items
        .iter()
        .enumerate()
        .filter(|(_, item)| wanted.is_item(item))
        .map(|(at, item)| about(Some(item), found.get(&at).copied(), record))
        .collect();
    // Without a plan, or if it names the place otherwise, the review alone knows it.
    if explained.is_empty() {
        let findings = (1_u32..).zip(&review.findings);
        explained.extend(
            findings
                .filter(|(_, finding)| wanted.is_finding(finding))
                .map(|numbered| about(None, Some(numbered), record)),
        );
    }
    explained
}

/// Returns the finding of each item, by the item's index: the plan keeps what the model wrote.
fn pairs<'a>(items: &[Item], review: &'a Review) -> BTreeMap<usize, (u32, &'a Finding)> {
    let mut free: Vec<(u32, &Finding)> = (1_u32..).zip(&review.findings).collect();
    let mut found = BTreeMap::new();
    let model = items
        .iter()
        .enumerate()
        .filter(|(_, item)| item.source == Source::Model);
    for (at, item) in model {
        let same = |finding: &Finding| {
            finding.title == item.title
                && finding.line == item.line
                && finding.message == item.message
                && finding.category.as_str() == item.category
        };
        let position = free
            .iter()
            .position(|(_, finding)| same(finding) && finding.path == item.path)
            .or_else(|| free.iter().position(|(_, finding)| same(finding)));
        if let Some(position) = position {
            found.insert(at, free.remove(position));
        }
    }
    found
}

fn about<'a>(
    item: Option<&'a Item>,
    finding: Option<(u32, &'a Finding)>,
    record: Option<&'a RunRecord>,
) -> Explained<'a> {
    let number = finding.map(|(number, _)| number);
    let origin = record.and_then(|record| {
        let mut origins = record.findings.iter();
        origins.find(|origin| Some(origin.finding) == number)
    });
    let of_record = record.zip(origin);
    Explained {
        item,
        finding,
        origin,
        chunk: of_record.and_then(|(record, origin)| {
            record.chunks.iter().find(|one| one.chunk == origin.chunk)
        }),
        calls: of_record.map_or_else(Vec::new, |(record, origin)| {
            conversation(record.calls.kept(), origin.call)
        }),
        second_look: record.and_then(|record| {
            let mut seconds = record.second_look.iter();
            seconds.find(|one| Some(one.finding) == number)
        }),
        named_together: of_record.map_or(0, |(record, origin)| {
            let origins = record.findings.iter();
            origins.filter(|one| one.call == origin.call).count()
        }),
    }
}

/// Returns the calls of the conversation that ends with a call: back to the first turn about its chunk.
fn conversation(calls: &[CallRecord], last: u32) -> Vec<&CallRecord> {
    let Some(end) = calls.iter().position(|call| call.call == last) else {
        return Vec::new();
    };
    let before = calls.iter().take(end.saturating_add(1)).rev();
    let mut before = before.filter(|call| call.fate != CallFate::Unknown);
    let mut conversation: Vec<&CallRecord> = before.next().into_iter().collect();
    for call in before {
        let next = conversation.last();
        if next.is_none_or(|next| next.chunk != call.chunk || next.turn <= call.turn) {
            break;
        }
        conversation.push(call);
    }
    conversation.reverse();
    conversation
}
