//! What stands against something that a test asked for.

use crate::git::GitError;

/// Why the simulator could not arrange what a test asked for.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// There is no such thing.
    #[error("there is no {what}")]
    Missing {
        /// Its kind and name.
        what: String,
    },
    /// It exists already, or its state forbids the step.
    #[error("{what}")]
    Conflict {
        /// What stands against it.
        what: String,
    },
    /// Git could not do its part.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl StateError {
    pub(crate) fn missing(what: impl Into<String>) -> Self {
        Self::Missing { what: what.into() }
    }

    pub(crate) fn conflict(what: impl Into<String>) -> Self {
        Self::Conflict { what: what.into() }
    }
}
