//! A plan from files, for `mirilla inspect plan`: nothing is contacted, nothing is a secret.
//!
//! Besides our own formats it reads what the forges' list endpoints return and the short form in which
//! findings are written by hand, so that a reported case can be replayed as it is.
//!
//! **Invariant:** the marker key used here is public. A plan from files can be looked at; a poster never
//! trusts its markers.

mod listed;
mod short;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::validate::MAX_FILE_BYTES;
use super::{
    FloorHit, FreshDiff, JobFacts, Plan, PlanInput, PlanPolicy, ReadReview, ReviewFileError, plan,
    read_review, strict_json,
};
use crate::checks;
use crate::ids::{AttemptNo, CommitSha, Forge, JobId, PrNumber, PullRequestRef, RepoId};
use crate::marker::MarkerKey;
use crate::redact::{Haystack, Redactor};
use crate::review::REVIEW_SCHEMA;
use crate::thread::Existing;

/// The key of plans that are only looked at.
pub const INSPECT_KEY: &[u8] = b"mirilla inspect: not a secret";

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The review file cannot be used.
    #[error("the review cannot be read")]
    Review(#[from] ReviewFileError),
    /// Another file is not what it should be.
    #[error("{file} is not usable: {problem}")]
    File {
        /// Which argument it was given as.
        file: &'static str,
        /// What is expected there.
        problem: String,
    },
}

/// Our own account, as listings name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Me {
    /// Its login, with or without `[bot]`.
    pub login: String,
    /// Its number, if known; then it decides.
    #[serde(default)]
    pub id: Option<u64>,
}

/// What a policy file may say. Every field has a default; what is not known is ignored, so that the
/// stored policy of a run can be given as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InspectPolicy {
    /// Thresholds and limits.
    #[serde(flatten)]
    pub plan: PlanPolicy,
    /// Our account.
    pub me: Me,
    /// The kind of forge.
    pub forge: Forge,
    /// The repository's number.
    #[serde(alias = "repository-id")]
    pub repository_id: u64,
    /// The pull request.
    pub pr: u64,
    /// Hits besides those of the deterministic checks, which run over the diff.
    pub floor: Vec<FloorHit>,
    /// What the body says besides.
    pub notes: Vec<String>,
}

impl Default for InspectPolicy {
    fn default() -> Self {
        Self {
            plan: PlanPolicy::default(),
            me: Me {
                login: "mirilla[bot]".to_owned(),
                id: None,
            },
            forge: Forge::Github,
            repository_id: 1,
            pr: 1,
            floor: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// Returns the plan for a diff and a review, with what stands on the pull request and a policy if given.
///
/// `review` is a review file, a list of findings, or an object with `findings`; a list without coverage
/// counts as a review of every file. `threads` is our own listing, a list of comments as a REST endpoint
/// returns them, a list of threads as a GraphQL query returns them (or in short: `own`, `marker`,
/// `isResolved`, `replies`), or an object with `comments`, `reviews` and `threads`.
pub fn plan_from_files(
    diff: &[u8],
    review: &[u8],
    threads: Option<&[u8]>,
    policy: Option<&[u8]>,
) -> Result<Plan, InspectError> {
    let policy: InspectPolicy = match policy {
        None => InspectPolicy::default(),
        Some(bytes) => serde_json::from_value(json("--policy", bytes)?).map_err(|error| {
            InspectError::File {
                file: "--policy",
                problem: error.to_string(),
            }
        })?,
    };
    let parsed = mirilla_diff::parse(diff);
    let fresh = FreshDiff::of(&parsed.files, &[], None);
    let mut floor = checks::floor(&parsed.files);
    floor.extend(policy.floor.iter().cloned());
    let read = read_any(review, &fresh)?;
    let existing = match threads {
        None => Existing::default(),
        Some(bytes) => read_existing(bytes, &policy.me)?,
    };
    let job = JobFacts {
        job: read.review.job.clone(),
        attempt: read.review.attempt,
        pull_request: PullRequestRef {
            forge: policy.forge,
            repo: RepoId::new(policy.repository_id),
            pr: PrNumber::new(policy.pr),
        },
        head: read.review.head.clone(),
        merge_base: nowhere("--review")?,
    };
    let key =
        MarkerKey::new(INSPECT_KEY).map_err(|error| file_error("--policy", error.to_string()))?;
    Ok(plan(&PlanInput {
        job: &job,
        diff: &fresh,
        review: Some(&read),
        floor: &floor,
        existing: &existing,
        recorded: &BTreeSet::new(),
        last_review: None,
        policy: &policy.plan,
        notes: &policy.notes,
        redactor: &Redactor::default(),
        public: &Haystack::new([diff]),
        key: &key,
    }))
}

/// Returns what a listing says stands on a pull request; see [`plan_from_files`] for the shapes.
pub fn read_existing(bytes: &[u8], me: &Me) -> Result<Existing, InspectError> {
    listed::existing(&json("--threads", bytes)?, me)
        .map_err(|problem| file_error("--threads", problem))
}

fn read_any(bytes: &[u8], diff: &FreshDiff) -> Result<ReadReview, InspectError> {
    if bytes.len() > MAX_FILE_BYTES {
        return Err(ReviewFileError::TooLarge { bytes: bytes.len() }.into());
    }
    let value = strict_json::parse(bytes).map_err(ReviewFileError::Json)?;
    if value.get("schema").is_some() {
        return Ok(read_review(bytes)?);
    }
    let (findings, summary) = match &value {
        Value::Array(findings) => (findings.as_slice(), ""),
        Value::Object(fields) => (
            fields
                .get("findings")
                .and_then(Value::as_array)
                .ok_or_else(|| {
                    let wanted = "an object needs `schema` (a review file) or `findings`";
                    file_error("--review", wanted.to_owned())
                })?
                .as_slice(),
            fields
                .get("summary")
                .and_then(Value::as_str)
                .unwrap_or_default(),
        ),
        _ => {
            let wanted = "expected a review file or a list of findings";
            return Err(file_error("--review", wanted.to_owned()));
        }
    };
    let (findings, refused) = short::findings(findings);
    Ok(ReadReview {
        review: crate::review::Review {
            schema: REVIEW_SCHEMA.to_owned(),
            job: JobId::parse(&"0".repeat(32))
                .map_err(|error| file_error("--review", error.to_string()))?,
            attempt: AttemptNo::FIRST,
            head: nowhere("--review")?,
            summary: summary.to_owned(),
            findings,
            coverage: short::all_reviewed(diff),
            rejected: Vec::new(),
            usage: crate::money::Usage::default(),
            cost: crate::money::PicoUsd::ZERO,
            model: String::new(),
            prompt_version: String::new(),
            turns: 0,
            tool_calls: 0,
            outcome: crate::review::Outcome::Complete,
            sight: None,
        },
        refused,
        lost_coverage: 0,
    })
}

/// A commit that no repository has: files do not say which one they are about.
fn nowhere(file: &'static str) -> Result<CommitSha, InspectError> {
    CommitSha::parse(&"0".repeat(40)).map_err(|error| file_error(file, error.to_string()))
}

fn json(file: &'static str, bytes: &[u8]) -> Result<Value, InspectError> {
    serde_json::from_slice(bytes).map_err(|error| file_error(file, error.to_string()))
}

fn file_error(file: &'static str, problem: String) -> InspectError {
    InspectError::File { file, problem }
}
