//! The loop: asks, runs the tools that the model calls, asks again, until there is an answer.
//!
//! It is written over a [`Provider`]'s single call, so that any transport gets the same conversation, and
//! knows nothing of what is asked: the tools are a [`Toolbox`], and everything that belongs to a call beside
//! it (money, checkpoints, progress) is a [`CallGate`].
//!
//! ```text
//! question ─▶ gate.before ─▶ call ─▶ gate.after ─▶ tools, several at a time ─▶ gate.looked_up ─┐
//!      ▲                                                                                       │
//!      └───────── the model's turn as it came, and one user message with all results ◀─────────┘
//! ```
//!
//! Limits are checked between turns. Past any of them the next call is the last one: it names the same
//! tools, so that what the provider has cached holds, and forbids their use, so that only the answer
//! remains.
//!
//! **Invariant:** every call is between one `before` and one `after`; every tool use of a turn that is sent
//! back has a result, in the order of the uses; and only the text of the turn that ended the conversation
//! is its answer.

mod lookups;

use mirilla_domain::ids::Timestamp;
use mirilla_ports::model::{
    Answer, CallGate, Conversation, Go, Limits, ModelError, NextCall, StopReason, Unanswered,
};
use mirilla_ports::tools::{ToolSpec, Toolbox};

use crate::wire::{Exchange, Reply, ToolChoice, ToolResult, TurnRequest};
use lookups::Budget;

/// About the most bytes that stand for one token of an answer.
const BYTES_PER_ANSWER_TOKEN: u64 = 4;

/// With fewer bytes of results left than this, a further look is not worth a turn.
const SMALLEST_LOOK_BYTES: u64 = 1_024;

/// What a tool use is told that came when only the answer was left.
const TOO_LATE: &str = "Not run: nothing further can be looked up. Give the answer.";

/// A provider's single call.
pub trait Provider: Sync {
    /// Returns the time by which deadlines are told.
    fn now(&self) -> Timestamp;

    /// Makes one call, and makes it again only if it certainly was not processed.
    fn call(
        &self,
        request: &TurnRequest<'_>,
        deadline: Timestamp,
    ) -> impl Future<Output = Result<Reply, ModelError>> + Send;
}

/// Leads a conversation to its answer.
///
/// The answer may still be a refusal, cut, empty or nonsense: what it is worth is the caller's to say, by
/// its stop reason and text. One that asks for a tool where none can be used any more stops for
/// [`StopReason::ToolUse`] and is no answer.
pub async fn converse<P: Provider>(
    provider: &P,
    conversation: Conversation<'_>,
) -> Result<Answer, Unanswered> {
    let Conversation {
        question,
        tools,
        limits,
        deadline,
        gate,
    } = conversation;
    let mut talk = Talk {
        specs: tools.specs(),
        limits,
        deadline,
        budget: Budget::new(&limits),
        exchanges: Vec::new(),
        turn: 0,
        closing: false,
    };
    loop {
        talk.turn = talk.turn.saturating_add(1);
        let mut request = TurnRequest {
            question,
            tools: talk.specs,
            exchanges: &talk.exchanges,
            choice: talk.choice(provider.now()),
        };
        if gate.before(&talk.next_call(&request)).await? == Go::Last {
            request.choice = ToolChoice::None;
        }
        let choice = request.choice;
        let reply = match provider.call(&request, deadline).await {
            Ok(reply) => reply,
            Err(error) => {
                gate.after(Err(&error)).await?;
                return Err(error.into());
            }
        };
        gate.after(Ok(&reply.answer)).await?;
        match (&reply.answer.stop, choice) {
            (StopReason::ToolUse | StopReason::Paused, ToolChoice::Auto)
                if !reply.tool_uses.is_empty() =>
            {
                talk.look_up(provider, tools, gate, reply).await;
            }
            // It goes on where it paused when it is sent what it said so far.
            (StopReason::Paused, _) if talk.turn < limits.turns && reply.tool_uses.is_empty() => {
                talk.exchanges.push(Exchange {
                    said: reply.said,
                    results: Vec::new(),
                    text: None,
                });
            }
            _ if talk.closing => return Ok(reply.answer),
            _ => match gate.objection(&reply.answer) {
                Some(text) => talk.object(reply, text),
                None => return Ok(reply.answer),
            },
        }
    }
}

/// How far a conversation is.
struct Talk<'a> {
    specs: &'a [ToolSpec],
    limits: Limits,
    deadline: Timestamp,
    budget: Budget,
    exchanges: Vec<Exchange>,
    /// The call that is being made, from 1.
    turn: u32,
    /// Whether an answer was objected to: what comes now is final.
    closing: bool,
}

impl Talk<'_> {
    /// Returns whether tools may be used in the next call.
    fn choice(&self, now: Timestamp) -> ToolChoice {
        let may_look = !self.specs.is_empty()
            && !self.closing
            && self.turn < self.limits.turns
            && self.budget.left() >= SMALLEST_LOOK_BYTES
            && self.deadline.since(now) >= self.limits.answer_time;
        if may_look {
            ToolChoice::Auto
        } else {
            ToolChoice::None
        }
    }

    fn next_call(&self, request: &TurnRequest<'_>) -> NextCall {
        let bytes = request.bytes();
        let max_tokens = request.question.max_tokens;
        let answer = u64::from(max_tokens).saturating_mul(BYTES_PER_ANSWER_TOKEN);
        NextCall {
            turn: self.turn,
            bytes,
            max_tokens,
            last: request.choice == ToolChoice::None,
            next_bytes: bytes
                .saturating_add(answer)
                .saturating_add(self.budget.of_a_turn()),
        }
    }

    /// Runs what the model calls and notes the turn with its results.
    async fn look_up<P: Provider>(
        &mut self,
        provider: &P,
        tools: &dyn Toolbox,
        gate: &mut dyn CallGate,
        reply: Reply,
    ) {
        let time = self.deadline.since(provider.now());
        let results = lookups::run(
            tools,
            &self.limits,
            time.min(self.limits.tool_time),
            &mut self.budget,
            &reply.tool_uses,
        )
        .await;
        for look in &results {
            gate.looked_up(&look.told(self.turn));
        }
        self.exchanges.push(Exchange {
            said: reply.said,
            results: results.into_iter().map(ToolResult::from).collect(),
            text: None,
        });
    }

    /// Sends an answer back with what is wrong with it.
    fn object(&mut self, reply: Reply, text: String) {
        self.closing = true;
        let results = reply.tool_uses.into_iter().map(|tool_use| ToolResult {
            id: tool_use.id,
            text: TOO_LATE.to_owned(),
            is_error: true,
        });
        self.exchanges.push(Exchange {
            said: reply.said,
            results: results.collect(),
            text: Some(text),
        });
    }
}

#[cfg(test)]
mod tests;
