//! The calls of a review, as many as are kept.
//!
//! **Invariant:** a call that is not kept is counted with everything that adds up: tokens, cost,
//! look-ups.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::{MAX_ANSWER_BYTES, MAX_ANSWERS_BYTES, RecordedText};
use super::{CallRecord, LookUpRecord};
use crate::money::{PicoUsd, Usage};
use crate::redact::Redactor;

/// Most calls that are kept.
pub const MAX_CALLS: usize = 1_000;
/// Most look-ups that are kept.
pub const MAX_LOOK_UPS: usize = 2_000;

/// Sums over calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Sums {
    /// How many calls.
    pub calls: u32,
    /// How many look-ups.
    pub look_ups: u32,
    /// Their tokens.
    pub usage: Usage,
    /// Their cost.
    pub cost: PicoUsd,
}

impl Sums {
    fn add(&mut self, call: &CallRecord) {
        self.calls = self.calls.saturating_add(1);
        self.add_look_ups(&call.look_ups);
        self.usage = self.usage.plus(&call.usage);
        self.cost = self.cost.plus(call.cost);
    }

    fn add_look_ups(&mut self, look_ups: &[LookUpRecord]) {
        let more = u32::try_from(look_ups.len()).unwrap_or(u32::MAX);
        self.look_ups = self.look_ups.saturating_add(more);
    }
}

/// Calls in the order in which they were made.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Calls {
    /// Those that are kept.
    #[serde(rename = "calls")]
    kept: Vec<CallRecord>,
    /// What is not kept for want of room.
    left_out: Sums,
    /// Bytes of the answers that are kept.
    answer_bytes: u64,
}

impl Calls {
    /// Returns the calls that are kept.
    pub fn kept(&self) -> &[CallRecord] {
        &self.kept
    }

    /// Returns a call by its number.
    pub fn get(&self, call: u32) -> Option<&CallRecord> {
        self.kept.iter().find(|one| one.call == call)
    }

    /// Returns what is not kept.
    pub const fn left_out(&self) -> &Sums {
        &self.left_out
    }

    /// Returns how many look-ups are kept.
    fn kept_look_ups(&self) -> usize {
        let each = self.kept.iter().map(|call| call.look_ups.len());
        each.fold(0, usize::saturating_add)
    }

    /// Returns what all calls come to.
    pub fn sums(&self) -> Sums {
        let mut sums = self.left_out;
        for call in &self.kept {
            sums.add(call);
        }
        sums
    }

    /// Notes a call.
    pub fn push(&mut self, call: CallRecord) {
        if self.kept.len() < MAX_CALLS {
            self.kept.push(call);
        } else {
            self.left_out.add(&call);
        }
    }

    /// Prepares an answer for its call: the more was kept before, the less of it is.
    pub fn answer(&mut self, text: &str, redactor: &Redactor) -> RecordedText {
        let used = usize::try_from(self.answer_bytes).unwrap_or(usize::MAX);
        let left = MAX_ANSWERS_BYTES.saturating_sub(used);
        let kept = RecordedText::of(text, MAX_ANSWER_BYTES.min(left), redactor);
        let bytes = u64::try_from(kept.text.len()).unwrap_or(u64::MAX);
        self.answer_bytes = self.answer_bytes.saturating_add(bytes);
        kept
    }

    /// Notes a look-up of the call with this number, or counts it if there is no room.
    pub fn looked_up(&mut self, call: u32, look_up: LookUpRecord) {
        let room = self.kept_look_ups() < MAX_LOOK_UPS;
        match self.last(call).filter(|_| room) {
            Some(last) => last.look_ups.push(look_up),
            None => self.left_out.add_look_ups(&[look_up]),
        }
    }

    /// Notes what the model was told is wrong with the answer of the call with this number.
    pub fn objected(&mut self, call: u32, objection: RecordedText) {
        if let Some(last) = self.last(call) {
            last.objection = Some(objection);
        }
    }

    fn last(&mut self, call: u32) -> Option<&mut CallRecord> {
        self.kept.last_mut().filter(|last| last.call == call)
    }
}
