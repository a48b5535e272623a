//! A listener that plays raw answers in order and keeps what it was sent.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mirilla_http::{Client, ClientSettings};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use url::Url;

/// What happens to one connection after its request was read.
pub(crate) enum Play {
    /// These bytes, then the connection closes.
    Raw(Vec<u8>),
    /// Nothing: the connection closes.
    Drop,
    /// Nothing for this long.
    Stall(Duration),
}

/// Returns an answer without any surprise.
pub(crate) fn ok(content_type: &str, body: &str) -> Play {
    raw(200, &[("content-type", content_type)], body.as_bytes())
}

/// Returns an answer with a right length.
pub(crate) fn raw(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Play {
    let mut out = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        out.push_str(&format!("{name}: {value}\r\n"));
    }
    out.push_str("connection: close\r\n\r\n");
    let mut out = out.into_bytes();
    out.extend_from_slice(body);
    Play::Raw(out)
}

/// The listener; stops when dropped.
pub(crate) struct Server {
    pub(crate) host: String,
    requests: Arc<Mutex<Vec<String>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start(plays: Vec<Play>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let task = tokio::spawn(async move {
            for play in plays {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = Vec::new();
                let mut buffer = [0; 4096];
                while !head.windows(4).any(|w| w == b"\r\n\r\n") {
                    let n = stream.read(&mut buffer).await.unwrap();
                    if n == 0 {
                        break;
                    }
                    head.extend_from_slice(&buffer[..n]);
                }
                seen.lock().unwrap().push(String::from_utf8(head).unwrap());
                match play {
                    Play::Raw(bytes) => stream.write_all(&bytes).await.unwrap_or_default(),
                    Play::Drop => {}
                    Play::Stall(time) => tokio::time::sleep(time).await,
                }
            }
        });
        Self {
            host,
            requests,
            task,
        }
    }

    pub(crate) fn url(&self, path: &str) -> Url {
        format!("http://{}{path}", self.host).parse().unwrap()
    }

    /// Returns the heads of the requests so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// Returns a client that may reach this server and the given hosts.
    pub(crate) fn client(&self, others: &[&str]) -> Client {
        Client::new(self.settings(others)).unwrap()
    }

    pub(crate) fn settings(&self, others: &[&str]) -> ClientSettings {
        let hosts = others
            .iter()
            .map(|&h| h.to_owned())
            .chain([self.host.clone()]);
        let mut settings = ClientSettings::new(hosts, "mirilla-test");
        settings.allow_plain_loopback = true;
        settings
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}
