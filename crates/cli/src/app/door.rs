//! The page's server: what GitHub sends the browser back to.
//!
//! | request | answer |
//! | --- | --- |
//! | `GET /{token}` | the page with the button; the token is in the address that was printed |
//! | `GET /created?code=…&state=…` | GitHub's redirect; without the state of this run, `403` |
//! | `POST /again` with the state | tries once more what is left |
//!
//! Requests are passed on as orders, so that a browser that goes away stops nothing.
//!
//! **Invariant:** only requests that name this machine as their host are answered, and a page that knows
//! neither token nor state learns nothing and starts nothing.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use subtle::ConstantTimeEq as _;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use url::form_urlencoded;

use super::page;

/// Longest code that is taken; GitHub's have 40 characters.
const MAX_CODE_CHARS: usize = 200;

/// What the browser asks for.
#[derive(Debug)]
pub(super) enum Order {
    /// GitHub registered an App and gave this code for it.
    Exchange(String),
    /// Try again what is left.
    Again,
}

/// An order, and who waits for the page that answers it.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) order: Order,
    pub(super) reply: oneshot::Sender<Shown>,
}

/// The page that answers an order.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) status: StatusCode,
    pub(super) html: String,
}

/// What tells a visitor that it is meant.
#[derive(Debug, Clone)]
pub(super) struct Tickets {
    /// In the address of the first page.
    pub(super) token: String,
    /// Goes to GitHub and comes back.
    pub(super) state: String,
}

struct Door {
    tickets: Tickets,
    port: u16,
    start: String,
    website: String,
    orders: mpsc::Sender<Asked>,
}

/// A listener on this machine alone, and where it is.
#[derive(Debug)]
pub(super) struct Listening {
    listener: TcpListener,
    port: u16,
}

impl Listening {
    /// Takes a free port.
    pub(super) async fn open() -> Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
            .await
            .context("no port of 127.0.0.1 can be listened on")?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    /// Returns an address on it.
    pub(super) fn address(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Answers until `stop` is done.
    pub(super) async fn serve(
        self,
        tickets: Tickets,
        start: String,
        website: String,
        orders: mpsc::Sender<Asked>,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<()> {
        let door = Arc::new(Door {
            tickets,
            port: self.port,
            start,
            website,
            orders,
        });
        axum::serve(self.listener, router(door))
            .with_graceful_shutdown(stop)
            .await
            .context("the page's server failed")
    }
}

fn router(door: Arc<Door>) -> Router {
    Router::new()
        .route("/created", get(created))
        .route("/again", post(again))
        .route("/{token}", get(start))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&door),
            this_machine,
        ))
        .with_state(door)
}

/// Turns away requests that a foreign name led here, and adds what every answer carries.
async fn this_machine(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    let host = request
        .headers()
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or_default();
    let port = door.port;
    let ours = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    let mut response = if ours.iter().any(|name| name == host) {
        next.run(request).await
    } else {
        refused(
            StatusCode::MISDIRECTED_REQUEST,
            "This page is for the machine that it runs on.",
        )
    };
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self' https: {}; \
         base-uri 'none'; frame-ancestors 'none'",
        door.website
    );
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, policy.as_str()),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        if let Ok(value) = value.parse() {
            headers.insert(name, value);
        }
    }
    response
}

async fn start(State(door): State<Arc<Door>>, Path(token): Path<String>) -> Response {
    if same(&token, &door.tickets.token) {
        html(StatusCode::OK, door.start.clone())
    } else {
        refused(StatusCode::NOT_FOUND, "There is nothing here.")
    }
}

async fn created(State(door): State<Arc<Door>>, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    if !same(&field(query.as_bytes(), "state"), &door.tickets.state) {
        return stranger();
    }
    let code = field(query.as_bytes(), "code");
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if code.is_empty() || code.len() > MAX_CODE_CHARS || !code.chars().all(plain) {
        return refused(StatusCode::BAD_REQUEST, "GitHub sent no code along.");
    }
    door.ask(Order::Exchange(code)).await
}

async fn again(State(door): State<Arc<Door>>, body: Bytes) -> Response {
    if !same(&field(&body, "state"), &door.tickets.state) {
        return stranger();
    }
    door.ask(Order::Again).await
}

impl Door {
    async fn ask(&self, order: Order) -> Response {
        let (reply, answer) = oneshot::channel();
        let over = || {
            refused(
                StatusCode::GONE,
                "This page is over: see the terminal that it was started from.",
            )
        };
        if self.orders.send(Asked { order, reply }).await.is_err() {
            return over();
        }
        match answer.await {
            Ok(shown) => html(shown.status, shown.html),
            Err(_gone) => over(),
        }
    }
}

/// Compares without telling by its time how much agrees.
fn same(given: &str, ours: &str) -> bool {
    given.as_bytes().ct_eq(ours.as_bytes()).into()
}

fn field(form: &[u8], name: &str) -> String {
    form_urlencoded::parse(form)
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

fn stranger() -> Response {
    refused(
        StatusCode::FORBIDDEN,
        "This does not belong to the App that is being created here. Nothing was done.",
    )
}

fn refused(status: StatusCode, why: &str) -> Response {
    html(status, page::failed(why))
}

fn html(status: StatusCode, body: String) -> Response {
    (
        status,
        [(header::CONTENT_TYPE, "text/html; charset=utf-8")],
        body,
    )
        .into_response()
}
