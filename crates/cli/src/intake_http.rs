//! Intake over HTTP: the one door of a host that runs everything itself.
//!
//! | request | answer |
//! | --- | --- |
//! | `POST /webhooks/github` | see [`mirilla_stages::intake`] |
//! | `POST /webhooks/gitlab` | the same; of the two the one that is not served is `404` |
//! | `GET /healthz` | `200 ok` while the process takes requests |
//!
//! Anyone may connect, so everything is bounded: connections, the time for headers and for a body, a
//! body's size, and the bytes of all bodies together. TLS is the business of the proxy in front.
//!
//! **Invariant:** nothing of a request is logged but what intake took out of a believed one.

mod connections;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, StatusCode, header};
use axum::routing::{get, post};
use futures_util::StreamExt as _;
use mirilla_domain::ids::Forge;
use mirilla_domain::webhook::MAX_BODY_BYTES;
use mirilla_ports::{Clock, Ledger, QueueSend};
use mirilla_stages::intake::{
    IncomingWebhook, IntakeAnswer, IntakePorts, IntakeSettings, SecretCache, intake,
};
use mirilla_telemetry::Telemetry;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, SemaphorePermit};

pub use connections::serve;

/// A block of the memory that bodies share.
const BLOCK_BYTES: usize = 64 * 1024;
/// All bodies that are being read together hold at most this many blocks (128 MiB); who comes later
/// waits.
const BODY_BLOCKS: usize = 2_048;

/// How long a client may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From the first moment of a connection, or of the wait for its next request, to the end of
    /// the headers.
    pub headers: Duration,
    /// From the end of the headers to the end of the body, waiting for memory included. GitHub gives
    /// up after ten seconds itself.
    pub body: Duration,
    /// Connections at once; more wait in the listener's queue.
    pub connections: usize,
    /// How long open requests may go on after the server was told to stop.
    pub shutdown: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            headers: Duration::from_secs(10),
            body: Duration::from_secs(10),
            connections: 256,
            shutdown: Duration::from_secs(10),
        }
    }
}

/// The address cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// It can be reached from other machines, which was not asked for.
    #[error(
        "{address} can be reached from other machines: listen on 127.0.0.1 behind a proxy with TLS, or allow it explicitly"
    )]
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// The system refused.
    #[error("{address} cannot be listened on: choose another port, or stop what uses it")]
    Refused {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Opens a listener; on other addresses than loopback only if `allow_other_machines`.
pub async fn bind(
    address: SocketAddr,
    allow_other_machines: bool,
) -> Result<TcpListener, BindError> {
    if !address.ip().is_loopback() && !allow_other_machines {
        return Err(BindError::NotLoopback { address });
    }
    TcpListener::bind(address)
        .await
        .map_err(|source| BindError::Refused { address, source })
}

/// What the door needs to answer.
pub struct Door {
    ledger: Arc<dyn Ledger>,
    queue: Arc<dyn QueueSend>,
    clock: Arc<dyn Clock>,
    secrets: SecretCache,
    settings: IntakeSettings,
    limits: Limits,
    telemetry: Option<Telemetry>,
    memory: Semaphore,
}

impl std::fmt::Debug for Door {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Door")
            .field("settings", &self.settings)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Door {
    /// Puts a door together, without metrics.
    pub fn new(
        ledger: Arc<dyn Ledger>,
        queue: Arc<dyn QueueSend>,
        clock: Arc<dyn Clock>,
        secrets: SecretCache,
        settings: IntakeSettings,
        limits: Limits,
    ) -> Self {
        Self {
            ledger,
            queue,
            clock,
            secrets,
            settings,
            limits,
            telemetry: None,
            memory: Semaphore::new(BODY_BLOCKS),
        }
    }

    /// Lets the door write metrics.
    pub fn with_metrics(self, telemetry: Telemetry) -> Self {
        Self {
            telemetry: Some(telemetry),
            ..self
        }
    }

    async fn take(&self, forge: Forge, request: Request<Body>) -> IntakeAnswer {
        let (parts, body) = request.into_parts();
        let length = parts.headers.get(header::CONTENT_LENGTH);
        let length = length.and_then(|it| it.to_str().ok()?.parse::<usize>().ok());
        if length.is_some_and(|length| length > MAX_BODY_BYTES) {
            return IntakeAnswer::too_large();
        }
        let read = tokio::time::timeout(self.limits.body, self.read(body)).await;
        let (bytes, _memory) = match read {
            Ok(Some(read)) => read,
            Ok(None) => return IntakeAnswer::too_large(),
            Err(_elapsed) => return IntakeAnswer::too_slow(),
        };
        let headers = parts.headers.iter().map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str(), value)
        });
        match IncomingWebhook::from_parts(forge, headers, bytes, false) {
            Ok(http) => intake(self.ports(), &self.settings, &http).await,
            Err(error) => IntakeAnswer::from(&error),
        }
    }

    /// Reads a body and the memory it stands for; `None` if it is longer than the cap, or cut off, in
    /// which case nobody reads the answer.
    ///
    /// Memory is taken as bytes come, so that a stated length alone keeps nobody out.
    async fn read(&self, body: Body) -> Option<(Vec<u8>, Option<SemaphorePermit<'_>>)> {
        let mut stream = body.into_data_stream();
        let mut bytes = Vec::new();
        let mut memory: Option<SemaphorePermit<'_>> = None;
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.ok()?;
            let length = bytes.len().saturating_add(chunk.len());
            if length > MAX_BODY_BYTES {
                return None;
            }
            let held = memory.as_ref().map_or(0, SemaphorePermit::num_permits);
            let missing = length.div_ceil(BLOCK_BYTES).saturating_sub(held);
            let more = self.memory.acquire_many(u32::try_from(missing).ok()?).await;
            match (&mut memory, more.ok()?) {
                (Some(memory), more) => memory.merge(more),
                (none, more) => *none = Some(more),
            }
            bytes.extend_from_slice(&chunk);
        }
        Some((bytes, memory))
    }

    fn ports(&self) -> IntakePorts<'_> {
        IntakePorts {
            ledger: &*self.ledger,
            queue: &*self.queue,
            secrets: &self.secrets,
            clock: &*self.clock,
        }
    }

    fn report(&self, answer: &IntakeAnswer, took: Duration) {
        mirilla_stages::intake::log(answer, took);
        if let Some(telemetry) = self.telemetry {
            let (about, facts) = answer.facts(took);
            telemetry.emit(&about, &facts, self.clock.now());
        }
    }
}

pub(crate) fn router(door: Arc<Door>) -> Router {
    Router::new()
        .route("/webhooks/github", post(github))
        .route("/webhooks/gitlab", post(gitlab))
        .route("/healthz", get(|| async { "ok" }))
        .fallback(not_found)
        .with_state(door)
}

async fn github(State(door): State<Arc<Door>>, request: Request<Body>) -> (StatusCode, String) {
    answer(&door, Forge::Github, request).await
}

async fn gitlab(State(door): State<Arc<Door>>, request: Request<Body>) -> (StatusCode, String) {
    answer(&door, Forge::Gitlab, request).await
}

async fn answer(door: &Door, forge: Forge, request: Request<Body>) -> (StatusCode, String) {
    let begun = door.clock.now();
    let answer = door.take(forge, request).await;
    door.report(&answer, door.clock.now().since(begun));
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, answer.text)
}

async fn not_found() -> (StatusCode, &'static str) {
    (StatusCode::NOT_FOUND, "not found")
}

#[cfg(test)]
mod tests;
