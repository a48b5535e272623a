//! Reads the review file as what it is: text that a process wrote which had read hostile code.
//!
//! What is broken beyond use is an error; a broken item costs that item only, with the reason kept.
//!
//! **Invariant:** every field of a [`ReadReview`] is within the bounds of this file, whoever wrote it.

use serde_json::{Map, Value};

use super::strict_json;
use crate::ids::{AttemptNo, CommitSha, JobId};
use crate::money::PicoUsd;
use crate::review::{
    Category, Coverage, Finding, Outcome, REVIEW_SCHEMA, Rejected, Review, Severity, Side,
};

/// The largest file that is read; a review of a thousand files is a tenth of it.
pub const MAX_FILE_BYTES: usize = 4 * 1024 * 1024;
/// Findings past this are refused unread; nobody reads that many.
const MAX_FINDINGS: usize = 2_000;
const MAX_PATH_BYTES: usize = 4_096;
/// Titles are cut when they are shown; what is longer than this is no title.
const MAX_TITLE_CHARS: usize = 8_000;
const MAX_TEXT_CHARS: usize = 8_000;
const MAX_NAME_CHARS: usize = 300;
const MAX_SUMMARY_CHARS: usize = 2_000;
/// No review costs as much; a larger number is not a cost and would read like a commit's name.
const MAX_COST: PicoUsd = PicoUsd::from_micro(100_000 * 1_000_000);

/// Why a review file cannot be used at all.
#[derive(Debug, thiserror::Error)]
pub enum ReviewFileError {
    /// Larger than any review.
    #[error("the review file has {bytes} bytes, more than {MAX_FILE_BYTES}")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// Written by a newer reviewer: to be read again after this side was updated, never rejected.
    #[error("the review file has schema version {version}; this poster reads version 1")]
    Newer {
        /// The version it names.
        version: u32,
    },
    /// Not JSON, nested too deep, or with a key that stands twice.
    #[error("the review file is not usable JSON")]
    Json(#[source] serde_json::Error),
    /// A field without which nothing can be trusted is missing or malformed.
    #[error("the review file's field `{0}` is missing or malformed")]
    Field(&'static str),
}

impl ReviewFileError {
    /// Returns whether a later version of this program can read the file.
    pub const fn is_newer(&self) -> bool {
        matches!(self, Self::Newer { .. })
    }
}

/// A finding that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Which item, from 1.
    pub item: usize,
    /// What is wrong with it, in our own words.
    pub why: &'static str,
    /// The file it names, if that can be read. Untrusted.
    pub path: String,
    /// Its title, if that can be read. Untrusted.
    pub title: String,
}

/// A review file within bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadReview {
    /// What is usable.
    pub review: Review,
    /// Findings that are not.
    pub refused: Vec<Refused>,
    /// Coverage entries that could not be read: their files count as not covered.
    pub lost_coverage: usize,
}

/// Reads a review file.
pub fn read_review(bytes: &[u8]) -> Result<ReadReview, ReviewFileError> {
    if bytes.len() > MAX_FILE_BYTES {
        return Err(ReviewFileError::TooLarge { bytes: bytes.len() });
    }
    let Value::Object(file) = strict_json::parse(bytes).map_err(ReviewFileError::Json)? else {
        return Err(ReviewFileError::Field("schema"));
    };
    check_schema(text(&file, "schema"))?;
    let job = JobId::parse(text(&file, "job"))
        .ok()
        .ok_or(ReviewFileError::Field("job"))?;
    let head = CommitSha::parse(text(&file, "head"))
        .ok()
        .ok_or(ReviewFileError::Field("head"))?;
    let attempt = file
        .get("attempt")
        .and_then(Value::as_u64)
        .and_then(|n| u32::try_from(n).ok())
        .map(AttemptNo::new)
        .ok_or(ReviewFileError::Field("attempt"))?;
    let findings = list(&file, "findings")?;
    let coverage = list(&file, "coverage")?;

    let mut refused = Vec::new();
    let findings = findings
        .iter()
        .enumerate()
        .filter_map(|(at, item)| {
            let item_no = at.saturating_add(1);
            let read = if at < MAX_FINDINGS {
                finding(item)
            } else {
                Err("too many findings")
            };
            read.map_err(|why| refused.push(refusal(item_no, item, why)))
                .ok()
        })
        .collect();
    let read_coverage: Vec<Coverage> = coverage
        .iter()
        .filter_map(|item| serde_json::from_value(item.clone()).ok())
        .filter(|entry: &Coverage| entry.path.len() <= MAX_PATH_BYTES)
        .collect();
    let lost_coverage = coverage.len().saturating_sub(read_coverage.len());
    let rejected: Vec<Rejected> = file
        .get("rejected")
        .and_then(|value| serde_json::from_value(value.clone()).ok())
        .unwrap_or_default();
    Ok(ReadReview {
        review: Review {
            schema: REVIEW_SCHEMA.to_owned(),
            job,
            attempt,
            head,
            summary: cut(text(&file, "summary"), MAX_SUMMARY_CHARS),
            findings,
            coverage: read_coverage,
            rejected,
            usage: parsed(&file, "usage").unwrap_or_default(),
            cost: parsed(&file, "cost")
                .filter(|cost| *cost <= MAX_COST)
                .unwrap_or(PicoUsd::ZERO),
            model: plain_name(text(&file, "model")),
            prompt_version: plain_name(text(&file, "prompt_version")),
            turns: parsed(&file, "turns").unwrap_or(0),
            tool_calls: parsed(&file, "tool_calls").unwrap_or(0),
            // An outcome nobody can read must not pass for complete.
            outcome: parsed(&file, "outcome").unwrap_or(Outcome::Partial),
            sight: None,
        },
        refused,
        lost_coverage,
    })
}

/// Returns what is wrong with a finding's bounds, in our own words.
pub(crate) fn out_of_bounds(finding: &Finding) -> Option<&'static str> {
    let long = |text: &Option<String>, max| text.as_deref().is_some_and(|text| longer(text, max));
    let checks = [
        (
            finding.path.len() > MAX_PATH_BYTES,
            "the path is longer than any path",
        ),
        (
            longer(&finding.title, MAX_TITLE_CHARS),
            "the title is too long",
        ),
        (
            longer(&finding.message, MAX_TEXT_CHARS),
            "the message is too long",
        ),
        (
            finding.title.trim().is_empty() && finding.message.trim().is_empty(),
            "it says nothing",
        ),
        (
            finding.confidence > 100,
            "the confidence is not between 0 and 100",
        ),
        (
            long(&finding.quote, MAX_TEXT_CHARS),
            "the quote is too long",
        ),
        (
            long(&finding.symbol, MAX_NAME_CHARS),
            "the symbol is too long",
        ),
        (
            long(&finding.rule, MAX_NAME_CHARS),
            "the rule's name is too long",
        ),
        (
            long(&finding.suggestion, MAX_TEXT_CHARS),
            "the suggestion is too long",
        ),
    ];
    checks
        .into_iter()
        .find_map(|(broken, why)| broken.then_some(why))
}

fn check_schema(schema: &str) -> Result<(), ReviewFileError> {
    if schema == REVIEW_SCHEMA {
        return Ok(());
    }
    match schema
        .strip_prefix("mirilla.review.v")
        .and_then(|version| version.parse().ok())
    {
        Some(version) if version > 1 => Err(ReviewFileError::Newer { version }),
        _ => Err(ReviewFileError::Field("schema")),
    }
}

fn finding(item: &Value) -> Result<Finding, &'static str> {
    let Value::Object(fields) = item else {
        return Err("it is not an object");
    };
    let side = match text(fields, "side") {
        "left" => Side::Left,
        "" | "right" => Side::Right,
        _ => return Err("the side is neither left nor right"),
    };
    let confidence = fields
        .get("confidence")
        .and_then(Value::as_u64)
        .and_then(|n| u8::try_from(n).ok())
        .ok_or("the confidence is not between 0 and 100")?;
    let found = Finding {
        path: text(fields, "path").to_owned(),
        line: line(fields, "line").unwrap_or(0),
        end_line: line(fields, "end_line"),
        side,
        severity: Severity::parse(text(fields, "severity")).ok_or("the severity is unknown")?,
        category: Category::parse(text(fields, "category")).ok_or("the category is unknown")?,
        title: text(fields, "title").to_owned(),
        message: text(fields, "message").to_owned(),
        confidence,
        quote: optional(fields, "quote"),
        symbol: optional(fields, "symbol"),
        rule: optional(fields, "rule"),
        suggestion: optional(fields, "suggestion"),
        doubted: fields.get("doubted") == Some(&Value::Bool(true)),
    };
    match out_of_bounds(&found) {
        Some(why) => Err(why),
        None => Ok(found),
    }
}

fn refusal(item: usize, value: &Value, why: &'static str) -> Refused {
    let named = |name| {
        value
            .get(name)
            .and_then(Value::as_str)
            .map(|text| cut(text, MAX_NAME_CHARS))
            .unwrap_or_default()
    };
    Refused {
        item,
        why,
        path: named("path"),
        title: named("title"),
    }
}

fn list<'a>(
    file: &'a Map<String, Value>,
    name: &'static str,
) -> Result<&'a [Value], ReviewFileError> {
    file.get(name)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .ok_or(ReviewFileError::Field(name))
}

fn parsed<T: serde::de::DeserializeOwned>(file: &Map<String, Value>, name: &str) -> Option<T> {
    serde_json::from_value(file.get(name)?.clone()).ok()
}

fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> &'a str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn optional(fields: &Map<String, Value>, name: &str) -> Option<String> {
    fields.get(name)?.as_str().map(str::to_owned)
}

/// A line number that no file has is the same as none.
pub(super) fn line(fields: &Map<String, Value>, name: &str) -> Option<u32> {
    let number = u32::try_from(fields.get(name)?.as_u64()?).ok()?;
    (number > 0).then_some(number)
}

fn longer(text: &str, max_chars: usize) -> bool {
    text.chars().nth(max_chars).is_some()
}

pub(super) fn cut(text: &str, max_chars: usize) -> String {
    text.chars().take(max_chars).collect()
}

/// A model or version name with characters that such names have, or nothing.
pub(super) fn plain_name(text: &str) -> String {
    let fits = text.len() <= 100
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.:/@".contains(&b));
    if fits { text.to_owned() } else { String::new() }
}
