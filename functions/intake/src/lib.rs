//! Takes webhooks on AWS, behind a function URL: believes, records, queues, answers.
//!
//! | request | answer |
//! | --- | --- |
//! | `POST /webhooks/github` | see [`mirilla_stages::intake`] |
//! | `POST /webhooks/gitlab` | the same; of the two the one that is not served is `404` |
//! | anything else | `404` |
//!
//! **Invariant:** no token of a forge here, and no forge is called.

use std::sync::Arc;

use lambda_http::http::{Method, header};
use lambda_http::{Body, Request, Response};
use mirilla_domain::ids::Forge;
use mirilla_ports::{Clock, Ledger, QueueSend};
use mirilla_stages::intake::{
    IncomingWebhook, IntakeAnswer, IntakePorts, IntakeSettings, SecretCache, intake,
};
use mirilla_telemetry::Telemetry;

/// What intake was wired with.
pub struct State {
    /// Jobs, deliveries, pull requests.
    pub ledger: Arc<dyn Ledger>,
    /// The way to the collector.
    pub queue: Arc<dyn QueueSend>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// What deliveries are signed with.
    pub secrets: SecretCache,
    /// Whom intake works for.
    pub settings: IntakeSettings,
    /// Metrics.
    pub telemetry: Telemetry,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// Answers one request.
pub async fn handle(state: &State, request: Request) -> Response<Body> {
    let begun = state.clock.now();
    let answer = answer(state, request).await;
    let took = state.clock.now().since(begun);
    mirilla_stages::intake::log(&answer, took);
    let (about, facts) = answer.facts(took);
    state.telemetry.emit(&about, &facts, state.clock.now());
    let mut response = Response::new(Body::Text(answer.text));
    if let Ok(status) = answer.status.try_into() {
        *response.status_mut() = status;
    }
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}

async fn answer(state: &State, request: Request) -> IntakeAnswer {
    let (parts, body) = request.into_parts();
    let forge = match (&parts.method, parts.uri.path()) {
        (&Method::POST, "/webhooks/github") => Forge::Github,
        (&Method::POST, "/webhooks/gitlab") => Forge::Gitlab,
        _ => return IntakeAnswer::not_found(),
    };
    let headers = parts.headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.as_str(), value)
    });
    let bytes = match body {
        Body::Text(text) => text.into_bytes(),
        Body::Binary(bytes) => bytes,
        _ => Vec::new(),
    };
    let ports = IntakePorts {
        ledger: &*state.ledger,
        queue: &*state.queue,
        secrets: &state.secrets,
        clock: &*state.clock,
    };
    // The front door's base64 is undone already.
    match IncomingWebhook::from_parts(forge, headers, bytes, false) {
        Ok(webhook) => intake(ports, &state.settings, &webhook).await,
        Err(error) => IntakeAnswer::from(&error),
    }
}
