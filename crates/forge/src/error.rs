//! What lies below a [`ForgeError`]: the cause, without any text that a forge or a person wrote.

use mirilla_http::{HttpError, Sent, StatusCode};
use mirilla_ports::forge::ForgeError;

use crate::refused::Refused;
use crate::token::TokenError;

/// The cause of a failed call to a forge.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApiError {
    /// The exchange failed.
    #[error("the exchange with the forge failed")]
    Http(#[from] HttpError),
    /// An answer with a status that says no more than that it failed.
    #[error("the forge answered with status {0}")]
    Status(StatusCode),
    /// GraphQL answered with errors.
    #[error("GraphQL answered with errors of type `{0}`")]
    Graphql(&'static str),
    /// An answer lacks something it must have, or has it in another form.
    #[error("the answer has no usable {0}")]
    Answer(&'static str),
    /// No token.
    #[error("there is no usable token")]
    Token(#[source] TokenError),
}

/// How one call failed, before it is said in the port's words.
#[derive(Debug)]
pub(crate) enum CallError {
    /// The forge answered and refused.
    Refused(Refused),
    /// The exchange failed.
    Http(HttpError),
    /// There was no token to send.
    Token(TokenError),
    /// The answer has another shape than agreed.
    Answer(ApiError),
}

impl From<ApiError> for CallError {
    fn from(error: ApiError) -> Self {
        Self::Answer(error)
    }
}

impl From<HttpError> for CallError {
    fn from(error: HttpError) -> Self {
        Self::Http(error)
    }
}

/// How a call is named in errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Named {
    /// What is done: "read the diff".
    pub(crate) action: &'static str,
    /// What is asked for: "the diff".
    pub(crate) what: &'static str,
    /// Whether a lost answer may have changed something.
    pub(crate) writes: bool,
}

impl CallError {
    /// Says it in the port's words.
    pub(crate) fn into_forge(self, named: Named) -> ForgeError {
        match self {
            Self::Refused(refused) => from_refused(refused, named),
            Self::Http(error) => from_http(error, named),
            Self::Token(error) => from_token(error, named),
            // An answer of a wrong shape still is one: the write may well be done.
            Self::Answer(error) => failed(error, named, named.writes),
        }
    }
}

fn from_refused(refused: Refused, named: Named) -> ForgeError {
    match refused {
        Refused::NotFound => ForgeError::NotFound { what: named.what },
        Refused::Forbidden => ForgeError::Forbidden {
            action: named.action,
        },
        Refused::Unauthorized => ForgeError::Unauthorized,
        Refused::Limited(limit) => ForgeError::RateLimited { after: limit.after },
        Refused::Unprocessable(reason) => ForgeError::Unprocessable {
            what: named.what,
            reason,
        },
        Refused::TooLarge => failed(ApiError::Status(StatusCode::NOT_ACCEPTABLE), named, false),
        // A proxy answers 502 to writes that landed.
        Refused::Server(status) => failed(ApiError::Status(status), named, named.writes),
        Refused::Other(status) => failed(ApiError::Status(status), named, false),
        Refused::Graphql(kind) => failed(ApiError::Graphql(kind), named, named.writes),
    }
}

fn from_http(error: HttpError, named: Named) -> ForgeError {
    let done = match error.sent() {
        Sent::No => false,
        Sent::Maybe => true,
        // A redirect that is not followed means that nothing was done.
        Sent::Answered(status) => status.is_success() || status.is_server_error(),
    };
    failed(ApiError::Http(error), named, named.writes && done)
}

fn from_token(error: TokenError, named: Named) -> ForgeError {
    match error {
        TokenError::NoFresh | TokenError::BadKey => ForgeError::Unauthorized,
        TokenError::NotInstalled => ForgeError::NotFound {
            what: "the App's installation",
        },
        TokenError::NotGranted | TokenError::TooWide => ForgeError::Forbidden {
            action: "be minted for this stage",
        },
        TokenError::RateLimited { after } => ForgeError::RateLimited { after },
        error @ TokenError::Unavailable { .. } => failed(ApiError::Token(error), named, false),
    }
}

fn failed(error: ApiError, named: Named, may_have_landed: bool) -> ForgeError {
    let source = Box::new(error);
    if may_have_landed {
        ForgeError::Unknown { source }
    } else {
        ForgeError::Unavailable {
            action: named.action,
            source,
        }
    }
}
