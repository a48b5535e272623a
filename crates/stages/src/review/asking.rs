//! One call to the model and the money for it.
//!
//! **Invariant:** a call is sent only under a reservation marked `sent`; afterwards it is settled by
//! its usage, booked in full if its answer was lost, or given back if it certainly was not processed.

use std::time::Duration;

use mirilla_domain::chunk::token_bound;
use mirilla_domain::ids::Timestamp;
use mirilla_domain::money::{PicoUsd, Reservation};
use mirilla_domain::price::REQUEST_OVERHEAD_TOKENS;
use mirilla_domain::prompt::Question;
use mirilla_domain::signal::{About, PurseKind, Signal};
use mirilla_ports::meter::Reserved;
use mirilla_ports::model::Answer;
use mirilla_ports::{Model, ModelError};

use super::progress::{ChunkResult, Progress};
use super::{ReviewOrder, ReviewPorts, ReviewSettings};
use crate::error::StageError;

/// How long after the deadline a dead worker's reservation is settled by the sweeper.
const EXPIRY_MARGIN: Duration = Duration::from_secs(120);
/// First pause while a model is not available; doubles with every receipt of the message.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
/// Longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(320);

/// Everything a call needs.
pub(super) struct Asking<'a> {
    pub(super) about: About,
    pub(super) ports: ReviewPorts<'a>,
    pub(super) settings: &'a ReviewSettings,
    pub(super) order: &'a ReviewOrder,
    pub(super) model: &'a dyn Model,
    pub(super) deadline: Timestamp,
}

/// What became of a call.
pub(super) enum Called {
    /// There is an answer; it is paid.
    Answered(Answer),
    /// A purse has too little left; nothing was sent.
    NoMoney {
        /// What is left.
        left: PicoUsd,
        /// The purse's cap.
        cap: PicoUsd,
        /// What the call could cost.
        needed: PicoUsd,
    },
    /// The prompt is too long; not charged.
    TooLong,
    /// The answer was lost; booked in full.
    Lost,
    /// The model is not available; not charged.
    Unavailable {
        /// When to try again.
        after: Duration,
    },
    /// The provider refuses; not charged. Our own words.
    Rejected(String),
}

impl Asking<'_> {
    /// Makes one call under a reservation.
    pub(super) async fn call(
        &self,
        progress: &mut Progress,
        result: &mut ChunkResult,
        question: &Question,
    ) -> Result<Called, StageError> {
        let needed = self.worst_case(question)?;
        let (id, reserved) = self.reserve(progress, needed).await?;
        if let Reserved::Refused { purse, left } = reserved {
            self.count(Signal::CapHit {
                purse: PurseKind::from(&purse),
            });
            let cap = self
                .order
                .purses
                .iter()
                .find(|capped| capped.purse == purse);
            return Ok(Called::NoMoney {
                left,
                cap: cap.map_or(PicoUsd::ZERO, |capped| capped.cap),
                needed,
            });
        }
        self.ports.meter.sent(&id).await?;
        match self.model.ask(question, self.deadline).await {
            Ok(answer) => {
                let cost = self
                    .settings
                    .prices
                    .cost(self.model.id(), &answer.usage)
                    .unwrap_or(needed);
                result.usage = result.usage.plus(&answer.usage);
                result.cost = result.cost.plus(cost);
                progress.answered(&id, answer.usage, cost);
                progress.save(self.ports.artifacts, &self.order.job).await?;
                self.count(Signal::ModelCalled {
                    model: self.model.id().to_owned(),
                    usage: answer.usage,
                    cost,
                });
                if cost > needed {
                    self.count(Signal::CallOverBound);
                }
                self.ports.meter.settle(&id, cost).await?;
                progress.settled(&id);
                Ok(Called::Answered(answer))
            }
            Err(ModelError::AnswerLost { .. }) => {
                result.cost = result.cost.plus(needed);
                progress.cost = progress.cost.plus(needed);
                progress.save(self.ports.artifacts, &self.order.job).await?;
                self.count(Signal::CallLost {
                    model: self.model.id().to_owned(),
                    cost: needed,
                });
                self.ports.meter.settle(&id, needed).await?;
                Ok(Called::Lost)
            }
            Err(ModelError::Unavailable { retry_after, .. }) => {
                self.ports.meter.release(&id).await?;
                Ok(Called::Unavailable {
                    after: self.pause(retry_after),
                })
            }
            Err(ModelError::PromptTooLong) => {
                self.ports.meter.release(&id).await?;
                Ok(Called::TooLong)
            }
            Err(error @ ModelError::Rejected { .. }) => {
                self.ports.meter.release(&id).await?;
                Ok(Called::Rejected(error.to_string()))
            }
        }
    }

    fn count(&self, signal: Signal) {
        (self.ports.count)(&self.about, signal);
    }

    /// Sets the worst case aside under the next number that is free: an earlier run of the same try
    /// may have died with its number noted nowhere but in the meter.
    async fn reserve(
        &self,
        progress: &mut Progress,
        amount: PicoUsd,
    ) -> Result<(String, Reserved), StageError> {
        loop {
            progress.calls = progress.calls.saturating_add(1);
            let id = format!(
                "{}/{}/{}",
                self.order.job, self.order.attempt, progress.calls
            );
            let reservation = Reservation {
                id: id.clone(),
                job: self.order.job.clone(),
                attempt: self.order.attempt,
                call: progress.calls,
                amount,
                purses: self.order.purses.clone(),
                expires_at: self.deadline.plus(EXPIRY_MARGIN),
            };
            match self.ports.meter.reserve(&reservation).await? {
                Reserved::AlreadyThere => {}
                reserved => return Ok((id, reserved)),
            }
        }
    }

    /// Returns the most the call can cost.
    fn worst_case(&self, question: &Question) -> Result<PicoUsd, StageError> {
        let input = token_bound(question.bytes()).saturating_add(REQUEST_OVERHEAD_TOKENS);
        self.settings
            .prices
            .worst_case(self.model.id(), input, question.max_tokens)
            .map_err(|error| StageError::BadObject {
                what: "price table",
                reason: error.to_string(),
            })
    }

    fn pause(&self, wanted: Option<Duration>) -> Duration {
        let doublings = self.order.receive_count.saturating_sub(1).min(6);
        let growing = FIRST_PAUSE
            .saturating_mul(1 << doublings)
            .min(LONGEST_PAUSE);
        wanted.unwrap_or_default().max(growing)
    }
}
