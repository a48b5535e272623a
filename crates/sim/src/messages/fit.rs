//! Puts findings into whatever shape an answer schema wants.
//!
//! Property names are read from the schema, so that the same script works whatever the product calls
//! things. Without a schema the names are those of [`SimFinding`].
//!
//! **Invariant:** what comes out obeys the schema, as far as the provider's schema subset goes.

use serde_json::{Map, Value, json};

use super::finding::SimFinding;

/// Returns an answer with these findings; none of them if the schema has no place for findings.
pub(super) fn fit(schema: Option<&Value>, summary: &str, findings: &[SimFinding]) -> Value {
    let list: Vec<Value> = match schema {
        None => findings.iter().map(plain).collect(),
        Some(root) => items_of_findings(root, root)
            .map(|item| {
                findings
                    .iter()
                    .map(|f| fit_finding(root, item, f))
                    .collect()
            })
            .unwrap_or_default(),
    };
    fit_with(schema, summary, Value::Array(list))
}

/// Returns an answer with this in the place of the findings, whether it fits or not.
pub(super) fn fit_with(schema: Option<&Value>, summary: &str, findings: Value) -> Value {
    let Some(root) = schema else {
        return json!({"summary": summary, "findings": findings});
    };
    let mut answer = Map::new();
    let mut findings = Some(findings);
    for (name, property) in properties(root, root) {
        let property = resolve(root, property);
        let value = if items_of(root, property).is_some() {
            findings.take().unwrap_or_else(|| json!([]))
        } else if kind_of(property) == "string" && property.get("enum").is_none() {
            json!(summary)
        } else {
            neutral(root, property)
        };
        answer.insert(name.clone(), value);
    }
    Value::Object(answer)
}

/// Returns the schema of one finding, if the schema has a list of objects with a place in a file.
fn items_of_findings<'s>(root: &'s Value, schema: &'s Value) -> Option<&'s Value> {
    properties(root, schema)
        .filter_map(|(_, property)| items_of(root, resolve(root, property)))
        .find(|item| properties(root, item).any(|(name, _)| field(name) == Field::Path))
}

/// Returns the schema of a list's objects.
fn items_of<'s>(root: &'s Value, property: &'s Value) -> Option<&'s Value> {
    let item = resolve(root, property.get("items")?);
    item.get("properties").is_some().then_some(item)
}

fn properties<'s>(
    root: &'s Value,
    schema: &'s Value,
) -> impl Iterator<Item = (&'s String, &'s Value)> {
    let map = resolve(root, schema).get("properties");
    map.and_then(Value::as_object).into_iter().flatten()
}

/// Follows a local reference, and takes the first option of a union that is not null.
fn resolve<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let reference = schema.get("$ref").and_then(Value::as_str);
    let target = reference.and_then(|r| root.pointer(r.strip_prefix('#')?));
    let schema = target.unwrap_or(schema);
    let options = schema.get("anyOf").and_then(Value::as_array);
    let option = options.and_then(|list| list.iter().find(|o| kind_of(o) != "null"));
    option.map_or(schema, |option| resolve(root, option))
}

fn kind_of(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(kind)) => kind,
        Some(Value::Array(kinds)) => {
            let mut kinds = kinds.iter().filter_map(Value::as_str);
            kinds.find(|kind| *kind != "null").unwrap_or("null")
        }
        _ if schema.get("enum").is_some() => "string",
        _ => "",
    }
}

fn nullable(schema: &Value) -> bool {
    let is_null = |v: &Value| v == "null" || v.get("type").is_some_and(|t| t == "null");
    ["type", "anyOf"].iter().any(|key| {
        let list = schema.get(*key).and_then(Value::as_array);
        list.is_some_and(|list| list.iter().any(is_null))
    })
}

/// Returns the value that says least.
fn neutral(root: &Value, schema: &Value) -> Value {
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    if nullable(schema) {
        return Value::Null;
    }
    let schema = resolve(root, schema);
    if let Some(first) = schema.get("enum").and_then(|e| e.get(0)) {
        return first.clone();
    }
    match kind_of(schema) {
        "object" => {
            let fields = properties(root, schema);
            Value::Object(fields.map(|(n, p)| (n.clone(), neutral(root, p))).collect())
        }
        "array" => {
            let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0);
            match schema.get("items") {
                Some(items) if least > 0 => json!([neutral(root, items)]),
                _ => json!([]),
            }
        }
        "integer" | "number" => json!(0),
        "boolean" => json!(false),
        "null" => Value::Null,
        _ => json!(""),
    }
}

/// What a property of a finding is about, told by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Path,
    Line,
    EndLine,
    Side,
    Severity,
    Category,
    Title,
    Message,
    Confidence,
    Quote,
    Symbol,
    Rule,
    Suggestion,
    Unknown,
}

fn field(name: &str) -> Field {
    match name.to_ascii_lowercase().replace('-', "_").as_str() {
        "path" | "file" | "filename" | "file_path" => Field::Path,
        "line" | "start_line" | "line_start" | "start" | "line_number" => Field::Line,
        "end_line" | "line_end" | "end" | "last_line" => Field::EndLine,
        "side" => Field::Side,
        "severity" | "level" | "priority" => Field::Severity,
        "category" | "kind" | "type" | "class" => Field::Category,
        "title" | "headline" | "name" | "issue" => Field::Title,
        "message" | "body" | "description" | "explanation" | "details" | "why" | "comment"
        | "reasoning" => Field::Message,
        "confidence" | "certainty" => Field::Confidence,
        "quote" | "code" | "snippet" | "existing_code" => Field::Quote,
        "symbol" | "function" | "scope" => Field::Symbol,
        "rule" | "rule_id" => Field::Rule,
        "suggestion" | "fix" | "replacement" | "improved_code" => Field::Suggestion,
        _ => Field::Unknown,
    }
}

fn fit_finding(root: &Value, item: &Value, finding: &SimFinding) -> Value {
    let required = item.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|list| list.iter().any(|r| r == name));
    let mut fitted = Map::new();
    for (name, given) in properties(root, item) {
        let property = resolve(root, given);
        let field = field(name);
        match value_of(field, property, finding).filter(|value| fits(given, field, value, finding))
        {
            Some(value) => {
                fitted.insert(name.clone(), value);
            }
            None if is_required(name) => {
                fitted.insert(name.clone(), neutral(root, given));
            }
            None => {}
        }
    }
    Value::Object(fitted)
}

/// Returns whether a value is worth saying: an end that is also the start is not, if it can be null.
fn fits(given: &Value, field: Field, value: &Value, finding: &SimFinding) -> bool {
    !(field == Field::EndLine && nullable(given) && *value == json!(finding.line))
}

fn value_of(field: Field, property: &Value, finding: &SimFinding) -> Option<Value> {
    let options: Vec<&str> = property
        .get("enum")
        .and_then(Value::as_array)
        .map(|list| list.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let some = |text: &str| (!text.is_empty()).then(|| json!(text));
    match field {
        Field::Path => Some(json!(finding.path)),
        Field::Line => Some(json!(finding.line)),
        Field::EndLine if finding.end_line > finding.line => Some(json!(finding.end_line)),
        // A number that is not optional repeats the line; otherwise it is left out.
        Field::EndLine => (kind_of(property) == "integer").then(|| json!(finding.line)),
        Field::Side => pick(&options, &["right", "RIGHT", "new"]),
        Field::Severity => Some(severity(&options, finding.severity)),
        Field::Category => Some(category(&options, finding.category)),
        Field::Title => Some(json!(finding.title)),
        Field::Message => Some(json!(finding.message)),
        Field::Confidence => Some(confidence(property, &options, finding.confidence)),
        Field::Quote => some(&finding.quote),
        Field::Symbol => some(&finding.symbol),
        Field::Rule => some(&finding.rule),
        Field::Suggestion => finding.suggestion.as_deref().map(|text| json!(text)),
        Field::Unknown => None,
    }
}

/// Returns the first wanted option that exists.
fn pick(options: &[&str], wanted: &[&str]) -> Option<Value> {
    let found = wanted.iter().find_map(|wanted| {
        options
            .iter()
            .find(|option| option.eq_ignore_ascii_case(wanted))
    });
    found.map(|option| json!(option))
}

fn severity(options: &[&str], severity: &str) -> Value {
    let alike: &[&str] = match severity {
        "critical" => &["critical", "blocker", "error", "high", "major"],
        "high" => &["high", "major", "error", "blocker"],
        "medium" => &["medium", "minor", "warning", "moderate"],
        _ => &["low", "nit", "info", "note", "minor"],
    };
    pick(options, alike)
        .or_else(|| options.last().map(|last| json!(last)))
        .unwrap_or_else(|| json!(severity))
}

fn category(options: &[&str], category: &str) -> Value {
    let general: &[&str] = match category {
        "injection" | "secret-exposure" | "authorization" => &["security", "bug", "correctness"],
        _ => &["correctness", "bug", "logic", "other"],
    };
    pick(options, &[category])
        .or_else(|| pick(options, general))
        .or_else(|| options.first().map(|first| json!(first)))
        .unwrap_or_else(|| json!(category))
}

fn confidence(property: &Value, options: &[&str], percent: u8) -> Value {
    if !options.is_empty() {
        let word = match percent {
            80.. => "high",
            50.. => "medium",
            _ => "low",
        };
        return severity(options, word);
    }
    match kind_of(property) {
        "number" => json!(f64::from(percent) / 100.0),
        "string" => json!(percent.to_string()),
        _ => json!(percent),
    }
}

/// Returns a finding under this crate's own names.
fn plain(finding: &SimFinding) -> Value {
    json!({
        "path": finding.path, "line": finding.line, "end_line": finding.end_line,
        "severity": finding.severity, "category": finding.category, "title": finding.title,
        "message": finding.message, "confidence": finding.confidence, "quote": finding.quote,
        "symbol": finding.symbol, "rule": finding.rule, "suggestion": finding.suggestion,
    })
}
