//! The money and the checkpoint of each call of a conversation.
//!
//! **Invariant:** a call is sent only under a reservation marked `sent`; afterwards it is settled by
//! its usage, booked in full if its answer was lost, or given back if it certainly was not processed. The
//! checkpoint knows of an answer before its reservation is settled.

use std::time::Duration;

use async_trait::async_trait;
use mirilla_domain::chunk::token_bound;
use mirilla_domain::money::{PicoUsd, Reservation, Usage};
use mirilla_domain::price::REQUEST_OVERHEAD_TOKENS;
use mirilla_domain::record::{CallFate, CallRecord};
use mirilla_domain::signal::{PurseKind, Signal};
use mirilla_ports::ModelError;
use mirilla_ports::meter::Reserved;
use mirilla_ports::model::{Answer, CallGate, Go, LookUp, NextCall, Stopped};

use super::asking::{Asking, Called, Judge};
use super::look::Look;
use super::progress::{ChunkResult, Progress};
use super::record;
use crate::error::StageError;

/// How long after the deadline a dead worker's reservation is settled by the sweeper.
const EXPIRY_MARGIN: Duration = Duration::from_secs(120);

/// Keeps the books of one conversation.
pub(super) struct Books<'r, 'a> {
    asking: &'r Asking<'a>,
    progress: &'r mut Progress,
    result: &'r mut ChunkResult,
    judge: Judge<'r>,
    /// Which call is being made, from 1.
    turn: u32,
    /// The call that is under way: its reservation and what is set aside for it.
    open: Option<(String, PicoUsd)>,
    /// Why the conversation was ended here.
    stopped: Option<Result<Called, StageError>>,
}

impl<'r, 'a> Books<'r, 'a> {
    pub(super) fn new(
        asking: &'r Asking<'a>,
        progress: &'r mut Progress,
        result: &'r mut ChunkResult,
        judge: Judge<'r>,
    ) -> Self {
        Self {
            asking,
            progress,
            result,
            judge,
            turn: 0,
            open: None,
            stopped: None,
        }
    }

    /// Returns which call was the last one made or tried, from 1.
    pub(super) const fn turn(&self) -> u32 {
        self.turn
    }

    /// Returns why the conversation was ended here.
    pub(super) fn why_stopped(self) -> Result<Called, StageError> {
        // A loop that ends by itself and says that it was stopped gave no answer that counts.
        self.stopped.unwrap_or(Ok(Called::Lost))
    }

    fn stop(&mut self, why: Result<Called, StageError>) -> Stopped {
        self.stopped = Some(why);
        Stopped
    }

    /// Sets the next call's worst case aside; `Err` is why it must not be made.
    async fn admit(&mut self, call: &NextCall) -> Result<Result<Go, Called>, StageError> {
        if let Some(stop) = self.asking.must_stop.must_stop().await? {
            return Ok(Err(Called::Stop(stop)));
        }
        let needed = self.worst_case(call.bytes, call.max_tokens)?;
        let (id, reserved) = self.reserve(needed).await?;
        if let Reserved::Refused { purse, left } = reserved {
            self.asking.count(Signal::CapHit {
                purse: PurseKind::from(&purse),
            });
            let mut purses = self.asking.order.purses.iter();
            let cap = purses.find(|capped| capped.purse == purse);
            return Ok(Err(Called::NoMoney {
                why: purse.skip_reason(),
                left,
                cap: cap.map_or(PicoUsd::ZERO, |capped| capped.cap),
                needed,
            }));
        }
        let go = if call.last || self.can_pay(call).await? {
            Go::On
        } else {
            Go::Last
        };
        self.asking.ports.meter.sent(&id).await?;
        self.open = Some((id, needed));
        Ok(Ok(go))
    }

    /// Returns whether a call after this one could be paid too. If not, this one has to bring the answer:
    /// looking something up would spend the money and leave none to say what was seen.
    async fn can_pay(&self, call: &NextCall) -> Result<bool, StageError> {
        let next = self.worst_case(call.next_bytes, call.max_tokens)?;
        for capped in &self.asking.order.purses {
            let spent = self.asking.ports.meter.spent(&capped.purse).await?;
            if spent.plus(next) > capped.cap {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn book(&mut self, outcome: Result<&Answer, &ModelError>) -> Result<(), StageError> {
        let Some((id, needed)) = self.open.take() else {
            return Ok(());
        };
        let Asking {
            ports,
            settings,
            order,
            model,
            ..
        } = self.asking;
        match outcome {
            Ok(answer) => {
                let cost = settings
                    .prices
                    .cost(model.id(), &answer.usage)
                    .unwrap_or(needed);
                self.result.usage = self.result.usage.plus(&answer.usage);
                self.result.cost = self.result.cost.plus(cost);
                self.progress.answered(&id, answer.usage, cost);
                self.note(CallFate::Answered, answer.usage, cost, Some(answer));
                self.progress.save(ports.artifacts, &order.job).await?;
                self.asking.count(Signal::ModelCalled {
                    model: model.id().to_owned(),
                    usage: answer.usage,
                    cost,
                });
                if cost > needed {
                    self.asking.count(Signal::CallOverBound);
                }
                ports.meter.settle(&id, cost).await?;
                self.progress.settled(&id);
            }
            Err(ModelError::AnswerLost { .. }) => {
                self.result.cost = self.result.cost.plus(needed);
                self.progress.cost = self.progress.cost.plus(needed);
                self.note(CallFate::Lost, Usage::default(), needed, None);
                self.progress.save(ports.artifacts, &order.job).await?;
                self.asking.count(Signal::CallLost {
                    model: model.id().to_owned(),
                    cost: needed,
                });
                ports.meter.settle(&id, needed).await?;
            }
            Err(
                ModelError::Unavailable { .. }
                | ModelError::PromptTooLong
                | ModelError::Rejected { .. },
            ) => {
                self.note_free(CallFate::NotProcessed);
                ports.meter.release(&id).await?;
            }
        }
        Ok(())
    }

    /// Notes what became of the call whose number was taken last.
    fn note(&mut self, fate: CallFate, usage: Usage, cost: PicoUsd, answer: Option<&Answer>) {
        let (call, chunk, turn) = (self.progress.calls, self.asking.chunk, self.turn);
        let redactor = &self.asking.settings.redactor;
        let noted = record::call(&mut self.progress.record, redactor, answer);
        self.progress.record.push(CallRecord {
            call,
            chunk,
            turn,
            fate,
            usage,
            cost,
            ..noted
        });
    }

    fn note_free(&mut self, fate: CallFate) {
        self.note(fate, Usage::default(), PicoUsd::ZERO, None);
    }

    /// Sets the worst case aside under the next number that is free: an earlier run of the same try
    /// may have died with its number noted nowhere but in the meter.
    async fn reserve(&mut self, amount: PicoUsd) -> Result<(String, Reserved), StageError> {
        let order = self.asking.order;
        loop {
            self.progress.calls = self.progress.calls.saturating_add(1);
            let call = self.progress.calls;
            let id = format!("{}/{}/{call}", order.job, order.attempt);
            let reservation = Reservation {
                id: id.clone(),
                job: order.job.clone(),
                attempt: order.attempt,
                call,
                amount,
                purses: order.purses.clone(),
                expires_at: self.asking.deadline.plus(EXPIRY_MARGIN),
            };
            match self.asking.ports.meter.reserve(&reservation).await? {
                Reserved::AlreadyThere => self.note_free(CallFate::Unknown),
                refused @ Reserved::Refused { .. } => {
                    self.note_free(CallFate::NoMoney);
                    return Ok((id, refused));
                }
                reserved => return Ok((id, reserved)),
            }
        }
    }

    /// Returns the most that a call with so many bytes can cost.
    fn worst_case(&self, bytes: u64, max_tokens: u32) -> Result<PicoUsd, StageError> {
        let input = token_bound(bytes).saturating_add(REQUEST_OVERHEAD_TOKENS);
        self.asking
            .settings
            .prices
            .worst_case(self.asking.model.id(), input, max_tokens)
            .map_err(|error| StageError::BadObject {
                what: "price table",
                reason: error.to_string(),
            })
    }
}

#[async_trait]
impl CallGate for Books<'_, '_> {
    async fn before(&mut self, call: &NextCall) -> Result<Go, Stopped> {
        self.turn = call.turn;
        match self.admit(call).await {
            Ok(Ok(go)) => Ok(go),
            Ok(Err(called)) => Err(self.stop(Ok(called))),
            Err(error) => Err(self.stop(Err(error))),
        }
    }

    async fn after(&mut self, outcome: Result<&Answer, &ModelError>) -> Result<(), Stopped> {
        self.book(outcome)
            .await
            .map_err(|error| self.stop(Err(error)))
    }

    fn looked_up(&mut self, look_up: &LookUp<'_>) {
        self.result.tool_calls = self.result.tool_calls.saturating_add(1);
        self.progress.tool_calls = self.progress.tool_calls.saturating_add(1);
        let noted = record::look_up(&self.asking.settings.redactor, look_up);
        let call = self.progress.calls;
        self.progress.record.looked_up(call, noted);
        (self.asking.ports.looked)(&Look::new(self.asking.label, look_up));
    }

    fn objection(&mut self, answer: &Answer) -> Option<String> {
        let objection = (self.judge)(answer);
        if let Some(text) = &objection {
            let noted = record::objection(&self.asking.settings.redactor, text);
            self.progress.record.objected(self.progress.calls, noted);
        }
        objection
    }
}
