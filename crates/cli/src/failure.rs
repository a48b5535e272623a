//! How a failure is told: what was wrong, why, and what to do.

use std::process::ExitCode;

use crate::output;

/// A failure that says how to go on.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failure {
    /// What was wrong.
    message: String,
    /// What to do about it.
    hint: Option<String>,
    /// The exit code.
    code: u8,
}

impl Failure {
    /// Something failed.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
            code: 1,
        }
    }

    /// The command was used in a way it does not understand.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
            code: 2,
        }
    }

    /// There is nothing to review.
    pub(crate) fn nothing(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
            code: 3,
        }
    }

    /// The person stopped it.
    pub(crate) fn interrupted(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
            // What a shell says of a program that ended by this signal.
            code: 130,
        }
    }

    /// Something could not be done to a stack.
    #[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
    pub(crate) fn stack(error: mirilla_stack::StackError) -> anyhow::Error {
        let hint = error.hint();
        let failure = Self::new(error.to_string()).hint(hint);
        match std::error::Error::source(&error) {
            Some(cause) => anyhow::anyhow!("{cause}").context(failure),
            None => failure.into(),
        }
    }

    /// Adds what to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Prints an error with its causes and hint; returns the exit code.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    output::notes(&format!("error: {error}"));
    for cause in error.chain().skip(1) {
        output::notes(&format!("  caused by: {cause}"));
    }
    // A failure may be the error, stand in its chain, or have been added as its context.
    let failure = error.downcast_ref::<Failure>().or_else(|| {
        error
            .chain()
            .find_map(|cause| cause.downcast_ref::<Failure>())
    });
    if let Some(hint) = failure.and_then(|failure| failure.hint.as_ref()) {
        output::note("");
        output::notes(&format!("hint: {hint}"));
    }
    ExitCode::from(failure.map_or(1, |failure| failure.code))
}
