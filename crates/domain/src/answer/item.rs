//! One item of `findings`, field by field.

use serde_json::{Map, Value};

use crate::answer::kind;
use crate::review::{Category, Finding, Severity, Side};

/// Longest path.
pub const MAX_PATH_CHARS: usize = 1_024;
/// Longest title; more is cut, because the message says it all.
pub const MAX_TITLE_CHARS: usize = 200;
/// Longest message.
pub const MAX_MESSAGE_CHARS: usize = 4_000;
/// Longest suggestion.
pub const MAX_SUGGESTION_CHARS: usize = 4_000;
/// Longest quote that is used; more is cut.
pub const MAX_QUOTE_CHARS: usize = 2_000;
/// Longest symbol; a longer one is left out.
pub const MAX_SYMBOL_CHARS: usize = 200;
/// Longest name of a rule; a longer one is left out.
pub const MAX_RULE_CHARS: usize = 300;
/// The confidence of a finding whose model gives none that means anything.
pub const UNSURE: u8 = 60;

/// Reads one item, or says why it cannot be used.
pub(super) fn finding(value: &Value) -> Result<Finding, String> {
    let Value::Object(item) = value else {
        return Err(format!("it is {}, not an object", kind(value)));
    };
    let path = match text(item, &["path", "file"])? {
        Some(path) if path.chars().count() <= MAX_PATH_CHARS => path.to_owned(),
        Some(_) => {
            return Err(format!(
                "its path is longer than {MAX_PATH_CHARS} characters"
            ));
        }
        None => return Err("it has no path".to_owned()),
    };
    let severity = match text(item, &["severity"])? {
        Some(name) => {
            Severity::parse(name).ok_or("its severity is none of critical, high, medium, low")?
        }
        None => return Err("it has no severity".to_owned()),
    };
    let (line, end_line) = lines(item);
    let title = text(item, &["title"])?.unwrap_or_default().trim();
    let message = text(item, &["message", "body"])?.unwrap_or_default().trim();
    if message.chars().count() > MAX_MESSAGE_CHARS {
        return Err(format!(
            "its message is longer than {MAX_MESSAGE_CHARS} characters"
        ));
    }
    let (title, message) = match (title, message) {
        ("", "") => return Err("it has neither title nor message".to_owned()),
        ("", message) => (first_sentence(message), message),
        (title, "") => (title, title),
        both => both,
    };
    let suggestion = filled(item, "suggestion")?;
    if suggestion.is_some_and(|code| code.chars().count() > MAX_SUGGESTION_CHARS) {
        return Err(format!(
            "its suggestion is longer than {MAX_SUGGESTION_CHARS} characters"
        ));
    }
    let short = |key: &str, most: usize| -> Result<Option<String>, String> {
        let found = filled(item, key)?
            .map(str::trim)
            .filter(|text| text.chars().count() <= most);
        Ok(found.map(str::to_owned))
    };
    Ok(Finding {
        path,
        line,
        end_line,
        side: Side::Right,
        severity,
        // A finding under a name of its own is still one; the category does not decide how bad it is.
        category: text(item, &["category"])?
            .and_then(Category::parse)
            .unwrap_or(Category::Correctness),
        title: cut(&one_line(title), MAX_TITLE_CHARS),
        message: message.to_owned(),
        confidence: item.get("confidence").map_or(UNSURE, confidence),
        quote: filled(item, "quote")?.map(|quote| cut(quote, MAX_QUOTE_CHARS)),
        symbol: short("symbol", MAX_SYMBOL_CHARS)?,
        rule: short("rule", MAX_RULE_CHARS)?,
        suggestion: suggestion.map(str::to_owned),
        doubted: false,
    })
}

/// Returns the text under the first of these keys that is there; null counts as absent.
fn text<'v>(item: &'v Map<String, Value>, keys: &[&str]) -> Result<Option<&'v str>, String> {
    for key in keys {
        match item.get(*key) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => return Ok(Some(text)),
            Some(other) => return Err(format!("its {key} is {}, not a text", kind(other))),
        }
    }
    Ok(None)
}

fn filled<'v>(item: &'v Map<String, Value>, key: &str) -> Result<Option<&'v str>, String> {
    Ok(text(item, &[key])?.filter(|text| !text.trim().is_empty()))
}

/// Returns line and last line: 0 for a line that no file has, and no last line that is not after it.
fn lines(item: &Map<String, Value>) -> (u32, Option<u32>) {
    let number = |key: &str| -> u32 {
        let number = match item.get(key) {
            Some(Value::Number(number)) => number.as_u64(),
            Some(Value::String(digits)) => digits.trim().parse().ok(),
            _ => None,
        };
        number
            .and_then(|number| u32::try_from(number).ok())
            .unwrap_or(0)
    };
    match (number("line"), number("end_line")) {
        (0, end) => (end, None),
        (line, 0) => (line, None),
        (line, end) if end == line => (line, None),
        (line, end) => (line.min(end), Some(line.max(end))),
    }
}

/// Returns a confidence in percent: a whole number up to 100, or a fraction of one.
pub(super) fn confidence(value: &Value) -> u8 {
    if let Some(percent) = value.as_u64() {
        return u8::try_from(percent)
            .ok()
            .filter(|percent| *percent <= 100)
            .unwrap_or(UNSURE);
    }
    // Compared rather than cast: the largest whole percentage that is not above the fraction.
    let Some(fraction) = value.as_f64().filter(|number| (0.0..=1.0).contains(number)) else {
        return UNSURE;
    };
    (0..=100_u8)
        .rev()
        .find(|percent| f64::from(*percent) <= fraction * 100.0)
        .unwrap_or(0)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

fn first_sentence(message: &str) -> &str {
    let line = message.lines().next().unwrap_or(message);
    line.split_inclusive(". ")
        .next()
        .unwrap_or(line)
        .trim_end_matches([' ', '.'])
}

/// Cuts a text to a number of characters, the last of which says that it was cut.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut kept: String = text.chars().take(most.saturating_sub(1)).collect();
    kept.push('…');
    kept
}
