//! Finds the one JSON object that is the answer.
//!
//! With structured output the whole text is the object. Without it, models wrap it in prose and fences,
//! and quote JSON that stands in the change. Then the last complete object with `findings` counts, and
//! an empty one after one with items is no answer at all: a quoted `{"findings":[]}` must not turn
//! findings into silence, wherever it stands.

use serde_json::{Map, Value};

use crate::answer::{AnswerError, MAX_ANSWER_BYTES, MAX_DEPTH, kind, strict};

/// Returns the answer's object, which is told from others in the text by having `key`.
pub(super) fn answer(text: &str, key: &str) -> Result<Map<String, Value>, AnswerError> {
    if text.len() > MAX_ANSWER_BYTES {
        return Err(AnswerError::TooLong { bytes: text.len() });
    }
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Err(AnswerError::Empty);
    }
    // The whole body, where it is JSON from the first to the last character.
    if text.starts_with(['{', '[']) {
        if let Some(Extent::Closed(length)) = extent(text)? {
            if length == text.len() {
                return match strict::parse(text)? {
                    Value::Object(object) => Ok(object),
                    other => Err(AnswerError::NotAnObject {
                        found: kind(&other),
                    }),
                };
            }
        }
    }
    among_prose(text, key)
}

/// Returns the last object with `key` in a text that holds other things as well.
fn among_prose(text: &str, key: &str) -> Result<Map<String, Value>, AnswerError> {
    let mut found: Option<Map<String, Value>> = None;
    let mut had_items = false;
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        let here = rest.get(start..).unwrap_or_default();
        let length = match extent(here)? {
            Some(Extent::Closed(length)) => length,
            Some(Extent::Open) if begins_like_json(here) => return Err(AnswerError::Unfinished),
            _ => {
                rest = here.get(1..).unwrap_or_default();
                continue;
            }
        };
        let (candidate, after) = here.split_at_checked(length).unwrap_or((here, ""));
        rest = after;
        if !candidate.contains(key) {
            continue;
        }
        // An object that speaks of them and cannot be read must not be passed over for another.
        let Value::Object(object) = strict::parse(candidate)? else {
            continue;
        };
        let Some(items) = object.get(key) else {
            continue;
        };
        let is_empty = items.as_array().is_some_and(Vec::is_empty);
        if is_empty && had_items {
            return Err(AnswerError::Ambiguous);
        }
        had_items |= !is_empty;
        found = Some(object);
    }
    found.ok_or(AnswerError::NoObject)
}

/// Where an object or a list ends.
enum Extent {
    /// After this many bytes.
    Closed(usize),
    /// Not in this text.
    Open,
}

/// Finds the end of the object or list that `text` begins with, by brackets outside strings.
///
/// `None` if it begins with neither. One pass, no recursion.
fn extent(text: &str) -> Result<Option<Extent>, AnswerError> {
    if !text.starts_with(['{', '[']) {
        return Ok(None);
    }
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                depth = depth.saturating_add(1);
                if depth > MAX_DEPTH {
                    return Err(AnswerError::TooDeep);
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Ok(Some(Extent::Closed(at.saturating_add(1))));
                }
            }
            _ => {}
        }
    }
    Ok(Some(Extent::Open))
}

/// Returns whether a `{` begins an object of JSON rather than a block of code in prose.
fn begins_like_json(text: &str) -> bool {
    text.trim_start_matches('{').trim_start().starts_with('"')
}
