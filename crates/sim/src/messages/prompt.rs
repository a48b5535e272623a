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

    /// Returns how many turns of the model's it holds.
    pub fn turns(&self) -> usize {
        let messages = self.body.get("messages").and_then(Value::as_array);
        let roles = messages.into_iter().flatten().map(|m| m.get("role"));
        roles
            .filter(|role| role.and_then(Value::as_str) == Some("assistant"))
            .count()
    }

    /// Returns whether the model may call a tool.
    pub fn may_call_tools(&self) -> bool {
        let tools = self.body.get("tools").and_then(Value::as_array);
        let choice = self.body.pointer("/tool_choice/type");
        tools.is_some_and(|tools| !tools.is_empty())
            && choice.and_then(Value::as_str) != Some("none")
    }

    /// Returns the results of tools in the newest message, with whether each is an error.
    pub fn newest_results(&self) -> Vec<(&str, bool)> {
        let messages = self.body.get("messages").and_then(Value::as_array);
        let newest = messages.and_then(|messages| messages.last()?.get("content")?.as_array());
        let results = newest
            .into_iter()
            .flatten()
            .filter(|block| block.get("type").and_then(Value::as_str) == Some("tool_result"));
        results
            .filter_map(|block| {
                let is_error = block.get("is_error") == Some(&Value::Bool(true));
                Some((block.get("content")?.as_str()?, is_error))
            })
            .collect()
    }

    /// Returns the user blocks as one text.
    pub fn text(&self) -> String {
        self.user.join("\n")
    }
}
