//! What the model is asked, as data: fixed instructions, the repository's rules, and the change.
//!
//! ```text
//! system  1  the instructions, the same for everybody        cached
//!         2  language and rules, the same for a repository   cached
//! user    3  the part of the change, between nonce tags
//! ```
//!
//! A line of code is printed as `NUMBER MARK TEXT`: the number in the new file, right-aligned, blank for a
//! removed line; `+`, `-` or blank; the text as it is, except that invisible characters and bytes that
//! are no UTF-8 are spelled out (`<U+202E>`, `<0xE9>`). Masking secrets is done to the diff before.
//!
//! **Invariant:** text of the change stands only between tags that carry a nonce which does not occur
//! in it, so nothing in a change can end the data and begin instructions. The nonce appears only after
//! the last shared cache point.

mod nonce;
mod question;
mod second_look;
mod show;

use serde::{Deserialize, Serialize};

pub use nonce::Nonce;
pub use question::{
    ChunkPrompt, Description, IntentPrompt, chunk_question, intent_question, shared_digest,
};
pub use second_look::{MAX_LOOKED_AT, SECOND_LOOK_SYSTEM, SecondLookPrompt, second_look_question};
pub(crate) use show::push_numbered;
pub use show::{show_line, show_path};

/// The version of instructions and answer schema; recorded with every review, and part of what a carried
/// review is keyed by.
pub const PROMPT_VERSION: &str = "1";

/// The fixed instructions.
pub const SYSTEM: &str = include_str!("prompt/system.md");

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

impl Question {
    /// Returns the bytes of everything that is sent as text, schema included: what
    /// [`token_bound`](crate::chunk::token_bound) is applied to.
    pub fn bytes(&self) -> u64 {
        let text: usize = self
            .system
            .iter()
            .chain(&self.user)
            .map(|block| block.text.len())
            .fold(self.schema.to_string().len(), usize::saturating_add);
        u64::try_from(text).unwrap_or(u64::MAX)
    }
}
