//! Scripted findings in the shapes that different schemas want.

use super::*;

/// Returns what a script says to a schema, after checking it against the schema.
fn said(schema: &Value, answer: Scripted) -> Value {
    let desk = Desk::new();
    desk.messages.answer(answer);
    let body = with(&[("/output_config/format/schema", schema.clone())]);
    let value: Value = serde_json::from_str(&desk.text(&body)).unwrap();
    let validator = jsonschema::validator_for(schema).unwrap();
    assert!(validator.is_valid(&value), "{value}\n{schema}");
    value
}

fn object(properties: &Value, optional: &[&str]) -> Value {
    let names = properties.as_object().unwrap().keys();
    let required: Vec<&String> = names
        .filter(|name| !optional.contains(&name.as_str()))
        .collect();
    json!({"type": "object", "additionalProperties": false, "required": required,
        "properties": properties})
}

fn finding() -> SimFinding {
    SimFinding {
        severity: "critical",
        category: "injection",
        ..SimFinding::new("src/a.rs", 7, "SQL is built from strings")
    }
}

#[test]
fn names_of_the_recorded_request_are_served() {
    let schema = object(
        &json!({
            "summary": {"type": "string"},
            "findings": {"type": "array", "items": object(&json!({
                "path": {"type": "string"}, "line": {"type": "integer"},
                "severity": {"type": "string", "enum": ["blocker", "major", "minor", "nit"]},
                "title": {"type": "string"}, "body": {"type": "string"},
            }), &[])},
        }),
        &[],
    );
    let value = said(&schema, Scripted::findings("One.", vec![finding()]));
    assert_eq!(
        value,
        json!({"summary": "One.", "findings": [{
            "path": "src/a.rs", "line": 7, "severity": "blocker",
            "title": "SQL is built from strings", "body": "SQL is built from strings.",
        }]})
    );
}

#[test]
fn unknown_enumerated_and_optional_properties_are_filled() {
    let schema = object(
        &json!({
            "verdict": {"type": "string", "enum": ["ok", "bad"]},
            "notes": {"type": "array", "items": {"type": "string"}},
            "findings": {"type": "array", "items": object(&json!({
                "file": {"type": "string"}, "start_line": {"type": "integer"},
                "end_line": {"type": ["integer", "null"]},
                "category": {"type": "string", "enum": ["bug", "security"]},
                "severity": {"type": "string", "enum": ["critical", "high", "medium", "low"]},
                "confidence": {"type": "string", "enum": ["low", "medium", "high"]},
                "headline": {"type": "string"}, "quote": {"type": "string"},
                "suggestion": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "unheard_of": {"type": "integer"}, "rule": {"type": "string"},
            }), &["rule"])},
        }),
        &[],
    );
    let value = said(&schema, Scripted::findings("One.", vec![finding()]));
    assert_eq!(
        value,
        json!({"verdict": "ok", "notes": [], "findings": [{
            "file": "src/a.rs", "start_line": 7, "end_line": null, "category": "security",
            "severity": "critical", "confidence": "high", "headline": "SQL is built from strings",
            "quote": "", "suggestion": null, "unheard_of": 0,
        }]})
    );
}

#[test]
fn shape_without_a_schema_is_our_own() {
    let desk = Desk::new();
    desk.messages
        .answer(Scripted::findings("One.", vec![finding()]));
    let mut body = request();
    body.as_object_mut().unwrap().remove("output_config");
    let value: Value = serde_json::from_str(&desk.text(&body)).unwrap();
    assert_eq!(value["findings"][0]["path"], "src/a.rs");
}

#[test]
fn adversarial_findings_still_obey_the_schema() {
    let schema = object(
        &json!({
            "summary": {"type": "string"},
            "findings": {"type": "array", "items": object(&json!({
                "path": {"type": "string"}, "line": {"type": "integer"}, "message": {"type": "string"},
                "suggestion": {"type": "string"},
            }), &["suggestion"])},
        }),
        &[],
    );
    let lines = said(&schema, Scripted::wrong_lines("a.rs"));
    assert_eq!(lines["findings"][2]["line"], u32::MAX);
    let huge = said(&schema, Scripted::huge_text("a.rs", 1, 2_000));
    assert_eq!(
        huge["findings"][0]["message"].as_str().unwrap().len(),
        2_000
    );
    let orders = said(&schema, Scripted::injected_instructions("a.rs", 1)).to_string();
    assert!(orders.contains("@octo-user") && orders.contains("javascript:"));
    let secret = said(
        &schema,
        Scripted::secrets_echoed("a.rs", 1, "made-up-secret"),
    );
    assert!(
        secret["findings"][0]["message"]
            .as_str()
            .unwrap()
            .contains("m a d e")
    );
    let desk = Desk::new();
    desk.messages.answer(Scripted::findings_as_string());
    let body = with(&[("/output_config/format/schema", schema)]);
    let value: Value = serde_json::from_str(&desk.text(&body)).unwrap();
    assert!(value["findings"].is_string());
}
