//! Every call to ledger and queue fails once, before and after its effect: no delivery is lost.

use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use mirilla_domain::ids::{DeliveryId, Forge, JobId, PullRequestRef, Timestamp};
use mirilla_domain::job::{Claim, Job, JobState, PullRequestRecord};
use mirilla_ports::ledger::{Claimed, Recorded, Transaction};
use mirilla_ports::message::Message;
use mirilla_ports::queue::QueueName;
use mirilla_ports::{Ledger, LedgerError, QueueError, QueueSend};
use mirilla_stages::intake::{IntakeAnswer, intake};

use super::world::{World, block_on, head, payload, signed};

/// When a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    Before,
    After,
}

/// Fails the n-th call, counted over ledger and queue.
struct Faulty<'a> {
    world: &'a World,
    script: Mutex<(usize, Option<(usize, Moment)>)>,
}

impl<'a> Faulty<'a> {
    fn new(world: &'a World, fault: Option<(usize, Moment)>) -> Self {
        Self {
            world,
            script: Mutex::new((0, fault)),
        }
    }

    /// Counts a call; returns when it is to fail.
    fn next(&self) -> Option<Moment> {
        let mut script = self.script.lock().unwrap();
        script.0 += 1;
        let (call, fault) = *script;
        fault
            .filter(|(at, _)| *at == call)
            .map(|(_, moment)| moment)
    }

    fn calls(&self) -> usize {
        self.script.lock().unwrap().0
    }

    async fn run<T, E>(
        &self,
        call: impl Future<Output = Result<T, E>> + Send,
        error: impl Fn() -> E,
    ) -> Result<T, E> {
        let fault = self.next();
        if fault == Some(Moment::Before) {
            return Err(error());
        }
        let outcome = call.await;
        if fault == Some(Moment::After) {
            return Err(error());
        }
        outcome
    }
}

fn down() -> LedgerError {
    LedgerError::Unavailable {
        action: "being scripted",
        source: "the test says so".into(),
    }
}

#[async_trait]
impl Ledger for Faulty<'_> {
    async fn job(&self, id: &JobId) -> Result<Option<Job>, LedgerError> {
        self.run(self.world.ledger.job(id), down).await
    }

    async fn pull_request(
        &self,
        id: &PullRequestRef,
    ) -> Result<Option<PullRequestRecord>, LedgerError> {
        self.run(self.world.ledger.pull_request(id), down).await
    }

    async fn has_delivery(&self, forge: Forge, id: &DeliveryId) -> Result<bool, LedgerError> {
        self.run(self.world.ledger.has_delivery(forge, id), down)
            .await
    }

    async fn commit(&self, transaction: Transaction) -> Result<Recorded, LedgerError> {
        self.run(self.world.ledger.commit(transaction), down).await
    }

    async fn claim(
        &self,
        id: &JobId,
        states: &[JobState],
        claim: Claim,
        now: Timestamp,
    ) -> Result<Claimed, LedgerError> {
        self.run(self.world.ledger.claim(id, states, claim, now), down)
            .await
    }

    async fn unfinished(&self, before: Timestamp, limit: usize) -> Result<Vec<Job>, LedgerError> {
        self.run(self.world.ledger.unfinished(before, limit), down)
            .await
    }

    async fn touched(
        &self,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<PullRequestRecord>, LedgerError> {
        self.run(self.world.ledger.touched(since, limit), down)
            .await
    }
}

#[async_trait]
impl QueueSend for Faulty<'_> {
    async fn send(
        &self,
        queue: QueueName,
        message: &Message,
        delay: Duration,
    ) -> Result<(), QueueError> {
        let error = || QueueError::Unavailable {
            queue: "collect",
            action: "being scripted",
            source: "the test says so".into(),
        };
        self.run(self.world.queue.send(queue, message, delay), error)
            .await
    }
}

fn take(world: &World, faulty: &Faulty<'_>, id: &str, action: &str) -> IntakeAnswer {
    let http = signed("pull_request", id, &payload(action, &head('a')));
    block_on(intake(world.ports(faulty, faulty), &world.settings, &http))
}

/// What a delivery finds: nothing, or an earlier review of the same head.
fn prepare(world: &World, before: Option<JobState>) {
    let Some(state) = before else { return };
    assert_eq!(world.deliver("d-0", "opened", &head('a')).0, 202);
    let job = world.the_job();
    if state == JobState::Posted {
        world.post(&job.id);
    } else {
        world.end(&job.id, state);
    }
    world.drain();
}

#[test]
fn every_failed_call_leaves_a_delivery_that_is_recorded_or_refused() {
    let mut runs = 0;
    for (before, action) in [
        (None, "opened"),
        (Some(JobState::Failed), "synchronize"),
        (Some(JobState::Posted), "reopened"),
    ] {
        let calls = {
            let world = World::new();
            prepare(&world, before);
            let faulty = Faulty::new(&world, None);
            assert_eq!(take(&world, &faulty, "d-1", action).status, 202);
            faulty.calls()
        };
        assert!(calls >= 3, "a reading, a write, a message: {calls}");
        for call in 1..=calls {
            for moment in [Moment::Before, Moment::After] {
                let world = World::new();
                prepare(&world, before);
                let faulty = Faulty::new(&world, Some((call, moment)));
                let answer = take(&world, &faulty, "d-1", action);
                let what = format!("{before:?} {action}: call {call} fails {moment:?}");
                let open = world.open_jobs();
                match answer.status {
                    202 => assert_eq!(open.len(), 1, "{what}: acknowledged, so recorded"),
                    503 => assert!(answer.failure.is_some(), "{what}: the log says why"),
                    other => panic!("{what}: {other}"),
                }
                // The forge sends it again, as our sweeper asks it to; then the job is there, and
                // waits for its message, or for the sweeper, which sends what nobody claims.
                let again = take(&world, &Faulty::new(&world, None), "d-1", action);
                assert!(matches!(again.status, 200 | 202), "{what}: {again:?}");
                let job = world.the_job();
                let sent = world.drain();
                assert!(sent.iter().all(|id| *id == job.id), "{what}");
                assert_eq!(job.state, JobState::Accepted, "{what}");
                assert!(job.key.generation.get() <= 1, "{what}: raised at most once");
                runs += 1;
            }
        }
    }
    assert!(runs >= 20, "{runs}");
}

#[test]
fn queue_that_refuses_is_no_reason_to_refuse_the_forge() {
    let world = World::new();
    let faulty = Faulty::new(&world, Some((3, Moment::Before)));
    let answer = take(&world, &faulty, "d-1", "opened");
    assert_eq!((answer.status, answer.reason), (202, "recorded"));
    assert!(
        answer
            .failure
            .unwrap()
            .to_string()
            .contains("collect queue")
    );
    assert_eq!(world.the_job().state, JobState::Accepted);
    assert!(world.drain().is_empty());
}

#[test]
fn ledger_that_fails_is_503_and_nothing_is_recorded() {
    let world = World::new();
    let faulty = Faulty::new(&world, Some((2, Moment::Before)));
    let answer = take(&world, &faulty, "d-1", "opened");
    assert_eq!((answer.status, answer.text.as_str()), (503, "unavailable"));
    assert!(world.open_jobs().is_empty() && world.drain().is_empty());
    assert_eq!(
        take(&world, &Faulty::new(&world, None), "d-1", "opened").status,
        202
    );
}
