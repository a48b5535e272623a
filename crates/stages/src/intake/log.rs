//! What intake says about one answer.
//!
//! **Invariant:** nothing of a request is logged but what intake took out of a believed one.

use std::time::Duration;

use mirilla_domain::request::Request as Asked;
use mirilla_domain::signal::RunOutcome;
use mirilla_telemetry::{chain, field};

use super::IntakeAnswer;

/// One line for each answer: what a person must act on as an error, what is refused as a warning,
/// what is left alone only for those who look closely.
pub fn log(answer: &IntakeAnswer, took: Duration) {
    let failure = answer.failure.as_ref().map(|error| chain(&**error));
    let delivery = answer.delivery.as_deref();
    let origin = delivery.map(|it| &it.origin);
    let review = delivery.map(|it| &it.request);
    let (pr, head) = match review {
        Some(Asked::Review { pr, head, .. }) => (Some(pr.get()), Some(head.as_str())),
        _ => (None, None),
    };
    macro_rules! line {
        ($level:ident, $text:literal) => {
            tracing::$level!(
                { field::DELIVERY_ID } = delivery.map(|it| it.id.as_str()),
                { field::FORGE } = origin.map(|it| it.forge.as_str()),
                { field::REPO } = origin
                    .and_then(|it| it.repository.as_ref())
                    .map(|it| it.name.as_str()),
                { field::INSTALLATION_ID } =
                    origin.and_then(|it| it.installation).map(|it| it.get()),
                { field::PR } = pr,
                { field::HEAD_SHA } = head.and_then(|it| it.get(..field::HEAD_SHA_DIGITS)),
                { field::EVENT } = delivery.map(|it| it.event.as_str()),
                { field::ACTION } = delivery.map(|it| it.action.as_str()),
                { field::OUTCOME } = answer.outcome.as_str(),
                { field::REASON } = answer.reason,
                { field::HTTP_STATUS } = answer.status,
                { field::DURATION_MS } = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
                { field::ERROR } = failure.as_deref(),
                $text
            )
        };
    }
    match answer.outcome {
        RunOutcome::Retry => line!(error, "a webhook could not be recorded"),
        RunOutcome::Rejected => line!(warn, "a webhook was refused"),
        _ if failure.is_some() => line!(warn, "a webhook was answered, but something failed"),
        RunOutcome::Accepted => line!(info, "a webhook was recorded and queued"),
        _ => line!(debug, "nothing follows from a webhook"),
    }
}
