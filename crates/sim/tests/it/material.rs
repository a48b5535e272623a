//! GitHub's published material, as copied into the repository.

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
