//! The meter's contract.

use mirilla_domain::ids::{Account, AttemptNo, JobId, RepoId, Timestamp};
use mirilla_domain::money::{CappedPurse, PicoUsd, Purse, Reservation};
use mirilla_ports::meter::Reserved;
use mirilla_ports::{Meter, MeterError, MeterSweep};

use crate::sample::{at, job};

/// Checks a meter whose purses were never used.
pub async fn meter(meter: &dyn Meter, sweep: &dyn MeterSweep) {
    a_call_is_held_sent_and_settled(meter).await;
    a_refusal_takes_from_no_purse(meter).await;
    what_expires_is_returned_or_booked(meter, sweep).await;
    odd_amounts_do_not_wrap(meter).await;
}

fn usd(text: &str) -> PicoUsd {
    PicoUsd::parse(text).unwrap()
}

fn repository(number: u64) -> Purse {
    Purse::RepositoryDay(RepoId::new(number), 20_000)
}

fn reservation(
    id: &str,
    amount: &str,
    purses: &[(&Purse, &str)],
    expires: Timestamp,
) -> Reservation {
    Reservation {
        id: id.to_owned(),
        job: sample_job(),
        attempt: AttemptNo::FIRST,
        call: 1,
        amount: usd(amount),
        purses: purses
            .iter()
            .map(|(purse, cap)| CappedPurse {
                purse: (*purse).clone(),
                cap: usd(cap),
            })
            .collect(),
        expires_at: expires,
    }
}

fn sample_job() -> JobId {
    job('a', at(0)).id
}

fn assert_not_open(outcome: &Result<(), MeterError>) {
    assert!(
        matches!(outcome, Err(MeterError::NotOpen { .. })),
        "{outcome:?}"
    );
}

async fn a_call_is_held_sent_and_settled(meter: &dyn Meter) {
    let (review, day) = (Purse::Review(sample_job()), repository(1));
    let month = Purse::AccountMonth(Account::parse("acme").unwrap(), 24_000);
    let all: [(&Purse, &str); 3] = [(&review, "1"), (&day, "10"), (&month, "100")];
    let first = reservation("m/1/1", "0.30", &all, at(100));
    assert_eq!(meter.spent(&review).await.unwrap(), PicoUsd::ZERO);
    assert_eq!(meter.reserve(&first).await.unwrap(), Reserved::Held);
    assert_eq!(meter.reserve(&first).await.unwrap(), Reserved::AlreadyThere);
    for purse in [&review, &day, &month] {
        assert_eq!(
            meter.spent(purse).await.unwrap(),
            usd("0.30"),
            "reserved counts, once"
        );
    }
    meter.sent("m/1/1").await.unwrap();
    assert_not_open(&meter.sent("m/1/1").await);
    meter.settle("m/1/1", usd("0.10")).await.unwrap();
    for purse in [&review, &day, &month] {
        assert_eq!(meter.spent(purse).await.unwrap(), usd("0.10"));
    }
    assert_not_open(&meter.settle("m/1/1", usd("0.10")).await);
    assert_not_open(&meter.release("m/1/1").await);
    assert_not_open(&meter.sent("m/1/1").await);

    // A call that cost more than its worst case is booked as it was.
    let second = reservation("m/1/2", "0.20", &all, at(100));
    assert_eq!(meter.reserve(&second).await.unwrap(), Reserved::Held);
    meter.sent("m/1/2").await.unwrap();
    meter.settle("m/1/2", usd("0.25")).await.unwrap();
    assert_eq!(meter.spent(&review).await.unwrap(), usd("0.35"));

    // Given back, before or after it was sent.
    for sent in [false, true] {
        let third = reservation("m/1/3", "0.20", &all, at(100));
        assert_eq!(meter.reserve(&third).await.unwrap(), Reserved::Held);
        if sent {
            meter.sent("m/1/3").await.unwrap();
        }
        meter.release("m/1/3").await.unwrap();
        assert_eq!(meter.spent(&review).await.unwrap(), usd("0.35"));
    }
}

async fn a_refusal_takes_from_no_purse(meter: &dyn Meter) {
    let (wide, narrow) = (repository(2), repository(3));
    let purses: [(&Purse, &str); 2] = [(&wide, "10"), (&narrow, "0.50")];
    let held = reservation("r/1/1", "0.30", &purses, at(100));
    assert_eq!(meter.reserve(&held).await.unwrap(), Reserved::Held);
    let refused = meter
        .reserve(&reservation("r/1/2", "0.200000000001", &purses, at(100)))
        .await
        .unwrap();
    let left = usd("0.20");
    assert_eq!(
        refused,
        Reserved::Refused {
            purse: narrow.clone(),
            left
        }
    );
    assert_eq!(
        meter.spent(&wide).await.unwrap(),
        usd("0.30"),
        "nothing was taken"
    );
    assert_not_open(&meter.sent("r/1/2").await);
    // Exactly what is left is granted; then the cap is used up.
    let exact = meter
        .reserve(&reservation("r/1/3", "0.20", &purses, at(100)))
        .await
        .unwrap();
    assert_eq!(exact, Reserved::Held);
    let last = meter
        .reserve(&reservation("r/1/4", "0.000000000001", &purses, at(100)))
        .await
        .unwrap();
    let left = PicoUsd::ZERO;
    assert_eq!(
        last,
        Reserved::Refused {
            purse: narrow,
            left
        }
    );
    for id in ["r/1/1", "r/1/3"] {
        meter.release(id).await.unwrap();
    }
}

async fn what_expires_is_returned_or_booked(meter: &dyn Meter, sweep: &dyn MeterSweep) {
    let purse = repository(4);
    for (id, expires) in [("e/1/1", 50), ("e/1/2", 50), ("e/1/3", 51)] {
        let held = reservation(id, "0.10", &[(&purse, "1")], at(expires));
        assert_eq!(meter.reserve(&held).await.unwrap(), Reserved::Held);
    }
    meter.sent("e/1/2").await.unwrap();
    assert_eq!(sweep.settle_expired(at(49)).await.unwrap(), (0, 0));
    assert_eq!(sweep.settle_expired(at(50)).await.unwrap(), (1, 1));
    assert_eq!(sweep.settle_expired(at(50)).await.unwrap(), (0, 0), "once");
    assert_eq!(
        meter.spent(&purse).await.unwrap(),
        usd("0.20"),
        "one booked, one still held"
    );
    // Whoever comes back too late is told so and changes nothing.
    assert_not_open(&meter.sent("e/1/1").await);
    assert_not_open(&meter.settle("e/1/2", usd("0.01")).await);
    meter.release("e/1/3").await.unwrap();
    assert_eq!(meter.spent(&purse).await.unwrap(), usd("0.10"));
}

async fn odd_amounts_do_not_wrap(meter: &dyn Meter) {
    let purse = repository(5);
    let most = PicoUsd::new(u64::MAX);
    let huge = Reservation {
        amount: most,
        purses: vec![CappedPurse {
            purse: purse.clone(),
            cap: usd("1"),
        }],
        ..reservation("o/1/1", "0", &[], at(100))
    };
    let refused = meter.reserve(&huge).await.unwrap();
    assert_eq!(
        refused,
        Reserved::Refused {
            purse: purse.clone(),
            left: usd("1")
        }
    );
    let small = reservation("o/1/2", "0.10", &[(&purse, "1")], at(100));
    assert_eq!(meter.reserve(&small).await.unwrap(), Reserved::Held);
    meter.sent("o/1/2").await.unwrap();
    meter.settle("o/1/2", most).await.unwrap();
    let full = reservation("o/1/3", "0.000000000001", &[(&purse, "1")], at(100));
    let left = PicoUsd::ZERO;
    assert_eq!(
        meter.reserve(&full).await.unwrap(),
        Reserved::Refused {
            purse: purse.clone(),
            left
        }
    );
    assert!(
        meter.spent(&purse).await.unwrap() > usd("1000000"),
        "booked upwards, not around"
    );

    // A free call needs no money, even from an empty purse.
    let free = reservation("o/1/4", "0", &[(&purse, "0")], at(100));
    assert_eq!(meter.reserve(&free).await.unwrap(), Reserved::Held);
    meter.release("o/1/4").await.unwrap();
}
