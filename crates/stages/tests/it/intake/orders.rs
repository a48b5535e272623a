//! Any order and repetition of deliveries, with workers in between and several instances at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use mirilla_domain::ids::JobId;
use mirilla_domain::job::{Claim, Job, JobState, Stage};
use mirilla_local::LocalLedger;
use mirilla_ports::Ledger as _;
use mirilla_ports::ledger::Claimed;
use mirilla_stages::intake::intake;
use proptest::prelude::*;

use super::world::{World, block_on, head, payload, signed};

/// Something that happens.
#[derive(Debug, Clone)]
enum Step {
    /// The forge delivers one of its events, perhaps not for the first time.
    Deliver(usize),
    /// A worker takes one of the open jobs.
    Claim(usize),
    /// A job ends.
    End(usize, JobState),
    /// Time passes.
    Pass(u16),
}

const ACTIONS: [&str; 4] = ["opened", "synchronize", "reopened", "ready_for_review"];
const HEADS: [char; 3] = ['a', 'b', 'c'];
const EVENTS: usize = 24;

fn event(number: usize) -> (String, &'static str, String) {
    let action = ACTIONS[number % ACTIONS.len()];
    let head = head(HEADS[number / ACTIONS.len() % HEADS.len()]);
    (format!("d-{number}"), action, head)
}

fn step() -> impl Strategy<Value = Step> {
    let ends = prop::sample::select(vec![
        JobState::Posted,
        JobState::Failed,
        JobState::Skipped,
        JobState::Superseded,
    ]);
    prop_oneof![
        6 => (0..EVENTS).prop_map(Step::Deliver),
        2 => any::<usize>().prop_map(Step::Claim),
        3 => (any::<usize>(), ends).prop_map(|(job, state)| Step::End(job, state)),
        1 => any::<u16>().prop_map(Step::Pass),
    ]
}

fn pick(world: &World, number: usize) -> Option<Job> {
    let mut jobs = world.open_jobs();
    jobs.sort_by(|a, b| a.id.cmp(&b.id));
    let count = jobs.len();
    (count > 0).then(|| jobs.swap_remove(number % count))
}

/// Checks what must hold after every step.
fn check(world: &World, acknowledged: &BTreeMap<String, String>) {
    let mut keys = BTreeSet::new();
    for job in world.open_jobs() {
        assert!(keys.insert(job.key.id()), "one open job per key");
        assert_eq!(job.id, job.key.id());
    }
    let generation = world.record().generation;
    for head in acknowledged.values() {
        let found = (0..=generation.get()).any(|generation| {
            let key = mirilla_domain::job::JobKey {
                head: mirilla_domain::ids::CommitSha::parse(head).unwrap(),
                generation: mirilla_domain::ids::Generation::new(generation),
                ..mirilla_contract::sample::job('a', world.now()).key
            };
            block_on(world.ledger.job(&key.id())).unwrap().is_some()
        });
        assert!(found, "an acknowledged head has a job");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn any_order_and_repetition_keeps_one_open_job_per_key_and_loses_none(
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let world = World::new();
        let mut acknowledged = BTreeMap::new();
        let mut raised = BTreeSet::new();
        for step in steps {
            match step {
                Step::Deliver(number) => {
                    let (id, action, head) = event(number);
                    let before = world.open_jobs().len();
                    let generation = || block_on(
                        world.ledger.pull_request(&mirilla_contract::sample::pull_request(7))
                    ).unwrap().map_or(0, |it| it.generation.get());
                    let old = generation();
                    let (status, text) = world.deliver(&id, action, &head);
                    match (status, text.as_str()) {
                        (202, "queued") => assert_eq!(world.open_jobs().len(), before + 1),
                        (200, "duplicate") => assert_eq!(world.open_jobs().len(), before),
                        other => panic!("{other:?}"),
                    }
                    if generation() > old {
                        assert_eq!(generation(), old + 1);
                        assert!(raised.insert(id.clone()), "once per delivery");
                    }
                    acknowledged.insert(id, head);
                }
                Step::Claim(number) => {
                    if let Some(job) = pick(&world, number) {
                        let claim = Claim {
                            stage: Stage::Collect,
                            token: "worker".to_owned(),
                            until: world.now().plus(Duration::from_secs(30)),
                        };
                        let states = [JobState::Accepted, JobState::Queued];
                        block_on(world.ledger.claim(&job.id, &states, claim, world.now())).unwrap();
                    }
                }
                Step::End(number, state) => {
                    if let Some(job) = pick(&world, number) {
                        if state == JobState::Posted {
                            world.post(&job.id);
                        } else {
                            world.end(&job.id, state);
                        }
                    }
                }
                Step::Pass(seconds) => world.clock.pass(Duration::from_secs(seconds.into())),
            }
            if !acknowledged.is_empty() {
                check(&world, &acknowledged);
            }
        }
        // Whatever is open was sent, at least once.
        let open: Vec<JobId> = world.open_jobs().into_iter().map(|job| job.id).collect();
        let sent = world.drain();
        prop_assert!(open.iter().all(|id| sent.contains(id)));
    }
}

#[test]
fn instances_that_get_everything_at_once_agree() {
    const INSTANCES: usize = 6;
    for round in 0..10 {
        let world = World::new();
        let ledgers: Vec<_> = (0..INSTANCES)
            .map(|_| LocalLedger::open(&world.data.ledger()).unwrap())
            .collect();
        let barrier = Barrier::new(INSTANCES);
        let answers: Vec<(u16, String)> = thread::scope(|scope| {
            let threads: Vec<_> = ledgers
                .iter()
                .enumerate()
                .map(|(number, ledger)| {
                    let (barrier, world) = (&barrier, &world);
                    scope.spawn(move || {
                        // Half of them are the same delivery, the rest are others of the same head.
                        let id = if number % 2 == 0 { 0 } else { number };
                        let action = ACTIONS[id % 2];
                        let body = payload(action, &head('a'));
                        let http = signed("pull_request", &format!("d-{id}"), &body);
                        barrier.wait();
                        let ports = world.ports(ledger, &world.queue);
                        let answer = block_on(intake(ports, &world.settings, &http));
                        (answer.status, answer.text)
                    })
                })
                .collect();
            threads.into_iter().map(|it| it.join().unwrap()).collect()
        });
        let queued = answers.iter().filter(|(status, _)| *status == 202).count();
        assert_eq!(queued, 1, "round {round}: {answers:?}");
        assert!(
            answers
                .iter()
                .all(|(status, _)| matches!(status, 200 | 202)),
            "{answers:?}"
        );
        let job = world.the_job();
        assert_eq!(world.drain(), [job.id], "one message");
    }
}

#[test]
fn ready_and_the_collectors_claim_race_without_losing_the_request() {
    for round in 0..20 {
        let world = World::new();
        world.deliver("d-1", "opened", &head('a'));
        let draft = world.the_job();
        let other = LocalLedger::open(&world.data.ledger()).unwrap();
        let barrier = Barrier::new(2);
        let (answer, granted) = thread::scope(|scope| {
            let ready = scope.spawn(|| {
                barrier.wait();
                world.deliver("d-2", "ready_for_review", &head('a'))
            });
            let claim = scope.spawn(|| {
                barrier.wait();
                let claim = Claim {
                    stage: Stage::Collect,
                    token: "collector".to_owned(),
                    until: world.now().plus(Duration::from_secs(300)),
                };
                block_on(other.claim(&draft.id, &[JobState::Accepted], claim, world.now())).unwrap()
            });
            (ready.join().unwrap(), claim.join().unwrap())
        });
        let Claimed::Granted(held) = granted else {
            panic!("nobody else claims: {granted:?}");
        };
        if answer.0 == 200 {
            // It joined, so the collector claimed the touched row: it looks at the forge after the
            // request was made.
            assert_eq!(held.version, draft.version + 2, "round {round}");
        } else {
            assert_eq!(answer.0, 202);
            assert_eq!(world.open_jobs().len(), 2, "round {round}");
        }
    }
}
