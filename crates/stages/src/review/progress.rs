//! The reviewer's own checkpoint: answers that were paid for are not asked for again.
//!
//! **Invariant:** it is written after every answer and before the money for it is settled, so a kill
//! in between loses neither.

use std::collections::{BTreeMap, BTreeSet};

use mirilla_domain::answer::Answered;
use mirilla_domain::answer::second_look::{self, Opinion};
use mirilla_domain::carry::SeenFile;
use mirilla_domain::ids::{JobId, Sha256Hex};
use mirilla_domain::money::{PicoUsd, Usage};
use mirilla_domain::prompt::PROMPT_VERSION;
use mirilla_domain::record::{Calls, SecondLooked};
use mirilla_domain::review::{Fate, Finding, Rejected};
use mirilla_domain::snapshot::Keys;
use mirilla_ports::{ArtifactError, Artifacts, Meter, MeterError};
use serde::{Deserialize, Serialize};

use super::record;
use super::snapshot::read_json;
use crate::error::StageError;

/// What is known of one chunk.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct ChunkResult {
    /// What became of it, once that is decided.
    pub(super) fate: Option<Fate>,
    /// What was found.
    pub(super) findings: Vec<Finding>,
    /// What was refused of the answers.
    pub(super) rejected: Vec<Rejected>,
    /// What the model says of it.
    pub(super) summary: String,
    /// Tokens of its calls.
    pub(super) usage: Usage,
    /// Cost of its calls.
    pub(super) cost: PicoUsd,
    /// How often its calls looked something up.
    #[serde(default)]
    pub(super) tool_calls: u32,
    /// What its calls were shown of other files.
    #[serde(default)]
    pub(super) looked_up: Vec<SeenFile>,
    /// The call that named each finding.
    #[serde(default)]
    pub(super) named_by: Vec<u32>,
    /// The call whose answer held each refused item.
    #[serde(default)]
    pub(super) refused_by: Vec<u32>,
}

impl ChunkResult {
    /// Adds what the answer to a call says.
    pub(super) fn take(&mut self, parsed: Answered, call: u32) {
        self.findings.extend(parsed.findings);
        self.rejected.extend(parsed.rejected);
        self.named_by.resize(self.findings.len(), call);
        self.refused_by.resize(self.rejected.len(), call);
        if self.summary.is_empty() {
            self.summary = parsed.summary;
        }
    }
}

/// A chunk whose fate is decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Done {
    /// What became of it.
    pub(super) fate: Fate,
    /// What is known of it.
    pub(super) result: ChunkResult,
}

/// The checkpoint of one job, over all its tries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// The diff it is about.
    diff_sha256: Sha256Hex,
    /// The prompt it was asked with.
    prompt_version: String,
    /// What identifies its questions: plan, model, rules and settings.
    #[serde(default)]
    asked: Option<Sha256Hex>,
    /// Calls made, which also number the reservations.
    pub(super) calls: u32,
    /// How often something was looked up.
    #[serde(default)]
    pub(super) tool_calls: u32,
    /// Tokens of all calls that were answered.
    pub(super) usage: Usage,
    /// Cost of all calls, lost ones included.
    pub(super) cost: PicoUsd,
    /// Calls whose answer is here and whose reservation may still be open.
    open: BTreeMap<String, PicoUsd>,
    /// Decided chunks, by index.
    pub(super) chunks: BTreeMap<usize, Done>,
    /// What the question about the stated intent found, once it is answered.
    #[serde(default)]
    pub(super) intent: Option<Intent>,
    /// What the second look says, once it is answered.
    #[serde(default)]
    pub(super) second_look: Option<SecondLook>,
    /// Every call, for the record.
    #[serde(default)]
    pub(super) record: Calls,
}

/// The answer about the stated intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Intent {
    /// Its number, after the chunks'.
    pub(super) at: usize,
    /// What it says.
    pub(super) result: ChunkResult,
}

/// The answer of the second look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SecondLook {
    /// The call that gave it.
    pub(super) call: u32,
    /// Its verdicts, on findings in the order in which they were found.
    pub(super) opinions: Vec<Opinion>,
}

/// Something that an answer named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct From<T> {
    /// What it is.
    pub(super) what: T,
    /// Which chunk it is of, by index.
    pub(super) chunk: usize,
    /// The call whose answer named it.
    pub(super) call: u32,
}

/// Everything that was found, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Collected {
    /// What is reported.
    pub(super) findings: Vec<From<Finding>>,
    /// What was refused, by us or by the second look.
    pub(super) rejected: Vec<From<Rejected>>,
    /// What the model says of the change.
    pub(super) summary: String,
    /// What the second look made of the findings that are left.
    pub(super) second_look: Vec<SecondLooked>,
    /// The chunks in which it changed something.
    pub(super) altered: BTreeSet<usize>,
}

impl Progress {
    /// Reads a job's checkpoint; an empty one if there is none for exactly this diff and these questions.
    pub(super) async fn load(
        artifacts: &dyn Artifacts,
        job: &JobId,
        diff_sha256: &Sha256Hex,
        asked: &Sha256Hex,
    ) -> Result<Self, StageError> {
        let empty = Self {
            diff_sha256: diff_sha256.clone(),
            prompt_version: PROMPT_VERSION.to_owned(),
            asked: Some(asked.clone()),
            calls: 0,
            tool_calls: 0,
            usage: Usage::default(),
            cost: PicoUsd::ZERO,
            open: BTreeMap::new(),
            chunks: BTreeMap::new(),
            intent: None,
            second_look: None,
            record: Calls::default(),
        };
        match read_json::<Self>(artifacts, &Keys::progress(job), "checkpoint").await {
            Ok(found)
                if found.diff_sha256 == empty.diff_sha256
                    && found.prompt_version == empty.prompt_version
                    && found.asked == empty.asked =>
            {
                Ok(found)
            }
            // Answers to other questions do not count; that calls were made and paid does.
            Ok(found) => Ok(Self {
                calls: found.calls,
                tool_calls: found.tool_calls,
                usage: found.usage,
                cost: found.cost,
                open: found.open,
                record: found.record,
                ..empty
            }),
            Err(
                StageError::Artifact(ArtifactError::NotFound { .. }) | StageError::BadObject { .. },
            ) => Ok(empty),
            Err(error) => Err(error),
        }
    }

    /// Writes the checkpoint.
    pub(super) async fn save(
        &self,
        artifacts: &dyn Artifacts,
        job: &JobId,
    ) -> Result<(), StageError> {
        let bytes = serde_json::to_vec(self).map_err(|error| StageError::BadObject {
            what: "checkpoint",
            reason: error.to_string(),
        })?;
        artifacts.put(&Keys::progress(job), &bytes).await?;
        Ok(())
    }

    /// Settles calls whose answers were kept and whose money was not booked before a crash.
    pub(super) async fn settle_open(&mut self, meter: &dyn Meter) -> Result<(), StageError> {
        for (id, cost) in std::mem::take(&mut self.open) {
            match meter.settle(&id, cost).await {
                Ok(()) | Err(MeterError::NotOpen { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Notes a call whose answer is known and whose reservation is about to be settled.
    pub(super) fn answered(&mut self, id: &str, usage: Usage, cost: PicoUsd) {
        self.usage = self.usage.plus(&usage);
        self.cost = self.cost.plus(cost);
        self.open.insert(id.to_owned(), cost);
    }

    /// Notes that a call's reservation is settled.
    pub(super) fn settled(&mut self, id: &str) {
        self.open.remove(id);
    }

    /// Returns a chunk whose fate is decided.
    pub(super) fn done(&self, at: usize) -> Option<&Done> {
        self.chunks.get(&at)
    }

    /// Decides a chunk's fate.
    pub(super) fn finish(&mut self, at: usize, fate: Fate, result: ChunkResult) {
        self.chunks.insert(at, Done { fate, result });
    }

    /// Returns everything that was found, in the order of the chunks, after the second look.
    pub(super) fn collected(&self) -> Collected {
        let mut collected = self.found();
        let Some(look) = &self.second_look else {
            return collected;
        };
        let candidates = std::mem::take(&mut collected.findings);
        let findings = candidates.iter().map(|found| found.what.clone());
        let looked = second_look::apply(findings.collect(), &look.opinions);
        let mut left = looked.findings.into_iter();
        for (number, candidate) in (1_u32..).zip(candidates) {
            if let Some(removed) = looked.removed.iter().find(|one| one.item == number) {
                collected.altered.insert(candidate.chunk);
                collected.rejected.push(From {
                    what: removed.clone(),
                    chunk: candidate.chunk,
                    call: candidate.call,
                });
                continue;
            }
            let opinion = look
                .opinions
                .iter()
                .find(|opinion| u32::try_from(opinion.item) == Ok(number));
            if let Some(opinion) = opinion {
                collected.second_look.push(SecondLooked {
                    finding: record::number(collected.findings.len()),
                    call: look.call,
                    verdict: opinion.verdict.as_str().to_owned(),
                    was: candidate.what.severity,
                });
            }
            let what = left.next().unwrap_or_else(|| candidate.what.clone());
            if what != candidate.what {
                collected.altered.insert(candidate.chunk);
            }
            collected.findings.push(From { what, ..candidate });
        }
        collected
    }

    /// Returns what the answers named, before the second look.
    pub(super) fn found(&self) -> Collected {
        let mut collected = Collected::default();
        let chunks = self.chunks.iter().map(|(at, done)| (*at, &done.result));
        let intent = self.intent.iter().map(|intent| (intent.at, &intent.result));
        for (chunk, result) in chunks.chain(intent) {
            let calls = result.named_by.iter().copied().chain(std::iter::repeat(0));
            let named = result.findings.iter().cloned().zip(calls);
            collected
                .findings
                .extend(named.map(|(what, call)| From { what, chunk, call }));
            let calls = result
                .refused_by
                .iter()
                .copied()
                .chain(std::iter::repeat(0));
            let refused = result.rejected.iter().cloned().zip(calls);
            collected
                .rejected
                .extend(refused.map(|(what, call)| From { what, chunk, call }));
        }
        let done = self
            .chunks
            .values()
            .map(|done| done.result.summary.as_str());
        let summaries: Vec<&str> = done.filter(|summary| !summary.is_empty()).collect();
        collected.summary = summaries.join(" ");
        collected
    }
}
