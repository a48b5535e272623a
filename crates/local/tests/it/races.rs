//! Several openers of one store at once.

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use mirilla_contract::{ManualClock, sample};
use mirilla_domain::job::{Claim, JobState, Stage};
use mirilla_local::{DataDir, DirArtifacts, LocalLedger, LocalQueue};
use mirilla_ports::ledger::{Claimed, Recorded, Transaction};
use mirilla_ports::message::Message;
use mirilla_ports::queue::QueueName;
use mirilla_ports::{ArtifactError, Artifacts as _, Ledger as _, Queue as _, QueueSend as _};

use crate::meter_races::block_on;

const OPENERS: usize = 8;

/// Runs `run` on several threads that start together, each with its number.
fn together<T: Send>(run: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let barrier = Barrier::new(OPENERS);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..OPENERS)
            .map(|number| {
                let (barrier, run) = (&barrier, &run);
                scope.spawn(move || {
                    barrier.wait();
                    run(number)
                })
            })
            .collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    })
}

#[test]
fn a_new_file_is_made_once_by_all_openers() {
    for _ in 0..20 {
        let temp = tempfile::tempdir().unwrap();
        let data = DataDir::create(temp.path()).unwrap();
        let outcomes = together(|_| LocalLedger::open(&data.ledger()).map(drop));
        assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    }
}

#[test]
fn one_delivery_is_recorded_once_by_all_instances() {
    let temp = tempfile::tempdir().unwrap();
    let data = DataDir::create(temp.path()).unwrap();
    let ledgers: Vec<_> = (0..OPENERS)
        .map(|_| LocalLedger::open(&data.ledger()).unwrap())
        .collect();
    for round in 0..50 {
        let delivery = sample::delivery(&format!("d-{round}"), mirilla_domain::ids::Forge::Github);
        let outcomes = together(|number| {
            block_on(ledgers[number].commit(Transaction {
                delivery: Some(delivery.clone()),
                ..Transaction::default()
            }))
            .unwrap()
        });
        let new = outcomes.iter().filter(|it| **it == Recorded::New).count();
        assert_eq!(new, 1, "{outcomes:?}");
    }
}

#[test]
fn one_claim_is_granted_at_a_time() {
    let temp = tempfile::tempdir().unwrap();
    let data = DataDir::create(temp.path()).unwrap();
    let ledgers: Vec<_> = (0..OPENERS)
        .map(|_| LocalLedger::open(&data.ledger()).unwrap())
        .collect();
    let job = sample::job('a', sample::at(0));
    let transaction = Transaction {
        jobs: vec![job.clone()],
        ..Transaction::default()
    };
    block_on(ledgers[0].commit(transaction)).unwrap();
    for round in 0..50_i64 {
        let outcomes = together(|number| {
            let claim = Claim {
                stage: Stage::Collect,
                token: number.to_string(),
                until: sample::at(round + 1),
            };
            block_on(ledgers[number].claim(
                &job.id,
                &[JobState::Accepted],
                claim,
                sample::at(round),
            ))
            .unwrap()
        });
        let granted = outcomes
            .iter()
            .filter(|it| matches!(it, Claimed::Granted(_)))
            .count();
        assert_eq!(granted, 1, "{outcomes:?}");
    }
}

#[test]
fn each_message_is_received_by_one_worker() {
    const MESSAGES: usize = 200;
    let temp = tempfile::tempdir().unwrap();
    let data = DataDir::create(temp.path()).unwrap();
    let clock = Arc::new(ManualClock::at(sample::at(0)));
    let shared = || Arc::<ManualClock>::clone(&clock);
    let queues: Vec<_> = (0..OPENERS)
        .map(|_| LocalQueue::open(&data.queue(), shared()).unwrap())
        .collect();
    let job = sample::job('a', sample::at(0)).id;
    for _ in 0..MESSAGES {
        let message = Message::CollectV1 { job: job.clone() };
        block_on(queues[0].send(QueueName::Collect, &message, Duration::ZERO)).unwrap();
    }
    let received = together(|number| {
        let mut receipts = Vec::new();
        let queue = &queues[number];
        while let Some(message) =
            block_on(queue.receive(QueueName::Collect, Duration::from_secs(60))).unwrap()
        {
            receipts.push(message.receipt);
        }
        receipts
    });
    let mut all: Vec<_> = received.into_iter().flatten().collect();
    assert_eq!(all.len(), MESSAGES);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), MESSAGES, "nobody got the same message");
}

#[test]
fn a_new_key_has_one_writer_and_its_bytes() {
    let temp = tempfile::tempdir().unwrap();
    let data = DataDir::create(temp.path()).unwrap();
    let stores: Vec<_> = (0..OPENERS)
        .map(|_| DirArtifacts::open(&data.artifacts()).unwrap())
        .collect();
    for round in 0..50 {
        let key = format!("findings/{round}/1.json");
        let outcomes = together(|number| {
            let bytes = number.to_string().repeat(1000);
            match block_on(stores[number].put_new(&key, bytes.as_bytes())) {
                Ok(_) => true,
                Err(ArtifactError::Exists { .. }) => false,
                Err(error) => panic!("{error:?}"),
            }
        });
        let winners: Vec<_> = (0..OPENERS).filter(|number| outcomes[*number]).collect();
        assert_eq!(winners.len(), 1, "{outcomes:?}");
        let bytes = block_on(stores[0].get(&key, 10_000)).unwrap();
        assert_eq!(bytes, winners[0].to_string().repeat(1000).into_bytes());
    }
}

#[test]
fn writing_survives_a_directory_that_is_removed_meanwhile() {
    let temp = tempfile::tempdir().unwrap();
    let store = DirArtifacts::open(temp.path()).unwrap();
    together(|number| {
        for round in 0..100 {
            if number % 2 == 0 {
                block_on(store.delete("work/job/")).unwrap();
            } else {
                let key = format!("work/job/{number}-{round}");
                block_on(store.put(&key, b"x")).unwrap();
            }
        }
    });
    block_on(store.delete("work/")).unwrap();
    assert!(block_on(store.list("")).unwrap().is_empty());
}
