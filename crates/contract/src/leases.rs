//! The contract of the review leases.

use std::time::Duration;

use mirilla_domain::ids::{JobId, Timestamp};
use mirilla_ports::ReviewLeases;
use mirilla_ports::meter::Leased;

use crate::sample::{at, job};

/// Checks a store in which nobody ever took a job.
///
/// `reviewer` takes and gives back, `sweeper` looks.
pub async fn leases(reviewer: &dyn ReviewLeases, sweeper: &dyn ReviewLeases) {
    a_job_has_one_holder_until_it_lapses(reviewer, sweeper).await;
    only_the_holder_gives_back(reviewer, sweeper).await;
}

fn id(head: char) -> JobId {
    job(head, at(0)).id
}

async fn a_job_has_one_holder_until_it_lapses(
    reviewer: &dyn ReviewLeases,
    sweeper: &dyn ReviewLeases,
) {
    let (one, other) = (id('a'), id('b'));
    assert_eq!(sweeper.held_until(&one).await.unwrap(), None);
    let taken = reviewer.take(&one, "first", at(100), at(50)).await.unwrap();
    assert_eq!(taken, Leased::Granted);
    assert_eq!(sweeper.held_until(&one).await.unwrap(), Some(at(100)));
    assert_eq!(
        sweeper.held_until(&other).await.unwrap(),
        None,
        "jobs are apart"
    );

    let last_moment = at(100).get() - 1;
    let busy = reviewer
        .take(&one, "second", at(200), Timestamp::new(last_moment))
        .await
        .unwrap();
    assert_eq!(busy, Leased::Busy(at(100)));
    assert_eq!(
        sweeper.held_until(&one).await.unwrap(),
        Some(at(100)),
        "nothing changed"
    );
    let other_taken = reviewer.take(&other, "second", at(300), at(50)).await;
    assert_eq!(other_taken.unwrap(), Leased::Granted);

    // The holder may prolong it, or shorten it.
    for until in [at(150), at(120)] {
        let again = reviewer.take(&one, "first", until, at(60)).await.unwrap();
        assert_eq!(again, Leased::Granted);
        assert_eq!(sweeper.held_until(&one).await.unwrap(), Some(until));
    }

    // It lapses at its moment, and its end stays to be seen.
    assert_eq!(sweeper.held_until(&one).await.unwrap(), Some(at(120)));
    let taken = reviewer
        .take(&one, "second", at(200), at(120))
        .await
        .unwrap();
    assert_eq!(taken, Leased::Granted);
    let busy = reviewer
        .take(&one, "first", at(300), at(121))
        .await
        .unwrap();
    assert_eq!(busy, Leased::Busy(at(200)), "the first holder lost it");
}

async fn only_the_holder_gives_back(reviewer: &dyn ReviewLeases, sweeper: &dyn ReviewLeases) {
    let job = id('c');
    reviewer.give_back(&job, "nobody").await.unwrap();
    assert_eq!(sweeper.held_until(&job).await.unwrap(), None);
    reviewer.take(&job, "first", at(100), at(50)).await.unwrap();
    reviewer.give_back(&job, "second").await.unwrap();
    assert_eq!(sweeper.held_until(&job).await.unwrap(), Some(at(100)));
    reviewer.give_back(&job, "first").await.unwrap();
    assert_eq!(sweeper.held_until(&job).await.unwrap(), None);
    reviewer.give_back(&job, "first").await.unwrap();
    let until = at(51).plus(Duration::from_millis(1));
    let taken = reviewer.take(&job, "second", until, at(51)).await.unwrap();
    assert_eq!(taken, Leased::Granted, "free at once");
    assert_eq!(
        sweeper.held_until(&job).await.unwrap(),
        Some(until),
        "to the millisecond"
    );
}
