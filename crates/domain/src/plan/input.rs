//! What a plan is made from, all of it handed in.
//!
//! **Invariant:** which repository, pull request, head and job it is about comes from [`JobFacts`], that
//! is from the ledger, and never from the review file.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::checks::Check;
use crate::gate::GatePolicy;
use crate::ids::{AttemptNo, CommitSha, Fingerprint, JobId, PullRequestRef, ReviewId};
use crate::marker::MarkerKey;
use crate::plan::{FreshDiff, ReadReview};
use crate::redact::{Haystack, Redactor};
use crate::review::{Severity, Side};
use crate::settings::Policy;
use crate::thread::Existing;

/// What the ledger says about the job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobFacts {
    /// The job.
    pub job: JobId,
    /// The try.
    pub attempt: AttemptNo,
    /// Where the review goes.
    pub pull_request: PullRequestRef,
    /// The commit that was read.
    pub head: CommitSha,
    /// The commit it was compared with.
    pub merge_base: CommitSha,
}

/// A hit of a deterministic check over the fresh diff. Trusted in all but its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FloorHit {
    /// Which check; stable, kebab-case.
    pub kind: String,
    /// The file, named like a finding's path.
    pub path: String,
    /// Which side.
    pub side: Side,
    /// The line; 0 if it is about the whole file.
    pub line: u32,
    /// The last line, if there are several.
    pub end_line: Option<u32>,
    /// How bad.
    pub severity: Severity,
    /// One line.
    pub title: String,
    /// A few sentences.
    pub message: String,
}

impl FloorHit {
    /// Returns whether the hit is about text that tries to steer a reviewer: what the model says about
    /// such a change proves nothing.
    pub fn addresses_reviewer(&self) -> bool {
        Check::parse(&self.kind).is_some_and(Check::addresses_reviewer)
    }
}

/// What of the settings a plan needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PlanPolicy {
    /// Findings below it are not posted. The floor is always posted.
    #[serde(alias = "min-severity")]
    pub min_severity: Severity,
    /// Findings below it are not posted; percent.
    #[serde(alias = "min-confidence")]
    pub min_confidence: u8,
    /// The most comments on lines that stand on the pull request at once.
    #[serde(alias = "max-comments")]
    pub max_comments: u32,
    /// Hosts that posted links may lead to.
    #[serde(alias = "link-hosts")]
    pub link_hosts: Vec<String>,
    /// Whether to comment on lines at all. Off for the last resort after a forge refused our lines:
    /// everything that is new then stands in the body.
    pub comment_on_lines: bool,
    /// Whether those who wrote the change may decline findings about it.
    #[serde(alias = "self-dismiss")]
    pub self_dismiss: bool,
    /// Whether threads of ours whose finding is gone are resolved. Only a poster that was handed the means
    /// for it says so; else they are left to the forge, which shows them as outdated.
    #[serde(alias = "resolve-threads")]
    pub resolve_threads: bool,
    /// What the check is made from.
    #[serde(flatten)]
    pub gate: GatePolicy,
}

impl Default for PlanPolicy {
    /// Everything that was found, at most 20 comments, no links, no check, no thread resolved.
    fn default() -> Self {
        Self {
            min_severity: Severity::Low,
            min_confidence: 0,
            max_comments: 20,
            link_hosts: Vec::new(),
            comment_on_lines: true,
            self_dismiss: false,
            resolve_threads: false,
            gate: GatePolicy::default(),
        }
    }
}

impl From<&Policy> for PlanPolicy {
    fn from(policy: &Policy) -> Self {
        Self {
            min_severity: policy.min_severity,
            min_confidence: policy.min_confidence,
            max_comments: policy.max_comments,
            link_hosts: policy.link_hosts.clone(),
            comment_on_lines: true,
            self_dismiss: policy.self_dismiss,
            resolve_threads: false,
            gate: GatePolicy::from(policy),
        }
    }
}

/// Everything a plan depends on.
#[derive(Debug, Clone, Copy)]
pub struct PlanInput<'a> {
    /// The job.
    pub job: &'a JobFacts,
    /// The diff between merge base and head, fetched again for this plan.
    pub diff: &'a FreshDiff,
    /// The review file as read; `None` if the reviewer was given up, so that only the floor is posted.
    pub review: Option<&'a ReadReview>,
    /// Hits of the deterministic checks over the same diff.
    pub floor: &'a [FloorHit],
    /// What stands on the pull request, all pages.
    pub existing: &'a Existing,
    /// Findings that the ledger says were posted here before; empty where there is no ledger.
    pub recorded: &'a BTreeSet<Fingerprint>,
    /// Our latest review as the ledger knows it; used only when the list of reviews was cut.
    pub last_review: Option<ReviewId>,
    /// The settings.
    pub policy: &'a PlanPolicy,
    /// What the body must say besides, in our own words: broken settings, rules and their commit.
    pub notes: &'a [String],
    /// Knows the secrets of this process.
    pub redactor: &'a Redactor,
    /// What everyone can read anyway: the diff, its paths, the names of rules.
    pub public: &'a Haystack<'a>,
    /// The poster's key for markers.
    pub key: &'a MarkerKey,
}
