//! The one way a call to a forge is made.
//!
//! **Invariant:** a log line of this module holds method, route template, status and numbers: never a
//! path, a query, a header's text or a body.

mod call;
mod left;
mod link;
mod pages;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use mirilla_domain::ids::Timestamp;
use mirilla_http::retry::backoff;
use mirilla_http::{
    Client, HeaderMap, HttpError, JsonProblem, Request, Response, StatusCode, header,
};
use mirilla_ports::{Clock, Entropy};
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use url::Url;

use crate::error::CallError;
use crate::refused::Refused;
use crate::token::{ReadToken, ResolveToken, TokenError, TokenSource, WriteToken};

pub(crate) use call::{Accept, Call};
use left::CallsLeft;
pub(crate) use pages::{End, MAX_PAGES, numbered};

/// Tries of one read.
const READ_TRIES: u32 = 3;
/// How long one read waits between its tries, all in all; what takes longer goes back to the queue.
const READ_PATIENCE: Duration = Duration::from_secs(10);
/// The first wait between tries, before jitter.
const BACKOFF_BASE: Duration = Duration::from_millis(500);
/// The longest wait between tries that the forge did not ask for.
const BACKOFF_CAP: Duration = Duration::from_secs(4);
/// How much of an error's body is looked at.
const MAX_ERROR_BYTES: u64 = 64 * 1024;

/// A forge as far as making a call goes: where it is, how it is spoken to, and how it refuses.
pub(crate) trait Service: fmt::Debug + Send + Sync + 'static {
    /// The names of the headers that say how many calls are left, and of how many.
    const QUOTA_HEADERS: [&'static str; 2];

    /// Returns the base of the API.
    fn api_base(&self) -> &Url;

    /// Returns the header value that asks for a kind of answer.
    fn accept(&self, accept: Accept) -> &'static str;

    /// Adds the headers that every request carries.
    fn dress(&self, request: Request) -> Request {
        request
    }

    /// Says what an answer that is not a success means. `now_ms` is the present in Unix milliseconds.
    fn classify(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
        now_ms: i64,
    ) -> Refused;

    /// Returns the URL of a path under the API's base; segments are escaped.
    fn url(&self, segments: &[&str]) -> Url {
        let mut url = self.api_base().clone();
        // The base has a host, so it always has path segments.
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        url
    }
}

/// What a call identifies itself with, for logs and for the choice of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Credential {
    /// The App itself.
    App,
    /// A token that reads.
    Read,
    /// A token that writes.
    Write,
    /// A token that resolves threads.
    Resolve,
}

impl Credential {
    const fn as_str(self) -> &'static str {
        match self {
            Self::App => "app",
            Self::Read => "read-token",
            Self::Write => "write-token",
            Self::Resolve => "resolve-token",
        }
    }
}

/// A source of bearer tokens of one kind, whatever its type was outside.
#[async_trait]
pub(crate) trait Bearer: Send + Sync {
    fn credential(&self) -> Credential;

    async fn bearer(&self, fresh: bool) -> Result<SecretString, TokenError>;
}

/// Bearer of a reading half.
pub(crate) struct ReadBearer(pub(crate) Arc<dyn TokenSource<ReadToken>>);

#[async_trait]
impl Bearer for ReadBearer {
    fn credential(&self) -> Credential {
        Credential::Read
    }

    async fn bearer(&self, fresh: bool) -> Result<SecretString, TokenError> {
        self.0.token(fresh).await.map(ReadToken::into_secret)
    }
}

/// Bearer of a writing half.
pub(crate) struct WriteBearer(pub(crate) Arc<dyn TokenSource<WriteToken>>);

#[async_trait]
impl Bearer for WriteBearer {
    fn credential(&self) -> Credential {
        Credential::Write
    }

    async fn bearer(&self, fresh: bool) -> Result<SecretString, TokenError> {
        self.0.token(fresh).await.map(WriteToken::into_secret)
    }
}

/// Bearer of one token that resolves threads; there is never a second one.
pub(crate) struct ResolveBearer(pub(crate) ResolveToken);

#[async_trait]
impl Bearer for ResolveBearer {
    fn credential(&self) -> Credential {
        Credential::Resolve
    }

    async fn bearer(&self, fresh: bool) -> Result<SecretString, TokenError> {
        self.0.token(fresh).await.map(ResolveToken::into_secret)
    }
}

/// A successful answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    host: String,
    status: StatusCode,
}

impl Answer {
    /// Reads the body as JSON of a shape.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, CallError> {
        serde_json::from_slice(&self.body).map_err(|error| {
            CallError::Http(HttpError::NotJson {
                host: self.host.clone(),
                status: self.status,
                problem: JsonProblem::from(&error),
            })
        })
    }
}

/// The API with one credential.
pub(crate) struct Api<S> {
    client: Client,
    service: Arc<S>,
    bearer: Arc<dyn Bearer>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    left: Arc<CallsLeft>,
}

impl<S> Clone for Api<S> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            service: Arc::clone(&self.service),
            bearer: Arc::clone(&self.bearer),
            clock: Arc::clone(&self.clock),
            entropy: Arc::clone(&self.entropy),
            left: Arc::clone(&self.left),
        }
    }
}

impl<S: Service> Api<S> {
    pub(crate) fn new(
        client: Client,
        service: Arc<S>,
        bearer: Arc<dyn Bearer>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Self {
            client,
            service,
            bearer,
            clock,
            entropy,
            left: Arc::default(),
        }
    }

    /// Returns how many percent of the forge's limit the answers so far left, at the least.
    pub(crate) fn calls_left(&self) -> Option<u64> {
        self.left.percent()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    pub(crate) fn service(&self) -> &S {
        &self.service
    }

    /// Returns the URL of a path under the API's base.
    pub(crate) fn url(&self, segments: &[&str]) -> Url {
        self.service.url(segments)
    }

    /// Reads an answer, repeating what fails in passing as long as the waits stay short.
    pub(crate) async fn read(&self, call: &Call) -> Result<Answer, CallError> {
        let mut tries = Tries::default();
        loop {
            let outcome = match self.once(call).await {
                Ok(response) => whole(response, call.accept.is_json()).await,
                Err(error) => Err(error),
            };
            match outcome {
                Ok(answer) => return Ok(answer),
                Err(error) => self.pause(&mut tries, error).await?,
            }
        }
    }

    /// Reads an answer as JSON.
    pub(crate) async fn read_json<T: DeserializeOwned>(&self, call: &Call) -> Result<T, CallError> {
        self.read(call).await?.json()
    }

    /// Opens an answer whose body is streamed; only getting it to begin is repeated.
    pub(crate) async fn open(&self, call: &Call) -> Result<Response, CallError> {
        let mut tries = Tries::default();
        loop {
            match self.once(call).await {
                Ok(response) => return Ok(response),
                Err(error) => self.pause(&mut tries, error).await?,
            }
        }
    }

    /// Makes a call that changes something: once.
    pub(crate) async fn write(&self, call: &Call) -> Result<Answer, CallError> {
        whole(self.once(call).await?, false).await
    }

    /// Makes a call without repeating it, but for one fresh token after a 401. Success only.
    pub(crate) async fn once(&self, call: &Call) -> Result<Response, CallError> {
        let token = self.bearer.bearer(false).await.map_err(CallError::Token)?;
        let response = self.exchange(call, &token).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return self.success(response).await;
        }
        let token = match self.bearer.bearer(true).await {
            Ok(token) => token,
            Err(TokenError::NoFresh | TokenError::BadKey) => {
                return Err(CallError::Refused(Refused::Unauthorized));
            }
            Err(error) => return Err(CallError::Token(error)),
        };
        let response = self.exchange(call, &token).await?;
        self.success(response).await
    }

    async fn exchange(&self, call: &Call, token: &SecretString) -> Result<Response, CallError> {
        let request = Request::new(call.method.clone(), call.url.clone())
            .header(header::ACCEPT, self.service.accept(call.accept))
            .bearer(token)
            .timeout(call.timeout);
        let mut request = self.service.dress(request);
        if let Some(body) = &call.body {
            request = request.body("application/json", body.clone());
        }
        if let Some(limit) = call.max_body_bytes {
            request = request.max_body_bytes(limit);
        }
        let sent = self.client.send_following(request).await;
        let status = sent.as_ref().map_or(0, |r| r.status().as_u16());
        let number = |name| sent.as_ref().ok()?.header(name)?.trim().parse::<u64>().ok();
        let [remaining, limit] = S::QUOTA_HEADERS.map(number);
        self.left.note(remaining, limit);
        tracing::debug!(
            http_host = call.url.host_str().unwrap_or_default(),
            http_route = call.route,
            http_status = status,
            rate_limit_remaining = remaining,
            credential = self.bearer.credential().as_str(),
            "called the forge"
        );
        Ok(sent?)
    }

    async fn success(&self, response: Response) -> Result<Response, CallError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let headers = response.headers().clone();
        let body = error_body(response).await;
        let now_ms = self.now().get();
        Err(CallError::Refused(
            self.service.classify(status, &headers, &body, now_ms),
        ))
    }

    /// Waits before the next try, or gives the failure back when there shall be none.
    async fn pause(&self, tries: &mut Tries, error: CallError) -> Result<(), CallError> {
        tries.made = tries.made.saturating_add(1);
        let left = READ_PATIENCE.saturating_sub(tries.waited);
        let wait = match &error {
            _ if tries.made >= READ_TRIES => None,
            CallError::Refused(Refused::Limited(limit)) => Some(limit.after),
            CallError::Refused(Refused::Server(_)) => Some(self.backoff(tries.made)),
            CallError::Http(error) if is_passing(error) => Some(self.backoff(tries.made)),
            _ => None,
        };
        let Some(wait) = wait.filter(|wait| *wait <= left) else {
            return Err(error);
        };
        tries.waited = tries.waited.saturating_add(wait);
        self.clock.sleep(wait).await;
        Ok(())
    }

    fn backoff(&self, attempt: u32) -> Duration {
        backoff(
            attempt,
            BACKOFF_BASE,
            BACKOFF_CAP,
            self.entropy.below(u64::MAX),
        )
    }
}

impl<S: Service> fmt::Debug for Api<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api")
            .field("base", &self.service.api_base().as_str())
            .field("credential", &self.bearer.credential())
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Tries {
    made: u32,
    waited: Duration,
}

async fn whole(response: Response, json: bool) -> Result<Answer, CallError> {
    let (status, headers) = (response.status(), response.headers().clone());
    let host = response.url().host_str().unwrap_or_default().to_owned();
    if json && !response.is_json() {
        return Err(CallError::Http(HttpError::NotJson {
            host,
            status,
            problem: JsonProblem::ContentType,
        }));
    }
    Ok(Answer {
        body: response.bytes().await?,
        headers,
        host,
        status,
    })
}

/// Returns as much of an error's body as is worth a look; none if it does not arrive.
async fn error_body(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(piece)) = response.chunk().await {
        body.extend_from_slice(&piece);
        if u64::try_from(body.len()).is_ok_and(|n| n > MAX_ERROR_BYTES) {
            break;
        }
    }
    body
}

/// Returns whether a failed exchange may go better in a moment.
fn is_passing(error: &HttpError) -> bool {
    match error {
        HttpError::Connect { .. } | HttpError::Lost { .. } | HttpError::Body { .. } => true,
        // A proxy's page, or half an answer.
        HttpError::NotJson { problem, .. } => !matches!(problem, JsonProblem::Shape { .. }),
        _ => false,
    }
}
