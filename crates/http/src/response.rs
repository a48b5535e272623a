//! An answer whose body is read under a bound.

use std::fmt;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode, header};
use serde::de::DeserializeOwned;
use url::Url;

use crate::error::{HttpError, JsonProblem};
use crate::hosts::host_of;

/// An answer: status and headers have arrived, the body is read by one of the methods.
pub struct Response {
    inner: reqwest::Response,
    limit: u64,
    read: u64,
}

impl Response {
    pub(crate) fn new(inner: reqwest::Response, limit: u64) -> Self {
        Self {
            inner,
            limit,
            read: 0,
        }
    }

    /// Returns the status.
    pub fn status(&self) -> StatusCode {
        self.inner.status()
    }

    /// Returns the headers.
    pub fn headers(&self) -> &HeaderMap {
        self.inner.headers()
    }

    /// Returns a header's first value, if it is there and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers().get(name)?.to_str().ok()
    }

    /// Returns the URL that answered, after redirects. Its query may hold a signature: do not log it.
    pub fn url(&self) -> &Url {
        self.inner.url()
    }

    /// Returns the next piece of the body, or `None` at its end.
    ///
    /// Fails with [`HttpError::TooLarge`] as soon as all pieces together pass the bound, and with
    /// [`HttpError::Body`] if the body breaks off before its announced end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        let piece = match self.inner.chunk().await {
            Ok(piece) => piece,
            Err(error) => {
                return Err(HttpError::Body {
                    host: host_of(self.url()),
                    status: self.status(),
                    source: error.without_url().into(),
                });
            }
        };
        if let Some(piece) = &piece {
            let length = u64::try_from(piece.len()).unwrap_or(u64::MAX);
            self.read = self.read.saturating_add(length);
            if self.read > self.limit {
                return Err(self.too_large());
            }
        }
        Ok(piece)
    }

    /// Reads the whole body.
    pub async fn bytes(mut self) -> Result<Bytes, HttpError> {
        // An announced length that is past the bound need not be read to be refused.
        if self.inner.content_length().is_some_and(|n| n > self.limit) {
            return Err(self.too_large());
        }
        let Some(first) = self.chunk().await? else {
            return Ok(Bytes::new());
        };
        let Some(second) = self.chunk().await? else {
            return Ok(first);
        };
        let mut all = BytesMut::from(first);
        all.extend_from_slice(&second);
        while let Some(piece) = self.chunk().await? {
            all.extend_from_slice(&piece);
        }
        Ok(all.freeze())
    }

    /// Reads the whole body as JSON; a content type that says otherwise (a proxy's page) is an error.
    pub async fn json<T: DeserializeOwned>(self) -> Result<T, HttpError> {
        let (host, status) = (host_of(self.url()), self.status());
        let not_json = |problem| HttpError::NotJson {
            host,
            status,
            problem,
        };
        if !self.is_json() {
            return Err(not_json(JsonProblem::ContentType));
        }
        let body = self.bytes().await?;
        serde_json::from_slice(&body).map_err(|error| not_json(JsonProblem::from(&error)))
    }

    /// Returns whether the content type says JSON.
    pub fn is_json(&self) -> bool {
        self.header(header::CONTENT_TYPE.as_str())
            .is_some_and(|value| {
                let essence = value.split(';').next().unwrap_or(value).trim();
                essence.eq_ignore_ascii_case("application/json")
                    || essence.to_ascii_lowercase().ends_with("+json")
            })
    }

    fn too_large(&self) -> HttpError {
        HttpError::TooLarge {
            host: host_of(self.url()),
            status: self.status(),
            limit: self.limit,
        }
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("host", &host_of(self.url()))
            .field("status", &self.status())
            .field("read_bytes", &self.read)
            .finish_non_exhaustive()
    }
}
