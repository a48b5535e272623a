//! One question to the model, from its first call to its answer.
//!
//! A question without tools is a conversation of one call, so there is one way of asking. The tools are
//! named in every question about a chunk, and in the one about the stated intent, which begins with the
//! same words and reads them from the provider's cache; there they cannot be used. The second look has
//! instructions and an answer's form of its own, shares no beginning with the others, and names none.

use std::time::Duration;

use mirilla_domain::code::SkipReason;
use mirilla_domain::ids::Timestamp;
use mirilla_domain::money::PicoUsd;
use mirilla_domain::prompt::Question;
use mirilla_domain::signal::{About, Signal};
use mirilla_ports::model::{Answer, Conversation, Limits, Unanswered};
use mirilla_ports::tools::Toolbox;
use mirilla_ports::{Model, ModelError};

use super::books::Books;
use super::progress::{ChunkResult, Progress};
use super::{ReviewOrder, ReviewPorts, ReviewSettings, Stop};
use crate::error::StageError;

/// First pause while a model is not available; doubles with every receipt of the message.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
/// Longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(320);

/// Everything a question needs beside its text.
pub(super) struct Asking<'a> {
    pub(super) about: About,
    pub(super) ports: ReviewPorts<'a>,
    pub(super) settings: &'a ReviewSettings,
    pub(super) order: &'a ReviewOrder,
    pub(super) model: &'a dyn Model,
    pub(super) tools: &'a dyn Toolbox,
    pub(super) limits: Limits,
    pub(super) deadline: Timestamp,
    /// The chunk's number, from 1.
    pub(super) chunk: u32,
    /// What the lines for a person begin with.
    pub(super) label: &'a str,
    /// Says why no further call may be made now.
    pub(super) must_stop: &'a dyn MustStop,
}

/// Whether the run has to end.
#[async_trait::async_trait]
pub(super) trait MustStop: Sync {
    /// Returns why no further call may be made now.
    async fn must_stop(&self) -> Result<Option<Stop>, StageError>;
}

/// Says what is wrong with an answer, in words for the model.
pub(super) type Judge<'a> = &'a (dyn Fn(&Answer) -> Option<String> + Sync);

/// What became of a question.
pub(super) enum Called {
    /// There is an answer; all calls are paid.
    Answered(Answer),
    /// A purse has too little left for the next call; it was not sent.
    NoMoney {
        /// Why what this was about is not read.
        why: SkipReason,
        /// What is left.
        left: PicoUsd,
        /// The purse's cap.
        cap: PicoUsd,
        /// What the call could cost.
        needed: PicoUsd,
    },
    /// The prompt is too long; its last call is not charged.
    TooLong,
    /// The answer was lost; booked in full.
    Lost,
    /// The model is not available; its last call is not charged.
    Unavailable {
        /// When to try again.
        after: Duration,
    },
    /// The provider refuses; its last call is not charged.
    Rejected {
        /// Why, in our own words.
        text: String,
        /// Whether it had answered earlier calls of the same conversation: then it is this conversation
        /// that it refuses, and not us.
        midway: bool,
    },
    /// The run has to end.
    Stop(Stop),
}

impl Asking<'_> {
    /// Asks, lets the model look things up, and returns its answer. If `judge` objects to it, the model is
    /// told so and asked once more.
    pub(super) async fn ask(
        &self,
        progress: &mut Progress,
        result: &mut ChunkResult,
        question: &Question,
        judge: Judge<'_>,
    ) -> Result<Called, StageError> {
        let mut books = Books::new(self, progress, result, judge);
        let conversation = Conversation {
            question,
            tools: self.tools,
            limits: self.limits,
            deadline: self.deadline,
            gate: &mut books,
        };
        match self.model.converse(conversation).await {
            Ok(answer) => Ok(Called::Answered(answer)),
            Err(Unanswered::Stopped) => books.why_stopped(),
            Err(Unanswered::Model(error)) => {
                let midway = books.turn() > 1;
                Ok(self.unanswered(&error, midway))
            }
        }
    }

    fn unanswered(&self, error: &ModelError, midway: bool) -> Called {
        match error {
            ModelError::AnswerLost { .. } => Called::Lost,
            ModelError::Unavailable { retry_after, .. } => Called::Unavailable {
                after: self.pause(*retry_after),
            },
            ModelError::PromptTooLong => Called::TooLong,
            ModelError::Rejected { .. } => Called::Rejected {
                text: error.to_string(),
                midway,
            },
        }
    }

    pub(super) fn count(&self, signal: Signal) {
        (self.ports.count)(&self.about, signal);
    }

    fn pause(&self, wanted: Option<Duration>) -> Duration {
        let doublings = self.order.receive_count.saturating_sub(1).min(6);
        let growing = FIRST_PAUSE
            .saturating_mul(1 << doublings)
            .min(LONGEST_PAUSE);
        wanted.unwrap_or_default().max(growing)
    }
}
