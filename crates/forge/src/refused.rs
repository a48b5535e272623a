//! What a refusal means, whichever forge it comes from.
//!
//! **Invariant:** no text of an answer is kept; it is looked at and becomes one of these values.

use std::time::Duration;

use mirilla_http::StatusCode;
use mirilla_ports::forge::Refusal;

/// The least wait after a limit that names no time: less prolongs GitHub's block.
pub(crate) const UNNAMED_WAIT: Duration = Duration::from_secs(60);

/// A refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Not there, or not for this token.
    NotFound,
    /// Never for this token.
    Forbidden,
    /// 401, also with a fresh token.
    Unauthorized,
    /// A limit on requests; it passes.
    Limited(Limit),
    /// The content of a write is refused.
    Unprocessable(Refusal),
    /// The diff is too large to be given whole.
    TooLarge,
    /// 5xx.
    Server(StatusCode),
    /// Anything else.
    Other(StatusCode),
    /// GraphQL errors that say none of the above.
    Graphql(&'static str),
}

/// A limit and how long it lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit {
    /// How long to wait.
    pub(crate) after: Duration,
    /// Whether the forge named that time; else it is our own minimum, to be raised when it recurs.
    pub(crate) named: bool,
}
