//! The forges' published material, as copied into the repository, and how answers are held to it.

use std::path::PathBuf;

use serde_json::Value;

/// Returns a file of the material.
pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/fixtures/material/github")
        .join(name)
}

/// Reads a JSON file of the material.
pub(crate) fn json(name: &str) -> Value {
    let text = std::fs::read_to_string(path(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    serde_json::from_str(&text).unwrap()
}

/// Reads one of the transcribed error bodies.
pub(crate) fn error(name: &str) -> Value {
    json(&format!("errors/{name}"))
}

/// Collects the fields of a sample that a payload lacks or has with another type, but for the optional ones.
pub(crate) fn lacking(
    sample: &Value,
    ours: &Value,
    at: &str,
    optional: &[&str],
    found: &mut Vec<String>,
) {
    match (sample, ours) {
        // Which permissions there are depends on the App.
        _ if at.ends_with("/permissions") => {}
        (Value::Object(sample), Value::Object(ours)) => {
            for (name, value) in sample {
                let at = format!("{at}/{name}");
                match ours.get(name) {
                    _ if optional.contains(&name.as_str()) => {}
                    None => found.push(format!("{at} is missing")),
                    Some(own) => lacking(value, own, &at, optional, found),
                }
            }
        }
        (Value::Array(sample), Value::Array(ours)) => {
            if let (Some(sample), Some(ours)) = (sample.first(), ours.first()) {
                lacking(sample, ours, &format!("{at}/0"), optional, found);
            }
        }
        // Either may be empty at the moment.
        (Value::Null, _) | (_, Value::Null) => {}
        (sample, ours) => {
            if std::mem::discriminant(sample) != std::mem::discriminant(ours) {
                found.push(format!("{at} is {ours}, not like {sample}"));
            }
        }
    }
}
