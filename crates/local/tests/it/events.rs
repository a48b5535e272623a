//! The "findings written" event.

use mirilla_local::{DataDir, DirArtifacts, FindingsEvents};
use mirilla_ports::Artifacts as _;

const ONE: &str = "findings/0123456789abcdef0123456789abcdef/1.json";
const TWO: &str = "findings/0123456789abcdef0123456789abcdef/2.json";

fn open(data: &DataDir) -> FindingsEvents {
    FindingsEvents::open(&data.artifacts(), &data.announced()).unwrap()
}

#[tokio::test]
async fn an_event_is_repeated_until_it_is_announced() {
    let temp = tempfile::tempdir().unwrap();
    let data = DataDir::create(temp.path()).unwrap();
    let artifacts = DirArtifacts::open(&data.artifacts()).unwrap();
    assert!(open(&data).pending().await.unwrap().is_empty());

    artifacts.put_new(TWO, b"{}").await.unwrap();
    artifacts.put_new(ONE, b"{}").await.unwrap();
    artifacts.put("findings/not-a-job/x", b"{}").await.unwrap();
    artifacts.put("work/0/progress.json", b"{}").await.unwrap();
    assert_eq!(open(&data).pending().await.unwrap(), [ONE, TWO]);
    // A crash before it was announced: the next process sees it again.
    assert_eq!(open(&data).pending().await.unwrap(), [ONE, TWO]);

    open(&data).announced(ONE).await.unwrap();
    open(&data).announced(ONE).await.unwrap();
    assert_eq!(open(&data).pending().await.unwrap(), [TWO]);
    assert_eq!(
        artifacts.list("findings/").await.unwrap().len(),
        3,
        "nothing of ours is in there"
    );
}

#[tokio::test]
async fn a_key_that_is_gone_is_forgotten() {
    let temp = tempfile::tempdir().unwrap();
    let data = DataDir::create(temp.path()).unwrap();
    let artifacts = DirArtifacts::open(&data.artifacts()).unwrap();
    let events = open(&data);
    artifacts.put_new(ONE, b"{}").await.unwrap();
    events.announced(ONE).await.unwrap();
    artifacts.delete("findings/").await.unwrap();
    assert!(events.pending().await.unwrap().is_empty());
    let remembered = DirArtifacts::open(&data.announced()).unwrap();
    assert!(remembered.list("").await.unwrap().is_empty());
    artifacts.put_new(ONE, b"{}").await.unwrap();
    assert_eq!(
        events.pending().await.unwrap(),
        [ONE],
        "a new object, a new event"
    );
}

#[tokio::test]
async fn unfinished_objects_raise_no_event() {
    let temp = tempfile::tempdir().unwrap();
    let data = DataDir::create(temp.path()).unwrap();
    let artifacts = DirArtifacts::open(&data.artifacts()).unwrap();
    let mut writer = artifacts.writer(ONE, 10).await.unwrap();
    writer.write(b"{").await.unwrap();
    assert!(open(&data).pending().await.unwrap().is_empty());
    writer.finish().await.unwrap();
    assert_eq!(open(&data).pending().await.unwrap(), [ONE]);
}
