//! The forge's own record of the webhooks it sent us, and asking it to send one again.
//!
//! Only the App itself may read that record, so a stage asks through the process that holds its key.
//! That process passes on what the forge said and looks into none of it: [`AskDeliveries`] is that
//! line, [`Deliveries`] what a stage makes of it.

use std::time::Duration;

use async_trait::async_trait;
use mirilla_domain::cause::chain;
use mirilla_domain::ids::Timestamp;
use mirilla_domain::request::Delivery;
use serde::{Deserialize, Serialize};

use crate::forge::ForgeError;
use crate::ledger::LedgerError;

/// One attempt to deliver an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The attempt's number, by which it is asked for again.
    pub id: u64,
    /// The event's id, the same on every attempt.
    pub guid: String,
    /// When it was made.
    pub at: Timestamp,
    /// Whether it is a repetition.
    pub redelivery: bool,
    /// Whether it arrived and was answered well.
    pub arrived: bool,
    /// The status of the answer; 0 when there was none.
    pub status_code: u16,
    /// The event's name.
    pub event: String,
    /// The event's action; empty where it has none.
    pub action: String,
}

/// Some attempts, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// The attempts.
    pub attempts: Vec<Attempt>,
    /// Where older ones begin; `None` at the end of the record.
    pub next: Option<String>,
}

/// Reads the record and asks for repetitions.
#[async_trait]
pub trait Deliveries: Send + Sync {
    /// Returns a page of the record: its newest, or the one that begins at a cursor of an earlier page.
    async fn page(&self, cursor: Option<&str>) -> Result<Page, ForgeError>;

    /// Asks the forge to make an attempt again. It does so under the event's own id, so asking twice
    /// after a lost answer costs a second delivery and no second request.
    async fn redeliver(&self, id: u64) -> Result<(), ForgeError>;

    /// Returns what a delivery asked for; `None` if it asks for nothing we know. Its signature does not
    /// count: the forge itself hands it over.
    async fn read(&self, id: u64) -> Result<Option<Box<Delivery>>, ForgeError>;
}

/// One question about the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "ask")]
pub enum DeliveriesRequest {
    /// A page.
    Page {
        /// Where it begins; `None`: at the newest attempt.
        cursor: Option<String>,
    },
    /// Make an attempt again.
    Redeliver {
        /// Which.
        id: u64,
    },
    /// A piece of what is known of an attempt, body included.
    Detail {
        /// Which.
        id: u64,
        /// How many bytes of it are here already.
        from: u64,
    },
}

/// What the forge said, unread.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "answer")]
pub enum DeliveriesAnswer {
    /// A page.
    Page {
        /// The list as it came.
        body: String,
        /// The cursor of the next one.
        next: Option<String>,
    },
    /// It will be made again.
    Asked,
    /// A piece.
    Detail {
        /// The text from the byte that was asked for on.
        piece: String,
        /// The bytes of the whole.
        total: u64,
    },
    /// It did not do it.
    Failed(DeliveriesFailure),
}

/// Prints sizes only: bodies are somebody's text.
impl std::fmt::Debug for DeliveriesAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Page { body, next } => f
                .debug_struct("Page")
                .field("body_bytes", &body.len())
                .field("next", next)
                .finish(),
            Self::Asked => f.write_str("Asked"),
            Self::Detail { piece, total } => f
                .debug_struct("Detail")
                .field("piece_bytes", &piece.len())
                .field("total", total)
                .finish(),
            Self::Failed(failure) => f.debug_tuple("Failed").field(failure).finish(),
        }
    }
}

/// Why the forge did not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case", tag = "why")]
pub enum DeliveriesFailure {
    /// There is no such attempt (any more).
    #[error("the delivery is not there")]
    NotFound,
    /// The App may not, or its key is not accepted.
    #[error("the App may not read its deliveries")]
    Refused,
    /// A limit of the forge.
    #[error("the forge limits requests")]
    RateLimited {
        /// How long to wait, in milliseconds.
        after_ms: u64,
    },
    /// Anything that may pass.
    #[error("{reason}")]
    Unavailable {
        /// What it was; our own words.
        reason: String,
    },
}

impl DeliveriesFailure {
    /// Something that may pass, with all its causes.
    pub fn unavailable(error: &(dyn std::error::Error + 'static)) -> Self {
        let reason = chain(error);
        Self::Unavailable { reason }
    }
}

impl From<&ForgeError> for DeliveriesFailure {
    fn from(error: &ForgeError) -> Self {
        match error {
            ForgeError::NotFound { .. } => Self::NotFound,
            ForgeError::Forbidden { .. } | ForgeError::Unauthorized => Self::Refused,
            ForgeError::RateLimited { after } => Self::RateLimited {
                after_ms: u64::try_from(after.as_millis()).unwrap_or(u64::MAX),
            },
            error => Self::unavailable(error),
        }
    }
}

impl From<DeliveriesFailure> for ForgeError {
    fn from(failure: DeliveriesFailure) -> Self {
        match failure {
            DeliveriesFailure::NotFound => Self::NotFound {
                what: "the delivery",
            },
            DeliveriesFailure::Refused => Self::Unauthorized,
            DeliveriesFailure::RateLimited { after_ms } => Self::RateLimited {
                after: Duration::from_millis(after_ms),
            },
            failure @ DeliveriesFailure::Unavailable { .. } => Self::Unavailable {
                action: "read webhook deliveries",
                source: failure.into(),
            },
        }
    }
}

/// Asks the process that holds the App's key.
#[async_trait]
pub trait AskDeliveries: Send + Sync {
    /// Returns the forge's answer; a process that cannot be reached is a failure like any other.
    async fn ask(&self, request: &DeliveriesRequest) -> DeliveriesAnswer;
}

/// Keeps small texts of the sweeper's own from one run to the next.
#[async_trait]
pub trait Bookmarks: Send + Sync {
    /// Returns the text under a name; `None` if none was kept.
    async fn bookmark(&self, name: &str) -> Result<Option<String>, LedgerError>;

    /// Keeps a text of at most 300,000 bytes under a name, in place of `known`, which this caller read
    /// or kept there last; `None`: nothing was there.
    ///
    /// # Errors
    ///
    /// [`LedgerError::Conflict`] if something else is there: another sweeper is at the same work.
    async fn keep_bookmark(
        &self,
        name: &str,
        known: Option<&str>,
        text: &str,
    ) -> Result<(), LedgerError>;
}
