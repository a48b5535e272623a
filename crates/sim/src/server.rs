//! The loopback shell that both simulators stand in.
//!
//! A simulated API implements [`Api`]: one plain function from a [`Request`] to a [`Reply`]. The
//! shell gives it a listener on 127.0.0.1 with a port of the system's choice, on a thread and a
//! runtime of its own, so that synchronous tests and other processes can talk to it. A reply also
//! says how it travels ([`Transport`]): whole, chunked, slowly, cut off, or not at all.
//!
//! ```text
//! let shell = Shell::start()?;
//! let addr = shell.serve(Arc::new(MyApi::new()))?;    // http://{addr}
//! ```
//!
//! **Invariant:** every listener is bound to 127.0.0.1.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::header::{CONTENT_LENGTH, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Response, StatusCode, request::Parts};
use axum::{Extension, Router};
use bytes::Bytes;
use futures_util::stream;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::git::GitError;

mod connection;

use connection::{Accepting, Switch};

/// Largest request body the shell reads; more is answered 413.
const MAX_REQUEST_BYTES: usize = 64 * 1024 * 1024;

/// A simulated API: what it answers to one request.
///
/// Calls arrive on blocking threads, several at a time; the implementation may block.
pub(crate) trait Api: Send + Sync + 'static {
    /// Answers one request.
    fn answer(&self, request: &Request) -> Reply;
}

/// One request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// `GET`, `POST`, …
    pub(crate) method: String,
    /// The path, still percent-encoded.
    pub(crate) path: String,
    /// The query without its question mark; empty if there is none.
    pub(crate) query: String,
    /// The headers.
    pub(crate) headers: HeaderMap,
    /// The body.
    pub(crate) body: Bytes,
}

impl Request {
    /// Returns a header as text; absent and non-ASCII are `None`.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Returns the first value of a query parameter, decoded.
    pub(crate) fn param(&self, name: &str) -> Option<String> {
        url::form_urlencoded::parse(self.query.as_bytes())
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    }
}

/// How a reply travels back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Transport {
    /// In one piece with a `Content-Length`.
    Whole,
    /// In pieces, without a `Content-Length`.
    Chunked,
    /// The connection is closed before a byte of the answer is sent.
    Dropped,
    /// The announced length is the body's, but the connection closes after this many bytes of it.
    Cut(usize),
    /// This many bytes at a time with a pause before each.
    Slow {
        /// Bytes per piece, at least one.
        chunk: usize,
        /// Pause before each piece.
        pause: Duration,
    },
}

/// One answer.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    /// The HTTP status.
    pub(crate) status: u16,
    /// Headers in order; names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// The body.
    pub(crate) body: Bytes,
    /// How it travels.
    pub(crate) transport: Transport,
}

impl Reply {
    /// Returns an answer with a body of some type.
    pub(crate) fn new(status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            body: body.into(),
            transport: Transport::Whole,
        }
    }

    /// Returns an answer without a body.
    pub(crate) fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Bytes::new(),
            transport: Transport::Whole,
        }
    }

    /// Returns a JSON answer.
    pub(crate) fn json(status: u16, body: &serde_json::Value) -> Self {
        Self::new(status, "application/json; charset=utf-8", body.to_string())
    }

    /// Adds a header; one of the same name is replaced.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.retain(|(have, _)| have != name);
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Changes how it travels.
    #[must_use]
    pub(crate) fn travelling(mut self, transport: Transport) -> Self {
        self.transport = transport;
        self
    }
}

impl From<GitError> for Reply {
    fn from(error: GitError) -> Self {
        // Only a broken set-up gets here; the text is for whoever debugs the test.
        let source = std::error::Error::source(&error)
            .map(ToString::to_string)
            .unwrap_or_default();
        Self::json(
            500,
            &serde_json::json!({ "message": format!("{error} {source}") }),
        )
    }
}

/// A thread with a runtime on which simulated services listen; stops when dropped.
#[derive(Debug)]
pub(crate) struct Shell {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Shell {
    /// Starts the thread.
    pub(crate) fn start() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new()
            .name("sim".to_owned())
            .spawn(move || {
                // An error only says that the sender is gone, which means the same.
                drop(runtime.block_on(stopped));
                runtime.shutdown_timeout(Duration::from_secs(2));
            })?;
        Ok(Self {
            handle,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Opens a listener for `api` and returns its address.
    pub(crate) fn serve(&self, api: Arc<dyn Api>) -> io::Result<SocketAddr> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let addr = listener.local_addr()?;
        let guard = self.handle.enter();
        let listener = Accepting(tokio::net::TcpListener::from_std(listener)?);
        drop(guard);
        let service = Router::new()
            .fallback(exchange)
            .layer(Extension(api))
            .into_make_service_with_connect_info::<Switch>();
        let serving = axum::serve(listener, service);
        // The task lives as long as the runtime, which this shell owns.
        drop(self.handle.spawn(async move { serving.await }));
        Ok(addr)
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in the thread has nothing left to tell anyone at this point.
            drop(thread.join());
        }
    }
}

async fn exchange(
    Extension(api): Extension<Arc<dyn Api>>,
    ConnectInfo(switch): ConnectInfo<Switch>,
    parts: Parts,
    body: Body,
) -> Response<Body> {
    let Ok(body) = to_bytes(body, MAX_REQUEST_BYTES).await else {
        return plain(StatusCode::PAYLOAD_TOO_LARGE);
    };
    let request = Request {
        method: parts.method.as_str().to_owned(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers,
        body,
    };
    let answered = tokio::task::spawn_blocking(move || api.answer(&request)).await;
    match answered {
        Ok(reply) => send(reply, &switch),
        Err(_panicked) => plain(StatusCode::INTERNAL_SERVER_ERROR),
    }
}

fn plain(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

fn send(reply: Reply, switch: &Switch) -> Response<Body> {
    let length = reply.body.len();
    let (announced, body) = match reply.transport {
        Transport::Dropped => {
            switch.cut();
            (None, Body::empty())
        }
        Transport::Whole => (None, Body::from(reply.body)),
        Transport::Chunked => (None, pieces(reply.body, 16 * 1024, Duration::ZERO, false)),
        Transport::Cut(at) => {
            let kept = reply.body.slice(..at.min(length));
            (
                Some(length.max(at.saturating_add(1))),
                pieces(kept, length.max(1), Duration::ZERO, true),
            )
        }
        Transport::Slow { chunk, pause } => (Some(length), pieces(reply.body, chunk, pause, false)),
    };
    let mut response = Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in &reply.headers {
        if let (Ok(name), Ok(value)) = (
            HeaderName::from_bytes(name.as_bytes()),
            HeaderValue::from_str(value),
        ) {
            response.headers_mut().append(name, value);
        }
    }
    if let Some(announced) = announced {
        response
            .headers_mut()
            .insert(CONTENT_LENGTH, HeaderValue::from(announced));
    }
    response
}

/// Returns a body that yields `bytes` piece by piece and then ends, or fails if `broken`.
fn pieces(bytes: Bytes, chunk: usize, pause: Duration, broken: bool) -> Body {
    let chunk = chunk.max(1);
    Body::from_stream(stream::unfold(
        (bytes, false),
        move |(mut rest, failed)| async move {
            if failed {
                return None;
            }
            // Also lets the connection flush what it holds before the next piece or the failure.
            tokio::time::sleep(pause.max(Duration::from_millis(u64::from(broken)))).await;
            if rest.is_empty() {
                let cut =
                    io::Error::new(io::ErrorKind::ConnectionAborted, "cut by the fault script");
                return broken.then(|| (Err(cut), (rest, true)));
            }
            let piece = rest.split_to(chunk.min(rest.len()));
            Some((Ok(piece), (rest, false)))
        },
    ))
}

#[cfg(test)]
mod tests;
