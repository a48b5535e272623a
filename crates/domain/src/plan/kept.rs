//! What a plan was made from, kept so that the same plan can be made again: no model, no forge, no key.
//!
//! The diff and the review are files of their own; this names them by hash and holds the rest. Markers
//! are signed by a key that is never kept, so the ones that verified are signed anew with the public
//! [`INSPECT_KEY`], and so is what is planned: a plan made again differs from the posted one in MACs alone.
//!
//! **Invariant:** neither the poster's key nor a secret that it knows is in what is kept: a run that holds
//! one is not kept. What is kept makes the plan that was posted.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    FreshDiff, INSPECT_KEY, JobFacts, Plan, PlanInput, PlanPolicy, ReadReview, ReviewFileError,
    plan, read_review,
};
use crate::checks;
use crate::ids::{Fingerprint, ReviewId, Sha256Hex, sha256};
use crate::marker::{self, MarkerKey};
use crate::redact::{Haystack, Redactor};
use crate::snapshot::MissingFile;
use crate::thread::Existing;

/// The name of the present schema.
pub const PLAN_INPUT_SCHEMA: &str = "mirilla.plan-input.v1";

/// Everything a plan was made from, beside the diff and the review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptInput {
    /// [`PLAN_INPUT_SCHEMA`].
    pub schema: String,
    /// The version of the program that planned: another one may plan otherwise.
    pub program: String,
    /// The job.
    pub job: JobFacts,
    /// SHA-256 of the diff that was fetched for the plan.
    pub diff_sha256: Sha256Hex,
    /// Files whose changes the forge did not give.
    pub missing: Vec<MissingFile>,
    /// SHA-256 of the review file; nothing if the reviewer was given up.
    pub review_sha256: Option<Sha256Hex>,
    /// SHA-256 of the run's record, if it was at hand.
    pub run_sha256: Option<Sha256Hex>,
    /// What stood on the pull request. Untrusted; markers that verified are signed anew.
    pub existing: Existing,
    /// Findings that the ledger said were posted before.
    pub recorded: BTreeSet<Fingerprint>,
    /// Our latest review, as the ledger knew it.
    pub last_review: Option<ReviewId>,
    /// The settings.
    pub policy: PlanPolicy,
    /// What the body says besides.
    pub notes: Vec<String>,
    /// SHA-256 of the plan file.
    pub plan_sha256: Sha256Hex,
}

/// A plan and what it was made from, as files.
#[derive(Debug, Clone)]
pub struct KeptPlan {
    /// What it was made from.
    pub input: Vec<u8>,
    /// The plan.
    pub plan: Vec<u8>,
}

/// Why a plan cannot be made again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The input cannot be read.
    #[error("the plan's input cannot be read")]
    Json(#[source] serde_json::Error),
    /// The input is of another version.
    #[error(
        "the plan's input has a schema this program does not read; it reads {PLAN_INPUT_SCHEMA}"
    )]
    Schema,
    /// A file is not the one that was planned with.
    #[error(
        "the {what} is not the one that was planned with: its SHA-256 is {found}, not {wanted}"
    )]
    OtherFile {
        /// Which file.
        what: &'static str,
        /// What it is.
        found: Sha256Hex,
        /// What was kept.
        wanted: Sha256Hex,
    },
    /// A file that was planned with is not there, or one that was not is.
    #[error("the plan was made {} review", if *.wanted { "with a" } else { "without a" })]
    Review {
        /// Whether there was one.
        wanted: bool,
    },
    /// The review cannot be read.
    #[error("the review cannot be read")]
    ReviewFile(#[from] ReviewFileError),
    /// A secret of this process stands in the run.
    #[error("a secret of this process stands in it")]
    Secret,
    /// The plan made again would be another one.
    #[error("what can be kept would make another plan")]
    OtherPlan,
    /// A constant of this program is wrong.
    #[error("the public key cannot be used")]
    Key(#[from] marker::ShortKey),
}

/// Returns a plan's input as it may be kept, and the plan that will be made from it again.
///
/// `input` is what `posted` was made from; `diff`, `missing` and `review` are the bytes behind it.
pub fn keep(
    input: &PlanInput<'_>,
    (diff, missing): (&[u8], &[MissingFile]),
    review: Option<&[u8]>,
    run: Option<&[u8]>,
    posted: &Plan,
) -> Result<KeptPlan, ReplayError> {
    let public_key = MarkerKey::new(INSPECT_KEY)?;
    let place = &input.job.pull_request;
    let signed = |body: &str| marker::resigned(input.key, &public_key, place, body);
    let mut existing = input.existing.clone();
    for review in &mut existing.reviews {
        review.body = signed(&review.body);
    }
    for comment in &mut existing.comments {
        comment.body = signed(&comment.body);
    }
    let mut kept = KeptInput {
        schema: PLAN_INPUT_SCHEMA.to_owned(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        job: input.job.clone(),
        diff_sha256: sha256(diff),
        missing: missing.to_vec(),
        review_sha256: review.map(sha256),
        run_sha256: run.map(sha256),
        existing,
        recorded: input.recorded.clone(),
        last_review: input.last_review,
        policy: input.policy.clone(),
        notes: input.notes.to_vec(),
        plan_sha256: sha256(&[]),
    };
    let plan = kept.plan_of(diff, input.review, &public_key);
    let bytes = file(&plan)?;
    kept.plan_sha256 = sha256(&bytes);
    let kept = KeptPlan {
        input: file(&kept)?,
        plan: bytes,
    };
    let written = [Some(kept.input.as_slice()), Some(&kept.plan), review, run];
    let holds = |bytes: &[u8]| holds_secret(input.redactor, bytes);
    if written.iter().flatten().copied().any(holds) {
        return Err(ReplayError::Secret);
    }
    let blank = |bytes: &[u8]| marker::without_macs(&String::from_utf8_lossy(bytes));
    if blank(&kept.plan) != blank(&file(posted)?) {
        return Err(ReplayError::OtherPlan);
    }
    Ok(kept)
}

/// Returns whether a value that only this process knows stands in a text.
fn holds_secret(redactor: &Redactor, bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    redactor.redact(&text) != Redactor::default().redact(&text)
}

/// Returns the bytes of a file of ours: pretty-printed, a line feed at the end.
fn file<T: Serialize>(value: &T) -> Result<Vec<u8>, ReplayError> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(ReplayError::Json)?;
    bytes.push(b'\n');
    Ok(bytes)
}

impl KeptInput {
    /// Reads an input.
    pub fn read(bytes: &[u8]) -> Result<Self, ReplayError> {
        let input: Self = serde_json::from_slice(bytes).map_err(ReplayError::Json)?;
        if input.schema == PLAN_INPUT_SCHEMA {
            Ok(input)
        } else {
            Err(ReplayError::Schema)
        }
    }

    /// Makes the plan again; returns it with the bytes of its file. The diff and the review must be those
    /// that were planned with.
    pub fn replay(
        &self,
        diff: &[u8],
        review: Option<&[u8]>,
    ) -> Result<(Plan, Vec<u8>), ReplayError> {
        same("diff", diff, &self.diff_sha256)?;
        let read = match (review, &self.review_sha256) {
            (Some(bytes), Some(wanted)) => {
                same("review", bytes, wanted)?;
                // What could not be read was planned without.
                read_review(bytes).map(Some).or_else(|error| {
                    if error.is_newer() {
                        Err(error)
                    } else {
                        Ok(None)
                    }
                })?
            }
            (None, None) => None,
            (_, wanted) => {
                let wanted = wanted.is_some();
                return Err(ReplayError::Review { wanted });
            }
        };
        let key = MarkerKey::new(INSPECT_KEY)?;
        let plan = self.plan_of(diff, read.as_ref(), &key);
        let bytes = file(&plan)?;
        Ok((plan, bytes))
    }

    fn plan_of(&self, diff: &[u8], review: Option<&ReadReview>, key: &MarkerKey) -> Plan {
        let parsed = mirilla_diff::parse(diff);
        plan(&PlanInput {
            job: &self.job,
            diff: &FreshDiff::of(&parsed.files, &self.missing, None),
            review,
            floor: &checks::floor(&parsed.files),
            existing: &self.existing,
            recorded: &self.recorded,
            last_review: self.last_review,
            policy: &self.policy,
            notes: &self.notes,
            redactor: &Redactor::default(),
            public: &Haystack::new([diff]),
            key,
        })
    }
}

fn same(what: &'static str, bytes: &[u8], wanted: &Sha256Hex) -> Result<(), ReplayError> {
    let found = sha256(bytes);
    if found == *wanted {
        Ok(())
    } else {
        Err(ReplayError::OtherFile {
            what,
            found,
            wanted: wanted.clone(),
        })
    }
}
