//! Rows past their expiry are not there, whether the table has removed them yet or not.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use mirilla_aws::{DynamoHeads, DynamoLedger, DynamoMeter};
use mirilla_contract::{ManualClock, sample};
use mirilla_domain::ids::{Forge, Timestamp};
use mirilla_domain::job::{Job, JobState};
use mirilla_domain::money::{CappedPurse, PicoUsd, Purse, Reservation};
use mirilla_ports::ledger::{Recorded, Transaction};
use mirilla_ports::meter::Reserved;
use mirilla_ports::{Clock, Heads as _, HeadsWrite as _, Ledger as _, Meter as _, MeterSweep as _};
use mirilla_system::SystemClock;

use crate::support::{HEADS, LEDGER, METER, World};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn moving() -> (Arc<ManualClock>, Arc<dyn Clock>) {
    let clock = Arc::new(ManualClock::at(SystemClock.now()));
    let shared: Arc<dyn Clock> = Arc::<ManualClock>::clone(&clock);
    (clock, shared)
}

type Row = std::collections::HashMap<String, AttributeValue>;

async fn row(world: &World, table: &str, pk: &str) -> Option<Row> {
    let get = world.aws.dynamodb().get_item().table_name(table);
    let get = get.key("pk", AttributeValue::S(pk.to_owned()));
    get.send().await.unwrap().item
}

fn expires_at(row: &Row) -> i64 {
    row["expires_at"].as_n().unwrap().parse().unwrap()
}

fn jobs(jobs: Vec<Job>) -> Transaction {
    Transaction {
        jobs,
        ..Transaction::default()
    }
}

#[tokio::test]
async fn ledger_rows_end_when_they_should() {
    let world = World::start().await;
    world.ledger().await;
    let (clock, shared) = moving();
    let now = clock.now();
    let ledger = DynamoLedger::new(world.aws.dynamodb(), LEDGER, shared);
    let in_days = |days: i64| now.get().div_euclid(1000) + days * 24 * 60 * 60;

    // A delivery, its body, a job that is at work, and a pull request.
    let delivery = sample::delivery("d-1", Forge::Github);
    let job = sample::job('a', now);
    let whole = Transaction {
        delivery: Some(delivery.clone()),
        jobs: vec![job.clone()],
        pull_request: Some(sample::record(7, now)),
    };
    assert_eq!(ledger.commit(whole).await.unwrap(), Recorded::New);
    let known = row(&world, LEDGER, "delivery#github#d-1").await.unwrap();
    assert_eq!(expires_at(&known), in_days(30));
    let body = format!("body#github#{}", delivery.body);
    assert_eq!(
        expires_at(&row(&world, LEDGER, &body).await.unwrap()),
        in_days(30)
    );
    let job_key = format!("job#{}", job.id);
    let open = row(&world, LEDGER, &job_key).await.unwrap();
    assert!(open.contains_key("unfinished") && !open.contains_key("expires_at"));
    let pull = row(&world, LEDGER, "pull#github:2#7").await.unwrap();
    assert_eq!(expires_at(&pull), in_days(90));

    // Its end takes it from the index and gives it an expiry; arming it again undoes both.
    let stored = ledger.job(&job.id).await.unwrap().unwrap();
    let skipped = Job {
        state: JobState::Skipped,
        ..stored
    };
    ledger.commit(jobs(vec![skipped])).await.unwrap();
    let ended = row(&world, LEDGER, &job_key).await.unwrap();
    assert!(!ended.contains_key("unfinished"));
    assert_eq!(expires_at(&ended), in_days(90));
    assert!(
        ledger
            .unfinished(now.plus(DAY), 10)
            .await
            .unwrap()
            .is_empty()
    );
    let armed = ledger.job(&job.id).await.unwrap().unwrap();
    let armed = armed.armed_again(now, now);
    ledger.commit(jobs(vec![armed])).await.unwrap();
    assert!(
        !row(&world, LEDGER, &job_key)
            .await
            .unwrap()
            .contains_key("expires_at")
    );
    let posted = Job {
        state: JobState::Posted,
        ..ledger.job(&job.id).await.unwrap().unwrap()
    };
    ledger.commit(jobs(vec![posted])).await.unwrap();

    // 30 days later the delivery is forgotten, 90 days later all of it; the rows are still there.
    let again = || Transaction {
        delivery: Some(delivery.clone()),
        ..Transaction::default()
    };
    clock.pass(29 * DAY);
    assert!(
        ledger
            .has_delivery(Forge::Github, &delivery.id)
            .await
            .unwrap()
    );
    assert_eq!(
        ledger.commit(again()).await.unwrap(),
        Recorded::DuplicateDelivery
    );
    clock.pass(DAY);
    assert!(
        !ledger
            .has_delivery(Forge::Github, &delivery.id)
            .await
            .unwrap()
    );
    assert_eq!(ledger.commit(again()).await.unwrap(), Recorded::New);
    assert!(ledger.job(&job.id).await.unwrap().is_some());
    clock.pass(60 * DAY);
    assert_eq!(ledger.job(&job.id).await.unwrap(), None);
    let pull_request = sample::pull_request(7);
    assert_eq!(ledger.pull_request(&pull_request).await.unwrap(), None);
    assert!(ledger.touched(now, 10).await.unwrap().is_empty());
    assert!(row(&world, LEDGER, &job_key).await.is_some());
    let anew = Transaction {
        jobs: vec![job.clone()],
        pull_request: Some(sample::record(7, clock.now())),
        delivery: None,
    };
    assert_eq!(ledger.commit(anew).await.unwrap(), Recorded::New);
    assert_eq!(ledger.job(&job.id).await.unwrap().unwrap().version, 1);
}

#[tokio::test]
async fn heads_end_and_purses_outlive_what_they_count() {
    let world = World::start().await;
    world.heads().await;
    world.meter().await;
    let (clock, shared) = moving();
    let heads = DynamoHeads::new(world.aws.dynamodb(), HEADS, Arc::clone(&shared));
    let pull_request = sample::pull_request(7);
    let head = sample::sha('a');
    heads
        .record(&pull_request, &head, clock.now())
        .await
        .unwrap();
    clock.pass(31 * DAY);
    assert_eq!(heads.newest(&pull_request).await.unwrap(), None);

    let meter = DynamoMeter::new(world.aws.dynamodb(), METER, shared);
    let purse = Purse::Review(sample::job('a', sample::at(0)).id);
    let dollar = PicoUsd::parse("1").unwrap();
    let reservation = Reservation {
        id: "j/1/1".to_owned(),
        job: sample::job('a', sample::at(0)).id,
        attempt: mirilla_domain::ids::AttemptNo::FIRST,
        call: 1,
        amount: dollar,
        purses: vec![CappedPurse {
            purse: purse.clone(),
            cap: dollar,
        }],
        expires_at: Timestamp::new(5),
    };
    assert_eq!(meter.reserve(&reservation).await.unwrap(), Reserved::Held);
    let open = row(&world, METER, "reservation#j/1/1").await.unwrap();
    assert!(!open.contains_key("expires_at"), "money is not forgotten");
    meter.sent("j/1/1").await.unwrap();
    assert_eq!(meter.settle_expired(clock.now()).await.unwrap(), (0, 1));
    let closed = row(&world, METER, "reservation#j/1/1").await.unwrap();
    let mut names: Vec<_> = closed.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["expires_at", "pk"], "an empty row that ends soon");
    let purse_row = row(&world, METER, &format!("purse#{}", purse.key()))
        .await
        .unwrap();
    let left = expires_at(&purse_row) - clock.now().get().div_euclid(1000);
    assert!(left > 31 * 24 * 60 * 60, "longer than a month counts");
    assert_eq!(purse_row["total"].as_n().unwrap(), "1000000000000");
    assert_eq!(purse_row["spent"].as_n().unwrap(), "1000000000000");
}
