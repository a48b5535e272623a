//! Reads the recorded answers once more: the review must say what they said.
//!
//! **Invariant:** an answer that cannot be compared word for word is named, never passed over.

use std::collections::BTreeMap;
use std::fmt;

use mirilla_diff::FileDiff;

use super::{CallFate, RejectedItem, RunRecord};
use crate::answer::{self, second_look};
use crate::review::{Finding, Review};

/// Something that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// A text was changed after it was recorded.
    Text {
        /// The call it belongs to.
        call: u32,
        /// Which text.
        what: &'static str,
    },
    /// An answer does not yield the findings that the review has of it.
    Findings {
        /// The call.
        call: u32,
        /// The first finding of the review that differs, from 1; `None` if one is missing there.
        finding: Option<u32>,
    },
    /// An answer cannot be read although the review has findings of it.
    Unreadable {
        /// The call.
        call: u32,
    },
    /// The record and the review differ in a sum.
    Sum {
        /// Which one.
        what: &'static str,
    },
    /// The record does not say where every finding came from.
    Origins,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text { call, what } => {
                write!(
                    f,
                    "the {what} of call {call} was changed after it was recorded"
                )
            }
            Self::Findings {
                call,
                finding: Some(finding),
            } => write!(
                f,
                "finding {finding} of the review is not what call {call} answered"
            ),
            Self::Findings { call, .. } => {
                write!(
                    f,
                    "call {call} answered more findings than the review has of it"
                )
            }
            Self::Unreadable { call } => write!(
                f,
                "the answer of call {call} cannot be read, and the review has findings of it"
            ),
            Self::Sum { what } => write!(f, "record and review differ in their {what}"),
            Self::Origins => {
                f.write_str("the record does not say where every finding of the review came from")
            }
        }
    }
}

/// Holds a record against its review: sums, hashes of texts, and what the answers say when they are read
/// once more. `shown` is the diff as the model saw it, its secrets masked.
///
/// Returns what does not fit, and the calls whose answers were kept in part only and were not read.
pub fn check_answers(
    record: &RunRecord,
    review: &Review,
    shown: &[FileDiff<'_>],
) -> (Vec<Mismatch>, Vec<u32>) {
    let mut wrong = Vec::new();
    let sums = record.sums();
    for (what, same) in [
        ("number of calls", sums.calls == review.turns),
        ("number of look-ups", sums.look_ups == review.tool_calls),
        ("tokens", sums.usage == review.usage),
        ("cost", sums.cost == review.cost),
    ] {
        if !same {
            wrong.push(Mismatch::Sum { what });
        }
    }
    for call in record.calls.kept() {
        let arguments = call.look_ups.iter().map(|one| ("look-up", &one.arguments));
        let texts = [("answer", &call.answer), ("objection", &call.objection)];
        let texts = texts
            .into_iter()
            .filter_map(|(what, text)| Some((what, text.as_ref()?)));
        for (what, text) in texts.chain(arguments) {
            if !text.is_intact() {
                wrong.push(Mismatch::Text {
                    call: call.call,
                    what,
                });
            }
        }
    }
    let carried = usize::try_from(record.carried).unwrap_or(usize::MAX);
    let named = review.findings.len().saturating_sub(carried);
    let numbered = (1_u32..).zip(review.findings.iter().take(named));
    let mut by_call: BTreeMap<u32, Vec<(u32, &Finding)>> = BTreeMap::new();
    let mut origins = record.findings.iter();
    for (number, finding) in numbered {
        match origins.next() {
            Some(origin) if origin.finding == number => {
                by_call
                    .entry(origin.call)
                    .or_default()
                    .push((number, finding));
            }
            _ => {
                wrong.push(Mismatch::Origins);
                return (wrong, Vec::new());
            }
        }
    }
    if origins.next().is_some() {
        wrong.push(Mismatch::Origins);
    }
    let mut unread = Vec::new();
    for (call, findings) in by_call {
        let answer = record
            .calls
            .get(call)
            .filter(|call| call.fate == CallFate::Answered)
            .and_then(|call| call.answer.as_ref());
        match answer {
            Some(answer) if answer.is_whole() => {
                match compare(record, call, &answer.text, &findings, shown) {
                    // A secret that only its spelling in JSON hid was taken out of the finding alone.
                    Some(_) if record.redacted > 0 => unread.push(call),
                    mismatch => wrong.extend(mismatch),
                }
            }
            _ => unread.push(call),
        }
    }
    (wrong, unread)
}

fn compare(
    record: &RunRecord,
    call: u32,
    answer: &str,
    findings: &[(u32, &Finding)],
    shown: &[FileDiff<'_>],
) -> Option<Mismatch> {
    let Ok(answered) = answer::read(answer, shown) else {
        return Some(Mismatch::Unreadable { call });
    };
    let same = |said: &Finding, number: u32, finding: &Finding| {
        let looked_at = record.second_look.iter().find(|one| one.finding == number);
        looked_at.map_or(said == finding, |second| {
            let lowered = Finding {
                severity: finding.severity,
                confidence: finding.confidence,
                doubted: finding.doubted,
                ..said.clone()
            };
            second.was == said.severity && lowered == *finding
        })
    };
    let taken_away =
        |item: &&RejectedItem| item.call == call && item.reason == second_look::REMOVED;
    let mut removed = record.rejected.iter().filter(taken_away).count();
    let mut left = findings.iter();
    let mut next = left.next();
    for said in &answered.findings {
        match next {
            Some((number, finding)) if same(said, *number, finding) => next = left.next(),
            _ if removed > 0 => removed = removed.saturating_sub(1),
            other => {
                let finding = other.map(|(number, _)| *number);
                return Some(Mismatch::Findings { call, finding });
            }
        }
    }
    next.map(|(number, _)| Mismatch::Findings {
        call,
        finding: Some(*number),
    })
}
