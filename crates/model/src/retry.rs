//! When a call that was not processed is made again.
//!
//! **Invariant:** no call begins, and no wait ends, after the question's deadline.

use std::time::Duration;

use bytes::Bytes;
use mirilla_domain::ids::Timestamp;
use mirilla_ports::clock::{Clock, Entropy};
use mirilla_ports::model::ModelError;

use crate::settings::Effort;
use crate::wire::{Asked, BadQuestion, Failure, Lost, ModelName, Reply, TurnRequest, request_body};

/// First wait, doubled every time.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// Longest wait of our own choosing.
const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// The same for an overloaded provider (529), which asks for more patience.
const FIRST_OVERLOADED_WAIT: Duration = Duration::from_secs(2);
const LONGEST_OVERLOADED_WAIT: Duration = Duration::from_secs(30);

/// Less time than this is not worth a call: its answer would be lost and paid for.
pub(crate) const SHORTEST_CALL: Duration = Duration::from_secs(2);

/// Returns the wait before the retry number `retry` (from 0), up to a quarter shorter by chance.
pub(crate) fn backoff(retry: u32, status: u16, entropy: &dyn Entropy) -> Duration {
    let (first, longest) = if status == 529 {
        (FIRST_OVERLOADED_WAIT, LONGEST_OVERLOADED_WAIT)
    } else {
        (FIRST_WAIT, LONGEST_WAIT)
    };
    let factor = 2_u32.checked_pow(retry).unwrap_or(u32::MAX);
    let wait = first.saturating_mul(factor).min(longest);
    let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    let less = entropy.below((millis / 4).saturating_add(1));
    Duration::from_millis(millis.saturating_sub(less))
}

/// What bounds the attempts at one question.
pub(crate) struct Patience<'a> {
    pub(crate) clock: &'a dyn Clock,
    pub(crate) entropy: &'a dyn Entropy,
    pub(crate) deadline: Timestamp,
    pub(crate) max_retries: u32,
    /// The longest one attempt may take.
    pub(crate) call_limit: Duration,
}

/// Calls until there is an answer, a failure that another call does not mend, or no time left.
///
/// `call` is told how long it may take; it is dropped when that is over.
pub(crate) async fn with_patience<T, F, Fut>(
    patience: Patience<'_>,
    mut call: F,
) -> Result<T, ModelError>
where
    F: FnMut(Duration) -> Fut + Send,
    Fut: Future<Output = Result<T, Failure>> + Send,
{
    let Patience { clock, entropy, .. } = patience;
    let mut retry = 0_u32;
    loop {
        let left = patience.deadline.since(clock.now());
        if left < SHORTEST_CALL {
            return Err(ModelError::Unavailable {
                status: 0,
                retry_after: None,
            });
        }
        let limit = left.min(patience.call_limit);
        let outcome = tokio::time::timeout(limit, call(limit))
            .await
            .unwrap_or_else(|_elapsed| Err(Failure::Lost(Lost::TimedOut.into())));
        let (status, retry_after, give_up) = match outcome {
            Ok(answer) => return Ok(answer),
            Err(Failure::Unprocessed {
                status,
                retry_after,
                give_up,
            }) => (status, retry_after, give_up),
            Err(failure) => return Err(final_error(failure)),
        };
        let own = backoff(retry, status, entropy);
        let wait = retry_after.map_or(own, |asked| asked.max(own));
        let left = patience.deadline.since(clock.now());
        if give_up || retry >= patience.max_retries || wait.saturating_add(SHORTEST_CALL) > left {
            return Err(ModelError::Unavailable {
                status,
                retry_after,
            });
        }
        retry = retry.saturating_add(1);
        tracing::warn!(
            http_status = status,
            retry_after_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
            retry,
            "the model did not process a call; it will be made again"
        );
        clock.sleep(wait).await;
    }
}

/// How a provider's calls are made, whatever carries them.
pub(crate) struct Terms<'a> {
    pub(crate) clock: &'a dyn Clock,
    pub(crate) entropy: &'a dyn Entropy,
    pub(crate) effort: Option<Effort>,
    /// The longest answer that may be asked for.
    pub(crate) max_tokens: u32,
    pub(crate) max_retries: u32,
    /// The longest one attempt may take.
    pub(crate) call_limit: Duration,
}

impl Terms<'_> {
    /// Writes a request and makes the call, as often as it may be made. `send` gets the body, what it asks
    /// for, and how long it may take.
    pub(crate) async fn reply<F, Fut>(
        &self,
        name: ModelName<'_>,
        request: &TurnRequest<'_>,
        deadline: Timestamp,
        mut send: F,
    ) -> Result<Reply, ModelError>
    where
        F: FnMut(Bytes, Asked, Duration) -> Fut + Send,
        Fut: Future<Output = Result<Reply, Failure>> + Send,
    {
        let body = request_body(request, name, self.effort, self.max_tokens)
            .map_err(BadQuestion::into_error)?;
        let body = Bytes::from(body);
        let asked = Asked {
            prompt_bytes: request.bytes(),
            max_tokens: request.question.max_tokens,
        };
        let patience = Patience {
            clock: self.clock,
            entropy: self.entropy,
            deadline,
            max_retries: self.max_retries,
            call_limit: self.call_limit,
        };
        with_patience(patience, |limit| send(body.clone(), asked, limit)).await
    }
}

fn final_error(failure: Failure) -> ModelError {
    match failure {
        Failure::TooLong => ModelError::PromptTooLong,
        Failure::Rejected { status, kind, hint } => ModelError::Rejected { status, kind, hint },
        Failure::Lost(lost) => ModelError::AnswerLost {
            source: Box::new(lost),
        },
        Failure::Unprocessed {
            status,
            retry_after,
            ..
        } => ModelError::Unavailable {
            status,
            retry_after,
        },
    }
}

#[cfg(test)]
mod tests;
