//! The published JSON Schema of `.mirilla.toml`.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::settings::values::{Gate, InlineRule, OnInconclusive, PrDescription};

/// Settings of a repository for Mirilla, read from `.mirilla.toml` at the base commit. Every value can
/// only make the operator's settings stricter.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(title = "mirilla.toml")]
pub struct SettingsFile {
    /// Files that are not sent to the model, as in a `.gitignore`: a list of patterns, or one pattern.
    #[serde(default)]
    pub ignore: OneOrMany<String>,
    /// What reviewers should look for beside the rule files: texts, or tables with `text` and `globs`.
    #[serde(default)]
    pub rules: OneOrMany<RuleEntry>,
    /// Findings below these are not posted.
    #[serde(default)]
    pub thresholds: Option<Thresholds>,
    /// The most comments on lines per review, 0 to 1000. The operator's number if that is lower.
    #[schemars(range(min = 0, max = 1000))]
    #[serde(default)]
    pub max_comments: Option<u32>,
    /// The most one review may cost, in dollars. The operator's amount if that is lower.
    #[serde(default)]
    pub max_usd: Option<Amount>,
    /// What the model sees of the pull request's title and description: beside the code (`with`), in a
    /// last turn that compares what is said with what is done (`after`), or nothing (`never`).
    #[serde(default)]
    pub pr_description: Option<PrDescription>,
    /// When the check fails: not at all (`off`), or because of an open finding of this severity or worse.
    /// The operator's choice if that is stricter.
    #[serde(default)]
    pub gate: Option<Gate>,
    /// What the check says about a change that was not read in full. The operator's choice if that is
    /// stricter.
    #[serde(default)]
    pub on_inconclusive: Option<OnInconclusive>,
    /// The language of findings, such as `German` or `pt-BR`.
    #[schemars(length(min = 1, max = 40))]
    #[serde(default)]
    pub language: Option<String>,
}

/// Thresholds for findings.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Thresholds {
    /// Findings milder than this are not posted.
    #[serde(default)]
    pub min_severity: Option<SeverityName>,
    /// Findings the model is less sure of are not posted; percent.
    #[schemars(range(min = 0, max = 100))]
    #[serde(default)]
    pub min_confidence: Option<u8>,
}

/// How bad a finding is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SeverityName {
    /// Loses data, money or secrets, or lets an attacker in.
    Critical,
    /// Breaks something that people rely on.
    High,
    /// Will hurt somebody, some day.
    Medium,
    /// Worth a look.
    Low,
}

/// One value, or a list of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany<T> {
    /// A list.
    Many(Vec<T>),
    /// One.
    One(T),
}

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

/// A rule: its text, or a table.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RuleEntry {
    /// A text that is about all files.
    Text(String),
    /// A text with the files it is about.
    Table(InlineRule),
}

/// Dollars, as a number or as a text.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Amount {
    /// A number such as `0.40`.
    Number(f64),
    /// A text such as `"0.40"`.
    Text(String),
}

/// Returns the schema, as it stands in `docs/contracts/mirilla.toml.schema.json`.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(SettingsFile).to_value()
}
