//! What can go wrong, told apart by what the other side may have done already.

use std::error::Error as StdError;
use std::fmt;

use http::StatusCode;

/// Whether the other side may have acted on a request that failed.
///
/// Money and double posting hang on this: what was [`Sent::No`] may be repeated at will, what was
/// [`Sent::Maybe`] counts as done until a read proves otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// Not one byte of the request reached the other side.
    No,
    /// The request, or part of it, went out and no answer came back.
    Maybe,
    /// An answer began: its status is known, its body is not usable.
    Answered(StatusCode),
}

/// Why our own rules refuse a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// The host is not on the client's list.
    #[error("it is not on the list of allowed hosts")]
    Host,
    /// Plain `http`, or another scheme than `https`.
    #[error("only https is allowed")]
    Scheme,
    /// The address is loopback, link-local, unspecified, multicast or an instance's metadata.
    #[error("its address is loopback, link-local or reserved")]
    LocalAddress,
    /// The address is private and the client's settings do not permit that.
    #[error("its address is private and private addresses are not enabled")]
    PrivateAddress,
    /// The URL carries a user name or password.
    #[error("the URL carries a user name or password")]
    UserInfo,
}

/// Why an exchange failed. No variant holds a path, a query, a header or a body.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// Our own rules refuse the URL; nothing was sent there.
    #[error("refused to contact `{host}`: {reason}")]
    Denied {
        /// The host that was not contacted.
        host: String,
        /// Which rule.
        reason: Denied,
    },
    /// The request cannot be built: a header value or a body that HTTP cannot carry.
    #[error("cannot build the request to `{host}`: {what}")]
    InvalidRequest {
        /// The host that was not contacted.
        host: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// No connection: the name does not resolve, nobody listens, or the handshake failed.
    #[error("cannot connect to `{host}`")]
    Connect {
        /// The host.
        host: String,
        /// What the network said.
        #[source]
        source: BoxError,
    },
    /// The request went out (or may have) and no answer came.
    #[error("no answer from `{host}`")]
    Lost {
        /// The host.
        host: String,
        /// Whether the time ran out, rather than the connection.
        timed_out: bool,
        /// What the network said.
        #[source]
        source: BoxError,
    },
    /// The answer began and broke off.
    #[error("the answer of `{host}` (status {status}) broke off")]
    Body {
        /// The host.
        host: String,
        /// The status that had arrived.
        status: StatusCode,
        /// What the network said.
        #[source]
        source: BoxError,
    },
    /// The answer's body is larger than allowed.
    #[error("the answer of `{host}` (status {status}) is larger than {limit} bytes")]
    TooLarge {
        /// The host.
        host: String,
        /// The status.
        status: StatusCode,
        /// The bound.
        limit: u64,
    },
    /// The answer is not the JSON that was expected.
    #[error("the answer of `{host}` (status {status}) is not the expected JSON: {problem}")]
    NotJson {
        /// The host.
        host: String,
        /// The status.
        status: StatusCode,
        /// Where it differs; holds nothing of the body.
        problem: JsonProblem,
    },
    /// A redirect that is not followed: too many, without a usable target, or of a write.
    #[error("`{host}` redirects (status {status}) and the redirect is not followed: {why}")]
    Redirect {
        /// The host that answered.
        host: String,
        /// The status.
        status: StatusCode,
        /// Why not.
        why: &'static str,
    },
}

/// A boxed cause.
pub type BoxError = Box<dyn StdError + Send + Sync>;

impl HttpError {
    /// Returns what the other side may have done.
    pub const fn sent(&self) -> Sent {
        match self {
            Self::Denied { .. } | Self::InvalidRequest { .. } | Self::Connect { .. } => Sent::No,
            Self::Lost { .. } => Sent::Maybe,
            Self::Body { status, .. }
            | Self::TooLarge { status, .. }
            | Self::NotJson { status, .. }
            | Self::Redirect { status, .. } => Sent::Answered(*status),
        }
    }

    /// Returns the host it is about.
    pub fn host(&self) -> &str {
        match self {
            Self::Denied { host, .. }
            | Self::InvalidRequest { host, .. }
            | Self::Connect { host, .. }
            | Self::Lost { host, .. }
            | Self::Body { host, .. }
            | Self::TooLarge { host, .. }
            | Self::NotJson { host, .. }
            | Self::Redirect { host, .. } => host,
        }
    }
}

/// Where a body stops being the expected JSON. Holds positions only, because a parser's own message
/// may quote the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonProblem {
    /// The content type says it is something else.
    ContentType,
    /// It is not JSON.
    Syntax {
        /// Line, from 1.
        line: usize,
        /// Column.
        column: usize,
    },
    /// It ends too early.
    Truncated,
    /// It is JSON of another shape.
    Shape {
        /// Line, from 1.
        line: usize,
        /// Column.
        column: usize,
    },
}

impl fmt::Display for JsonProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ContentType => f.write_str("the content type is not JSON"),
            Self::Syntax { line, column } => write!(f, "syntax error at {line}:{column}"),
            Self::Truncated => f.write_str("it ends too early"),
            Self::Shape { line, column } => write!(f, "unexpected shape at {line}:{column}"),
        }
    }
}

impl From<&serde_json::Error> for JsonProblem {
    fn from(error: &serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        match error.classify() {
            serde_json::error::Category::Eof => Self::Truncated,
            serde_json::error::Category::Data => Self::Shape { line, column },
            serde_json::error::Category::Syntax | serde_json::error::Category::Io => {
                Self::Syntax { line, column }
            }
        }
    }
}

/// Why a client could not be made of its settings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// An entry of the host list.
    #[error("`{entry}` is not a host; write `host` or `host:port`, without scheme or path")]
    Host {
        /// The entry.
        entry: String,
    },
    /// No host at all.
    #[error("the list of allowed hosts is empty; name at least one host")]
    NoHosts,
    /// The extra certificates.
    #[error("the extra CA certificates are not valid PEM certificates")]
    ExtraCa(#[source] BoxError),
    /// TLS or the client itself.
    #[error("cannot set up the HTTP client")]
    Setup(#[source] BoxError),
}
