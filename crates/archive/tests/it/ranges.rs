//! Only what is asked for is read, neighbours together.

use mirilla_archive::Archive;
use mirilla_local::DirArtifacts;
use mirilla_ports::{ArtifactError, Artifacts as _, Source as _, SourceError};

use crate::support::{OneObject, listed, text};
use crate::zip::{Item, zip};

/// Bytes that do not compress.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_u32;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            (state >> 24) as u8
        })
        .collect()
}

#[tokio::test]
async fn directory_is_read_once_and_an_entry_by_its_range() {
    let mut items = vec![Item::folder("repo-1/")];
    for number in 0..40 {
        items.push(Item::plain(
            &format!("repo-1/big/{number:02}.bin"),
            &noise(500_000),
        ));
        items.push(Item::new(
            &format!("repo-1/src/{number:02}.txt"),
            format!("file {number}").as_bytes(),
        ));
    }
    let store = OneObject::new(zip(&items));
    let archive = store.archive();
    assert_eq!(
        store.counted(),
        (0, 0),
        "nothing is read before it is asked for"
    );
    assert_eq!(listed(&archive).await.len(), 80);
    let (requests, bytes) = store.counted();
    assert!(
        requests <= 2 && bytes <= 512 * 1024,
        "{requests} requests, {bytes} bytes"
    );
    assert_eq!(text(&archive, "src/07.txt").await, "file 7");
    assert_eq!(
        archive.read("big/03.bin", 1 << 20).await.unwrap(),
        noise(500_000)
    );
    listed(&archive).await;
    let (requests, bytes) = store.counted();
    assert!(
        requests <= 5 && bytes < 2 * 1024 * 1024,
        "{requests} requests, {bytes} bytes"
    );
}

#[tokio::test]
async fn neighbours_come_with_one_request() {
    let items: Vec<Item> = (0..5_000)
        .map(|number| {
            let name = format!("repo-1/src/folder-{:02}/file-{number:05}.rs", number % 50);
            Item::new(&name, format!("pub const N: u32 = {number};\n").as_bytes())
        })
        .collect();
    let bytes = zip(&items);
    let blocks = (bytes.len() as u64).div_ceil(256 * 1024);
    let store = OneObject::new(bytes);
    let archive = store.archive();
    for item in &items {
        let path = std::str::from_utf8(&item.name[7..]).unwrap();
        assert!(text(&archive, path).await.starts_with("pub const"));
    }
    // The directory is longer than a block and is read from where it begins.
    assert!(
        store.counted().0 <= blocks + 4,
        "{:?} for {blocks} blocks",
        store.counted()
    );
}

#[tokio::test]
async fn an_entry_with_a_long_header_of_its_own_is_read_whole() {
    let long = Item {
        local_extra: vec![0; 5_000],
        ..Item::plain("r/a", &noise(300_000))
    };
    let store = OneObject::new(zip(&[long, Item::new("r/b", b"next")]));
    let archive = store.archive();
    assert_eq!(archive.read("a", 1 << 20).await.unwrap(), noise(300_000));
    assert_eq!(text(&archive, "b").await, "next");
}

#[tokio::test]
async fn an_archive_that_was_replaced_is_not_read_on() {
    let folder = tempfile::tempdir().unwrap();
    let store = DirArtifacts::open(folder.path()).unwrap();
    let one = zip(&[Item::new("r/a", b"one")]);
    let object = store.put("archives/r/a.zip", &one).await.unwrap();
    let archive = Archive::new(&store, object.clone());
    assert_eq!(text(&archive, "a").await, "one");
    store
        .put("archives/r/a.zip", &zip(&[Item::new("r/a", b"two")]))
        .await
        .unwrap();
    let fresh = Archive::new(&store, object);
    let read = fresh.read("a", 10).await;
    let Err(SourceError::Unavailable { source }) = read else {
        panic!("{read:?}");
    };
    let error = source.downcast_ref::<ArtifactError>();
    assert!(
        matches!(error, Some(ArtifactError::Changed { .. })),
        "{error:?}"
    );
}
