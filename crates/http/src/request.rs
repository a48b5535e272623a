//! One request, with its secrets kept apart from its other headers.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;
use url::Url;

use crate::error::HttpError;
use crate::hosts::host_of;

/// A request that has not been sent. Clones share body bytes.
#[derive(Clone)]
pub struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: Vec<(HeaderName, String)>,
    pub(crate) secrets: Vec<(HeaderName, SecretString)>,
    pub(crate) body: Option<Bytes>,
    pub(crate) unusable_body: bool,
    pub(crate) timeout: Option<Duration>,
    pub(crate) max_body_bytes: Option<u64>,
}

impl Request {
    /// Returns a request without headers or body.
    pub fn new(method: Method, url: Url) -> Self {
        Self {
            method,
            url,
            headers: Vec::new(),
            secrets: Vec::new(),
            body: None,
            unusable_body: false,
            timeout: None,
            max_body_bytes: None,
        }
    }

    /// Returns a `GET`.
    pub fn get(url: Url) -> Self {
        Self::new(Method::GET, url)
    }

    /// Returns a `POST`.
    pub fn post(url: Url) -> Self {
        Self::new(Method::POST, url)
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Adds a header whose value is a secret: sent to this URL's origin only, also when a redirect
    /// is followed, marked as sensitive, and never shown.
    #[must_use]
    pub fn secret_header(mut self, name: HeaderName, value: SecretString) -> Self {
        self.secrets.push((name, value));
        self
    }

    /// Adds `Authorization: Bearer …` as a secret header.
    #[must_use]
    pub fn bearer(self, token: &SecretString) -> Self {
        let value = format!("Bearer {}", token.expose_secret());
        self.secret_header(header::AUTHORIZATION, value.into())
    }

    /// Sets the body as it is.
    #[must_use]
    pub fn body(mut self, content_type: &str, body: impl Into<Bytes>) -> Self {
        self.headers
            .push((header::CONTENT_TYPE, content_type.to_owned()));
        self.body = Some(body.into());
        self
    }

    /// Sets a JSON body. A value that JSON cannot carry fails when the request is sent.
    #[must_use]
    pub fn json<T: Serialize + ?Sized>(mut self, value: &T) -> Self {
        match serde_json::to_vec(value) {
            Ok(body) => self.body("application/json", body),
            Err(_not_json) => {
                self.unusable_body = true;
                self
            }
        }
    }

    /// Bounds this exchange, body included, instead of the client's own bound.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Bounds this answer's body instead of the client's own bound.
    #[must_use]
    pub fn max_body_bytes(mut self, limit: u64) -> Self {
        self.max_body_bytes = Some(limit);
        self
    }

    /// Returns the URL.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Returns the method.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// Returns the headers to send to `target`: secrets only if it has this request's origin.
    pub(crate) fn headers_for(&self, target: &Url) -> Result<HeaderMap, HttpError> {
        let invalid = |what| HttpError::InvalidRequest {
            host: host_of(target),
            what,
        };
        if self.unusable_body {
            return Err(invalid("the body is not JSON"));
        }
        let mut map = HeaderMap::new();
        for (name, value) in &self.headers {
            let value = HeaderValue::from_str(value)
                .map_err(|_unprintable| invalid("a header holds control characters"))?;
            map.append(name.clone(), value);
        }
        if same_origin(&self.url, target) {
            for (name, value) in &self.secrets {
                let mut value = HeaderValue::from_str(value.expose_secret())
                    .map_err(|_unprintable| invalid("a secret holds control characters"))?;
                value.set_sensitive(true);
                map.append(name.clone(), value);
            }
        }
        Ok(map)
    }
}

/// Returns whether two URLs agree in scheme, host and port.
pub(crate) fn same_origin(a: &Url, b: &Url) -> bool {
    a.scheme() == b.scheme()
        && a.host() == b.host()
        && a.port_or_known_default() == b.port_or_known_default()
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("host", &host_of(&self.url))
            .field("body_bytes", &self.body.as_ref().map(Bytes::len))
            .finish_non_exhaustive()
    }
}
