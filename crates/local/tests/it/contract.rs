//! Every local store against its port's contract.

use std::sync::Arc;
use std::time::Duration;

use mirilla_contract::{ManualClock, sample};
use mirilla_local::{DataDir, DirArtifacts, LocalHeads, LocalLedger, LocalMeter, LocalQueue};
use mirilla_ports::GrantObjects as _;
use mirilla_ports::artifacts::Right;

fn data() -> (tempfile::TempDir, DataDir) {
    let temp = tempfile::tempdir().unwrap();
    let data = DataDir::create(&temp.path().join("data")).unwrap();
    (temp, data)
}

#[tokio::test]
async fn ledger_keeps_its_contract() {
    let (_temp, data) = data();
    mirilla_contract::ledger(
        &LocalLedger::open(&data.ledger()).unwrap(),
        sample::at(1_000_000),
    )
    .await;
}

#[tokio::test]
async fn bookmarks_keep_their_contract_in_a_file_that_had_none() {
    let (_temp, data) = data();
    drop(LocalLedger::open(&data.ledger()).unwrap());
    let raw = rusqlite::Connection::open(data.ledger()).unwrap();
    raw.execute_batch("DROP TABLE bookmark; PRAGMA user_version = 1;")
        .unwrap();
    drop(raw);
    let ledger = LocalLedger::open(&data.ledger()).unwrap();
    mirilla_contract::bookmarks(&ledger).await;
}

#[tokio::test]
async fn heads_keep_their_contract() {
    let (_temp, data) = data();
    let writer = LocalHeads::open(&data.heads()).unwrap();
    let reader = LocalHeads::open(&data.heads()).unwrap();
    mirilla_contract::heads(&reader, &writer).await;
}

#[tokio::test]
async fn meter_keeps_its_contract() {
    let (_temp, data) = data();
    let reviewer = LocalMeter::open(&data.meter()).unwrap();
    let sweeper = LocalMeter::open(&data.meter()).unwrap();
    mirilla_contract::meter(&reviewer, &sweeper).await;
}

#[tokio::test]
async fn leases_keep_their_contract() {
    let (_temp, data) = data();
    let reviewer = LocalMeter::open(&data.meter()).unwrap();
    let sweeper = LocalMeter::open(&data.meter()).unwrap();
    mirilla_contract::leases(&reviewer, &sweeper).await;
}

#[tokio::test]
async fn meter_without_leases_is_upgraded() {
    let (_temp, data) = data();
    drop(LocalMeter::open(&data.meter()).unwrap());
    let raw = rusqlite::Connection::open(data.meter()).unwrap();
    raw.execute_batch("DROP TABLE lease; PRAGMA user_version = 1;")
        .unwrap();
    drop(raw);
    let meter = LocalMeter::open(&data.meter()).unwrap();
    mirilla_contract::leases(&meter, &meter).await;
    mirilla_contract::meter(&meter, &meter).await;
}

#[tokio::test]
async fn queue_keeps_its_contract() {
    let (_temp, data) = data();
    let clock = Arc::new(ManualClock::at(sample::at(1_000)));
    let shared = || Arc::<ManualClock>::clone(&clock);
    let sender = LocalQueue::open(&data.queue(), shared()).unwrap();
    let receiver = LocalQueue::open(&data.queue(), shared()).unwrap();
    mirilla_contract::queue(&receiver, &receiver, &sender, &*clock).await;
    assert_eq!(mirilla_contract::MAX_RECEIVES, mirilla_local::MAX_RECEIVES);
}

#[tokio::test]
async fn artifacts_keep_their_contract() {
    let (_temp, data) = data();
    let store = DirArtifacts::open(&data.artifacts()).unwrap();
    mirilla_contract::artifacts(&store).await;
    // A reviewer here opens the directory itself; there is nothing to sign.
    let objects = [("a/one".to_owned(), Right::Read)];
    let granted = store.grant(&objects, Duration::from_secs(60)).await;
    assert_eq!(granted.unwrap(), None);
}

#[tokio::test]
async fn dead_letters_are_listed_and_redriven() {
    use mirilla_ports::message::Message;
    use mirilla_ports::queue::QueueName;
    use mirilla_ports::{Queue as _, QueueSend as _};

    let (_temp, data) = data();
    let clock = Arc::new(ManualClock::at(sample::at(1_000)));
    let queue = LocalQueue::open(&data.queue(), clock).unwrap();
    let job = sample::job('a', sample::at(0)).id;
    let message = Message::CollectV1 { job };
    let name = QueueName::Collect;
    queue.send(name, &message, Duration::ZERO).await.unwrap();
    let received = queue.receive(name, Duration::ZERO).await.unwrap().unwrap();
    queue.bury(name, &received.receipt).await.unwrap();

    let dead = queue.dead_letters(name).unwrap();
    assert_eq!(dead.len(), 1);
    assert_eq!(dead[0].body, received.body);
    assert_eq!(
        (dead[0].receive_count, dead[0].buried_at),
        (1, sample::at(1_000))
    );
    assert!(queue.dead_letters(QueueName::Post).unwrap().is_empty());

    assert_eq!(queue.redrive(QueueName::Post).unwrap(), 0);
    assert_eq!(queue.redrive(name).unwrap(), 1);
    assert!(queue.dead_letters(name).unwrap().is_empty());
    let again = queue.receive(name, Duration::ZERO).await.unwrap().unwrap();
    assert_eq!((again.body, again.receive_count), (received.body, 1));
}
