//! One chunk: asked about until there is an answer that counts, or none will come.
//!
//! **Invariant:** what is no whole answer by its own account makes no file `reviewed`, however its text may
//! look.

use mirilla_domain::answer;
use mirilla_domain::chunk::Chunk;
use mirilla_domain::code::FailReason;
use mirilla_domain::prompt::{self, ChunkPrompt, Question};
use mirilla_domain::review::Fate;
use mirilla_ports::Model;
use mirilla_ports::model::{Answer, Limits, StopReason};

use super::asking::{self, Asking, Called};
use super::carried::shown_description;
use super::progress::{ChunkResult, Progress};
use super::{Reading, Stop, about, record};
use crate::error::StageError;

/// A chunk the model finds too long is cut in halves at most this often.
const MAX_HALVINGS: u32 = 4;
/// How many conversations there are about a chunk without an answer that can be used.
const ROUNDS: u32 = 2;

impl Reading<'_> {
    /// Asks about one chunk until there is an answer that counts or none will come.
    pub(super) async fn chunk(
        &self,
        progress: &mut Progress,
        at: usize,
        chunk: &Chunk,
    ) -> Result<Result<Fate, Stop>, StageError> {
        let label = format!("chunk {}/{}", at.saturating_add(1), self.plan.chunks.len());
        let mut open = vec![(chunk.clone(), 0_u32)];
        let mut result = ChunkResult::default();
        while let Some((part, halvings)) = open.pop() {
            match self.part(progress, at, &label, &part, &mut result).await? {
                Answered::Fine => {}
                Answered::TooLong => {
                    match part.halves(self.files).filter(|_| halvings < MAX_HALVINGS) {
                        Some([first, second]) => {
                            let halvings = halvings.saturating_add(1);
                            open.push((second, halvings));
                            open.push((first, halvings));
                        }
                        None => result.fate = Some(Fate::Failed(FailReason::PromptTooLong)),
                    }
                }
                Answered::Failed(reason) => result.fate = Some(Fate::Failed(reason)),
                Answered::Stop(stop) => return Ok(Err(stop)),
            }
        }
        result.looked_up = self.eyes.take_seen();
        let fate = result.fate.clone().unwrap_or(Fate::Reviewed);
        if let Fate::Failed(reason) = &fate {
            (self.ports.note)(&format!("{label} failed: {}", reason.explain()));
        } else {
            (self.ports.note)(&format!(
                "{label} in={} out={} cost={} findings={}",
                result.usage.total_input(),
                result.usage.output_tokens,
                result.cost,
                result.findings.len()
            ));
        }
        progress.finish(at, fate.clone(), result);
        progress.save(self.ports.artifacts, &self.order.job).await?;
        Ok(Ok(fate))
    }

    /// Asks about a chunk or a part of one: once, once more with what is wrong with the answer, and once
    /// more from nothing.
    async fn part(
        &self,
        progress: &mut Progress,
        at: usize,
        label: &str,
        part: &Chunk,
        result: &mut ChunkResult,
    ) -> Result<Answered, StageError> {
        let Some(model) = self.ports.model else {
            return Ok(Answered::Failed(FailReason::ModelUnavailable));
        };
        let asking = self.asking(model, at, label);
        let question = self.question(part);
        let judge = |answer: &Answer| self.parse(answer).err().and_then(|unusable| unusable.again);
        let mut failure = FailReason::EmptyAnswer;
        for round in 0..ROUNDS {
            let judge: asking::Judge<'_> = if round == 0 { &judge } else { &|_| None };
            failure = match asking.ask(progress, result, &question, judge).await? {
                Called::Answered(answer) => match self.parse(&answer) {
                    Ok(parsed) => {
                        result.take(parsed, progress.calls);
                        return Ok(Answered::Fine);
                    }
                    Err(Unusable {
                        then: Then::Halve, ..
                    }) => return Ok(Answered::TooLong),
                    Err(Unusable {
                        then: Then::GiveUp(reason),
                        ..
                    }) => {
                        return Ok(Answered::Failed(reason));
                    }
                    Err(Unusable {
                        then: Then::Repeat(reason),
                        ..
                    }) => reason,
                },
                Called::NoMoney {
                    why,
                    left,
                    cap,
                    needed,
                } => {
                    (self.ports.note)(&format!(
                        "{label} skipped: {left} left of {cap}, the next call could cost {needed}"
                    ));
                    return Ok(Answered::Stop(Stop::Rest(Fate::Skipped(why))));
                }
                Called::TooLong => return Ok(Answered::TooLong),
                Called::Lost => FailReason::AnswerLost,
                Called::Unavailable { .. } if self.order.last_try => {
                    return Ok(Answered::Stop(Stop::Rest(Fate::Failed(
                        FailReason::ModelUnavailable,
                    ))));
                }
                Called::Unavailable { after } => {
                    return Ok(Answered::Stop(Stop::Later(StageError::ModelUnavailable {
                        after,
                    })));
                }
                Called::Rejected { text, midway: true } => {
                    (self.ports.note)(&format!(
                        "{label} broken off by the model's provider: {text}"
                    ));
                    FailReason::ModelRejected
                }
                Called::Rejected { text, .. } => {
                    (self.ports.note)(&format!("{label} rejected by the model's provider: {text}"));
                    return Ok(Answered::Stop(Stop::Rest(Fate::Failed(
                        FailReason::ModelRejected,
                    ))));
                }
                Called::Stop(stop) => return Ok(Answered::Stop(stop)),
            };
        }
        Ok(Answered::Failed(failure))
    }

    /// Returns how a question about a chunk is asked.
    pub(super) fn asking<'q>(
        &'q self,
        model: &'q dyn Model,
        at: usize,
        label: &'q str,
    ) -> Asking<'q> {
        Asking {
            about: about(self.order, self.snapshot),
            ports: self.ports,
            settings: self.settings,
            order: self.order,
            model,
            tools: self.eyes,
            limits: Limits {
                turns: self.snapshot.policy.max_turns,
                ..Limits::default()
            },
            deadline: self.deadline,
            chunk: record::number(at),
            label,
            must_stop: self,
        }
    }

    /// Reads what ended a conversation. Whatever is no whole answer by its own account is none, however
    /// its text may look.
    pub(super) fn parse(&self, answer: &Answer) -> Result<answer::Answered, Unusable> {
        let then = match answer.stop {
            StopReason::Refusal(_) => Then::GiveUp(FailReason::Refusal),
            StopReason::MaxTokens => Then::Repeat(FailReason::Truncated),
            StopReason::ContextExceeded => Then::Halve,
            StopReason::ToolUse | StopReason::Paused => Then::Repeat(FailReason::EmptyAnswer),
            StopReason::EndTurn | StopReason::Other(_) => {
                return answer::read(&answer.text, self.files).map_err(|error| Unusable {
                    then: Then::Repeat(error.fail_reason()),
                    again: Some(error.again()),
                });
            }
        };
        Err(Unusable { then, again: None })
    }

    fn question(&self, part: &Chunk) -> Question {
        prompt::chunk_question(&ChunkPrompt {
            chunk: part,
            plan: self.plan,
            files: self.files,
            rules: &self.shared.rules,
            language: self.snapshot.policy.language.as_deref(),
            description: shown_description(self.snapshot),
            nonce: &self.nonce,
            max_tokens: self.snapshot.policy.max_tokens,
        })
    }
}

/// An answer that says nothing about the code.
pub(super) struct Unusable {
    then: Then,
    /// What to tell the model, if telling it may help.
    pub(super) again: Option<String>,
}

/// What follows from an answer that cannot be used.
enum Then {
    /// The chunk is asked about once more, and fails for this reason after that.
    Repeat(FailReason),
    /// It is cut in two.
    Halve,
    /// It fails at once.
    GiveUp(FailReason),
}

/// What became of one question.
enum Answered {
    /// Its answer is in the result.
    Fine,
    /// It is too long for the model.
    TooLong,
    /// There is no answer that counts.
    Failed(FailReason),
    /// The run cannot go on.
    Stop(Stop),
}
