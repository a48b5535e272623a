//! Several workers, one budget: no interleaving spends past the cap, and each call is charged once.

use std::sync::Arc;
use std::time::Duration;

use mirilla_aws::DynamoMeter;
use mirilla_contract::sample;
use mirilla_domain::ids::{Account, AttemptNo, RepoId};
use mirilla_domain::money::{CappedPurse, PicoUsd, Purse, Reservation};
use mirilla_ports::meter::Reserved;
use mirilla_ports::{Meter as _, MeterError, MeterSweep as _};
use tokio::task::JoinSet;

use crate::support::World;

const WORKERS: u32 = 6;
const CALLS: u32 = 40;
const MONTH_CAP: &str = "6";
const DAY_CAP: &str = "2.5";

fn usd(text: &str) -> PicoUsd {
    PicoUsd::parse(text).unwrap()
}

fn month() -> Purse {
    Purse::AccountMonth(Account::parse("acme").unwrap(), 1)
}

fn day(repo: u64) -> Purse {
    Purse::RepositoryDay(RepoId::new(repo), 1)
}

/// One worker: reserves, sends, settles, releases or forgets, in a fixed mix, below every cap.
///
/// Returns what it knows to be owed, and how often it was granted and refused.
async fn spend(meter: Arc<DynamoMeter>, worker: u32) -> (PicoUsd, u32, u32) {
    let (mut owed, mut granted, mut refused) = (PicoUsd::ZERO, 0, 0);
    for call in 1..=CALLS {
        let repo = u64::from((worker + call) % 3);
        let id = format!("{worker}/{call}");
        let capped = |purse, cap| CappedPurse {
            purse,
            cap: usd(cap),
        };
        let reservation = Reservation {
            id: id.clone(),
            job: sample::job('a', sample::at(0)).id,
            attempt: AttemptNo::FIRST,
            call,
            amount: usd("0.10"),
            purses: vec![capped(day(repo), DAY_CAP), capped(month(), MONTH_CAP)],
            expires_at: sample::at(100),
        };
        match meter.reserve(&reservation).await.unwrap() {
            Reserved::Held => granted += 1,
            Reserved::Refused { left, .. } => {
                assert!(left < usd("0.10"), "refused with {left} left");
                refused += 1;
                continue;
            }
            Reserved::AlreadyThere => panic!("{id} is this worker's own"),
        }
        match call % 5 {
            // Killed before or after it was sent.
            0 => {}
            1 => {
                meter.sent(&id).await.unwrap();
                owed = owed.plus(usd("0.10"));
            }
            2 => meter.release(&id).await.unwrap(),
            _ => {
                meter.sent(&id).await.unwrap();
                meter.settle(&id, usd("0.07")).await.unwrap();
                owed = owed.plus(usd("0.07"));
            }
        }
        let spent = meter.spent(&month()).await.unwrap();
        assert!(spent <= usd(MONTH_CAP), "spent {spent} of {MONTH_CAP}");
        let spent = meter.spent(&day(repo)).await.unwrap();
        assert!(spent <= usd(DAY_CAP), "spent {spent} of {DAY_CAP}");
    }
    (owed, granted, refused)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_stay_below_every_cap_and_charge_each_call_once() {
    let world = World::start().await;
    let meter = Arc::new(world.meter().await);
    let mut workers = JoinSet::new();
    for worker in 0..WORKERS {
        workers.spawn(spend(Arc::clone(&meter), worker));
    }
    let (mut owed, mut granted, mut refused) = (PicoUsd::ZERO, 0, 0);
    for (more, grants, refusals) in workers.join_all().await {
        owed = owed.plus(more);
        granted += grants;
        refused += refusals;
    }
    assert!(granted > 0 && refused > 0, "the caps were reached");
    let before = meter.spent(&month()).await.unwrap();
    assert!(
        before <= usd(MONTH_CAP) && before > owed,
        "some are left open"
    );
    let (returned, booked) = meter.settle_expired(sample::at(100)).await.unwrap();
    assert!(returned > 0 && booked > 0);
    let after = meter.spent(&month()).await.unwrap();
    assert_eq!(after, owed, "charged exactly once");
    let mut days = PicoUsd::ZERO;
    for repo in 0..3 {
        days = days.plus(meter.spent(&day(repo)).await.unwrap());
    }
    assert_eq!(days, after, "all purses moved together");
}

/// The worker and the sweeper close the same reservations at the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reservation_is_closed_by_one_of_worker_and_sweeper() {
    let world = World::start().await;
    let meter = world.meter().await;
    let purse = day(9);
    let mut owed = PicoUsd::ZERO;
    for call in 0..60 {
        let reservation = Reservation {
            id: format!("race/{call}"),
            job: sample::job('a', sample::at(0)).id,
            attempt: AttemptNo::FIRST,
            call,
            amount: usd("0.10"),
            purses: vec![CappedPurse {
                purse: purse.clone(),
                cap: usd("100"),
            }],
            expires_at: sample::at(100),
        };
        meter.reserve(&reservation).await.unwrap();
        let worker = async {
            // Now before, now between, now after the sweeper's reading and writing.
            tokio::time::sleep(Duration::from_millis(u64::from(call % 15))).await;
            meter.sent(&reservation.id).await?;
            meter.settle(&reservation.id, usd("0.03")).await
        };
        let (worked, swept) = tokio::join!(worker, meter.settle_expired(sample::at(100)));
        let (returned, booked) = swept.unwrap();
        owed = owed.plus(match (&worked, returned, booked) {
            (Ok(()), 0, 0) => usd("0.03"),
            (Err(MeterError::NotOpen { .. }), 1, 0) => PicoUsd::ZERO,
            (Err(MeterError::NotOpen { .. }), 0, 1) => usd("0.10"),
            other => panic!("closed twice or never: {other:?}"),
        });
        assert_eq!(meter.spent(&purse).await.unwrap(), owed);
    }
}
