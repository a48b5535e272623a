//! Recorded failures of other products' accounting.

use std::time::Duration;

use mirilla_casekit::cases;
use mirilla_contract::sample;
use mirilla_domain::ids::{AttemptNo, RepoId};
use mirilla_domain::money::{CappedPurse, PicoUsd, Purse, Reservation};
use mirilla_local::LocalMeter;
use mirilla_ports::meter::Reserved;
use mirilla_ports::{Meter as _, MeterSweep as _};
use serde_json::Value;

use crate::meter_races::block_on;

fn usd(value: &Value) -> PicoUsd {
    PicoUsd::parse(value.as_str().unwrap()).unwrap()
}

#[test]
fn case_185_two_workers_share_one_budget() {
    let case = cases("tests/fixtures/cases", |name| name.starts_with("185")).remove(0);
    let state = case.json("state.json");
    let timeline = case.json("timeline.json");
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("meter.db");
    let workers = [
        LocalMeter::open(&path).unwrap(),
        LocalMeter::open(&path).unwrap(),
    ];
    let purse = Purse::RepositoryDay(RepoId::new(1), 1);
    let reservation = |id: &str, amount: PicoUsd| Reservation {
        id: id.to_owned(),
        job: sample::job('a', sample::at(0)).id,
        attempt: AttemptNo::FIRST,
        call: 1,
        amount,
        purses: vec![CappedPurse {
            purse: purse.clone(),
            cap: usd(&state["cap"]),
        }],
        expires_at: sample::at(0).plus(Duration::from_secs(600)),
    };
    let before = usd(&state["spent"]);
    block_on(workers[0].reserve(&reservation("before", before))).unwrap();
    block_on(workers[0].settle("before", before)).unwrap();

    let mut started = Vec::new();
    let mut most = PicoUsd::ZERO;
    for step in timeline.as_array().unwrap() {
        let name = step["worker"].as_str().unwrap();
        let meter = &workers[usize::from(name == "B")];
        if let Some(want) = step.get("want") {
            match block_on(meter.reserve(&reservation(name, usd(want)))).unwrap() {
                Reserved::Held => {
                    block_on(meter.sent(name)).unwrap();
                    started.push(name);
                }
                Reserved::Refused { left, .. } => assert!(left < usd(want)),
                Reserved::AlreadyThere => panic!("each worker reserves once"),
            }
        } else {
            assert!(started.contains(&name));
            block_on(meter.settle(name, usd(&step["actual"]))).unwrap();
        }
        most = most.max(block_on(meter.spent(&purse)).unwrap());
    }
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "cost/1");
    assert_eq!(expected.need("started"), started.len());
    let spent = block_on(workers[1].spent(&purse)).unwrap();
    assert_eq!(usd(&expected.need("spent_after")), spent);
    assert!(most <= usd(&expected.need("never_above")));
    expected.finish();

    // "Unused reservation returned once, also after a crash": B held money and died.
    let left = reservation("crashed", usd(&state["cap"]).minus(spent));
    assert_eq!(block_on(workers[1].reserve(&left)).unwrap(), Reserved::Held);
    let expiry = left.expires_at;
    assert_eq!(block_on(workers[0].settle_expired(expiry)).unwrap(), (1, 0));
    assert_eq!(block_on(workers[0].settle_expired(expiry)).unwrap(), (0, 0));
    assert_eq!(block_on(workers[0].spent(&purse)).unwrap(), spent);
}
