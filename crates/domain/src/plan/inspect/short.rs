//! Findings as people write them by hand: title and body, the rest as far as it is known.
//!
//! **Invariant:** what is missing gets the mildest value; nothing is dropped for being short.

use serde_json::{Map, Value};

use super::super::validate::{line, out_of_bounds};
use super::super::{FreshDiff, Refused};
use crate::review::{Category, Coverage, Fate, Finding, Severity, Side};

/// Reads findings; those that are no objects or break a bound are refused.
pub(super) fn findings(items: &[Value]) -> (Vec<Finding>, Vec<Refused>) {
    let mut found = Vec::new();
    let mut refused = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let read = item
            .as_object()
            .map(finding)
            .ok_or("it is not an object")
            .and_then(|finding| out_of_bounds(&finding).map_or(Ok(finding), Err));
        match read {
            Ok(finding) => found.push(finding),
            Err(why) => refused.push(Refused {
                item: at.saturating_add(1),
                why,
                path: String::new(),
                title: String::new(),
            }),
        }
    }
    (found, refused)
}

/// Returns a coverage that calls every file of the diff reviewed.
pub(super) fn all_reviewed(diff: &FreshDiff) -> Vec<Coverage> {
    diff.files()
        .iter()
        .map(|file| Coverage {
            path: file.path.clone(),
            fate: Fate::Reviewed,
            digest: file.digest.clone(),
        })
        .collect()
}

fn finding(fields: &Map<String, Value>) -> Finding {
    let text = |name: &str| {
        fields
            .get(name)
            .and_then(Value::as_str)
            .map(str::to_owned)
            .filter(|text| !text.is_empty())
    };
    // `start_line` and `line`, as the forges have it, or `line` and `end_line`, as we do.
    let (first, last) = match line(fields, "start_line") {
        Some(start) => (start, line(fields, "line")),
        None => (line(fields, "line").unwrap_or(0), line(fields, "end_line")),
    };
    let confidence = fields
        .get("confidence")
        .and_then(Value::as_u64)
        .and_then(|n| u8::try_from(n).ok())
        .unwrap_or(100);
    Finding {
        path: text("path").unwrap_or_default(),
        line: first,
        end_line: last,
        side: match text("side").as_deref() {
            Some("LEFT" | "left") => Side::Left,
            _ => Side::Right,
        },
        severity: text("severity")
            .and_then(|name| Severity::parse(&name))
            .unwrap_or(Severity::Low),
        category: text("category")
            .and_then(|name| Category::parse(&name))
            .unwrap_or(Category::Correctness),
        title: text("title").unwrap_or_default(),
        message: text("message").or_else(|| text("body")).unwrap_or_default(),
        confidence,
        quote: text("quote"),
        symbol: text("symbol"),
        rule: text("rule"),
        suggestion: text("suggestion"),
        doubted: false,
    }
}
