//! A call before it is made.

use std::time::Duration;

use bytes::Bytes;
use mirilla_http::Method;
use serde_json::Value;
use url::Url;

/// Bound for one exchange, unless it says otherwise: GitHub itself gives up after ten seconds, GitLab after sixty.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// What an answer shall be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accept {
    /// JSON.
    Json,
    /// A unified diff.
    Diff,
    /// Whatever the archive's host sends.
    Archive,
    /// The bytes of a file.
    Raw,
}

impl Accept {
    pub(crate) const fn is_json(self) -> bool {
        matches!(self, Self::Json)
    }
}

/// One call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: Method,
    /// Method and template, for logs.
    pub(crate) route: &'static str,
    pub(crate) url: Url,
    pub(crate) accept: Accept,
    pub(crate) body: Option<Bytes>,
    pub(crate) max_body_bytes: Option<u64>,
    pub(crate) timeout: Duration,
}

impl Call {
    pub(crate) fn new(method: Method, route: &'static str, url: Url) -> Self {
        Self {
            method,
            route,
            url,
            accept: Accept::Json,
            body: None,
            max_body_bytes: None,
            timeout: CALL_TIMEOUT,
        }
    }

    pub(crate) fn get(route: &'static str, url: Url) -> Self {
        Self::new(Method::GET, route, url)
    }

    /// Sets a JSON body.
    pub(crate) fn json(mut self, body: &Value) -> Self {
        self.body = Some(body.to_string().into());
        self
    }

    pub(crate) fn accept(mut self, accept: Accept) -> Self {
        self.accept = accept;
        self
    }

    pub(crate) fn max_body_bytes(mut self, limit: u64) -> Self {
        self.max_body_bytes = Some(limit);
        self
    }

    pub(crate) fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}
