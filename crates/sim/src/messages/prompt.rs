//! A request as it was understood: what scripts match on and the reviewer reads.

use serde_json::Value;

use super::cache::CacheBlock;

/// One accepted request.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// The model asked.
    pub model: String,
    /// The longest answer wanted, in tokens.
    pub max_tokens: u64,
    /// The text of the system blocks, in order.
    pub system: Vec<String>,
    /// The text of the users' blocks, in order.
    pub user: Vec<String>,
    /// The answer's schema, if one was sent.
    pub schema: Option<Value>,
    /// `output_config.effort`, if it was sent.
    pub effort: Option<String>,
    /// Tokens of the whole prompt, by the simulator's count.
    pub tokens: u64,
    /// The request's body as JSON.
    pub body: Value,
    pub(crate) blocks: Vec<CacheBlock>,
    /// Tokens that stand before the first block.
    pub(crate) overhead: u64,
    /// What a cache entry belongs to beside its blocks.
    pub(crate) scope: String,
}

impl Prompt {
    /// Returns whether a user block holds `marker`: a path, a line of code, a made-up word.
    pub fn contains(&self, marker: &str) -> bool {
        self.user.iter().any(|text| text.contains(marker))
    }

    /// Returns whether a system block holds `marker`.
    pub fn system_contains(&self, marker: &str) -> bool {
        self.system.iter().any(|text| text.contains(marker))
    }

    /// Returns the user blocks as one text.
    pub fn text(&self) -> String {
        self.user.join("\n")
    }
}
