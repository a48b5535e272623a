//! The contract of the artifact store.

use mirilla_ports::{ArtifactError, Artifacts};

/// Checks an empty store.
pub async fn artifacts(store: &dyn Artifacts) {
    objects_are_whole_and_tagged(store).await;
    ranges_are_of_exactly_one_object(store).await;
    a_new_key_is_written_once(store).await;
    a_writer_leaves_all_or_nothing(store).await;
    listing_and_deleting_follow_prefixes(store).await;
    keys_stay_inside(store).await;
}

async fn objects_are_whole_and_tagged(store: &dyn Artifacts) {
    let missing = store.get("a/none", 10).await;
    assert!(matches!(missing, Err(ArtifactError::NotFound { key }) if key == "a/none"));
    let first = store.put("a/one", b"hello").await.unwrap();
    assert_eq!((first.key.as_str(), first.size_bytes), ("a/one", 5));
    assert_eq!(
        store.get("a/one", 5).await.unwrap(),
        b"hello",
        "exactly the bound is fine"
    );
    let large = store.get("a/one", 4).await;
    assert!(matches!(
        large,
        Err(ArtifactError::TooLarge { limit: 4, .. })
    ));
    let second = store.put("a/one", b"other").await.unwrap();
    assert_ne!(first.etag, second.etag, "another object, another tag");
    let third = store.put("a/one", b"hello").await.unwrap();
    assert_eq!(first.etag, third.etag, "the same bytes, the same tag");
    assert_eq!(store.get("a/one", 100).await.unwrap(), b"hello");
    store.put("a/empty", b"").await.unwrap();
    assert_eq!(store.get("a/empty", 0).await.unwrap(), b"");
}

async fn ranges_are_of_exactly_one_object(store: &dyn Artifacts) {
    let object = store.put("r/one", b"0123456789").await.unwrap();
    for (offset, length, want) in [
        (0, 4, "0123"),
        (8, 4, "89"),
        (9, 1, "9"),
        (10, 4, ""),
        (99, 4, ""),
        (3, 0, ""),
        (0, u64::MAX, "0123456789"),
        (u64::MAX, u64::MAX, ""),
    ] {
        let range = store.get_range(&object, offset, length).await.unwrap();
        assert_eq!(range, want.as_bytes(), "{length} from {offset}");
    }
    let large = store.put("r/large", &vec![7; 300_000]).await.unwrap();
    assert_eq!(
        store.get_range(&large, 250_000, 9).await.unwrap(),
        vec![7; 9]
    );
    // The same bytes again are the same object; others are not, of whatever length.
    store.put("r/one", b"0123456789").await.unwrap();
    assert_eq!(store.get_range(&object, 0, 2).await.unwrap(), b"01");
    for other in [&b"9876543210"[..], b"01234567890", b"0"] {
        store.put("r/one", other).await.unwrap();
        let changed = store.get_range(&object, 0, 2).await;
        assert!(
            matches!(&changed, Err(ArtifactError::Changed { key }) if key == "r/one"),
            "{changed:?}"
        );
    }
    store.delete("r/").await.unwrap();
    let gone = store.get_range(&object, 0, 2).await;
    assert!(
        matches!(gone, Err(ArtifactError::NotFound { .. })),
        "{gone:?}"
    );
    let outside = mirilla_domain::snapshot::StoredObject {
        key: "../out".to_owned(),
        ..object
    };
    assert!(store.get_range(&outside, 0, 2).await.is_err());
}

async fn a_new_key_is_written_once(store: &dyn Artifacts) {
    store.put_new("findings/x/1.json", b"first").await.unwrap();
    let again = store.put_new("findings/x/1.json", b"second").await;
    assert!(
        matches!(again, Err(ArtifactError::Exists { .. })),
        "{again:?}"
    );
    assert_eq!(store.get("findings/x/1.json", 10).await.unwrap(), b"first");
}

async fn a_writer_leaves_all_or_nothing(store: &dyn Artifacts) {
    let mut writer = store.writer("w/big", 6).await.unwrap();
    writer.write(b"abc").await.unwrap();
    assert!(matches!(
        store.get("w/big", 9).await,
        Err(ArtifactError::NotFound { .. })
    ));
    writer.write(b"def").await.unwrap();
    let stored = writer.finish().await.unwrap();
    assert_eq!((stored.key.as_str(), stored.size_bytes), ("w/big", 6));
    assert_eq!(store.get("w/big", 6).await.unwrap(), b"abcdef");
    assert_eq!(
        store.put("w/twin", b"abcdef").await.unwrap().etag,
        stored.etag
    );

    let mut writer = store.writer("w/dropped", 6).await.unwrap();
    writer.write(b"abc").await.unwrap();
    drop(writer);
    let mut writer = store.writer("w/over", 6).await.unwrap();
    writer.write(b"abcdef").await.unwrap();
    let over = writer.write(b"g").await;
    assert!(
        matches!(over, Err(ArtifactError::TooLarge { limit: 6, .. })),
        "{over:?}"
    );
    drop(writer);
    assert_eq!(store.list("w/").await.unwrap(), ["w/big", "w/twin"]);
}

async fn listing_and_deleting_follow_prefixes(store: &dyn Artifacts) {
    for key in [
        "s/job2/b",
        "s/job2/a",
        "s/job21/a",
        "s/job3/deep/er/x",
        "t/a",
    ] {
        store.put(key, b"x").await.unwrap();
    }
    let all = ["s/job2/a", "s/job2/b", "s/job21/a", "s/job3/deep/er/x"];
    assert_eq!(store.list("s/").await.unwrap(), all, "sorted, deep");
    assert_eq!(store.list("s/job2").await.unwrap(), all[..3]);
    assert_eq!(store.list("s/job2/").await.unwrap(), all[..2]);
    assert_eq!(store.list("s/job2/a").await.unwrap(), all[..1]);
    assert!(store.list("nothing/here/").await.unwrap().is_empty());
    store.delete("s/job2/").await.unwrap();
    store.delete("s/job2/").await.unwrap();
    assert_eq!(store.list("s/").await.unwrap(), all[2..]);
    store.put("s/job2/again", b"x").await.unwrap();
    store.delete("s/job2/again").await.unwrap();
    store.delete("s/").await.unwrap();
    assert!(store.list("s/").await.unwrap().is_empty());
    assert_eq!(store.list("t/").await.unwrap(), ["t/a"]);
}

async fn keys_stay_inside(store: &dyn Artifacts) {
    for key in ["", "/abs", "../out", "a/../../out", "a//b", "./a", "a/"] {
        assert!(store.put(key, b"x").await.is_err(), "put {key:?}");
        assert!(store.put_new(key, b"x").await.is_err(), "put_new {key:?}");
        assert!(store.get(key, 1).await.is_err(), "get {key:?}");
        assert!(store.writer(key, 1).await.is_err(), "writer {key:?}");
    }
    assert!(
        store.delete("").await.is_err(),
        "deleting everything is a mistake"
    );
    assert!(store.delete("../").await.is_err());
    assert_eq!(store.get("a/one", 10).await.unwrap(), b"hello");
}
