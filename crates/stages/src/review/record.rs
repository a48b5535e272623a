//! Writes down what a review was made from, for the operator.
//!
//! **Invariant:** no review fails for want of its record, and nothing is decided by one.

use mirilla_domain::ids::sha256;
use mirilla_domain::money::{PicoUsd, Usage};
use mirilla_domain::prompt::PROMPT_VERSION;
use mirilla_domain::record::{
    CallFate, CallRecord, Calls, ChunkRecord, Inputs, LookUpRecord, MAX_ARGUMENTS_BYTES, Origin,
    RUN_SCHEMA, RecordedText, RejectedItem, RunRecord, StoredInput,
};
use mirilla_domain::redact::Redactor;
use mirilla_domain::snapshot::{Keys, StoredObject};
use mirilla_ports::model::{Answer, LookUp, StopReason};

use super::Reading;
use super::progress::{Collected, Progress};

/// Longest name of a provider's that is kept.
const MAX_NAME_BYTES: usize = 200;

/// Writes the record of a review whose file has these bytes. That it cannot be written is a line in the
/// log: an older collector does not grant it, and the review was paid for.
pub(super) async fn write(
    reading: &Reading<'_>,
    progress: &Progress,
    review: &[u8],
    redacted: u64,
) {
    let order = reading.order;
    let key = Keys::run(&order.job, order.attempt);
    let bytes = match serde_json::to_vec(&record(reading, progress, review, redacted)) {
        Ok(bytes) => bytes,
        Err(error) => {
            let error = mirilla_telemetry::chain(&error);
            tracing::warn!("the run's record cannot be made: {error}");
            return;
        }
    };
    if let Err(error) = reading.ports.artifacts.put(&key, &bytes).await {
        let error = mirilla_telemetry::chain(&error);
        tracing::warn!("the run's record is not kept: {error}");
    }
}

fn record(reading: &Reading<'_>, progress: &Progress, review: &[u8], redacted: u64) -> RunRecord {
    let (ports, order) = (reading.ports, reading.order);
    let model = ports.model.map(|model| model.id().to_owned());
    let collected = progress.collected();
    let (findings, rejected) = origins(&collected, &reading.settings.redactor);
    RunRecord {
        schema: RUN_SCHEMA.to_owned(),
        job: order.job.clone(),
        attempt: order.attempt,
        written_at: ports.clock.now(),
        inputs: inputs(reading),
        prompt_version: PROMPT_VERSION.to_owned(),
        model: model.unwrap_or_default(),
        review_sha256: sha256(review),
        chunks: chunks(reading, progress),
        calls: progress.record.clone(),
        findings,
        rejected,
        carried: count(
            reading
                .carry
                .chunks()
                .iter()
                .map(|one| one.findings.len())
                .sum(),
        ),
        second_look: collected.second_look,
        redacted,
    }
}

fn inputs(reading: &Reading<'_>) -> Inputs {
    let snapshot = reading.snapshot;
    let meta = &snapshot.meta;
    let stored = |object: &StoredObject| StoredInput {
        key: object.key.clone(),
        etag: object.etag.clone(),
        size_bytes: object.size_bytes,
    };
    // A policy is plain data: writing it down cannot fail.
    let policy = serde_json::to_vec(&snapshot.policy).unwrap_or_default();
    Inputs {
        head: meta.pull_request.head.clone(),
        merge_base: meta.merge_base.clone(),
        diff_sha256: meta.diff_sha256.clone(),
        diff_bytes: size(snapshot.diff.len()),
        meta_sha256: snapshot.meta_sha256.clone(),
        rules_commit: meta.rules_commit.clone(),
        rules_sha256: snapshot.rules_sha256.clone(),
        policy_sha256: sha256(&policy),
        archive: meta.archive.as_ref().map(stored),
        prior: meta.prior.as_ref().map(stored),
        missing_files: size(meta.missing.len()),
    }
}

/// Returns the chunks whose fate is decided; the others were never asked about.
fn chunks(reading: &Reading<'_>, progress: &Progress) -> Vec<ChunkRecord> {
    let planned = reading.plan.chunks.iter().enumerate();
    planned
        .filter_map(|(at, chunk)| {
            let files = chunk.files.iter().map(|file| file.path.clone());
            Some(ChunkRecord {
                chunk: number(at),
                files: files.collect(),
                fate: progress.done(at)?.fate.clone(),
            })
        })
        .collect()
}

/// Returns where findings and refused items came from, in the order in which the review lists them.
fn origins(collected: &Collected, redactor: &Redactor) -> (Vec<Origin>, Vec<RejectedItem>) {
    let findings = collected.findings.iter().enumerate();
    let origins = findings.map(|(at, found)| Origin {
        finding: number(at),
        chunk: number(found.chunk),
        call: found.call,
    });
    let rejected = collected.rejected.iter().map(|refused| RejectedItem {
        chunk: number(refused.chunk),
        call: refused.call,
        item: refused.what.item,
        reason: redactor.redact(&refused.what.reason).text,
    });
    (origins.collect(), rejected.collect())
}

/// Returns what a call's record says of its answer; number, fate and price are the caller's to fill in.
pub(super) fn call(calls: &mut Calls, redactor: &Redactor, answer: Option<&Answer>) -> CallRecord {
    let name = |text: &str| RecordedText::of(text, MAX_NAME_BYTES, redactor).text;
    CallRecord {
        call: 0,
        chunk: 0,
        turn: 0,
        fate: CallFate::Unknown,
        usage: Usage::default(),
        cost: PicoUsd::ZERO,
        stop: answer.map(|answer| name(&stopped(&answer.stop))),
        model: answer.map(|answer| name(&answer.model)),
        request_id: answer.map(|answer| name(&answer.request_id)),
        answer: answer.map(|answer| calls.answer(&answer.text, redactor)),
        objection: None,
        look_ups: Vec::new(),
    }
}

/// Returns what is kept of a look-up: what it brought is the repository's, and only its hash is kept.
pub(super) fn look_up(redactor: &Redactor, look_up: &LookUp<'_>) -> LookUpRecord {
    let result = look_up.output.text.as_bytes();
    LookUpRecord {
        tool: look_up.tool.map(ToOwned::to_owned),
        arguments: RecordedText::of(&look_up.input.to_string(), MAX_ARGUMENTS_BYTES, redactor),
        result_bytes: size(result.len()),
        result_sha256: sha256(result),
        is_error: look_up.output.is_error,
    }
}

/// Returns what is kept of what the model was told is wrong with its answer.
pub(super) fn objection(redactor: &Redactor, text: &str) -> RecordedText {
    RecordedText::of(text, MAX_ARGUMENTS_BYTES, redactor)
}

fn stopped(stop: &StopReason) -> String {
    match stop {
        StopReason::EndTurn => "end-turn".to_owned(),
        StopReason::MaxTokens => "max-tokens".to_owned(),
        StopReason::ContextExceeded => "context-exceeded".to_owned(),
        StopReason::Refusal(None) => "refusal".to_owned(),
        StopReason::Refusal(Some(category)) => format!("refusal: {category}"),
        StopReason::ToolUse => "tool-use".to_owned(),
        StopReason::Paused => "paused".to_owned(),
        StopReason::Other(name) => format!("other: {name}"),
    }
}

/// Returns an index as people count.
pub(super) fn number(at: usize) -> u32 {
    count(at).saturating_add(1)
}

fn count(many: usize) -> u32 {
    u32::try_from(many).unwrap_or(u32::MAX)
}

fn size(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
