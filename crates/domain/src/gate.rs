//! The gate: what a check says about a change, from what is known of its review.
//!
//! Passing is the narrow case. Every changed file was read at exactly these bytes, or left out by a rule
//! that the change itself cannot write; no finding as bad as the threshold is open; and nothing in the
//! change works on its reviewer. Whatever a pull request can bring about itself is inconclusive.
//!
//! **Invariant:** every reason for which a file is not read, a finding is not posted or a job ends has its
//! own arm in a `match` without a wildcard, so that a new one does not compile before somebody decided
//! about it. Nothing that is inconclusive is ever written as a success.

mod cause;
mod facts;
mod report;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use cause::{Cause, Counted};
pub use facts::{FileFact, FindingFact, GateFacts, Standing};
pub use report::{Annotation, Basis, CheckReport, Level, MACHINE_LINE, Trust};
pub(crate) use report::{machine_line, reasons, title};

use crate::code::EndReason;
use crate::review::Outcome;
use crate::settings::{BrokenSettings, Gate, OnInconclusive, Policy};

/// What the gate says, the worst last.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Ruling {
    /// Everything was read and nothing that counts was found. Not an approval.
    Pass,
    /// Not everything was read, or what was said about it proves nothing.
    Inconclusive,
    /// A finding that counts is open.
    Fail,
}

impl Ruling {
    /// Every ruling.
    pub const ALL: [Self; 3] = [Self::Pass, Self::Inconclusive, Self::Fail];

    /// Returns the stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Inconclusive => "inconclusive",
            Self::Fail => "fail",
        }
    }

    /// Returns what is written on the forge.
    pub const fn conclusion(self, on_inconclusive: OnInconclusive) -> Conclusion {
        match (self, on_inconclusive) {
            (Self::Pass, _) => Conclusion::Success,
            (Self::Inconclusive, OnInconclusive::Allow) => Conclusion::Neutral,
            (Self::Inconclusive, OnInconclusive::Block) | (Self::Fail, _) => Conclusion::Failure,
        }
    }
}

/// How a finished check stands on the forge. There is none by which a change is approved or refused by a
/// reviewer: a check is not a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Conclusion {
    /// It does not stand in the way, and says that nothing was found.
    Success,
    /// It stands in the way where it is required.
    Failure,
    /// It does not stand in the way, and says nothing.
    Neutral,
}

impl Conclusion {
    /// Returns GitHub's name for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Neutral => "neutral",
        }
    }
}

/// What a check is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckName {
    /// Of a change into a trusted base: the one to require.
    Trusted,
    /// Of a change into any other base, which whoever can push can prepare: nobody requires it.
    OtherBase,
}

impl CheckName {
    /// Returns the name as people see it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "Mirilla",
            Self::OtherBase => "Mirilla (other base)",
        }
    }
}

/// A ruling and everything that it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// What the gate says.
    pub ruling: Ruling,
    /// Why it is no pass, the worst first; empty if it is one.
    pub causes: Vec<Counted>,
}

impl Verdict {
    /// Returns the verdict that causes amount to.
    fn of(mut causes: Vec<Counted>) -> Self {
        causes.retain(|one| one.count > 0 && one.cause.ruling() > Ruling::Pass);
        causes.sort_by_key(|one| std::cmp::Reverse(one.cause.ruling()));
        let ruling = causes
            .iter()
            .map(|one| one.cause.ruling())
            .max()
            .unwrap_or(Ruling::Pass);
        Self { ruling, causes }
    }

    /// Returns the verdict about a job that ended without a review.
    pub fn ended(reason: EndReason) -> Self {
        Self::of(vec![Counted::once(Cause::Ended(reason))])
    }

    /// Returns the verdict about a head of which no job is known.
    pub fn unknown() -> Self {
        Self::of(vec![Counted::once(Cause::NoVerdict)])
    }

    /// Returns the verdict about a review that nobody judged.
    pub fn given_up() -> Self {
        Self::of(vec![Counted::once(Cause::Outcome(Outcome::Superseded))])
    }

    /// Returns the verdict with a further cause.
    #[must_use]
    pub fn and(mut self, cause: Counted) -> Self {
        self.causes.push(cause);
        Self::of(self.causes)
    }
}

/// What of the settings the gate needs. Named as in [`Policy`], so that a stored policy can be read as one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GatePolicy {
    /// When the check fails because of a finding; off: there is none.
    pub gate: Gate,
    /// What is written about a change that was not read in full.
    #[serde(alias = "on-inconclusive")]
    pub on_inconclusive: OnInconclusive,
    /// Files that trusted rules leave out: the operator's patterns, then the repository's.
    pub ignore: Vec<String>,
    /// How many of `ignore` are the operator's.
    pub operator_ignore: usize,
    /// Set if the repository's settings file is broken.
    pub broken_settings: Option<BrokenSettings>,
}

impl From<&Policy> for GatePolicy {
    fn from(policy: &Policy) -> Self {
        Self {
            gate: policy.gate,
            on_inconclusive: policy.on_inconclusive,
            ignore: policy.ignore.clone(),
            operator_ignore: policy.operator_ignore,
            broken_settings: policy.broken_settings,
        }
    }
}

/// Judges a change; `None` if the gate is off.
pub fn judge(facts: &GateFacts, policy: &GatePolicy) -> Option<Verdict> {
    let threshold = policy.gate.fails_at()?;
    Some(Verdict::of(facts.causes(threshold, policy)))
}

#[cfg(test)]
mod tests;
