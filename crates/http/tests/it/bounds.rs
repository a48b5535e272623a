//! Bytes and JSON: what is too much or not what it says it is.

use mirilla_http::{HttpError, JsonProblem, Request};

use crate::server::{Server, ok, raw};

#[derive(Debug, serde::Deserialize)]
struct N {
    n: u32,
}

#[tokio::test]
async fn body_past_the_bound_is_refused_announced_or_not() {
    let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n\
        6\r\n012345\r\n6\r\n012345\r\n0\r\n\r\n";
    let server = Server::start(vec![
        ok("text/plain", "0123456789ab"),
        crate::server::Play::Raw(chunked.to_vec()),
        ok("text/plain", "0123456789"),
    ])
    .await;
    let client = server.client(&[]);
    for want_ok in [false, false, true] {
        let request = Request::get(server.url("/")).max_body_bytes(10);
        let body = client.send(request).await.unwrap().bytes().await;
        match body {
            Ok(body) => assert!(want_ok && body.len() == 10),
            Err(HttpError::TooLarge { limit: 10, .. }) => assert!(!want_ok),
            Err(other) => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn compressed_body_is_bounded_after_inflating() {
    let bomb = include_bytes!("one-mebibyte-of-zeros.gz");
    let headers = [("content-encoding", "gzip")];
    let server = Server::start(vec![raw(200, &headers, bomb), raw(200, &headers, bomb)]).await;
    let client = server.client(&[]);
    let small = Request::get(server.url("/")).max_body_bytes(64 * 1024);
    let refused = client.send(small).await.unwrap().bytes().await.unwrap_err();
    assert!(
        matches!(refused, HttpError::TooLarge { limit: 65_536, .. }),
        "{refused}"
    );
    let whole = client.send(Request::get(server.url("/"))).await.unwrap();
    assert_eq!(whole.bytes().await.unwrap().len(), 1024 * 1024);
}

#[tokio::test]
async fn page_in_html_and_other_json_are_told_apart() {
    let secret_body = r#"{"n":"sentinel-body-text"}"#;
    let server = Server::start(vec![
        ok("text/html; charset=utf-8", "<html>"),
        ok("application/json", "{\"n\":"),
        ok("application/json", "nonsense"),
        ok("application/vnd.github+json", secret_body),
        ok("application/json; charset=utf-8", r#"{"n":7}"#),
    ])
    .await;
    let client = server.client(&[]);
    let mut problems = Vec::new();
    for _ in 0..4 {
        let response = client.send(Request::get(server.url("/"))).await.unwrap();
        match response.json::<N>().await.unwrap_err() {
            HttpError::NotJson { problem, .. } => problems.push(problem),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(
        problems,
        [
            JsonProblem::ContentType,
            JsonProblem::Truncated,
            JsonProblem::Syntax { line: 1, column: 2 },
            JsonProblem::Shape {
                line: 1,
                column: 25
            },
        ]
    );
    let response = client.send(Request::get(server.url("/"))).await.unwrap();
    assert_eq!(response.json::<N>().await.unwrap().n, 7);
}
