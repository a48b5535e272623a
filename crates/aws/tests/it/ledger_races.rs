//! Several instances at once: one delivery is recorded once, one claim is held at a time, and a new
//! object has one writer.

use std::sync::Arc;

use mirilla_aws::DynamoLedger;
use mirilla_contract::sample;
use mirilla_domain::ids::Forge;
use mirilla_domain::job::{Claim, Job, JobState, Stage};
use mirilla_ports::ledger::{Claimed, Recorded, Transaction};
use mirilla_ports::{ArtifactError, Artifacts as _, Ledger as _};
use tokio::task::JoinSet;

use crate::support::World;

const INSTANCES: usize = 6;
const ROUNDS: i64 = 12;

/// Runs `INSTANCES` of something at once and returns what each came to.
async fn together<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    run: impl Fn(usize) -> F,
) -> Vec<T> {
    let tasks: JoinSet<T> = (0..INSTANCES).map(run).collect();
    tasks.join_all().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_delivery_is_recorded_once_with_its_job() {
    let world = World::start().await;
    let ledger = Arc::new(world.ledger().await);
    for round in 0..ROUNDS {
        let delivery = sample::delivery(&format!("d-{round}"), Forge::Github);
        let outcomes = together(|_| {
            let (ledger, delivery) = (Arc::<DynamoLedger>::clone(&ledger), delivery.clone());
            async move {
                let transaction = Transaction {
                    delivery: Some(delivery),
                    ..Transaction::default()
                };
                ledger.commit(transaction).await.unwrap()
            }
        })
        .await;
        let new = outcomes.iter().filter(|it| **it == Recorded::New).count();
        assert_eq!(new, 1, "{outcomes:?}");
        assert!(
            outcomes.iter().all(|it| *it != Recorded::Stale),
            "{outcomes:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_claim_is_granted_at_a_time() {
    let world = World::start().await;
    let ledger = Arc::new(world.ledger().await);
    let job: Job = sample::job('a', sample::at(0));
    let transaction = Transaction {
        jobs: vec![job.clone()],
        ..Transaction::default()
    };
    ledger.commit(transaction).await.unwrap();
    for round in 0..ROUNDS {
        let outcomes = together(|number| {
            let (ledger, id) = (Arc::<DynamoLedger>::clone(&ledger), job.id.clone());
            async move {
                let claim = Claim {
                    stage: Stage::Collect,
                    token: number.to_string(),
                    until: sample::at(round + 1),
                };
                let states = [JobState::Accepted];
                ledger
                    .claim(&id, &states, claim, sample::at(round))
                    .await
                    .unwrap()
            }
        })
        .await;
        let granted: Vec<_> = outcomes
            .iter()
            .filter_map(|it| match it {
                Claimed::Granted(job) => Some(job.claim.clone()),
                _ => None,
            })
            .collect();
        assert_eq!(granted.len(), 1, "{outcomes:?}");
        let stored = ledger.job(&job.id).await.unwrap().unwrap();
        assert_eq!(stored.claim, granted[0], "the row is the winner's");
        let busy = Claimed::Busy(sample::at(round + 1));
        let others = outcomes.iter().filter(|it| **it == busy).count();
        assert_eq!(others, INSTANCES - 1, "{outcomes:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_object_has_one_writer_and_its_bytes() {
    let world = World::start().await;
    let store = world.artifacts().await;
    for round in 0..ROUNDS {
        let key = format!("findings/{round}/1.json");
        let outcomes = together(|number| {
            let (store, key) = (store.clone(), key.clone());
            async move {
                let bytes = number.to_string().repeat(1000);
                match store.put_new(&key, bytes.as_bytes()).await {
                    Ok(_) => Some(bytes),
                    Err(ArtifactError::Exists { .. }) => None,
                    Err(error) => panic!("{error:?}"),
                }
            }
        })
        .await;
        let winners: Vec<_> = outcomes.into_iter().flatten().collect();
        assert_eq!(winners.len(), 1);
        let stored = store.get(&key, 10_000).await.unwrap();
        assert_eq!(stored, winners[0].as_bytes());
    }
}
