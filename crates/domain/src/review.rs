//! The review file, schema `mirilla.review.v1`: findings, coverage, cost and outcome.
//!
//! The reviewer writes it and the poster distrusts it. The types here are what a *valid* file holds;
//! reading an untrusted one is the business of the answer parser and of the plan.
//!
//! **Invariant:** coverage names every changed file exactly once, so "nothing found" and "not read"
//! can never be the same file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::carry::Sight;
use crate::code::{FailReason, SkipReason};
use crate::ids::{AttemptNo, CommitSha, JobId, Sha256Hex};
use crate::money::{PicoUsd, Usage};

/// The name of the present schema.
pub const REVIEW_SCHEMA: &str = "mirilla.review.v1";

/// How bad a finding is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth a look.
    Low,
    /// Will hurt somebody, some day.
    Medium,
    /// Breaks something that people rely on.
    High,
    /// Loses data, money or secrets, or lets an attacker in.
    Critical,
}

impl Severity {
    /// Every severity, worst first.
    pub const ALL: [Self; 4] = [Self::Critical, Self::High, Self::Medium, Self::Low];

    /// Returns the lower-case name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

    /// Parses a name, in any case.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|s| s.as_str().eq_ignore_ascii_case(text.trim()))
    }
}

macro_rules! categories {
    ($($variant:ident => $text:literal, $doc:literal;)*) => {
        /// What kind of defect a finding is about.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        pub enum Category {
            $(#[doc = $doc] #[serde(rename = $text)] $variant,)*
        }

        impl Category {
            /// Every category, in the order of the schema.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the kebab-case name.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// Returns what the category means, in one line.
            pub const fn explain(self) -> &'static str {
                match self { $(Self::$variant => $doc,)* }
            }

            /// Parses a name, in any case, `_` and space counting as `-`.
            pub fn parse(text: &str) -> Option<Self> {
                let text = text.trim().to_ascii_lowercase().replace(['_', ' '], "-");
                Self::ALL.iter().copied().find(|c| c.as_str() == text)
            }
        }
    };
}

categories! {
    Correctness => "correctness", "The code does not do what it is meant to do.";
    Concurrency => "concurrency", "Shared state without the needed ordering or lock.";
    ResourceLeak => "resource-leak", "Something opened and not closed on some path.";
    ErrorHandling => "error-handling", "A failure is swallowed, mistaken or lost.";
    Injection => "injection", "Untrusted input becomes code, query, path or markup.";
    Authorization => "authorization", "Somebody may do what they should not.";
    SecretExposure => "secret-exposure", "A credential or personal datum reaches a place it should not.";
    InputValidation => "input-validation", "A value is trusted that was never checked.";
    DataLoss => "data-loss", "Stored data can be lost or corrupted.";
    Performance => "performance", "Far more work than needed, on a path that matters.";
    TestRemoved => "test-removed", "A check that protected behaviour was removed or weakened.";
    Compatibility => "compatibility", "A promise to callers or stored data is broken.";
}

/// Which side of the diff a line number belongs to.
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
pub enum Side {
    /// The old file.
    Left,
    /// The new file.
    #[default]
    Right,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The file, as the diff names its new side (its old side if the file is deleted).
    pub path: String,
    /// The line, from 1, on `side`.
    pub line: u32,
    /// The last line, if the finding spans several; not before `line`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// Which side the lines are counted on.
    #[serde(default)]
    pub side: Side,
    /// How bad it is.
    pub severity: Severity,
    /// What kind of defect.
    pub category: Category,
    /// One line that names the defect.
    pub title: String,
    /// Why it is one, in a few sentences. Untrusted text until sanitised.
    pub message: String,
    /// How sure the model is, in percent.
    pub confidence: u8,
    /// The flagged code as the model quotes it; helps to place the finding, never shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// The function or type it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// The repository's rule that it breaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Replacement for exactly the anchored lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// Whether the second look calls a critical or high one wrong or mild: it is told in the review's body,
    /// and decides nothing by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub doubted: bool,
}

/// What became of one changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", tag = "fate", content = "reason")]
pub enum Fate {
    /// A model read it at exactly the bytes of `digest`.
    Reviewed,
    /// Unchanged since a review that was accepted.
    Carried,
    /// Not sent, and why.
    Skipped(SkipReason),
    /// Sent, but there is no answer that counts, and why.
    Failed(FailReason),
}

/// One line of the coverage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    /// The file, named like a finding's path.
    pub path: String,
    /// What became of it.
    #[serde(flatten)]
    pub fate: Fate,
    /// Digest of the patch that was read (see `patch_digest`); of the patch that was not, else.
    pub digest: Sha256Hex,
}

/// How a review ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Every file that was to be read was read.
    Complete,
    /// Some were not.
    Partial,
    /// None was.
    Failed,
    /// Another head took its place while it ran.
    Superseded,
}

impl Outcome {
    /// Returns the outcome that a coverage amounts to.
    ///
    /// A review that only skipped files by rule is complete; one failed or cut file makes it partial;
    /// failures without one file read make it failed.
    pub fn of(coverage: &[Coverage]) -> Self {
        let read = coverage
            .iter()
            .any(|c| matches!(c.fate, Fate::Reviewed | Fate::Carried));
        let failed = coverage.iter().any(|c| matches!(c.fate, Fate::Failed(_)));
        let cut = coverage.iter().any(|c| match &c.fate {
            Fate::Skipped(reason) => matches!(
                reason,
                SkipReason::CostCap
                    | SkipReason::OutsidersShare
                    | SkipReason::Deadline
                    | SkipReason::TooLarge
                    | SkipReason::PatchUnavailable
                    | SkipReason::Malformed
                    | SkipReason::UnusablePath
                    | SkipReason::NoModel
                    | SkipReason::SettingsBroken
            ),
            _ => false,
        });
        match (read, failed, cut) {
            (false, true, _) => Self::Failed,
            (_, true, _) | (_, _, true) => Self::Partial,
            _ => Self::Complete,
        }
    }
}

/// A finding that broke a bound, with the reason; kept for the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rejected {
    /// Which item of the answer, from 1.
    pub item: u32,
    /// What was wrong; our own words, never the model's.
    pub reason: String,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The review file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Review {
    /// [`REVIEW_SCHEMA`].
    pub schema: String,
    /// The job it answers. The poster takes nothing from it but to check that it agrees.
    pub job: JobId,
    /// The try.
    pub attempt: AttemptNo,
    /// The head that was read.
    pub head: CommitSha,
    /// One or two sentences. Untrusted text until sanitised.
    pub summary: String,
    /// What was found.
    pub findings: Vec<Finding>,
    /// What became of every changed file.
    pub coverage: Vec<Coverage>,
    /// Findings of the model's answers that were refused.
    pub rejected: Vec<Rejected>,
    /// Tokens over all calls.
    pub usage: Usage,
    /// Cost over all calls, failed ones included.
    pub cost: PicoUsd,
    /// The model that answered; empty if none was asked.
    pub model: String,
    /// Version of the prompt.
    pub prompt_version: String,
    /// Calls to the model.
    pub turns: u32,
    /// How often it looked something up.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tool_calls: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// Everything the model saw, for the next review of the same pull request. The poster does not look
    /// at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sight: Option<Sight>,
}
