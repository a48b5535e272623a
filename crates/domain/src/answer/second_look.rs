//! Reads the verdicts of the second look and applies them.
//!
//! **Invariant:** the second look can lower and can never silence: a critical or high finding stays critical or
//! high, whatever is said about it. Text in the change could otherwise talk it away.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::{AnswerError, extract, item};
use crate::review::{Finding, Rejected, Severity};

/// Why a finding is not in the review although an answer named it.
pub const REMOVED: &str = "the second look calls it wrong";
/// Longest reason that is kept; more is cut.
const MAX_REASON_CHARS: usize = 300;

/// What the second look says about one finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It stays as it is.
    Holds,
    /// It is milder than it says.
    Overstated,
    /// It is none.
    Wrong,
}

impl Verdict {
    /// Returns its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Overstated => "overstated",
            Self::Wrong => "wrong",
        }
    }
}

/// One verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opinion {
    /// Which finding, from 1.
    pub item: usize,
    /// What it says.
    pub verdict: Verdict,
    /// How bad it is after all, if that was said.
    pub severity: Option<Severity>,
    /// How sure it is of the finding, in percent.
    pub confidence: u8,
    /// Why, in one sentence. Untrusted.
    pub reason: String,
}

/// Findings after the second look.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Looked {
    /// Those that are left; critical and high ones that it calls wrong or mild are marked as doubted.
    pub findings: Vec<Finding>,
    /// Milder ones that it calls wrong, by their number.
    pub removed: Vec<Rejected>,
}

/// Reads verdicts on `count` findings. Unknown numbers and unreadable items are passed over, because a
/// finding without a verdict holds; of two verdicts on one finding neither counts.
pub fn verdicts(text: &str, count: usize) -> Result<Vec<Opinion>, AnswerError> {
    let answer = extract::answer(text, "verdicts")?;
    let items = match answer.get("verdicts") {
        Some(Value::Array(items)) => items,
        Some(other) => {
            return Err(AnswerError::NotAList {
                key: "verdicts",
                found: super::kind(other),
            });
        }
        None => return Err(AnswerError::ListMissing { key: "verdicts" }),
    };
    let mut opinions: Vec<Opinion> = items.iter().filter_map(opinion).collect();
    opinions.retain(|opinion| (1..=count).contains(&opinion.item));
    let numbers: Vec<usize> = opinions.iter().map(|opinion| opinion.item).collect();
    opinions.retain(|opinion| {
        numbers
            .iter()
            .filter(|number| **number == opinion.item)
            .count()
            == 1
    });
    Ok(opinions)
}

fn opinion(value: &Value) -> Option<Opinion> {
    let number = value.get("item")?.as_u64()?;
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    Some(Opinion {
        item: usize::try_from(number).ok()?,
        verdict: match text("verdict") {
            "holds" => Verdict::Holds,
            "overstated" => Verdict::Overstated,
            "wrong" => Verdict::Wrong,
            _ => return None,
        },
        severity: Severity::parse(text("severity")),
        confidence: value
            .get("confidence")
            .map_or(item::UNSURE, item::confidence),
        reason: item::cut(text("reason").trim(), MAX_REASON_CHARS),
    })
}

/// Applies verdicts to findings: keeps or lowers each, removes milder ones that are wrong.
pub fn apply(findings: Vec<Finding>, opinions: &[Opinion]) -> Looked {
    let mut looked = Looked::default();
    for (number, mut finding) in (1_usize..).zip(findings) {
        let opinion = opinions.iter().find(|opinion| opinion.item == number);
        let Some(opinion) = opinion.filter(|opinion| opinion.verdict != Verdict::Holds) else {
            looked.findings.push(finding);
            continue;
        };
        let milder = opinion
            .severity
            .unwrap_or(finding.severity)
            .min(finding.severity);
        if finding.severity >= Severity::High {
            // Confidence stays, too: below the threshold it would vanish.
            finding.severity = milder.max(Severity::High);
            finding.doubted = opinion.verdict == Verdict::Wrong || milder < Severity::High;
        } else if opinion.verdict == Verdict::Wrong {
            looked.removed.push(Rejected {
                item: u32::try_from(number).unwrap_or(u32::MAX),
                reason: REMOVED.to_owned(),
            });
            continue;
        } else {
            finding.severity = milder;
            finding.confidence = finding.confidence.min(opinion.confidence);
        }
        looked.findings.push(finding);
    }
    looked
}
