//! Requests as anybody on the network may send them, without a client's rules.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use url::Url;

use super::World;

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub text: String,
}

impl World {
    /// Sends a request to the emulator, whatever host its address names.
    pub fn send(
        &self,
        method: &str,
        url: &Url,
        headers: &[(String, String)],
        body: &[u8],
    ) -> Answer {
        let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
        let mut head = format!(
            "{method} {target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {}\r\n",
            body.len()
        );
        for (name, value) in headers {
            if !name.eq_ignore_ascii_case("content-length") && !name.eq_ignore_ascii_case("host") {
                head.push_str(&[name.as_str(), ": ", value.as_str(), "\r\n"].concat());
            }
        }
        head.push_str("\r\n");
        let mut stream = TcpStream::connect(("127.0.0.1", self.emulator.port())).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let text = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        Answer {
            status: status.unwrap_or_else(|| panic!("not HTTP: {answer}")),
            text: text.to_owned(),
        }
    }
}
