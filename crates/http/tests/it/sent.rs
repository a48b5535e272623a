//! What a failed request may have done.

use std::time::Duration;

use mirilla_http::{HttpError, Request, Sent, StatusCode};

use crate::server::{Play, Server, ok};

async fn failure(plays: Vec<Play>, timeout: Duration) -> HttpError {
    let server = Server::start(plays).await;
    let request = Request::post(server.url("/x?secret=1"))
        .json(&serde_json::json!({"a": 1}))
        .timeout(timeout);
    match server.client(&[]).send(request).await {
        Ok(response) => response.bytes().await.unwrap_err(),
        Err(error) => error,
    }
}

#[tokio::test]
async fn dropped_and_stalled_answers_may_have_been_acted_on() {
    let dropped = failure(vec![Play::Drop], Duration::from_secs(5)).await;
    assert_eq!(dropped.sent(), Sent::Maybe, "{dropped:?}");
    let stalled = failure(
        vec![Play::Stall(Duration::from_secs(30))],
        Duration::from_millis(200),
    )
    .await;
    assert!(
        matches!(
            stalled,
            HttpError::Lost {
                timed_out: true,
                ..
            }
        ),
        "{stalled:?}"
    );
    assert_eq!(stalled.sent(), Sent::Maybe);
}

#[tokio::test]
async fn cut_body_is_an_answer_whose_status_is_known() {
    let cut = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"id\":".to_vec();
    let error = failure(vec![Play::Raw(cut)], Duration::from_secs(5)).await;
    assert_eq!(error.sent(), Sent::Answered(StatusCode::OK), "{error:?}");
}

#[tokio::test]
async fn refused_connection_and_unlisted_host_were_not_sent() {
    let gone = Server::start(vec![]).await;
    let (client, url) = (gone.client(&[]), gone.url("/"));
    drop(gone);
    // The listener closes once the aborted task is dropped, which another task may delay a little.
    tokio::task::yield_now().await;
    let refused = client.send(Request::post(url)).await.unwrap_err();
    assert_eq!(refused.sent(), Sent::No, "{refused:?}");
    assert!(matches!(refused, HttpError::Connect { .. }));

    let other = Server::start(vec![ok("text/plain", "")]).await;
    let denied = client
        .send(Request::post(other.url("/")))
        .await
        .unwrap_err();
    assert_eq!(denied.sent(), Sent::No);
    assert!(denied.to_string().contains(&other.host), "{denied}");
    assert_eq!(other.requests().len(), 0);
}

#[tokio::test]
async fn name_that_resolves_to_loopback_is_not_connected() {
    // Only the name `localhost` may mean this machine, and only for plain loopback settings.
    let server = Server::start(vec![ok("text/plain", "")]).await;
    let mut settings = server.settings(&["localhost"]);
    settings.allow_plain_loopback = false;
    let client = mirilla_http::Client::new(settings).unwrap();
    let url = "https://localhost/".parse().unwrap();
    let error = client.send(Request::get(url)).await.unwrap_err();
    assert!(
        matches!(
            error,
            HttpError::Denied {
                reason: mirilla_http::Denied::LocalAddress,
                ..
            }
        ),
        "{error:?}"
    );
}
