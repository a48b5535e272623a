//! The record of a run, schema `mirilla.run.v1`: what a review was made from, call by call.
//!
//! The reviewer writes it beside its findings. It is for the operator, who wants to know where a finding
//! came from or what a call cost, and nothing decides by it: it was written by a process that had read
//! hostile code, and every text of a model's in it is untrusted.
//!
//! It is bounded: [`MAX_ANSWER_BYTES`] of one answer and [`MAX_ANSWERS_BYTES`] of all,
//! [`MAX_ARGUMENTS_BYTES`] of the arguments of one look-up, [`MAX_CALLS`] calls and [`MAX_LOOK_UPS`] look-ups.
//! What is left out is counted, and a text that was cut says how long it was.
//!
//! **Invariant:** what is recorded and what is left out add up to what the review says: its calls,
//! tokens, cost and look-ups. No secret that the writing process knows is in it.

mod answers;
mod calls;
mod explain;
mod text;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{AttemptNo, CommitSha, JobId, Sha256Hex, Timestamp};
use crate::money::{PicoUsd, Usage};
use crate::review::{Fate, Severity};

pub use answers::{Mismatch, check_answers};
pub use calls::{Calls, MAX_CALLS, MAX_LOOK_UPS, Sums};
pub use explain::{Explained, Wanted, WantedError, explain};
pub use text::{MAX_ANSWER_BYTES, MAX_ANSWERS_BYTES, MAX_ARGUMENTS_BYTES, RecordedText};

/// The name of the present schema.
pub const RUN_SCHEMA: &str = "mirilla.run.v1";
/// Largest record that is read; one within its bounds is far smaller.
pub const MAX_RECORD_BYTES: usize = 8 * 1024 * 1024;

/// What one review was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// [`RUN_SCHEMA`].
    pub schema: String,
    /// The job.
    pub job: JobId,
    /// The try.
    pub attempt: AttemptNo,
    /// When it was written, in milliseconds since the Unix epoch.
    pub written_at: Timestamp,
    /// What was read.
    pub inputs: Inputs,
    /// Version of the prompt.
    pub prompt_version: String,
    /// The model that was asked; empty if none was.
    pub model: String,
    /// SHA-256 of the review file that belongs to it.
    pub review_sha256: Sha256Hex,
    /// What was asked about, in order.
    pub chunks: Vec<ChunkRecord>,
    /// Every call, in order, and what was left out.
    #[serde(flatten)]
    pub calls: Calls,
    /// Where each finding of the review came from, in the review's order.
    pub findings: Vec<Origin>,
    /// How many findings follow these in the review that were carried: an earlier run names their origin.
    #[serde(default)]
    pub carried: u32,
    /// Items of answers that were refused.
    pub rejected: Vec<RejectedItem>,
    /// What the second look did; empty if there was none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub second_look: Vec<SecondLooked>,
    /// How often a secret was taken out of the review.
    pub redacted: u64,
}

/// What was read, by hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Inputs {
    /// The commit that was read.
    pub head: CommitSha,
    /// The commit it was compared with.
    pub merge_base: CommitSha,
    /// SHA-256 of the diff's bytes.
    pub diff_sha256: Sha256Hex,
    /// How many they are.
    pub diff_bytes: u64,
    /// SHA-256 of the snapshot's description.
    pub meta_sha256: Sha256Hex,
    /// The commit that settings and rules were read at.
    pub rules_commit: CommitSha,
    /// SHA-256 of settings and rules as they were stored.
    pub rules_sha256: Sha256Hex,
    /// SHA-256 of the settings in force, as JSON.
    pub policy_sha256: Sha256Hex,
    /// The head's files, if they were at hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<StoredInput>,
    /// The last accepted review's findings, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior: Option<StoredInput>,
    /// Files whose changes the forge did not give.
    pub missing_files: u64,
}

/// An input that was read in parts, by the store's own tag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoredInput {
    /// Its key.
    pub key: String,
    /// The store's tag for exactly these bytes.
    pub etag: String,
    /// Its size.
    pub size_bytes: u64,
}

/// One chunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChunkRecord {
    /// Its number, from 1.
    pub chunk: u32,
    /// Its files. Untrusted.
    pub files: Vec<String>,
    /// What became of it.
    #[serde(flatten)]
    pub fate: Fate,
}

/// One call to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallRecord {
    /// Its number, which its reservation bears too.
    pub call: u32,
    /// The chunk it was about, from 1.
    pub chunk: u32,
    /// Which call of its conversation, from 1.
    pub turn: u32,
    /// What became of it.
    pub fate: CallFate,
    /// What it used.
    pub usage: Usage,
    /// What it cost.
    pub cost: PicoUsd,
    /// Why the model stopped, if it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
    /// The model as the provider names it, if it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The provider's id of the request, for its support.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// What it said. Untrusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<RecordedText>,
    /// What the model was told is wrong with it, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objection: Option<RecordedText>,
    /// What was looked up after it, in the order in which the model asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub look_ups: Vec<LookUpRecord>,
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CallFate {
    /// It was answered and paid by its usage.
    Answered,
    /// It was sent and its answer lost: paid in full.
    Lost,
    /// It certainly was not processed, and cost nothing.
    NotProcessed,
    /// A purse had too little left: it was not sent.
    NoMoney,
    /// Its number was taken by a process that died. The meter knows whether it was sent.
    Unknown,
}

impl CallFate {
    /// Returns what it means.
    pub const fn explain(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Lost => "sent, its answer was lost",
            Self::NotProcessed => "not processed by the provider",
            Self::NoMoney => "not sent: a purse had too little left",
            Self::Unknown => "of a process that died",
        }
    }
}

/// One call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LookUpRecord {
    /// The tool; nothing if the model named one that does not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Its arguments. Written by the model.
    pub arguments: RecordedText,
    /// How many bytes it brought.
    pub result_bytes: u64,
    /// SHA-256 of what it brought, which is not kept: it is the repository's.
    pub result_sha256: Sha256Hex,
    /// Whether it was refused.
    pub is_error: bool,
}

/// Where a finding came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    /// Which finding of the review, from 1.
    pub finding: u32,
    /// The chunk, from 1.
    pub chunk: u32,
    /// The call whose answer named it.
    pub call: u32,
}

/// An item of an answer that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RejectedItem {
    /// The chunk, from 1.
    pub chunk: u32,
    /// The call whose answer held it.
    pub call: u32,
    /// Which item of the answer, from 1.
    pub item: u32,
    /// What was wrong, in our own words.
    pub reason: String,
}

/// What the second look did to a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecondLooked {
    /// Which finding of the review, from 1.
    pub finding: u32,
    /// The call that looked.
    pub call: u32,
    /// What it made of it: `holds`, `overstated` or `wrong`.
    pub verdict: String,
    /// How bad it was called before.
    pub was: Severity,
}

/// Why a record cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Larger than any record.
    #[error("the record has {bytes} bytes, more than {MAX_RECORD_BYTES}")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// Not a record.
    #[error("the record cannot be read")]
    Json(#[source] serde_json::Error),
    /// Of another version.
    #[error("the record has a schema this program does not read; it reads {RUN_SCHEMA}")]
    Schema,
}

impl RunRecord {
    /// Reads a record.
    pub fn read(bytes: &[u8]) -> Result<Self, RecordError> {
        if bytes.len() > MAX_RECORD_BYTES {
            return Err(RecordError::TooLarge { bytes: bytes.len() });
        }
        let record: Self = serde_json::from_slice(bytes).map_err(RecordError::Json)?;
        if record.schema == RUN_SCHEMA {
            Ok(record)
        } else {
            Err(RecordError::Schema)
        }
    }

    /// Returns what all calls come to, those that were left out too.
    pub fn sums(&self) -> Sums {
        self.calls.sums()
    }
}
