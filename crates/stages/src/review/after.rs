//! What is asked when all chunks are answered: whether the change does what its author says, and whether
//! what was found holds.
//!
//! The author's words come only now, because told that a change is safe, reviewers find less. Neither
//! question makes a file `reviewed` or fails a review: without an answer everything stays as it was found.
//!
//! **Invariant:** the first can only add findings, the second can only lower them, and a critical or high one
//! stays that.

use mirilla_domain::answer::second_look;
use mirilla_domain::prompt::{
    self, Description, IntentPrompt, MAX_LOOKED_AT, Question, SecondLookPrompt,
};
use mirilla_domain::review::{Fate, Finding};
use mirilla_domain::settings::PrDescription;
use mirilla_ports::model::{Answer, Limits, StopReason};
use mirilla_ports::tools::{NoTools, Toolbox};

use super::Reading;
use super::asking::{Asking, Called, Judge};
use super::progress::{ChunkResult, Intent, Progress, SecondLook};
use crate::error::StageError;

impl Reading<'_> {
    /// Asks both questions, as far as the policy has them and there is something to ask about.
    pub(super) async fn look_back(&self, progress: &mut Progress) -> Result<(), StageError> {
        let is_read = progress
            .chunks
            .values()
            .any(|done| done.fate == Fate::Reviewed);
        if is_read && progress.intent.is_none() {
            self.compare_with_intent(progress).await?;
        }
        if self.snapshot.policy.verify && progress.second_look.is_none() {
            self.look_again(progress).await?;
        }
        Ok(())
    }

    async fn compare_with_intent(&self, progress: &mut Progress) -> Result<(), StageError> {
        let pull_request = &self.snapshot.meta.pull_request;
        let policy = &self.snapshot.policy;
        let is_blank = pull_request.description.trim().is_empty();
        if policy.pr_description != PrDescription::After || is_blank {
            return Ok(());
        }
        let question = prompt::intent_question(&IntentPrompt {
            description: Description {
                title: &pull_request.title,
                text: &pull_request.description,
            },
            plan: self.whole,
            files: self.files,
            rules: &self.shared.rules,
            language: policy.language.as_deref(),
            nonce: &self.nonce,
            tokens: policy.chunk_tokens,
            max_tokens: policy.max_tokens,
        });
        let judge = |answer: &Answer| self.parse(answer).err().and_then(|unusable| unusable.again);
        let mut result = ChunkResult::default();
        let label = "stated intent";
        let at = self.plan.chunks.len();
        // The tools are named, so that the question's beginning is read from the cache, and not used.
        let asked = Extra {
            label,
            at,
            tools: self.eyes,
        };
        let answer = self
            .extra(progress, &mut result, asked, &question, &judge)
            .await?;
        let Some(parsed) = answer.and_then(|answer| self.parse(&answer).ok()) else {
            return Ok(());
        };
        let found = parsed.findings.len();
        result.take(parsed, progress.calls);
        (self.ports.note)(&format!("{label} cost={} findings={found}", result.cost));
        progress.intent = Some(Intent { at, result });
        progress.save(self.ports.artifacts, &self.order.job).await
    }

    async fn look_again(&self, progress: &mut Progress) -> Result<(), StageError> {
        let found = progress
            .found()
            .findings
            .into_iter()
            .map(|found| found.what);
        let candidates: Vec<Finding> = found.collect();
        if candidates.is_empty() {
            return Ok(());
        }
        let question = prompt::second_look_question(&SecondLookPrompt {
            findings: &candidates,
            files: self.files,
            nonce: &self.nonce,
            max_tokens: self.snapshot.policy.max_tokens,
        });
        let count = candidates.len().min(MAX_LOOKED_AT);
        let verdicts = |answer: &Answer| match answer.stop {
            StopReason::EndTurn | StopReason::Other(_) => {
                second_look::verdicts(&answer.text, count).map_err(|error| Some(error.again()))
            }
            _ => Err(None),
        };
        let judge = |answer: &Answer| verdicts(answer).err().flatten();
        let mut result = ChunkResult::default();
        let label = "second look";
        let at = self.plan.chunks.len().saturating_add(1);
        let asked = Extra {
            label,
            at,
            tools: &NoTools,
        };
        let answer = self
            .extra(progress, &mut result, asked, &question, &judge)
            .await?;
        let Some(opinions) = answer.and_then(|answer| verdicts(&answer).ok()) else {
            return Ok(());
        };
        progress.second_look = Some(SecondLook {
            call: progress.calls,
            opinions,
        });
        let kept = progress.collected();
        (self.ports.note)(&format!(
            "{label} cost={} kept={} doubted={} removed={}",
            result.cost,
            kept.findings.len(),
            kept.findings
                .iter()
                .filter(|found| found.what.doubted)
                .count(),
            candidates.len().saturating_sub(kept.findings.len()),
        ));
        progress.save(self.ports.artifacts, &self.order.job).await
    }

    /// Asks a question without which the review is whole, once; what stands in its way is a line for the
    /// person who watches.
    async fn extra(
        &self,
        progress: &mut Progress,
        result: &mut ChunkResult,
        asked: Extra<'_>,
        question: &Question,
        judge: Judge<'_>,
    ) -> Result<Option<Answer>, StageError> {
        let Some(model) = self.ports.model else {
            return Ok(None);
        };
        let asking = Asking {
            tools: asked.tools,
            limits: Limits {
                turns: 1,
                ..Limits::default()
            },
            ..self.asking(model, asked.at, asked.label)
        };
        let why = match asking.ask(progress, result, question, judge).await? {
            Called::Answered(answer) => return Ok(Some(answer)),
            Called::NoMoney {
                left, cap, needed, ..
            } => {
                format!("skipped: {left} left of {cap}, the call could cost {needed}")
            }
            Called::TooLong => "skipped: too long for the model".to_owned(),
            Called::Lost => "lost: its answer did not arrive".to_owned(),
            Called::Unavailable { .. } => "skipped: the model is not available".to_owned(),
            Called::Rejected { text, .. } => format!("rejected by the model's provider: {text}"),
            Called::Stop(_) => "skipped: no time left, or another head is the newest".to_owned(),
        };
        (self.ports.note)(&format!("{} {why}", asked.label));
        Ok(None)
    }
}

/// A question beside those about chunks.
struct Extra<'q> {
    /// What lines for a person begin with.
    label: &'q str,
    /// Its number in the record, after the chunks'.
    at: usize,
    /// The tools it names.
    tools: &'q dyn Toolbox,
}
