//! Fixtures and small values that several tests need.

use mirilla_domain::ids::Timestamp;
use mirilla_model::wire::{Asked, ReplyHead};
use mirilla_ports::model::{Block, Question};
use serde_json::Value;

/// What the small questions here amount to.
pub(crate) const ASKED: Asked = Asked {
    prompt_bytes: 1_000,
    max_tokens: 4_000,
};

/// Reads a file below `tests/fixtures` at the root of the repository.
pub(crate) fn fixture(path: &str) -> Vec<u8> {
    let file = mirilla_casekit::repo_path("tests/fixtures").join(path);
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
