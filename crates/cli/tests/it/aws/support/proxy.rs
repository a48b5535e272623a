//! A way to the emulator on which chosen calls are refused.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Which calls are refused: operation, and a piece of the request's body.
type Refused = Arc<Mutex<Vec<(String, String)>>>;

/// The way; it ends with the test's process.
#[derive(Clone)]
pub(crate) struct Proxy {
    pub(crate) url: String,
    refused: Refused,
}

impl Proxy {
    pub(crate) fn start(endpoint: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let refused = Refused::default();
        let (to, rules) = (
            endpoint.trim_start_matches("http://").to_owned(),
            Arc::clone(&refused),
        );
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (to, rules) = (to.clone(), Arc::clone(&rules));
                std::thread::spawn(move || drop(pass(stream, &to, &rules)));
            }
        });
        Self { url, refused }
    }

    /// Refuses an operation from now on, where the request names `about`.
    pub(crate) fn refuse(&self, operation: &str, about: &str) {
        let rule = (operation.to_owned(), about.to_owned());
        self.refused.lock().unwrap().push(rule);
    }

    /// Refuses nothing any more.
    pub(crate) fn allow(&self) {
        self.refused.lock().unwrap().clear();
    }
}

fn pass(mut client: TcpStream, to: &str, rules: &Refused) -> std::io::Result<()> {
    let mut raw = Vec::new();
    let mut piece = [0; 8192];
    let end = loop {
        let count = client.read(&mut piece)?;
        if count == 0 {
            return Ok(());
        }
        raw.extend_from_slice(&piece[..count]);
        if let Some(at) = raw.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
    };
    let head = String::from_utf8_lossy(&raw[..end]).into_owned();
    let header = |name: &str| {
        head.lines().find_map(|line| {
            let (have, value) = line.split_once(':')?;
            have.eq_ignore_ascii_case(name)
                .then(|| value.trim().to_owned())
        })
    };
    let length: usize = header("content-length").map_or(0, |n| n.parse().unwrap());
    while raw.len() < end + length {
        let count = client.read(&mut piece)?;
        raw.extend_from_slice(&piece[..count]);
    }
    let target = header("x-amz-target").unwrap_or_default();
    let operation = target.rsplit('.').next().unwrap_or_default();
    let body = String::from_utf8_lossy(&raw[end..]).into_owned();
    let rules = rules.lock().unwrap().clone();
    if rules
        .iter()
        .any(|(refused, about)| refused == operation && body.contains(about))
    {
        let body = r#"{"__type":"AccessDeniedException","message":"refused by the test"}"#;
        let answer = format!(
            "HTTP/1.1 400 Bad Request\r\ncontent-type: application/x-amz-json-1.1\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        client.write_all(answer.as_bytes())?;
        return client.shutdown(Shutdown::Both);
    }
    // One request a connection, so that the next one is looked at, too.
    let head = head.replacen("\r\n", "\r\nconnection: close\r\n", 1);
    let mut server = TcpStream::connect(to)?;
    server.write_all(head.as_bytes())?;
    server.write_all(&raw[end..])?;
    std::io::copy(&mut server, &mut client)?;
    client.shutdown(Shutdown::Both)
}
