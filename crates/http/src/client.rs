//! Sending under the client's rules.

use std::error::Error as StdError;
use std::sync::Arc;

use http::{Method, StatusCode, header};
use url::Url;

use crate::error::{Denied, HttpError, SettingsError};
use crate::hosts::{HostList, host_of};
use crate::request::{Request, same_origin};
use crate::resolve::{GuardedResolver, RefusedAddresses};
use crate::response::Response;
use crate::settings::ClientSettings;
use crate::tls;

/// Redirects that one call follows at most.
const MAX_REDIRECTS: usize = 3;

/// The HTTP client. Clones share connections.
#[derive(Debug, Clone)]
pub struct Client {
    inner: reqwest::Client,
    hosts: Arc<HostList>,
    max_body_bytes: u64,
}

impl Client {
    /// Builds a client that can reach the named hosts and nothing else.
    ///
    /// It uses compiled-in roots, no system proxy and no cookies, decompresses gzip, and follows no
    /// redirect by itself. It repeats nothing but a request that an HTTP/2 server declared
    /// unprocessed (RFC 9113, section 8.7).
    pub fn new(settings: ClientSettings) -> Result<Self, SettingsError> {
        let hosts = Arc::new(HostList::parse(
            &settings.allowed_hosts,
            settings.allow_plain_loopback,
            settings.allow_private_addresses,
        )?);
        let tls = tls::config(settings.extra_ca_pem.as_deref())?;
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the one place that builds a client"
        )]
        let builder = reqwest::Client::builder();
        let inner = builder
            .tls_backend_preconfigured(tls)
            .dns_resolver(Arc::new(GuardedResolver(Arc::clone(&hosts))))
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .no_proxy()
            .gzip(true)
            .connect_timeout(settings.connect_timeout)
            .read_timeout(settings.read_timeout)
            .timeout(settings.total_timeout)
            .user_agent(settings.user_agent)
            .build()
            .map_err(|e| SettingsError::Setup(e.without_url().into()))?;
        Ok(Self {
            inner,
            hosts,
            max_body_bytes: settings.max_body_bytes,
        })
    }

    /// Sends a request once and returns whatever answers, redirects included.
    ///
    /// A status is never an error here.
    pub async fn send(&self, request: Request) -> Result<Response, HttpError> {
        let url = request.url.clone();
        self.send_to(&request, url).await
    }

    /// Sends a request and follows up to three redirects, each checked against the host list before
    /// anything is sent there.
    ///
    /// A `GET` or `HEAD` may be led to any listed host, without its secret headers as soon as the
    /// origin is another one. Other methods follow only 307 and 308, which say that nothing was
    /// done, and only within their origin.
    pub async fn send_following(&self, request: Request) -> Result<Response, HttpError> {
        let mut response = self.send_to(&request, request.url.clone()).await?;
        for _ in 0..MAX_REDIRECTS {
            if !is_redirect(response.status()) {
                return Ok(response);
            }
            let target = self.target(&request, &response)?;
            response = self.send_to(&request, target).await?;
        }
        if is_redirect(response.status()) {
            return Err(HttpError::Redirect {
                host: host_of(response.url()),
                status: response.status(),
                why: "it is one too many",
            });
        }
        Ok(response)
    }

    /// Checks a URL against the client's rules without contacting it.
    pub fn check(&self, url: &Url) -> Result<(), HttpError> {
        self.hosts.check(url)
    }

    fn target(&self, request: &Request, response: &Response) -> Result<Url, HttpError> {
        let refuse = |why| HttpError::Redirect {
            host: host_of(response.url()),
            status: response.status(),
            why,
        };
        let location = response
            .header(header::LOCATION.as_str())
            .ok_or_else(|| refuse("there is no usable Location"))?;
        let url = response
            .url()
            .join(location)
            .map_err(|_unparsable| refuse("its Location is not a URL"))?;
        self.hosts.check(&url)?;
        let reads = request.method == Method::GET || request.method == Method::HEAD;
        let repeats = matches!(
            response.status(),
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
        );
        if reads || (repeats && same_origin(&request.url, &url)) {
            Ok(url)
        } else {
            Err(refuse(
                "a write is repeated only for 307 or 308 on the same host",
            ))
        }
    }

    async fn send_to(&self, request: &Request, url: Url) -> Result<Response, HttpError> {
        self.hosts.check(&url)?;
        let host = host_of(&url);
        let headers = request.headers_for(&url)?;
        let mut builder = self
            .inner
            .request(request.method.clone(), url)
            .headers(headers);
        if let Some(body) = &request.body {
            builder = builder.body(body.clone());
        }
        if let Some(timeout) = request.timeout {
            builder = builder.timeout(timeout);
        }
        let limit = request.max_body_bytes.unwrap_or(self.max_body_bytes);
        match builder.send().await {
            Ok(response) => Ok(Response::new(response, limit)),
            Err(error) => Err(classify(host, error)),
        }
    }
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Tells apart what certainly did not reach the other side from what may have.
fn classify(host: String, error: reqwest::Error) -> HttpError {
    if let Some(reason) = refused_address(&error) {
        return HttpError::Denied { host, reason };
    }
    if error.is_builder() {
        return HttpError::InvalidRequest {
            host,
            what: "the HTTP library refuses it",
        };
    }
    let (connect, timed_out) = (error.is_connect(), error.is_timeout());
    let source = error.without_url().into();
    if connect {
        HttpError::Connect { host, source }
    } else {
        HttpError::Lost {
            host,
            timed_out,
            source,
        }
    }
}

fn refused_address(error: &reqwest::Error) -> Option<Denied> {
    let mut cause: Option<&(dyn StdError + 'static)> = error.source();
    while let Some(error) = cause {
        if let Some(RefusedAddresses(reason)) = error.downcast_ref() {
            return Some(*reason);
        }
        cause = error.source();
    }
    None
}
