//! An endpoint that answers what it is told, in order, and keeps what it was asked.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use aws_credential_types::Credentials;
use mirilla_aws::Aws;
use serde_json::{Value, json};

/// One answer.
pub(crate) enum Say {
    /// A status, one further header, and a body.
    Answer(u16, (&'static str, &'static str), String),
    /// The connection closes without an answer, after the request was read.
    Nothing,
}

impl Say {
    /// DynamoDB's answer to a success.
    pub(crate) fn done() -> Self {
        Self::json(200, &json!({}))
    }

    /// DynamoDB's error of that name.
    pub(crate) fn error(name: &str) -> Self {
        let kind = format!("com.amazonaws.dynamodb.v20120810#{name}");
        Self::json(400, &json!({"__type": kind, "message": "scripted"}))
    }

    /// DynamoDB's cancellation of a transaction, with one code for each of its rows.
    pub(crate) fn cancelled(codes: &[&str]) -> Self {
        let reasons: Vec<Value> = codes.iter().map(|code| json!({"Code": code})).collect();
        let kind = "com.amazonaws.dynamodb.v20120810#TransactionCanceledException";
        Self::json(
            400,
            &json!({"__type": kind, "Message": "scripted", "CancellationReasons": reasons}),
        )
    }

    /// S3's error of that status and code.
    pub(crate) fn s3(status: u16, code: &str) -> Self {
        Self::s3_saying(status, code, "scripted")
    }

    /// The same with a text.
    pub(crate) fn s3_saying(status: u16, code: &str, message: &str) -> Self {
        let body = format!("<Error><Code>{code}</Code><Message>{message}</Message></Error>");
        Self::Answer(status, ("content-type", "application/xml"), body)
    }

    /// An answer in DynamoDB's JSON.
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        let kind = ("content-type", "application/x-amz-json-1.0");
        Self::Answer(status, kind, body.to_string())
    }
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// Request line and headers.
    pub(crate) head: String,
    /// Body.
    pub(crate) body: Vec<u8>,
}

impl Asked {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// A listening stub; it ends with the test's process.
pub(crate) struct Stub {
    pub(crate) endpoint: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Stub {
    /// Answers each request with the next of `script`, and 418 when there is none left.
    pub(crate) fn start(script: Vec<Say>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        thread::spawn(move || {
            let mut script = script.into_iter();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some(request) = read(&mut stream) else {
                    continue;
                };
                kept.lock().unwrap().push(request);
                let teapot = || Say::Answer(418, ("x-script", "over"), String::new());
                match script.next().unwrap_or_else(teapot) {
                    Say::Nothing => {}
                    Say::Answer(status, (name, value), body) => {
                        let head = format!(
                            "HTTP/1.1 {status} Scripted\r\n{name}: {value}\r\n\
                             content-length: {}\r\nconnection: close\r\n\r\n",
                            body.len()
                        );
                        let whole = [head.as_bytes(), body.as_bytes()].concat();
                        // Whoever asked may be gone.
                        drop(stream.write_all(&whole));
                    }
                }
            }
        });
        Self { endpoint, asked }
    }

    /// Returns clients of this endpoint.
    pub(crate) async fn aws(&self) -> Aws {
        let made_up = Credentials::new("AKIDMADEUP", "made-up-secret", None, None, "test");
        crate::support::aws(&self.endpoint, made_up).await
    }

    /// Returns all requests so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut all = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        if let Some(end) = all.windows(4).position(|it| it == b"\r\n\r\n") {
            let head = String::from_utf8(all[..end].to_vec()).unwrap();
            let length = head
                .lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                .map_or(0, |(_, value)| value.trim().parse().unwrap());
            if all.len() >= end + 4 + length {
                let body = all[end + 4..end + 4 + length].to_vec();
                return Some(Asked { head, body });
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(count) => all.extend_from_slice(&buffer[..count]),
        }
    }
}
