//! Sending to SQS, and asking how much is waiting there.
//!
//! Receiving and deleting are the event source mapping's: a function is handed its messages, and
//! [`SqsQueues::put_back`] lets one come back when the function wants it. A message of the review queue
//! carries its repository as the message group: SQS then hands out fairly, so that a busy repository
//! does not hold up the others
//! (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues.html>).
//!
//! **Invariant:** a function sends to the queues it was given and to no other.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::{ProvideErrorMetadata as _, SdkError};
use aws_sdk_sqs::operation::change_message_visibility::ChangeMessageVisibilityError;
use aws_sdk_sqs::types::QueueAttributeName;
use mirilla_domain::money::Purse;
use mirilla_ports::message::Message;
use mirilla_ports::queue::QueueName;
use mirilla_ports::{PutBack, QueueDepth, QueueError, QueueSend};

use crate::items::Source;

/// The longest delay SQS keeps; a longer one is cut to it, and the stage that gets the message early
/// puts it back.
const MAX_DELAY: Duration = Duration::from_secs(900);
/// The longest time SQS hides a message.
const MAX_HIDDEN: Duration = Duration::from_secs(12 * 60 * 60);

/// The queues a function may use, by address; those it may not use are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueueUrls {
    /// Jobs to take a snapshot of.
    pub collect: Option<String>,
    /// Snapshots to read.
    pub review: Option<String>,
    /// Findings to post.
    pub post: Option<String>,
}

impl QueueUrls {
    fn of(&self, queue: QueueName) -> Option<&str> {
        let url = match queue {
            QueueName::Collect => &self.collect,
            QueueName::Review => &self.review,
            QueueName::Post => &self.post,
        };
        url.as_deref()
    }
}

/// This function was not given the queue.
#[derive(Debug, thiserror::Error)]
#[error("this function has no address of the {0} queue")]
struct NoAddress(&'static str);

/// SQS answered without a count.
#[derive(Debug, thiserror::Error)]
#[error("the queue's answer has no usable `{0}`")]
struct NoCount(QueueAttributeName);

/// The queues of SQS.
#[derive(Clone)]
pub struct SqsQueues {
    client: Client,
    urls: QueueUrls,
}

impl fmt::Debug for SqsQueues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqsQueues")
            .field("urls", &self.urls)
            .finish_non_exhaustive()
    }
}

impl SqsQueues {
    /// Takes the queues' addresses.
    pub const fn new(client: Client, urls: QueueUrls) -> Self {
        Self { client, urls }
    }

    /// Lets a received message come back after `delay`, counted from now, at most 12 hours.
    ///
    /// # Errors
    ///
    /// [`QueueError::ReceiptExpired`] if the message is visible again, or gone.
    pub async fn put_back(
        &self,
        queue: QueueName,
        receipt: &str,
        delay: Duration,
    ) -> Result<(), QueueError> {
        let action = "putting a message back";
        let answer = self
            .client
            .change_message_visibility()
            .queue_url(self.url(queue, action)?)
            .receipt_handle(receipt)
            .visibility_timeout(whole_seconds(delay, MAX_HIDDEN))
            .send()
            .await;
        match answer {
            Ok(_) => Ok(()),
            Err(error) if is_expired(&error) => Err(QueueError::ReceiptExpired),
            Err(error) => Err(unavailable(queue, action, error.into())),
        }
    }

    fn url(&self, queue: QueueName, action: &'static str) -> Result<&str, QueueError> {
        self.urls
            .of(queue)
            .ok_or_else(|| unavailable(queue, action, NoAddress(queue.as_str()).into()))
    }
}

/// The queue whose messages a function is handed, for putting them back.
#[derive(Debug, Clone)]
pub struct OwnQueue {
    queues: SqsQueues,
    name: QueueName,
}

impl OwnQueue {
    /// Takes the queues and which of them is the function's own.
    pub const fn new(queues: SqsQueues, name: QueueName) -> Self {
        Self { queues, name }
    }
}

#[async_trait]
impl PutBack for OwnQueue {
    async fn put_back(&self, receipt: &str, delay: Duration) -> Result<(), QueueError> {
        self.queues.put_back(self.name, receipt, delay).await
    }
}

#[async_trait]
impl QueueSend for SqsQueues {
    /// Sends; a delay is kept to the second, at most 15 minutes of it.
    async fn send(
        &self,
        queue: QueueName,
        message: &Message,
        delay: Duration,
    ) -> Result<(), QueueError> {
        let action = "sending";
        let body = serde_json::to_string(message)
            .map_err(|source| unavailable(queue, action, source.into()))?;
        self.client
            .send_message()
            .queue_url(self.url(queue, action)?)
            .message_body(body)
            .delay_seconds(whole_seconds(delay, MAX_DELAY))
            .set_message_group_id(repository(message))
            .send()
            .await
            .map_err(|source| unavailable(queue, action, source.into()))?;
        Ok(())
    }
}

#[async_trait]
impl QueueDepth for SqsQueues {
    /// Counts what is visible, hidden and delayed; SQS's counts are close, not exact.
    async fn depth(&self, queue: QueueName) -> Result<u64, QueueError> {
        let action = "counting";
        let names = [
            QueueAttributeName::ApproximateNumberOfMessages,
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
            QueueAttributeName::ApproximateNumberOfMessagesDelayed,
        ];
        let answer = self
            .client
            .get_queue_attributes()
            .queue_url(self.url(queue, action)?)
            .set_attribute_names(Some(names.to_vec()))
            .send()
            .await
            .map_err(|source| unavailable(queue, action, source.into()))?;
        let attributes = answer.attributes.unwrap_or_default();
        let mut depth = 0_u64;
        for name in names {
            let count = attributes.get(&name).and_then(|text| text.parse().ok());
            let count: u64 =
                count.ok_or_else(|| unavailable(queue, action, NoCount(name).into()))?;
            depth = depth.saturating_add(count);
        }
        Ok(depth)
    }
}

/// Returns the repository a message is about, where the message says it.
fn repository(message: &Message) -> Option<String> {
    let Message::ReviewV1 { purses, .. } = message else {
        return None;
    };
    purses.iter().find_map(|capped| match &capped.purse {
        Purse::RepositoryDay(repository, _day) => Some(repository.to_string()),
        _ => None,
    })
}

/// Returns a duration in whole seconds, rounded up, at most `most`.
fn whole_seconds(duration: Duration, most: Duration) -> i32 {
    let rounded = duration.saturating_add(Duration::from_nanos(999_999_999));
    i32::try_from(rounded.min(most).as_secs()).unwrap_or(i32::MAX)
}

fn is_expired(error: &SdkError<ChangeMessageVisibilityError>) -> bool {
    let Some(error) = error.as_service_error() else {
        return false;
    };
    // SQS has no code of its own for a receipt whose message was received again since.
    error.is_message_not_inflight()
        || error.is_receipt_handle_is_invalid()
        || (error
            .code()
            .is_some_and(|it| it.contains("InvalidParameterValue"))
            && error.message().is_some_and(|it| it.contains("eceipt")))
}

fn unavailable(queue: QueueName, action: &'static str, source: Source) -> QueueError {
    QueueError::Unavailable {
        queue: queue.as_str(),
        action,
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_rounded_up_and_bounded() {
        for (millis, seconds) in [
            (0, 0),
            (1, 1),
            (1000, 1),
            (1001, 2),
            (900_000, 900),
            (10_000_000, 900),
        ] {
            let duration = Duration::from_millis(millis);
            assert_eq!(whole_seconds(duration, MAX_DELAY), seconds, "{millis} ms");
        }
        assert_eq!(whole_seconds(Duration::MAX, MAX_HIDDEN), 43_200);
    }
}
