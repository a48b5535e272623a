//! The values that settings can have.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::money::PicoUsd;
use crate::review::Severity;
use crate::settings::usd;

/// When the check run fails because of a finding.
///
/// Ordered by strictness: a later one fails whenever an earlier one does.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Gate {
    /// There is no check.
    #[default]
    Off,
    /// An open critical or high finding fails it.
    High,
    /// An open finding of medium severity or worse fails it.
    Medium,
    /// Any open finding fails it.
    Low,
}

impl Gate {
    /// Returns the mildest severity that fails the check; `None` if there is no check.
    pub const fn fails_at(self) -> Option<Severity> {
        match self {
            Self::Off => None,
            Self::High => Some(Severity::High),
            Self::Medium => Some(Severity::Medium),
            Self::Low => Some(Severity::Low),
        }
    }
}

/// What the check says about a change that was not read in full.
///
/// Ordered by strictness.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum OnInconclusive {
    /// Neutral: it does not stand in the way.
    Allow,
    /// Failure.
    #[default]
    Block,
}

/// What the model gets to see of a pull request's title and description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PrDescription {
    /// Beside the code, while it looks for defects. A "this is safe" in it measurably blinds reviewers.
    With,
    /// In a last short turn that compares what is said with what is done.
    #[default]
    After,
    /// Not at all.
    Never,
}

/// A rule written in the settings file itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InlineRule {
    /// What reviewers should look for, at most 2,000 characters.
    pub text: String,
    /// Files it is about, in gitignore notation; all files if empty.
    #[serde(default)]
    pub globs: Vec<String>,
}

/// A repository's settings, valid each; `None` where the file says nothing.
///
/// There is deliberately no field for a provider, an endpoint, a model, a price, a purse, a link host,
/// a secret or a trusted base.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RepoSettings {
    /// Files that are not sent to the model, in gitignore notation; those that are valid.
    pub ignore: Vec<String>,
    /// Rules beside those in rule files.
    pub rules: Vec<InlineRule>,
    /// Findings below it are not posted.
    pub min_severity: Option<Severity>,
    /// Findings below it are not posted; percent.
    pub min_confidence: Option<u8>,
    /// The most comments on lines per review.
    pub max_comments: Option<u32>,
    /// The most one review may cost.
    #[serde(with = "usd::option")]
    pub max_usd: Option<PicoUsd>,
    /// What the model sees of title and description.
    pub pr_description: Option<PrDescription>,
    /// When the check fails.
    pub gate: Option<Gate>,
    /// What the check says about what was not read.
    pub on_inconclusive: Option<OnInconclusive>,
    /// The language of findings, as a name or tag.
    pub language: Option<String>,
    /// Whether the file had an error.
    pub broken: bool,
    /// Whether an error may have hidden an ignore rule, so that any file might be covered by it.
    pub ignore_unknown: bool,
}
