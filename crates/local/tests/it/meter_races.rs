//! Two workers, one budget: no interleaving of threads and processes spends past the cap.

use std::path::Path;
use std::process::Command;
use std::thread;

use mirilla_contract::sample;
use mirilla_domain::ids::{Account, AttemptNo, RepoId};
use mirilla_domain::money::{CappedPurse, PicoUsd, Purse, Reservation};
use mirilla_local::{DataDir, LocalMeter};
use mirilla_ports::meter::Reserved;
use mirilla_ports::{Meter as _, MeterSweep as _};

/// Names the database that another process is to work on.
const SHARED: &str = "MIRILLA_TEST_SHARED_METER";
/// Keeps the processes' reservations apart.
const WORKER: &str = "MIRILLA_TEST_WORKER";
const THREADS: u64 = 4;
const CALLS: u32 = 150;

/// Runs a future that never waits: all local stores are synchronous inside.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

fn usd(text: &str) -> PicoUsd {
    PicoUsd::parse(text).unwrap()
}

fn month() -> Purse {
    Purse::AccountMonth(Account::parse("acme").unwrap(), 1)
}

fn day(repo: u64) -> Purse {
    Purse::RepositoryDay(RepoId::new(repo), 1)
}

const MONTH_CAP: &str = "40";
const DAY_CAP: &str = "15";

/// One worker: reserves, sends, settles, releases or forgets, in a fixed mix; never above a cap.
///
/// Returns what it knows to be spent and what it left behind as sent.
fn spend(path: &Path, worker: &str) -> PicoUsd {
    let meter = LocalMeter::open(path).unwrap();
    let mut owed = PicoUsd::ZERO;
    for call in 1..=CALLS {
        let repo = u64::from(call % 4);
        let id = format!("{worker}/{call}");
        let held = Reservation {
            id: id.clone(),
            job: sample::job('a', sample::at(0)).id,
            attempt: AttemptNo::FIRST,
            call,
            amount: usd("0.10"),
            purses: vec![
                CappedPurse {
                    purse: day(repo),
                    cap: usd(DAY_CAP),
                },
                CappedPurse {
                    purse: month(),
                    cap: usd(MONTH_CAP),
                },
            ],
            expires_at: sample::at(100),
        };
        if block_on(meter.reserve(&held)).unwrap() == Reserved::Held {
            match call % 5 {
                // Killed before or after it was sent.
                0 => {}
                1 => {
                    block_on(meter.sent(&id)).unwrap();
                    owed = owed.plus(usd("0.10"));
                }
                2 => block_on(meter.release(&id)).unwrap(),
                _ => {
                    block_on(meter.sent(&id)).unwrap();
                    block_on(meter.settle(&id, usd("0.07"))).unwrap();
                    owed = owed.plus(usd("0.07"));
                }
            }
        }
        let spent = block_on(meter.spent(&month())).unwrap();
        assert!(spent <= usd(MONTH_CAP), "spent {spent} of {MONTH_CAP}");
        let spent = block_on(meter.spent(&day(repo))).unwrap();
        assert!(spent <= usd(DAY_CAP), "spent {spent} of {DAY_CAP}");
    }
    owed
}

/// Runs alone, or as one of several processes on the database that the environment names.
#[test]
fn threads_of_one_process_stay_below_every_cap() {
    let temp = tempfile::tempdir().unwrap();
    let shared = std::env::var_os(SHARED);
    let path = match &shared {
        Some(path) => path.into(),
        None => DataDir::create(temp.path()).unwrap().meter(),
    };
    let process = std::env::var(WORKER).unwrap_or_default();
    let owed = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|number| {
                let worker = format!("{process}-{number}");
                let path = &path;
                scope.spawn(move || spend(path, &worker))
            })
            .collect();
        threads
            .into_iter()
            .fold(PicoUsd::ZERO, |sum, it| sum.plus(it.join().unwrap()))
    });
    if shared.is_none() {
        let meter = LocalMeter::open(&path).unwrap();
        block_on(meter.settle_expired(sample::at(100))).unwrap();
        assert_eq!(
            block_on(meter.spent(&month())).unwrap(),
            owed,
            "charged exactly once"
        );
    } else {
        println!("owed={}", owed.get());
    }
}

#[test]
fn processes_stay_below_every_cap_and_charge_each_call_once() {
    let temp = tempfile::tempdir().unwrap();
    let path = DataDir::create(temp.path()).unwrap().meter();
    let workers: Vec<_> = ["p", "q", "r"]
        .into_iter()
        .map(|name| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "--nocapture"])
                .arg("meter_races::threads_of_one_process_stay_below_every_cap")
                .env(SHARED, &path)
                .env(WORKER, name)
                .stdout(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let mut owed = 0_u64;
    for worker in workers {
        let output = worker.wait_with_output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        let line = text.lines().find_map(|line| line.split_once("owed="));
        owed += line
            .expect("it worked on the shared file")
            .1
            .parse::<u64>()
            .unwrap();
    }
    let meter = LocalMeter::open(&path).unwrap();
    let before = block_on(meter.spent(&month())).unwrap();
    assert!(before <= usd(MONTH_CAP));
    let (returned, booked) = block_on(meter.settle_expired(sample::at(100))).unwrap();
    assert!(
        returned > 0 && booked > 0,
        "some calls were left open on purpose"
    );
    let after = block_on(meter.spent(&month())).unwrap();
    assert_eq!(after, PicoUsd::new(owed), "charged exactly once");
    let days = (0..4).fold(PicoUsd::ZERO, |sum, repo| {
        sum.plus(block_on(meter.spent(&day(repo))).unwrap())
    });
    assert_eq!(days, after, "all purses moved together");
}
