//! The ledger's contract.

use std::time::Duration;

use mirilla_domain::ids::{Forge, Generation, JobId, Timestamp};
use mirilla_domain::job::{Claim, Job, JobState, PullRequestRecord, Stage};
use mirilla_domain::request::Delivery;
use mirilla_ports::Ledger;
use mirilla_ports::ledger::{Claimed, Recorded, Transaction};

use crate::sample::{at, delivery, job, pull_request, record};

/// Checks an empty ledger against everything the stages rely on.
///
/// `now` is the present moment of the store: pull requests are touched around it.
pub async fn ledger(ledger: &dyn Ledger, now: Timestamp) {
    deliveries_are_recorded_once_and_with_their_rows(ledger).await;
    writes_upon_an_old_version_change_nothing(ledger).await;
    claims_exclude_each_other_until_they_lapse(ledger).await;
    one_row_twice_in_a_transaction_is_stale(ledger).await;
    unfinished_and_touched_are_ordered_and_bounded(ledger, now).await;
}

async fn commit(ledger: &dyn Ledger, jobs: &[Job]) -> Recorded {
    let transaction = Transaction {
        jobs: jobs.to_vec(),
        ..Transaction::default()
    };
    ledger.commit(transaction).await.unwrap()
}

async fn read(ledger: &dyn Ledger, id: &JobId) -> Job {
    ledger.job(id).await.unwrap().expect("the job is there")
}

async fn deliveries_are_recorded_once_and_with_their_rows(ledger: &dyn Ledger) {
    let first = Job {
        sponsored: true,
        ..job('b', at(100))
    };
    assert_eq!(ledger.job(&first.id).await.unwrap(), None);
    assert_eq!(ledger.pull_request(&pull_request(7)).await.unwrap(), None);
    let whole = Transaction {
        delivery: Some(delivery("d-1", Forge::Github)),
        jobs: vec![first.clone()],
        pull_request: Some(record(7, at(100))),
    };
    assert_eq!(ledger.commit(whole.clone()).await.unwrap(), Recorded::New);
    let stored = read(ledger, &first.id).await;
    assert_eq!(
        stored,
        Job {
            version: 1,
            ..first.clone()
        },
        "stored with version 1"
    );
    let stored = ledger
        .pull_request(&pull_request(7))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(stored.version, 1);

    // It can be looked for by its id, in its forge.
    for (forge, id, known) in [
        (Forge::Github, "d-1", true),
        (Forge::Gitlab, "d-1", false),
        (Forge::Github, "d-2", false),
    ] {
        let id = delivery(id, forge).id;
        assert_eq!(ledger.has_delivery(forge, &id).await.unwrap(), known);
    }

    // The same delivery again changes nothing, whatever comes with it.
    let other = job('c', at(101));
    let again = Transaction {
        jobs: vec![other.clone()],
        pull_request: None,
        ..whole.clone()
    };
    assert_eq!(
        ledger.commit(again).await.unwrap(),
        Recorded::DuplicateDelivery
    );
    assert_eq!(ledger.job(&other.id).await.unwrap(), None);

    // A new delivery that is refused for its job is not remembered as seen.
    let stale = Transaction {
        delivery: Some(delivery("d-2", Forge::Github)),
        ..whole.clone()
    };
    assert_eq!(ledger.commit(stale).await.unwrap(), Recorded::Stale);
    let second = delivery("d-2", Forge::Github).id;
    let known = ledger.has_delivery(Forge::Github, &second);
    assert!(!known.await.unwrap());
    let good = Transaction {
        delivery: Some(delivery("d-2", Forge::Github)),
        jobs: vec![other.clone()],
        pull_request: None,
    };
    assert_eq!(ledger.commit(good).await.unwrap(), Recorded::New);

    // A body that comes back under another id is no new delivery either.
    let replayed = Transaction {
        delivery: Some(Delivery {
            id: delivery("d-3", Forge::Github).id,
            ..delivery("d-2", Forge::Github)
        }),
        ..Transaction::default()
    };
    assert_eq!(
        ledger.commit(replayed).await.unwrap(),
        Recorded::DuplicateDelivery
    );

    // Refused twice over, it is a duplicate: a second look at its job would change nothing.
    let both = Transaction {
        delivery: Some(delivery("d-2", Forge::Github)),
        jobs: vec![other.clone()],
        pull_request: None,
    };
    assert_eq!(
        ledger.commit(both).await.unwrap(),
        Recorded::DuplicateDelivery
    );

    // Two forges may use the same id.
    let elsewhere = Transaction {
        delivery: Some(delivery("d-1", Forge::Gitlab)),
        ..Transaction::default()
    };
    assert_eq!(ledger.commit(elsewhere).await.unwrap(), Recorded::New);
}

async fn writes_upon_an_old_version_change_nothing(ledger: &dyn Ledger) {
    let fresh = job('d', at(200));
    assert_eq!(
        commit(ledger, std::slice::from_ref(&fresh)).await,
        Recorded::New
    );
    assert_eq!(
        commit(ledger, std::slice::from_ref(&fresh)).await,
        Recorded::Stale,
        "it must be new"
    );

    let read_one = read(ledger, &fresh.id).await;
    let queued = Job {
        state: JobState::Queued,
        updated_at: at(201),
        ..read_one.clone()
    };
    assert_eq!(
        commit(ledger, std::slice::from_ref(&queued)).await,
        Recorded::New
    );
    assert_eq!(
        read(ledger, &fresh.id).await,
        Job {
            version: 2,
            ..queued
        }
    );
    let late = Job {
        state: JobState::Skipped,
        ..read_one
    };
    assert_eq!(
        commit(ledger, std::slice::from_ref(&late)).await,
        Recorded::Stale
    );

    // All rows or none: the second of two is stale, so the first is not written either.
    let current = read(ledger, &fresh.id).await;
    let moved = Job {
        state: JobState::Collected,
        ..current.clone()
    };
    assert_eq!(commit(ledger, &[moved, late]).await, Recorded::Stale);
    assert_eq!(read(ledger, &fresh.id).await, current);
    let unknown = Job {
        version: 3,
        ..job('e', at(200))
    };
    assert_eq!(
        commit(ledger, &[unknown]).await,
        Recorded::Stale,
        "nothing to replace"
    );

    // The pull request's record follows the same rule.
    let with = |record| Transaction {
        pull_request: Some(record),
        ..Transaction::default()
    };
    let old = ledger
        .pull_request(&pull_request(7))
        .await
        .unwrap()
        .unwrap();
    let mut new = old.clone();
    new.generation = Generation::new(5);
    assert_eq!(ledger.commit(with(new)).await.unwrap(), Recorded::New);
    assert_eq!(ledger.commit(with(old)).await.unwrap(), Recorded::Stale);
    assert_eq!(
        ledger.commit(with(record(7, at(200)))).await.unwrap(),
        Recorded::Stale
    );
    let stored = ledger
        .pull_request(&pull_request(7))
        .await
        .unwrap()
        .unwrap();
    assert_eq!((stored.generation, stored.version), (Generation::new(5), 2));
}

async fn claims_exclude_each_other_until_they_lapse(ledger: &dyn Ledger) {
    let queued = Job {
        state: JobState::Queued,
        ..job('f', at(300))
    };
    commit(ledger, std::slice::from_ref(&queued)).await;
    let states = [JobState::Accepted, JobState::Queued];
    let claim = |token: &str, until| Claim {
        stage: Stage::Collect,
        token: token.to_owned(),
        until,
    };
    let unknown = job('9', at(0)).id;
    let claimed = ledger.claim(&unknown, &states, claim("a", at(400)), at(300));
    assert_eq!(claimed.await.unwrap(), Claimed::Unknown);
    let claimed = ledger.claim(
        &queued.id,
        &[JobState::Collected],
        claim("a", at(400)),
        at(300),
    );
    assert_eq!(claimed.await.unwrap(), Claimed::NotNow(JobState::Queued));

    let claimed = ledger.claim(&queued.id, &states, claim("a", at(400)), at(310));
    let Claimed::Granted(held) = claimed.await.unwrap() else {
        panic!("nobody held it");
    };
    assert_eq!(
        *held,
        read(ledger, &queued.id).await,
        "the row as granted is the row as stored"
    );
    assert_eq!((held.version, held.updated_at), (2, at(310)));
    let claimed = ledger.claim(&queued.id, &states, claim("b", at(500)), at(399));
    assert_eq!(claimed.await.unwrap(), Claimed::Busy(at(400)));

    // It lapses at its moment; the first holder's write is stale then.
    let claimed = ledger.claim(&queued.id, &states, claim("b", at(500)), at(400));
    let Claimed::Granted(second) = claimed.await.unwrap() else {
        panic!("the claim had lapsed");
    };
    let late = Job {
        claim: None,
        state: JobState::Collected,
        ..*held
    };
    assert_eq!(commit(ledger, &[late]).await, Recorded::Stale);
    let given_up = Job {
        claim: None,
        ..*second
    };
    assert_eq!(commit(ledger, &[given_up]).await, Recorded::New);
    let claimed = ledger.claim(&queued.id, &states, claim("c", at(500)), at(401));
    assert!(matches!(claimed.await.unwrap(), Claimed::Granted(_)));
}

async fn one_row_twice_in_a_transaction_is_stale(ledger: &dyn Ledger) {
    let twice = job('8', at(200));
    assert_eq!(
        commit(ledger, &[twice.clone(), twice.clone()]).await,
        Recorded::Stale
    );
    assert_eq!(ledger.job(&twice.id).await.unwrap(), None);
}

async fn unfinished_and_touched_are_ordered_and_bounded(ledger: &dyn Ledger, moment: Timestamp) {
    let old = Job {
        updated_at: at(3),
        ..job('1', at(1))
    };
    let older = Job {
        updated_at: at(2),
        ..job('2', at(1))
    };
    let done = Job {
        state: JobState::Posted,
        updated_at: at(1),
        ..job('3', at(1))
    };
    let fresh = Job {
        updated_at: moment,
        ..job('4', at(1))
    };
    commit(ledger, &[old.clone(), older.clone(), done, fresh.clone()]).await;
    let ids = |jobs: Vec<Job>| jobs.into_iter().map(|job| job.id).collect::<Vec<_>>();
    let found = ids(ledger.unfinished(at(4), 10).await.unwrap());
    assert_eq!(
        found,
        [older.id.clone(), old.id.clone()],
        "oldest first, posted left out"
    );
    let found = ids(ledger.unfinished(at(4), 1).await.unwrap());
    assert_eq!(found, ids(vec![older.clone()]), "bounded");
    let found = ids(ledger.unfinished(moment, 1000).await.unwrap());
    assert!(
        !found.contains(&fresh.id),
        "changed at the moment is not before it"
    );

    // A finished job leaves the list, and is on it again when it is armed.
    let stored = read(ledger, &old.id).await;
    commit(
        ledger,
        &[Job {
            state: JobState::Failed,
            ..stored
        }],
    )
    .await;
    assert_eq!(
        ids(ledger.unfinished(at(4), 10).await.unwrap()),
        ids(vec![older.clone()])
    );
    let armed = read(ledger, &old.id).await.armed_again(at(3), at(3));
    commit(ledger, &[armed]).await;
    assert_eq!(
        ids(ledger.unfinished(at(4), 10).await.unwrap()),
        [older.id, old.id]
    );

    let minute = Duration::from_secs(60);
    let day = 24 * 60 * minute;
    let before = |duration: Duration| {
        let millis = i64::try_from(duration.as_millis()).unwrap();
        Timestamp::new(moment.get() - millis)
    };
    for (pr, touched) in [
        (22, moment),
        (20, before(2 * day + minute)),
        (21, before(2 * day)),
        (23, before(day)),
    ] {
        let transaction = Transaction {
            pull_request: Some(record(pr, touched)),
            ..Transaction::default()
        };
        ledger.commit(transaction).await.unwrap();
    }
    let prs = |found: Vec<PullRequestRecord>| {
        let all = found.into_iter().map(|it| it.pull_request.pr.get());
        all.collect::<Vec<_>>()
    };
    let found = prs(ledger.touched(before(2 * day), 10).await.unwrap());
    assert_eq!(found, [21, 23, 22], "oldest first, the moment included");
    let found = prs(ledger.touched(before(2 * day), 2).await.unwrap());
    assert_eq!(found, [21, 23], "bounded");

    // One that is touched again is found at its new moment only.
    let stored = ledger.pull_request(&pull_request(21)).await.unwrap();
    let again = PullRequestRecord {
        touched_at: moment,
        ..stored.unwrap()
    };
    let transaction = Transaction {
        pull_request: Some(again),
        ..Transaction::default()
    };
    ledger.commit(transaction).await.unwrap();
    let found = prs(ledger.touched(before(2 * day), 10).await.unwrap());
    assert_eq!(found, [23, 21, 22], "oldest first, then by number");
}
