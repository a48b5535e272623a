//! A server that plays a script: the replies of a route in order, the last one repeats.
//!
//! It reads the `http-script/1` form of the cases. A request that no route matches is answered with
//! 404 and fails the test in [`Script::finish`].

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use mirilla_domain::ids::Timestamp;
use mirilla_ports::Clock as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::things::TestClock;

/// One answer.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Bytes of the body that still arrive before the connection closes.
    pub(crate) cut: Option<usize>,
    /// Closes the connection without an answer.
    pub(crate) dropped: bool,
}

impl Reply {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::raw(status, "application/json; charset=utf-8", body.to_string())
    }

    pub(crate) fn raw(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            body: body.into(),
            cut: None,
            dropped: false,
        }
    }

    pub(crate) fn dropped() -> Self {
        Self {
            dropped: true,
            ..Self::json(200, &Value::Null)
        }
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn cut(mut self, at: usize) -> Self {
        self.cut = Some(at);
        self
    }
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
    /// By the test's clock.
    pub(crate) at: Timestamp,
}

impl Seen {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Returns method and path below the repository, without the query.
    pub(crate) fn short(&self) -> String {
        let path = self.path.split('?').next().unwrap();
        let path = path.strip_prefix("/repos/acme/shop").unwrap_or(path);
        format!("{} {path}", self.method)
    }
}

#[derive(Debug)]
struct Route {
    method: String,
    path: String,
    /// Sorted; empty matches any query.
    query: Vec<(String, String)>,
    accept: Option<String>,
    replies: Vec<Reply>,
    played: usize,
}

#[derive(Debug, Default)]
struct State {
    routes: Vec<Route>,
    seen: Vec<Seen>,
    unmatched: Vec<String>,
}

/// The server; stops when dropped.
pub(crate) struct Script {
    pub(crate) base: String,
    state: Arc<Mutex<State>>,
    task: tokio::task::JoinHandle<()>,
}

impl Script {
    pub(crate) async fn start(clock: &TestClock) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State::default()));
        let (shared, clock) = (Arc::clone(&state), clock.clone());
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (shared, clock) = (Arc::clone(&shared), clock.clone());
                tokio::spawn(async move {
                    // A client that hangs up is the test's business, not the server's.
                    drop(exchange(stream, &shared, &clock).await);
                });
            }
        });
        Self { base, state, task }
    }

    /// Plays a case's script on top of what is already there.
    pub(crate) async fn of_case(script: &Value, clock: &TestClock) -> Self {
        let server = Self::start(clock).await;
        let mut template = Value::Null;
        for route in script["routes"].as_array().unwrap() {
            let replies = route["replies"].as_array().unwrap();
            let replies = replies
                .iter()
                .map(|reply| server.case_reply(reply, &mut template))
                .collect();
            server.add(
                route["method"].as_str().unwrap(),
                route["path"].as_str().unwrap(),
                route["accept"].as_str(),
                replies,
            );
        }
        server
    }

    /// Adds a route; `path` may have a query, which then must match as a set.
    pub(crate) fn add(&self, method: &str, path: &str, accept: Option<&str>, replies: Vec<Reply>) {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        self.state.lock().unwrap().routes.push(Route {
            method: method.to_owned(),
            path: path.to_owned(),
            query: pairs(query),
            accept: accept.map(str::to_owned),
            replies,
            played: 0,
        });
    }

    pub(crate) fn get(&self, path: &str, body: &Value) {
        self.add("GET", path, None, vec![Reply::json(200, body)]);
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.lock().unwrap().seen.clone()
    }

    /// Returns how often a method and path (see [`Seen::short`]) were called.
    pub(crate) fn count(&self, short: &str) -> usize {
        self.seen()
            .iter()
            .filter(|seen| seen.short() == short)
            .count()
    }

    /// Fails if a request matched no route.
    pub(crate) fn finish(self) {
        let unmatched = std::mem::take(&mut self.state.lock().unwrap().unmatched);
        assert!(unmatched.is_empty(), "no route for {unmatched:?}");
    }

    fn case_reply(&self, reply: &Value, template: &mut Value) -> Reply {
        let body = match &reply["json"] {
            Value::Object(map) if map.contains_key("_repeat") => expand(&map["_repeat"], template),
            other => other.clone(),
        };
        let mut out = Reply::json(reply["status"].as_u64().unwrap() as u16, &body);
        for (name, value) in reply["headers"].as_object().into_iter().flatten() {
            let value = value.as_str().unwrap();
            out = out.with(name, value.replace("https://api.example.test", &self.base));
        }
        out
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Expands `_repeat`: `{a..b}` counts with leading zeros, `{n}` counts from 1, ids are filled in.
fn expand(repeat: &Value, last: &mut Value) -> Value {
    let count = repeat["count"].as_u64().unwrap();
    let template = match &repeat["template"] {
        Value::String(text) => {
            let name = text.strip_suffix(" as above").unwrap();
            let mut template = last.clone();
            template["filename"] = json!(name);
            template
        }
        template => template.clone(),
    };
    *last = template.clone();
    let items = (0..count).map(|n| {
        let mut item: Value = serde_json::from_str(&numbered(&template.to_string(), n)).unwrap();
        let id = json!(1_000 + n);
        item.as_object_mut().unwrap().entry("id").or_insert(id);
        item
    });
    Value::Array(items.collect())
}

fn numbered(text: &str, n: u64) -> String {
    let text = text.replace("{n}", &(n + 1).to_string());
    let Some(dots) = text.find("..") else {
        return text;
    };
    let open = text[..dots].rfind('{').unwrap();
    let close = dots + text[dots..].find('}').unwrap();
    let first = &text[open + 1..dots];
    let number = first.parse::<u64>().unwrap() + n;
    format!(
        "{}{number:0width$}{}",
        &text[..open],
        &text[close + 1..],
        width = first.len()
    )
}

fn pairs(query: &str) -> Vec<(String, String)> {
    let mut pairs: Vec<_> = url::form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect();
    pairs.sort();
    pairs
}

async fn exchange(
    mut stream: TcpStream,
    state: &Mutex<State>,
    clock: &TestClock,
) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(());
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let mut first = lines.next().unwrap().split(' ');
    let (method, path) = (
        first.next().unwrap().to_owned(),
        first.next().unwrap().to_owned(),
    );
    let headers: BTreeMap<_, _> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers
        .get("content-length")
        .map_or(0, |n| n.parse().unwrap());
    while bytes.len() < end + length {
        if stream.read_buf(&mut bytes).await? == 0 {
            break;
        }
    }
    let seen = Seen {
        method,
        path,
        headers,
        body: bytes[end..].to_vec(),
        at: clock.now(),
    };
    let reply = state.lock().unwrap().reply(seen);
    if reply.dropped {
        return Ok(());
    }
    let mut out = format!(
        "HTTP/1.1 {} X\r\ncontent-length: {}\r\nconnection: close\r\n",
        reply.status,
        reply.body.len()
    );
    for (name, value) in &reply.headers {
        out.push_str(&format!("{name}: {value}\r\n"));
    }
    out.push_str("\r\n");
    stream.write_all(out.as_bytes()).await?;
    let sent = reply.cut.unwrap_or(reply.body.len());
    stream.write_all(&reply.body[..sent]).await?;
    stream.shutdown().await
}

impl State {
    fn reply(&mut self, seen: Seen) -> Reply {
        let (path, query) = seen.path.split_once('?').unwrap_or((&seen.path, ""));
        let (query, accept) = (pairs(query), seen.headers.get("accept").cloned());
        let fits = |route: &Route| {
            route.method == seen.method
                && route.path == path
                && (route.query.is_empty() || route.query == query)
                && (route.accept.is_none() || route.accept == accept)
        };
        // The most specific route counts.
        let found = self
            .routes
            .iter_mut()
            .filter(|route| fits(route))
            .max_by_key(|route| (route.accept.is_some(), !route.query.is_empty()));
        let reply = if let Some(route) = found {
            let at = route.played.min(route.replies.len() - 1);
            route.played += 1;
            route.replies[at].clone()
        } else {
            self.unmatched
                .push(format!("{} {}", seen.method, seen.path));
            Reply::json(404, &json!({"message": "Not Found"}))
        };
        self.seen.push(seen);
        reply
    }
}
