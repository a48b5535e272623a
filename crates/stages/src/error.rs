//! What a stage's failure means for the message that caused it.

use std::time::Duration;

use mirilla_ports::{ArtifactError, ForgeError, LedgerError, MeterError, QueueError};

/// What the queue should do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// Bring the message back, after the given time if there is one.
    Retry {
        /// How long to wait; `None` leaves it to the queue.
        after: Option<Duration>,
    },
    /// It can never succeed: record that and drop it.
    Reject,
    /// It is of no interest any more: success, from the queue's view.
    Stale,
}

/// Why a stage did not finish.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// Somebody else holds the job or the pull request.
    #[error("{what} is held by another worker")]
    Busy {
        /// What is held.
        what: &'static str,
        /// How long at most.
        after: Duration,
    },
    /// It is not time yet.
    #[error("it is not due yet")]
    NotDue {
        /// How long to wait.
        after: Duration,
    },
    /// The pull request moved while it was read; read it again.
    #[error("the pull request kept moving while it was read")]
    Moving,
    /// The message names something that is not there.
    #[error("the message names a job that is not in the ledger")]
    UnknownJob,
    /// A stored object is not what it must be.
    #[error("the stored {what} cannot be used: {reason}")]
    BadObject {
        /// Which object.
        what: &'static str,
        /// What is wrong with it; our own words.
        reason: String,
    },
    /// The findings were written by a newer version; a later deployment will read them.
    #[error("the findings file has a newer schema than this version reads")]
    NewerSchema,
    /// A write was sent and its answer lost; look again once it can no longer land.
    #[error("a write to the forge may still land")]
    MayHaveLanded {
        /// How long to wait before looking.
        after: Duration,
    },
    /// The model is not available at the moment.
    #[error("the model is not available at the moment")]
    ModelUnavailable {
        /// When to try again.
        after: Duration,
    },
    /// The ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The artifact store failed.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// A queue failed.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The meter failed.
    #[error(transparent)]
    Meter(#[from] MeterError),
    /// The forge failed.
    #[error(transparent)]
    Forge(#[from] ForgeError),
}

impl StageError {
    /// Returns what the queue should do. What is not known to be hopeless is tried again.
    pub const fn disposition(&self) -> Disposition {
        match self {
            Self::Busy { after, .. }
            | Self::NotDue { after }
            | Self::MayHaveLanded { after }
            | Self::ModelUnavailable { after } => Disposition::Retry {
                after: Some(*after),
            },
            Self::Forge(ForgeError::RateLimited { after }) => Disposition::Retry {
                after: Some(*after),
            },
            Self::UnknownJob => Disposition::Reject,
            Self::Moving
            | Self::BadObject { .. }
            | Self::NewerSchema
            | Self::Ledger(_)
            | Self::Artifact(_)
            | Self::Queue(_)
            | Self::Meter(_)
            | Self::Forge(_) => Disposition::Retry { after: None },
        }
    }

    /// Returns a stable kebab-case name for logs and metrics.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Busy { .. } => "busy",
            Self::NotDue { .. } => "not-due",
            Self::Moving => "moving",
            Self::UnknownJob => "unknown-job",
            Self::BadObject { .. } => "bad-object",
            Self::NewerSchema => "newer-schema",
            Self::MayHaveLanded { .. } => "may-have-landed",
            Self::ModelUnavailable { .. } => "model-unavailable",
            Self::Ledger(_) => "ledger",
            Self::Artifact(_) => "artifacts",
            Self::Queue(_) => "queue",
            Self::Meter(_) => "meter",
            Self::Forge(_) => "forge",
        }
    }
}
