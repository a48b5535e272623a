//! What the known models can do, as data.
//!
//! Prices are not here: they change without notice and are the operator's (`prices.toml`).
//!
//! **Invariant:** every model in [`KNOWN`] obeys an answer schema (`output_config.format`); one that
//! does not is not listed, so that it is refused at start instead of at the first bad answer.

use crate::settings::{Effort, MAX_TOKENS_WITHOUT_STREAM, SettingsError};

/// What one model can do.
///
/// See <https://platform.claude.com/docs/en/about-claude/models/overview>, read November 2026.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capability {
    /// The model's id, as priced.
    pub id: &'static str,
    /// Prompt and answer together, in tokens.
    pub context_tokens: u64,
    /// The longest answer, in tokens, thinking included.
    pub max_output_tokens: u32,
    /// The shortest prefix that is cached, in tokens. The provider's sources disagree; this is the
    /// larger value, so that a plan made with it does not count on a cache that is not there.
    pub min_cache_tokens: u64,
    /// Whether `output_config.effort` is accepted.
    pub effort: bool,
}

const MILLION: u64 = 1_000_000;

const fn capability(id: &'static str, min_cache_tokens: u64) -> Capability {
    Capability {
        id,
        context_tokens: MILLION,
        max_output_tokens: 128_000,
        min_cache_tokens,
        effort: true,
    }
}

const fn haiku_4_5(id: &'static str) -> Capability {
    Capability {
        context_tokens: 200_000,
        max_output_tokens: 64_000,
        effort: false,
        ..capability(id, 4096)
    }
}

/// The models that can be asked, newest family first.
pub const KNOWN: &[Capability] = &[
    capability("claude-opus-5-5", 4096),
    capability("claude-opus-5", 512),
    capability("claude-sonnet-5-5", 4096),
    capability("claude-sonnet-5", 1024),
    capability("claude-haiku-5-5", 4096),
    capability("claude-fable-5-1", 4096),
    capability("claude-fable-5", 512),
    capability("claude-opus-4-8", 4096),
    capability("claude-opus-4-7", 4096),
    capability("claude-opus-4-6", 4096),
    Capability {
        context_tokens: 200_000,
        ..capability("claude-opus-4-5", 4096)
    },
    capability("claude-sonnet-4-6", 2048),
    haiku_4_5("claude-haiku-4-5"),
    haiku_4_5("claude-haiku-4-5-20251001"),
];

/// The wanted model is not known to answer by a schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the model `{id}` is not known to support structured output; use one of {}",
    known_ids()
)]
pub struct UnknownModel {
    /// The refused id, cut to 80 characters.
    pub id: String,
}

fn known_ids() -> String {
    let ids: Vec<&str> = KNOWN.iter().map(|model| model.id).collect();
    ids.join(", ")
}

/// Returns what the model can do; an unknown one is an error that lists the known ones.
///
/// Ids are exact: there are no `-latest` aliases, and a suffix such as `[1m]` belongs to other
/// products.
pub fn check_model(id: &str) -> Result<&'static Capability, UnknownModel> {
    KNOWN
        .iter()
        .find(|model| model.id == id)
        .ok_or_else(|| UnknownModel {
            id: id.chars().filter(|c| !c.is_control()).take(80).collect(),
        })
}

impl Capability {
    /// Returns whether the model accepts this effort; none is always accepted.
    pub const fn accepts(&self, effort: Option<Effort>) -> bool {
        self.effort || effort.is_none()
    }

    /// Checks how the model is to be asked.
    pub(crate) fn check_question(
        &self,
        effort: Option<Effort>,
        max_tokens: u32,
    ) -> Result<(), SettingsError> {
        if !self.accepts(effort) {
            return Err(SettingsError::NoEffort {
                model: self.id.to_owned(),
            });
        }
        let limit = MAX_TOKENS_WITHOUT_STREAM.min(self.max_output_tokens);
        if max_tokens == 0 || max_tokens > limit {
            return Err(SettingsError::MaxTokens {
                value: max_tokens,
                limit,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_ids_are_unique_and_found() {
        for model in KNOWN {
            assert_eq!(check_model(model.id), Ok(model));
            assert_eq!(KNOWN.iter().filter(|m| m.id == model.id).count(), 1);
            assert!(u64::from(model.max_output_tokens) < model.context_tokens);
        }
    }

    #[test]
    fn model_without_structured_output_is_refused_with_the_known_ones() {
        for id in [
            "claude-opus-4-1",
            "claude-3-haiku-20240307",
            "claude-sonnet-5-5[1m]",
            "",
        ] {
            let error = check_model(id).unwrap_err().to_string();
            assert!(
                error.contains(&format!("`{id}`"))
                    && error.contains("claude-sonnet-5-5, claude-sonnet-5,"),
                "{error}"
            );
        }
        let long = check_model(&"x\u{1b}".repeat(500)).unwrap_err();
        assert_eq!(long.id, "x".repeat(80));
    }
}
