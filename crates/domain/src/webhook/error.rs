//! Why a believed delivery is refused or left alone.

use std::fmt;

/// A delivery that cannot be understood: an answer of `400`, or `413` for its size.
///
/// The text names header or field and never a value, so it may be sent back and logged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    /// The body is larger than anything the forge sends.
    #[error("the body is larger than {limit} bytes")]
    TooLarge {
        /// The bound in bytes.
        limit: usize,
    },
    /// A header is missing or malformed.
    #[error("the header `{name}` is {problem}")]
    Header {
        /// The header.
        name: &'static str,
        /// What is wrong with it.
        problem: FieldProblem,
    },
    /// A form-encoded body without the parameter that holds the JSON.
    #[error("the form-encoded body has no parameter `payload`")]
    NoPayload,
    /// The body is not JSON, or not one object.
    #[error("the body is not a JSON object")]
    NotJson,
    /// A field that is needed is missing or malformed.
    #[error("the field `{path}` is {problem}")]
    Field {
        /// The field's path, such as `pull_request.head.sha`.
        path: String,
        /// What is wrong with it.
        problem: FieldProblem,
    },
    /// The body is that of another event than the header says: header and id are not signed, the
    /// body is.
    #[error("the body does not fit the event `{event}` that the header names")]
    OtherEvent {
        /// The event that the header names.
        event: &'static str,
    },
}

/// What is wrong with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldProblem {
    /// It is not there.
    Missing,
    /// It is not of the form it must have.
    Malformed,
}

impl fmt::Display for FieldProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "missing",
            Self::Malformed => "malformed",
        })
    }
}

/// Why nothing follows from a delivery that is in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IgnoreReason {
    /// The forge tries the hook.
    Ping,
    /// Nothing follows from events of this name.
    Event,
    /// Nothing follows from this action of the event.
    Action,
    /// A comment on an issue.
    NotAPullRequest,
    /// A comment without a command.
    NoCommand,
    /// A bot caused it, this one or another: bots give no commands, or two would never stop.
    Bot,
    /// The account is not on the operator's list.
    Account,
    /// A kind of request that is not handled yet.
    Kind,
}

impl IgnoreReason {
    /// Returns the stable kebab-case text.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::Event => "event",
            Self::Action => "action",
            Self::NotAPullRequest => "not-a-pull-request",
            Self::NoCommand => "no-command",
            Self::Bot => "bot",
            Self::Account => "account",
            Self::Kind => "kind",
        }
    }
}
