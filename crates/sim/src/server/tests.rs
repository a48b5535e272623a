use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use super::*;

/// Answers the way the path says.
struct ByPath;

impl Api for ByPath {
    fn answer(&self, request: &Request) -> Reply {
        let reply = Reply::new(200, "text/plain", "0123456789");
        match request.path.as_str() {
            "/dropped" => reply.travelling(Transport::Dropped),
            "/cut" => reply.travelling(Transport::Cut(4)),
            "/chunked" => reply.travelling(Transport::Chunked),
            "/slow" => reply.travelling(Transport::Slow {
                chunk: 3,
                pause: Duration::from_millis(2),
            }),
            _ => {
                Reply::new(200, "text/plain", request.body.clone()).with("x-query", &*request.query)
            }
        }
    }
}

fn get(path: &str) -> String {
    let shell = Shell::start().unwrap();
    let addr = shell.serve(Arc::new(ByPath)).unwrap();
    let mut stream = TcpStream::connect(addr).unwrap();
    let head = format!("POST {path} HTTP/1.1\r\nhost: sim\r\nconnection: close\r\n");
    stream
        .write_all(format!("{head}content-length: 4\r\n\r\nping").as_bytes())
        .unwrap();
    let mut answer = Vec::new();
    // A cut connection may also show as a reset; what arrived before it counts.
    drop(stream.read_to_end(&mut answer));
    String::from_utf8(answer).unwrap()
}

#[test]
fn whole_answer_carries_body_and_query() {
    let answer = get("/echo?a=b");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(
        answer.contains("x-query: a=b\r\n") && answer.ends_with("\r\n\r\nping"),
        "{answer}"
    );
}

#[test]
fn dropped_answer_sends_no_byte() {
    assert_eq!(get("/dropped"), "");
}

#[test]
fn cut_answer_announces_all_and_sends_a_part() {
    let answer = get("/cut");
    assert!(
        answer.contains("content-length: 10\r\n") && answer.ends_with("\r\n\r\n0123"),
        "{answer}"
    );
}

#[test]
fn chunked_answer_has_no_length() {
    let answer = get("/chunked");
    assert!(answer.contains("transfer-encoding: chunked") && !answer.contains("content-length"));
    assert!(answer.contains("0123456789"), "{answer}");
}

#[test]
fn slow_answer_arrives_whole() {
    assert!(get("/slow").ends_with("\r\n\r\n0123456789"));
}
