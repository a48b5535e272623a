//! Asks the forge about its webhooks, and passes on what it says.

use mirilla_forge::github::AppDeliveries;
use mirilla_ports::AskDeliveries as _;
use mirilla_ports::deliveries::{DeliveriesAnswer, DeliveriesRequest};

/// Returns what the forge said. Of a page or a delivery nothing is logged but that it was read.
pub(crate) async fn answer(
    deliveries: &AppDeliveries,
    request: &DeliveriesRequest,
) -> DeliveriesAnswer {
    let answer = deliveries.ask(request).await;
    let (what, attempt) = match request {
        DeliveriesRequest::Page { .. } => ("a page of webhook deliveries", None),
        DeliveriesRequest::Redeliver { id } => ("a repetition of a webhook delivery", Some(*id)),
        DeliveriesRequest::Detail { id, .. } => ("the text of a webhook delivery", Some(*id)),
    };
    match &answer {
        DeliveriesAnswer::Failed(failure) => {
            tracing::warn!(attempt, "the forge was asked for {what}: {failure}");
        }
        DeliveriesAnswer::Asked => tracing::info!(attempt, "the forge was asked for {what}"),
        DeliveriesAnswer::Page { .. } | DeliveriesAnswer::Detail { .. } => {
            tracing::debug!(attempt, "the forge was asked for {what}");
        }
    }
    answer
}
