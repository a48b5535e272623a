//! Secrets and queries do not show.

use mirilla_http::{Request, header};
use secrecy::SecretString;

use crate::server::{Play, Server, ok};

fn chain(error: &dyn std::error::Error) -> String {
    let mut out = format!("{error} {error:?}");
    let mut cause = error.source();
    while let Some(error) = cause {
        out.push_str(&format!(" <- {error} {error:?}"));
        cause = error.source();
    }
    out
}

#[tokio::test]
async fn neither_debug_nor_errors_show_token_path_or_query() {
    let token = SecretString::from("ghs_SENTINEL_token");
    let server = Server::start(vec![Play::Drop, ok("application/json", "[]")]).await;
    let request = Request::get(server.url("/SENTINEL_path?sig=SENTINEL_query"))
        .bearer(&token)
        .secret_header(header::COOKIE, SecretString::from("SENTINEL_cookie"))
        .body("text/plain", "SENTINEL_body");
    assert!(!format!("{request:?}").contains("SENTINEL"), "{request:?}");
    let client = server.client(&[]);
    let error = client.send(request.clone()).await.unwrap_err();
    assert!(!chain(&error).contains("SENTINEL"), "{}", chain(&error));
    let response = client.send(request).await.unwrap();
    assert!(!format!("{response:?} {client:?}").contains("SENTINEL"));
    let error = response.json::<u8>().await.unwrap_err();
    assert!(!chain(&error).contains("SENTINEL"), "{}", chain(&error));
    assert!(server.requests()[0].contains("user-agent: mirilla-test"));
}

#[tokio::test]
async fn unprintable_secret_is_refused_without_showing_it() {
    let server = Server::start(vec![]).await;
    let request = Request::get(server.url("/")).bearer(&SecretString::from("SENTINEL\n"));
    let error = server.client(&[]).send(request).await.unwrap_err();
    assert!(!chain(&error).contains("SENTINEL"), "{}", chain(&error));
    assert_eq!(error.sent(), mirilla_http::Sent::No);
}
