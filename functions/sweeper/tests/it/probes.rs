//! Heads that nobody announced are looked for about every ten minutes, however often the sweeper runs.

use mirilla_contract::sample;
use mirilla_domain::job::JobState;
use mirilla_ports::Ledger as _;
use mirilla_ports::ledger::Transaction;
use mirilla_sweeper::handle;

use crate::support::World;

#[tokio::test]
async fn heads_are_looked_for_every_ten_minutes() {
    let world = World::new();
    let now = world.clock().now();
    let mut job = sample::job('a', now);
    job.state = JobState::Posted;
    let mut record = sample::record(7, now);
    record.last_job = Some(job.id.clone());
    let transaction = Transaction {
        delivery: None,
        jobs: vec![job],
        pull_request: Some(record),
    };
    world.ledger().commit(transaction).await.unwrap();

    let mut looked = Vec::new();
    for minute in 1..=31 {
        // Each by another process, as functions are.
        let sweeper = world.sweeper(&["acme"], None);
        if world.next_run(&sweeper).await.probed == 1 {
            looked.push(minute);
        }
        // A second run in the same minute does not look again.
        assert_eq!(handle(&sweeper).await.unwrap().probed, 0);
    }
    assert_eq!(looked, [1, 11, 21, 31]);
}
