//! The archive is streamed whole or not at all.

use mirilla_ports::forge::ForgeError;
use mirilla_ports::{ArtifactError, ForgeRead as _};
use mirilla_sim::GithubOptions;
use serde_json::json;

use crate::support::{MemoryWriter, Reply, Script, TestClock, World, pull, reader, repo};

#[tokio::test]
async fn archive_past_the_writers_bound_leaves_nothing() {
    let world = World::new();
    let reader = world.reader();
    let live = reader.pull_request(&repo(), &world.id).await.unwrap();
    let (sink, stored) = MemoryWriter::within(16);
    let error = reader.archive(&repo(), &live.head, sink).await.unwrap_err();
    assert!(
        matches!(
            error,
            ForgeError::Artifact(ArtifactError::TooLarge { limit: 16, .. })
        ),
        "{error:?}"
    );
    let stored = stored.lock().unwrap();
    assert!(stored.dropped && !stored.finished);
    world.sim.finish().unwrap();
}

#[tokio::test]
async fn archive_that_breaks_off_leaves_nothing() {
    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    let path = format!("/repos/acme/shop/zipball/{}", "b".repeat(40));
    let zip = [&b"PK\x03\x04"[..], &[0; 5000]].concat();
    let cut = Reply::raw(200, "application/zip", zip).cut(1000);
    server.add("GET", &path, None, vec![cut]);
    let (sink, stored) = MemoryWriter::within(1 << 20);
    let error = reader(&server.base, &clock)
        .archive(&repo(), &pull(1).head, sink)
        .await
        .unwrap_err();
    assert!(matches!(error, ForgeError::Unavailable { .. }), "{error:?}");
    let bytes = {
        let stored = stored.lock().unwrap();
        assert!(stored.dropped && !stored.finished);
        stored.bytes.len()
    };
    assert_eq!(bytes, 1000, "it was streamed");
    assert_eq!(server.seen().len(), 1, "and is not begun anew here");
    server.finish();
}

#[tokio::test]
async fn page_instead_of_an_archive_is_not_stored() {
    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    let path = format!("/repos/acme/shop/zipball/{}", "b".repeat(40));
    let half = reader(&server.base, &clock);
    server.add(
        "GET",
        &path,
        None,
        vec![
            Reply::raw(200, "text/html", "<html>unicorn</html>"),
            Reply::raw(200, "application/zip", "PK"),
            Reply::raw(200, "application/zip", ""),
            Reply::json(404, &json!({"message": "Not Found"})),
        ],
    );
    for round in 0..4 {
        let (sink, stored) = MemoryWriter::within(1 << 20);
        let error = half
            .archive(&repo(), &pull(1).head, sink)
            .await
            .unwrap_err();
        match error {
            ForgeError::NotFound { what } => assert_eq!((what, round), ("the archive", 3)),
            ForgeError::Unavailable { .. } => assert!(round < 3),
            other => panic!("{other:?}"),
        }
        let stored = stored.lock().unwrap();
        assert!(!stored.finished && stored.bytes.is_empty());
    }
    server.finish();
}

#[tokio::test]
async fn enterprise_server_serves_archives_from_its_own_host() {
    let world = World::with(GithubOptions::enterprise_server());
    let reader = world.reader();
    let live = reader.pull_request(&repo(), &world.id).await.unwrap();
    let (sink, stored) = MemoryWriter::within(1 << 20);
    let object = reader.archive(&repo(), &live.head, sink).await.unwrap();
    assert_eq!(object.size_bytes, stored.lock().unwrap().bytes.len() as u64);
    let files = reader.files(&repo(), "main", &["REVIEW.md"]).await.unwrap();
    assert_eq!(files.files.len(), 1, "GraphQL is beside the REST API");
    world.sim.finish().unwrap();
}
