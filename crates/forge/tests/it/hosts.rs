//! No URL in an answer leads off the operator's hosts, and no token leaves the API's origin.

use mirilla_ports::forge::ForgeError;
use mirilla_ports::{ForgeRead as _, ForgeWrite as _};
use mirilla_sim::Fault;
use serde_json::json;

use crate::cases_writes::review;
use crate::support::{
    MemoryWriter, READ_TOKEN, Reply, Script, TestClock, World, pull, reader, reader_with, repo,
    settings, us,
};

/// Returns an error with all its causes.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

/// Where nothing of ours may go, and the host that the error must name.
fn elsewhere(trap: &str) -> Vec<(String, String)> {
    let host = |url: &str| url::Url::parse(url).unwrap().host_str().unwrap().to_owned();
    [
        format!("{trap}/next?page=2"),
        "http://127.0.0.1:9001/2018-06-01/runtime/invocation/next".to_owned(),
        "http://[::ffff:169.254.169.254]/latest/meta-data/".to_owned(),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "https://api.github.com.evil.test/repos".to_owned(),
        "https://evil.test/".to_owned(),
    ]
    .into_iter()
    .map(|url| {
        let host = host(&url);
        (url, host)
    })
    .collect()
}

#[tokio::test]
async fn redirects_and_links_off_the_list_are_refused_by_name() {
    let world = World::new();
    let trap = world.sim.trap_url().unwrap();
    let reader = world.reader();
    let live = reader.pull_request(&repo(), &world.id).await.unwrap();
    let faults = world.gh().faults();
    for (url, host) in elsewhere(&trap) {
        let redirect = || Fault::Redirect { to: url.clone() };
        faults.on_next("GET /repos/{o}/{r}/pulls/{n}", redirect());
        let error = reader.pull_request(&repo(), &world.id).await.unwrap_err();
        assert!(chain(&error).contains(&host), "{url}: {}", chain(&error));

        faults.on_next("GET /repos/{o}/{r}/zipball/{ref}", redirect());
        let (sink, stored) = MemoryWriter::within(1 << 20);
        let error = reader.archive(&repo(), &live.head, sink).await.unwrap_err();
        assert!(chain(&error).contains(&host), "{url}: {}", chain(&error));
        assert!(stored.lock().unwrap().dropped && !stored.lock().unwrap().finished);

        faults.on_next(
            "GET /repos/{o}/{r}/pulls/{n}/comments",
            Fault::LinkTo { url: url.clone() },
        );
        let error = reader.existing(&repo(), world.id.pr).await.unwrap_err();
        assert!(chain(&error).contains(&host), "{url}: {}", chain(&error));

        faults.on_next("POST /graphql", redirect());
        let files = reader.files(&repo(), "main", &["REVIEW.md"]).await;
        let error = files.unwrap_err();
        assert!(
            matches!(error, ForgeError::Unavailable { .. }),
            "{}",
            chain(&error)
        );

        faults.on_next("POST /repos/{o}/{r}/pulls/{n}/reviews", redirect());
        let error = world
            .writer()
            .create_review(&repo(), world.id.pr, &review(vec![]))
            .await
            .unwrap_err();
        // Nothing was done, so this is no lost write.
        assert!(
            matches!(error, ForgeError::Unavailable { .. }),
            "{}",
            chain(&error)
        );
    }
    // Nobody called the trap, and nothing was posted.
    world.sim.finish().unwrap();
}

#[tokio::test]
async fn token_is_not_sent_to_the_archive_host() {
    let clock = TestClock::new();
    let (api, codeload) = (Script::start(&clock).await, Script::start(&clock).await);
    let signed = format!("{}/acme/shop/legacy.zip/x?token=signature", codeload.base);
    let moved = Reply::json(302, &json!(null)).with("location", &signed);
    let zipball = format!("/repos/acme/shop/zipball/{}", "b".repeat(40));
    api.add("GET", &zipball, None, vec![moved]);
    let zip = Reply::raw(200, "application/zip", b"PK\x05\x06rest".to_vec());
    codeload.add("GET", "/acme/shop/legacy.zip/x", None, vec![zip]);

    // Without the archive host among the operator's, it is not even contacted.
    let (sink, _) = MemoryWriter::within(1 << 20);
    let refused = reader(&api.base, &clock)
        .archive(&repo(), &pull(1).head, sink)
        .await;
    assert!(
        matches!(refused, Err(ForgeError::Unavailable { .. })),
        "{refused:?}"
    );
    assert_eq!(codeload.seen().len(), 0);

    let mut allowed = (*settings(&api.base)).clone();
    allowed.archive_hosts = vec![codeload.base.strip_prefix("http://").unwrap().to_owned()];
    let token = mirilla_forge::ReadToken::plain(READ_TOKEN.into());
    let half = reader_with(allowed.into(), std::sync::Arc::new(token), us(), &clock);
    let (sink, stored) = MemoryWriter::within(1 << 20);
    half.archive(&repo(), &pull(1).head, sink).await.unwrap();
    assert_eq!(stored.lock().unwrap().bytes, b"PK\x05\x06rest");
    let bearer = format!("Bearer {READ_TOKEN}");
    assert!(
        api.seen()
            .iter()
            .all(|seen| seen.headers["authorization"] == bearer)
    );
    let there = codeload.seen();
    assert_eq!(there.len(), 1);
    assert!(!format!("{there:?}").contains("SENTINEL"));
    api.finish();
    codeload.finish();
}

#[tokio::test]
async fn every_call_names_its_client_and_the_version_it_was_written_for() {
    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    server.get(
        "/repos/acme/shop/pulls/7",
        &crate::support::pull_json(&json!({})),
    );
    reader(&server.base, &clock)
        .pull_request(&repo(), &pull(1).id)
        .await
        .unwrap();
    let seen = &server.seen()[0];
    assert_eq!(seen.headers["x-github-api-version"], "2022-11-28");
    assert!(seen.headers["user-agent"].starts_with("mirilla/"));
    assert_eq!(seen.headers["accept"], "application/vnd.github+json");
    // An old Enterprise Server gets no version.
    let mut old = (*settings(&server.base)).clone();
    old.api_version = None;
    let token = mirilla_forge::ReadToken::plain(READ_TOKEN.into());
    let half = reader_with(old.into(), std::sync::Arc::new(token), us(), &clock);
    half.pull_request(&repo(), &pull(1).id).await.unwrap();
    assert!(
        !server.seen()[1]
            .headers
            .contains_key("x-github-api-version")
    );
    server.finish();
}
