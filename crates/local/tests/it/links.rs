//! Stages of different trust share the artifact directory: what one plants must not lead another out.

use std::os::unix::fs::symlink;

use mirilla_local::DirArtifacts;
use mirilla_ports::{ArtifactError, Artifacts as _};

#[tokio::test]
async fn links_planted_in_the_directory_are_not_followed() {
    let temp = tempfile::tempdir().unwrap();
    let outside = temp.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret"), b"sentinel").unwrap();
    let root = temp.path().join("artifacts");
    let store = DirArtifacts::open(&root).unwrap();
    symlink(&outside, root.join("snapshots")).unwrap();
    std::fs::create_dir(root.join("findings")).unwrap();
    symlink(outside.join("secret"), root.join("findings/1.json")).unwrap();

    for key in ["snapshots/secret", "findings/1.json"] {
        let read = store.get(key, 100).await;
        assert!(
            matches!(read, Err(ArtifactError::Unavailable { .. })),
            "{read:?}"
        );
    }
    assert!(store.put("snapshots/new", b"x").await.is_err());
    assert!(store.delete("snapshots/").await.is_err());
    assert!(store.list("findings/").await.unwrap().is_empty());
    assert_eq!(store.list("").await.unwrap(), [""; 0]);
    // A replaced link is replaced itself, not what it points to.
    store.put("findings/1.json", b"ours").await.unwrap();
    assert_eq!(std::fs::read(outside.join("secret")).unwrap(), b"sentinel");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
}

#[tokio::test]
async fn a_pipe_under_a_key_does_not_block_the_reader() {
    let temp = tempfile::tempdir().unwrap();
    let store = DirArtifacts::open(temp.path()).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(temp.path().join("pipe"))
        .status()
        .unwrap();
    assert!(made.success());
    let read = store.get("pipe", 100).await;
    assert!(
        matches!(read, Err(ArtifactError::Unavailable { .. })),
        "{read:?}"
    );
}

#[tokio::test]
async fn leftovers_of_killed_writers_are_removed_and_live_ones_are_not() {
    let temp = tempfile::tempdir().unwrap();
    let store = DirArtifacts::open(temp.path()).unwrap();
    let mut writer = store.writer("a/live", 10).await.unwrap();
    writer.write(b"live").await.unwrap();
    let leftover = temp.path().join(".tmp/00000000deadbeef");
    std::fs::write(&leftover, b"half an object").unwrap();

    DirArtifacts::open(temp.path()).unwrap();
    assert!(!leftover.exists());
    writer.finish().await.unwrap();
    assert_eq!(store.get("a/live", 10).await.unwrap(), b"live");
    assert_eq!(
        std::fs::read_dir(temp.path().join(".tmp")).unwrap().count(),
        0
    );
}
