//! Models of an evaluation: one that writes down what another says, and one that says it again.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use async_trait::async_trait;
use mirilla_domain::ids::{Sha256Hex, sha256};
use mirilla_domain::prompt::PROMPT_VERSION;
use mirilla_ports::model::{
    Answer, CallGate, Conversation, Go, LookUp, NextCall, StopReason, Stopped, Unanswered,
};
use mirilla_ports::{Clock, Model, ModelError};

use super::answers::{RecordedCall, Recording};
use crate::failure::Failure;

/// Writes down what a model says.
pub(super) struct Recorder<'a> {
    inner: &'a dyn Model,
    clock: &'a dyn Clock,
    diff: Sha256Hex,
    recordings: Mutex<Vec<Recording>>,
}

impl<'a> Recorder<'a> {
    /// Listens to a model that is asked about a diff.
    pub(super) fn new(inner: &'a dyn Model, clock: &'a dyn Clock, diff: &[u8]) -> Self {
        Self {
            inner,
            clock,
            diff: sha256(diff),
            recordings: Mutex::default(),
        }
    }

    /// Returns the conversations in which something was said, in order.
    pub(super) fn into_recordings(self) -> Vec<Recording> {
        self.recordings
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Model for Recorder<'_> {
    fn id(&self) -> &str {
        self.inner.id()
    }

    async fn converse(&self, conversation: Conversation<'_>) -> Result<Answer, Unanswered> {
        let mut tap = Tap {
            gate: conversation.gate,
            calls: Vec::new(),
        };
        let began = self.clock.now();
        let answered = self
            .inner
            .converse(Conversation {
                gate: &mut tap,
                ..conversation
            })
            .await;
        if !tap.calls.is_empty() {
            let took = self.clock.now().since(began).as_millis();
            let millis = u64::try_from(took).unwrap_or(u64::MAX);
            let recording = Recording::new(self.inner.id(), self.diff.clone(), millis, tap.calls);
            self.recordings
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(recording);
        }
        answered
    }
}

/// Sees each call that was answered, and leaves everything else to the caller's own gate.
struct Tap<'g> {
    gate: &'g mut dyn CallGate,
    calls: Vec<RecordedCall>,
}

#[async_trait]
impl CallGate for Tap<'_> {
    async fn before(&mut self, call: &NextCall) -> Result<Go, Stopped> {
        self.gate.before(call).await
    }

    async fn after(&mut self, outcome: Result<&Answer, &ModelError>) -> Result<(), Stopped> {
        if let Ok(answer) = outcome {
            self.calls.push(answer.into());
        }
        self.gate.after(outcome).await
    }

    fn looked_up(&mut self, look_up: &LookUp<'_>) {
        self.gate.looked_up(look_up);
    }

    fn objection(&mut self, answer: &Answer) -> Option<String> {
        self.gate.objection(answer)
    }
}

/// Says again what was recorded, conversation after conversation.
///
/// Everything around the answers is done as if they came now: money is set aside and booked at the
/// recorded usage, and answers are checked.
pub(super) struct Replay<'a> {
    recordings: &'a [Recording],
    model: &'a str,
    next: AtomicUsize,
}

impl<'a> Replay<'a> {
    /// Takes the recordings of one change; there is at least one, and one model gave them all.
    pub(super) fn new(recordings: &'a [Recording]) -> Result<Self> {
        let model = recordings
            .first()
            .map(|one| one.model.as_str())
            .unwrap_or_default();
        if let Some(other) = recordings.iter().find(|one| one.model != model) {
            return Err(Failure::new(format!(
                "one change has answers of two models, {model} and {}",
                other.model
            ))
            .hint("record it again with `mirilla eval DIR --ask --record`")
            .into());
        }
        Ok(Self {
            recordings,
            model,
            next: AtomicUsize::new(0),
        })
    }

    /// Returns how long the recorded conversations took.
    pub(super) fn millis(&self) -> u64 {
        self.recordings.iter().map(|one| one.millis).sum()
    }

    /// Returns why the recording is not of the questions that were asked.
    pub(super) fn misfit(&self, diff: &[u8]) -> Option<String> {
        let diff = sha256(diff);
        if self.recordings.iter().any(|one| one.diff_sha256 != diff) {
            return Some("it answers questions about another diff".to_owned());
        }
        let asked = self.next.load(Ordering::Relaxed);
        let there = self.recordings.len();
        if asked != there {
            return Some(format!(
                "{asked} conversations were asked for and {there} are recorded"
            ));
        }
        let other = (self.recordings.iter()).find(|one| one.prompt_version != PROMPT_VERSION)?;
        Some(format!(
            "it answers version {} of the prompt, which is at {PROMPT_VERSION}",
            other.prompt_version
        ))
    }
}

#[async_trait]
impl Model for Replay<'_> {
    fn id(&self) -> &str {
        self.model
    }

    async fn converse(&self, conversation: Conversation<'_>) -> Result<Answer, Unanswered> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        let calls = self.recordings.get(at).map(|one| one.calls.as_slice());
        say(self.model, conversation, calls.unwrap_or_default()).await
    }
}

/// Says `calls` one after the other, through the gate as a model that is asked would.
pub(super) async fn say(
    model: &str,
    conversation: Conversation<'_>,
    calls: &[RecordedCall],
) -> Result<Answer, Unanswered> {
    let mut last = None;
    for (turn, call) in (1_u32..).zip(calls) {
        let next = NextCall {
            turn,
            bytes: conversation.question.bytes(),
            max_tokens: conversation.question.max_tokens,
            last: call.stop != StopReason::ToolUse,
            next_bytes: conversation.question.bytes(),
        };
        conversation.gate.before(&next).await?;
        let answer = Answer {
            text: call.text.clone(),
            stop: call.stop.clone(),
            usage: call.usage,
            model: model.to_owned(),
            request_id: "recorded".to_owned(),
        };
        conversation.gate.after(Ok(&answer)).await?;
        last = Some(answer);
    }
    last.ok_or_else(|| {
        Unanswered::Model(ModelError::Rejected {
            status: 0,
            kind: "not-recorded".to_owned(),
            hint: "record the answers again",
        })
    })
}
