//! What the model is asked, as data: fixed instructions, the repository's rules, and the change.
//!
//! **Invariant:** text of the change stands only between tags that carry a nonce which does not occur
//! in it, so nothing in a change can end the data and begin instructions.

use serde::{Deserialize, Serialize};

/// A piece of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// The text; never empty.
    pub text: String,
    /// Whether everything up to here may be kept in the provider's cache.
    pub cache: bool,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The fixed instructions, then rules.
    pub system: Vec<Block>,
    /// What the question is about.
    pub user: Vec<Block>,
    /// JSON Schema of the answer.
    pub schema: serde_json::Value,
    /// The most tokens the answer may have.
    pub max_tokens: u32,
}
