//! Fixtures and small values that several tests need.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;

use mirilla_domain::ids::Timestamp;
use mirilla_model::wire::{Asked, ReplyHead};
use mirilla_ports::model::{Block, Question};
use serde_json::Value;

/// What the small questions here amount to.
pub(crate) const ASKED: Asked = Asked {
    body_bytes: 1_000,
    max_tokens: 4_000,
};

/// Reads a file below `tests/fixtures` at the root of the repository.
pub(crate) fn fixture(path: &str) -> Vec<u8> {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures"));
    let file = root.join(path);
    std::fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

pub(crate) fn fixture_json(path: &str) -> Value {
    serde_json::from_slice(&fixture(path)).unwrap()
}

pub(crate) fn block(text: &str, cache: bool) -> Block {
    Block {
        text: text.to_owned(),
        cache,
    }
}

pub(crate) fn question(schema: Value) -> Question {
    Question {
        system: vec![block("<rubric>", true)],
        user: vec![block("<diff>", false)],
        schema,
        max_tokens: 4_000,
    }
}

/// Returns a reply's head with the given headers, read at the year 2026.
pub(crate) fn head(status: u16, headers: &[(&str, &str)]) -> ReplyHead {
    ReplyHead::read(status, Timestamp::new(1_767_225_600_000), |name| {
        headers.iter().find(|(n, _)| *n == name).map(|(_, v)| *v)
    })
}

/// A case's expectations; dropping it fails the test if a key was not looked at.
pub(crate) struct Expected {
    values: Value,
    used: RefCell<BTreeSet<String>>,
}

impl Expected {
    pub(crate) fn load(case: &str, schema: &str) -> Self {
        let values = fixture_json(&format!("cases/{case}/expected.json"));
        assert_eq!(values["schema"], schema, "{case}");
        let used = RefCell::new(BTreeSet::from(["/schema".to_owned()]));
        Self { values, used }
    }

    /// Returns the value at a JSON pointer.
    pub(crate) fn at(&self, pointer: &str) -> &Value {
        self.used.borrow_mut().insert(pointer.to_owned());
        (self.values.pointer(pointer)).unwrap_or_else(|| panic!("no {pointer}"))
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let used = self.used.borrow();
        let unused: Vec<_> = leaves(&self.values, String::new())
            .into_iter()
            .filter(|leaf| !used.iter().any(|seen| leaf.starts_with(seen)))
            .collect();
        assert!(unused.is_empty(), "expectations not checked: {unused:?}");
    }
}

fn leaves(value: &Value, at: String) -> Vec<String> {
    match value {
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, value)| leaves(value, format!("{at}/{key}")))
            .collect(),
        _ => vec![at],
    }
}
