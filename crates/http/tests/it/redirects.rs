//! Redirects: how far, to whom, and what goes along.

use mirilla_http::{HttpError, Method, Request};
use secrecy::SecretString;

use crate::server::{Play, Server, ok, raw};

const TOKEN: &str = "ghs_SENTINEL_not_a_real_token";

fn redirect(status: u16, to: &str) -> Play {
    raw(status, &[("location", to)], b"")
}

fn authorised(server: &Server, method: Method) -> Request {
    Request::new(method, server.url("/start")).bearer(&SecretString::from(TOKEN))
}

#[tokio::test]
async fn token_stays_with_its_origin() {
    let archive = Server::start(vec![ok("application/zip", "zip")]).await;
    let target = archive.url("/archive?signature=1");
    let api = Server::start(vec![
        redirect(302, "/moved"),
        redirect(302, target.as_str()),
    ])
    .await;
    let client = api.client(&[&archive.host]);
    let response = client
        .send_following(authorised(&api, Method::GET))
        .await
        .unwrap();
    assert_eq!(response.bytes().await.unwrap(), "zip");
    let at_api = api.requests();
    assert_eq!(at_api.len(), 2);
    assert!(
        at_api.iter().all(|r| r.contains(TOKEN)),
        "the same origin gets the token"
    );
    let at_archive = archive.requests();
    assert_eq!(at_archive.len(), 1);
    assert!(!at_archive[0].contains(TOKEN), "another origin never does");
}

#[tokio::test]
async fn unlisted_targets_are_named_and_never_contacted() {
    let other = Server::start(vec![ok("text/plain", "")]).await;
    let unlisted = other.url("/");
    for target in [
        unlisted.as_str(),
        "http://127.0.0.1:9001/2018-06-01/runtime/invocation/next",
        "http://[::ffff:169.254.169.254]/latest/meta-data/",
        "https://api.github.com.evil.test/",
        "https://2130706433/",
        "file:///etc/passwd",
        "https://user@evil.test/",
    ] {
        let api = Server::start(vec![redirect(302, target)]).await;
        let error = api
            .client(&[])
            .send_following(authorised(&api, Method::GET))
            .await
            .unwrap_err();
        let HttpError::Denied { host, .. } = &error else {
            panic!("{target}: {error:?}");
        };
        let named = url::Url::parse(target).unwrap();
        assert!(
            host.starts_with(named.host_str().unwrap_or("(no host)")),
            "{host}"
        );
        assert!(!error.to_string().contains("runtime/invocation"), "{error}");
    }
    assert_eq!(other.requests().len(), 0);
}

#[tokio::test]
async fn three_redirects_are_followed_and_a_fourth_is_not() {
    let hops = |n| (0..n).map(|_| redirect(301, "/again")).collect::<Vec<_>>();
    let mut plays = hops(3);
    plays.push(ok("text/plain", "here"));
    let fine = Server::start(plays).await;
    let response = fine
        .client(&[])
        .send_following(authorised(&fine, Method::GET))
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    let loops = Server::start(hops(6)).await;
    let error = loops
        .client(&[])
        .send_following(authorised(&loops, Method::GET))
        .await
        .unwrap_err();
    assert!(matches!(error, HttpError::Redirect { .. }), "{error:?}");
    assert_eq!(loops.requests().len(), 4);
}

#[tokio::test]
async fn write_is_repeated_only_where_nothing_was_done() {
    for (status, want) in [
        (301, false),
        (302, false),
        (303, false),
        (307, true),
        (308, true),
    ] {
        let api = Server::start(vec![redirect(status, "/moved"), ok("text/plain", "")]).await;
        let sent = api
            .client(&[])
            .send_following(authorised(&api, Method::POST).json(&1))
            .await;
        assert_eq!(sent.is_ok(), want, "{status}");
        assert_eq!(api.requests().len(), if want { 2 } else { 1 });
    }
}

#[tokio::test]
async fn plain_send_hands_redirects_back() {
    let api = Server::start(vec![redirect(302, "/x")]).await;
    let response = api
        .client(&[])
        .send(authorised(&api, Method::GET))
        .await
        .unwrap();
    assert_eq!(response.status(), 302);
}
