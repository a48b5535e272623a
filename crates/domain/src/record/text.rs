//! A text of somebody else's, within bounds and without our secrets.
//!
//! **Invariant:** a text that was shortened or redacted says so.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{Sha256Hex, sha256};
use crate::redact::Redactor;

/// Most bytes kept of one answer.
pub const MAX_ANSWER_BYTES: usize = 64 * 1024;
/// Most bytes kept of all answers of a review.
pub const MAX_ANSWERS_BYTES: usize = 1024 * 1024;
/// Most bytes kept of the arguments of one look-up.
pub const MAX_ARGUMENTS_BYTES: usize = 1024;

/// A text as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedText {
    /// What is kept. Untrusted.
    pub text: String,
    /// SHA-256 of what is kept.
    pub sha256: Sha256Hex,
    /// How many bytes it had, if it was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_from_bytes: Option<u64>,
    /// How many secrets were taken out of it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub redacted: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl RecordedText {
    /// Keeps at most `limit` bytes of a text, without the secrets that `redactor` knows or recognises.
    pub fn of(text: &str, limit: usize, redactor: &Redactor) -> Self {
        let redacted = redactor.redact(text);
        // Cut after the redaction: a secret that the cut halves would not be recognised any more.
        let kept = beginning(&redacted.text, limit);
        let full = u64::try_from(redacted.text.len()).unwrap_or(u64::MAX);
        Self {
            sha256: sha256(kept.as_bytes()),
            text: kept.to_owned(),
            cut_from_bytes: (kept.len() < redacted.text.len()).then_some(full),
            redacted: u64::try_from(redacted.total()).unwrap_or(u64::MAX),
        }
    }

    /// Returns whether this is the whole text, word for word.
    pub const fn is_whole(&self) -> bool {
        self.cut_from_bytes.is_none() && self.redacted == 0
    }

    /// Returns whether the text is the one that was kept.
    pub fn is_intact(&self) -> bool {
        sha256(self.text.as_bytes()) == self.sha256
    }
}

/// Returns the longest beginning of at most `limit` bytes that ends between characters.
fn beginning(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    text.get(..end).unwrap_or_default()
}
