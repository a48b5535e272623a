//! Queues with visibility: a message that is not deleted comes back.

use std::time::Duration;

use async_trait::async_trait;

use crate::message::Message;

/// Which queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QueueName {
    /// Jobs to take a snapshot of.
    Collect,
    /// Snapshots to read.
    Review,
    /// Findings to post.
    Post,
}

impl QueueName {
    /// Returns the stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Collect => "collect",
            Self::Review => "review",
            Self::Post => "post",
        }
    }
}

/// Why a queue did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The message is somebody else's now, or gone.
    #[error("the message is no longer held by this receiver")]
    ReceiptExpired,
    /// The queue cannot be reached or failed.
    #[error("the {queue} queue failed at {action}")]
    Unavailable {
        /// Which queue.
        queue: &'static str,
        /// What was tried.
        action: &'static str,
        /// What the store said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// A message as received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Names this receipt of the message.
    pub receipt: String,
    /// How often it was received, this time included.
    pub receive_count: u32,
    /// The message's body; text, because a foreign writer may have put anything there.
    pub body: String,
}

/// Sends.
#[async_trait]
pub trait QueueSend: Send + Sync {
    /// Queues a message, visible after `delay`.
    async fn send(
        &self,
        queue: QueueName,
        message: &Message,
        delay: Duration,
    ) -> Result<(), QueueError>;
}

/// Receives. A received message is hidden for a while and comes back unless it is deleted.
#[async_trait]
pub trait Queue: Send + Sync {
    /// Returns a visible message, hidden for `visibility` from now on; `None` if there is none.
    async fn receive(
        &self,
        queue: QueueName,
        visibility: Duration,
    ) -> Result<Option<Received>, QueueError>;

    /// Removes a message for good.
    async fn delete(&self, queue: QueueName, receipt: &str) -> Result<(), QueueError>;

    /// Lets a message come back after `delay`, counted from now.
    async fn put_back(
        &self,
        queue: QueueName,
        receipt: &str,
        delay: Duration,
    ) -> Result<(), QueueError>;

    /// Moves a message that can never succeed to the queue's dead letters.
    async fn bury(&self, queue: QueueName, receipt: &str) -> Result<(), QueueError>;
}

/// Tells a backlog from a lost message.
#[async_trait]
pub trait QueueDepth: Send + Sync {
    /// Returns how many messages are waiting or hidden, dead letters aside.
    async fn depth(&self, queue: QueueName) -> Result<u64, QueueError>;
}

/// Lets messages of one queue come back, for a worker whose messages are received and deleted for it.
#[async_trait]
pub trait PutBack: Send + Sync {
    /// Lets a message come back after `delay`, counted from now.
    async fn put_back(&self, receipt: &str, delay: Duration) -> Result<(), QueueError>;
}
