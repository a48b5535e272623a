//! Reads a model's answer: hostile text that may hold findings.
//!
//! Good items survive bad ones; a bad one is kept with the reason. An answer without a readable list of
//! findings is an error and never "nothing found": the caller asks once more with [`AnswerError::again`],
//! and gives the chunk up after that.
//!
//! **Invariant:** no text makes this panic or recurse deeply, and what comes out is bounded:
//! [`MAX_FINDINGS`] findings, every field within its own limit, paths as the diff names them or as the
//! model wrote them, never guessed.

mod error;
mod extract;
mod item;
mod paths;
mod place;
pub mod second_look;
mod seen;
mod strict;

use mirilla_diff::FileDiff;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::review::{Finding, Rejected};

pub use error::AnswerError;
pub use item::{
    MAX_MESSAGE_CHARS, MAX_PATH_CHARS, MAX_QUOTE_CHARS, MAX_RULE_CHARS, MAX_SUGGESTION_CHARS,
    MAX_SYMBOL_CHARS, MAX_TITLE_CHARS, UNSURE,
};
pub use paths::Names;
pub use place::place;
pub use seen::{Seen, seen};

/// Longest answer that is read.
pub const MAX_ANSWER_BYTES: usize = 1024 * 1024;
/// Deepest nesting of an answer; ours is three deep.
pub const MAX_DEPTH: usize = 16;
/// Most findings of one answer; the worst are kept.
pub const MAX_FINDINGS: usize = 200;
/// Longest summary; more is cut.
pub const MAX_SUMMARY_CHARS: usize = 1_000;
/// Most refused items that are listed one by one.
const MAX_REJECTED: usize = 200;

/// What an answer says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Answered {
    /// One or two sentences. Untrusted.
    pub summary: String,
    /// The findings, as the model ordered them. A line of 0 says that the model named none that exists.
    pub findings: Vec<Finding>,
    /// Items that were refused or are repeated, with our reason.
    pub rejected: Vec<Rejected>,
}

/// Reads an answer about a diff: `files` as they were shown, so that quotes can be found in them.
pub fn read(text: &str, files: &[FileDiff<'_>]) -> Result<Answered, AnswerError> {
    let answer = extract::answer(text, "findings")?;
    let items = match answer.get("findings") {
        Some(Value::Array(items)) => items,
        Some(other) => {
            return Err(AnswerError::NotAList {
                key: "findings",
                found: kind(other),
            });
        }
        None => return Err(AnswerError::ListMissing { key: "findings" }),
    };
    let mut answered = Answered {
        summary: item::cut(
            answer
                .get("summary")
                .and_then(Value::as_str)
                .unwrap_or_default(),
            MAX_SUMMARY_CHARS,
        ),
        ..Answered::default()
    };
    let mut refused = Refused::default();
    let mut numbered: Vec<(u32, Finding)> = Vec::new();
    for (number, value) in (1_u32..).zip(items) {
        match item::finding(value) {
            Ok(finding) if numbered.iter().any(|(_, other)| *other == finding) => {
                refused.add(number, "it repeats another item".to_owned());
            }
            Ok(finding) => numbered.push((number, finding)),
            Err(reason) => refused.add(number, reason),
        }
    }
    if numbered.is_empty() && !items.is_empty() {
        return Err(AnswerError::NoUsableFinding {
            items: items.len(),
            first: refused
                .listed
                .first()
                .map(|item| item.reason.clone())
                .unwrap_or_default(),
        });
    }
    // Only what is kept is looked up in the diff: the work does not grow with a flood.
    keep_worst(&mut numbered, &mut refused);
    let names = Names::of(files);
    for (_, mut finding) in numbered {
        if let Some(path) = names.resolve(&finding.path) {
            path.clone_into(&mut finding.path);
        }
        place(&mut finding, files);
        answered.findings.push(finding);
    }
    answered.rejected = refused.finish();
    Ok(answered)
}

/// Keeps the worst [`MAX_FINDINGS`], in the order of the answer.
fn keep_worst(numbered: &mut Vec<(u32, Finding)>, refused: &mut Refused) {
    if numbered.len() <= MAX_FINDINGS {
        return;
    }
    numbered.sort_by_key(|(_, finding)| std::cmp::Reverse(finding.severity));
    for (number, _) in numbered.drain(MAX_FINDINGS..) {
        refused.add(
            number,
            format!("it is past the {MAX_FINDINGS} worst findings of one answer"),
        );
    }
    numbered.sort_by_key(|(number, _)| *number);
}

#[derive(Default)]
struct Refused {
    listed: Vec<Rejected>,
    more: u32,
}

impl Refused {
    fn add(&mut self, item: u32, reason: String) {
        if self.listed.len() < MAX_REJECTED {
            self.listed.push(Rejected { item, reason });
        } else {
            self.more = self.more.saturating_add(1);
        }
    }

    fn finish(mut self) -> Vec<Rejected> {
        self.listed.sort_by_key(|item| item.item);
        if self.more > 0 {
            self.listed.push(Rejected {
                item: 0,
                reason: format!("{} more items were refused", self.more),
            });
        }
        self.listed
    }
}

/// Returns what a JSON value is, with its article.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
