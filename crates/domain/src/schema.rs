//! The JSON Schemas of a review and its run: those the model answers to, and those that are published.
//!
//! **Invariant:** a model's schema is flat, requires every field and bounds none, because providers
//! refuse anything else; and it never changes within a [`PROMPT_VERSION`](crate::prompt::PROMPT_VERSION),
//! because another schema empties the provider's cache.

use serde_json::{Value, json};

use crate::plan::KeptInput;
use crate::record::RunRecord;
use crate::review::{Category, Review, Severity};

/// Returns the schema of a model's answer.
///
/// A field that says nothing is an empty text, or zero for `end_line`. Bounds are enforced when the
/// answer is read.
pub fn answer_schema() -> Value {
    let severities: Vec<&str> = Severity::ALL
        .iter()
        .map(|severity| severity.as_str())
        .collect();
    let categories: Vec<&str> = Category::ALL
        .iter()
        .map(|category| category.as_str())
        .collect();
    let text = json!({"type": "string"});
    let whole = json!({"type": "integer"});
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["findings", "summary"],
        "properties": {
            "findings": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": [
                        "path", "line", "end_line", "quote", "title", "message", "category", "severity",
                        "confidence", "symbol", "rule", "suggestion"
                    ],
                    "properties": {
                        "path": text,
                        "line": whole,
                        "end_line": whole,
                        "quote": text,
                        "title": text,
                        "message": text,
                        "category": {"type": "string", "enum": categories},
                        "severity": {"type": "string", "enum": severities},
                        "confidence": whole,
                        "symbol": text,
                        "rule": text,
                        "suggestion": text
                    }
                }
            },
            "summary": text
        }
    })
}

/// Returns the schema of the second look's answer.
pub fn second_look_schema() -> Value {
    let severities: Vec<&str> = Severity::ALL
        .iter()
        .map(|severity| severity.as_str())
        .collect();
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["verdicts"],
        "properties": {
            "verdicts": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["item", "verdict", "severity", "confidence", "reason"],
                    "properties": {
                        "item": {"type": "integer"},
                        "verdict": {"type": "string", "enum": ["holds", "overstated", "wrong"]},
                        "severity": {"type": "string", "enum": severities},
                        "confidence": {"type": "integer"},
                        "reason": {"type": "string"}
                    }
                }
            }
        }
    })
}

/// Returns the schema of the review file, as it stands in `docs/contracts/mirilla.review.v1.schema.json`.
pub fn review_schema() -> Value {
    schemars::schema_for!(Review).to_value()
}

/// Returns the schema of a run's record, as it stands in `docs/contracts/mirilla.run.v1.schema.json`.
pub fn run_schema() -> Value {
    schemars::schema_for!(RunRecord).to_value()
}

/// Returns the schema of a plan's input, as it stands in
/// `docs/contracts/mirilla.plan-input.v1.schema.json`.
pub fn plan_input_schema() -> Value {
    schemars::schema_for!(KeptInput).to_value()
}
