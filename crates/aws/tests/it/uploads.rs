//! Large objects in parts: whole, bounded, and nothing left behind.

use std::time::Duration;

use mirilla_aws::S3Artifacts;
use mirilla_ports::{ArtifactError, Artifacts as _};

use crate::stub::{Say, Stub};
use crate::support::{BUCKET, World, clock};

const MIB: usize = 1024 * 1024;
const LIMIT: u64 = 64 * 1024 * 1024;

async fn open_uploads(world: &World) -> usize {
    let uploads = world.aws.s3().list_multipart_uploads().bucket(BUCKET);
    uploads.send().await.unwrap().uploads().len()
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count)
        .map(|at| u8::try_from(at % 251).unwrap())
        .collect()
}

#[tokio::test]
async fn object_in_parts_is_the_bytes_that_were_written() {
    let world = World::start().await;
    let store = world.artifacts().await;
    // One part exactly, one byte more, and several with a rest; in pieces of odd sizes.
    for (size, parts) in [
        (8 * MIB, None),
        (8 * MIB + 1, Some("-2")),
        (20 * MIB, Some("-3")),
    ] {
        let all = bytes(size);
        let mut writer = store.writer("archives/a.zip", LIMIT).await.unwrap();
        for piece in all.chunks(3 * MIB + 7) {
            writer.write(piece).await.unwrap();
        }
        let stored = writer.finish().await.unwrap();
        assert_eq!(usize::try_from(stored.size_bytes).unwrap(), size);
        let suffix = stored
            .etag
            .trim_matches('"')
            .rsplit_once('-')
            .map(|(_, it)| format!("-{it}"));
        assert_eq!(suffix.as_deref(), parts, "{}", stored.etag);
        assert!(store.get("archives/a.zip", LIMIT).await.unwrap() == all);
        assert_eq!(open_uploads(&world).await, 0);
    }
}

#[tokio::test]
async fn upload_that_is_given_up_leaves_nothing() {
    let world = World::start().await;
    let store = world.artifacts().await;
    let mut writer = store
        .writer("archives/b.zip", 10 * 1024 * 1024)
        .await
        .unwrap();
    writer.write(&bytes(9 * MIB)).await.unwrap();
    assert_eq!(open_uploads(&world).await, 1);
    let over = writer.write(&bytes(2 * MIB)).await;
    assert!(
        matches!(over, Err(ArtifactError::TooLarge { .. })),
        "{over:?}"
    );
    drop(writer);
    let mut tries = 0;
    while open_uploads(&world).await > 0 {
        tries += 1;
        assert!(tries < 100, "the upload was not given up");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(store.list("archives/").await.unwrap().is_empty());
}

#[tokio::test]
async fn upload_that_fails_is_given_up_at_once() {
    let begun =
        "<InitiateMultipartUploadResult><UploadId>u-1</UploadId></InitiateMultipartUploadResult>";
    let stub = Stub::start(vec![
        Say::Answer(200, ("content-type", "application/xml"), begun.to_owned()),
        Say::s3(403, "AccessDenied"),
        Say::Answer(204, ("x-made", "up"), String::new()),
    ]);
    let store = S3Artifacts::new(stub.aws().await.s3(), "bucket", clock());
    let mut writer = store.writer("archives/c.zip", LIMIT).await.unwrap();
    let failed = writer.write(&bytes(9 * MIB)).await;
    assert!(
        matches!(failed, Err(ArtifactError::Unavailable { .. })),
        "{failed:?}"
    );
    let heads: Vec<_> = stub.asked().into_iter().map(|it| it.head).collect();
    assert!(
        heads[0].starts_with("POST ") && heads[0].contains("uploads"),
        "{heads:?}"
    );
    assert!(
        heads[1].starts_with("PUT ") && heads[1].contains("partNumber=1"),
        "{heads:?}"
    );
    assert!(
        heads[2].starts_with("DELETE ") && heads[2].contains("uploadId=u-1"),
        "{heads:?}"
    );
    drop(writer);
    assert_eq!(stub.asked().len(), 3, "given up once");
}

#[tokio::test]
async fn listing_and_deleting_go_through_all_pages() {
    let world = World::start().await;
    let store = world.artifacts().await;
    // More than S3 lists or deletes at once.
    let mut writes = tokio::task::JoinSet::new();
    for at in 0..1005 {
        let store = store.clone();
        writes.spawn(async move { store.put(&format!("work/{at:04}"), b"x").await.unwrap() });
    }
    writes.join_all().await;
    store.put("worker", b"x").await.unwrap();
    let keys = store.list("work/").await.unwrap();
    assert_eq!(keys.len(), 1005);
    assert!(keys.is_sorted());
    store.delete("work/").await.unwrap();
    assert_eq!(store.list("").await.unwrap(), ["worker"]);
}

#[tokio::test]
async fn refused_deletion_is_an_error() {
    let listed = "<ListBucketResult><Contents><Key>work/a</Key></Contents></ListBucketResult>";
    let refused =
        "<DeleteResult><Error><Key>work/a</Key><Code>AccessDenied</Code></Error></DeleteResult>";
    let xml = |body: &str| Say::Answer(200, ("content-type", "application/xml"), body.to_owned());
    let stub = Stub::start(vec![xml(listed), xml(refused)]);
    let store = S3Artifacts::new(stub.aws().await.s3(), "bucket", clock());
    let error = store.delete("work/").await.unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("AccessDenied"), "{source}");
}
