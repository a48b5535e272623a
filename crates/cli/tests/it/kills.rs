//! 200 kills of a host with several jobs in flight: nothing lost, nothing said twice, the cap kept.

use std::collections::BTreeMap;
use std::time::Duration;

use mirilla_domain::job::JobState;
use mirilla_domain::money::{PicoUsd, Purse};
use mirilla_local::{DataDir, LocalMeter};
use mirilla_ports::Meter as _;
use mirilla_sim::WebhookDelivery;

use crate::support::{REPO, World, block_on, wait_for};

const KILLS: u64 = 200;
const BRANCHES: [&str; 4] = ["one", "two", "three", "four"];

#[test]
fn two_hundred_kills_lose_nothing_and_say_nothing_twice() {
    let world = World::new();
    let pulls: BTreeMap<&str, u64> = BRANCHES
        .iter()
        .map(|branch| (*branch, world.open_pull(branch)))
        .collect();
    let mut unanswered: Vec<WebhookDelivery> = world.deliveries();
    let mut random = 20_261_129_u64;
    for kill in 0..KILLS {
        let server = world.serve();
        if kill % 10 == 5 {
            let branch = BRANCHES[(kill as usize / 10) % BRANCHES.len()];
            world.push(branch, kill as usize);
            unanswered.extend(world.deliveries());
        }
        // GitHub redelivers what was not answered, as the sweeper of the full deployment asks it to.
        unanswered.retain(|delivery| !matches!(server.deliver(delivery), Some(200..=299)));
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis((random >> 33) % 350));
        drop(server.kill());
    }
    let server = world.serve();
    unanswered.retain(|delivery| !matches!(server.deliver(delivery), Some(200..=299)));
    assert!(
        unanswered.is_empty(),
        "a running host did not answer: {unanswered:?}"
    );
    wait_for("all live heads reviewed", Duration::from_secs(120), || {
        let open: Vec<String> = pulls
            .iter()
            .filter_map(|(branch, pr)| {
                let job = world.job(branch, *pr);
                let posted = job
                    .as_ref()
                    .is_some_and(|job| job.state == JobState::Posted);
                (!posted).then(|| format!("{branch}: {job:?}"))
            })
            .collect();
        if open.is_empty() {
            Ok(())
        } else {
            Err(open.join("\n"))
        }
    });
    let log = server.kill();
    for (branch, pr) in &pulls {
        let reviews = world.sim.github().reviews(REPO, *pr).unwrap();
        let mut places: Vec<String> = Vec::new();
        for comment in reviews.iter().flat_map(|review| &review.comments) {
            places.push(format!("{}:{:?}", comment.path, comment.original_line));
        }
        let count = places.len();
        places.sort();
        places.dedup();
        assert_eq!(
            places.len(),
            count,
            "said twice on {branch}: {places:?}\n{log}"
        );
        assert!(count > 0, "nothing was said on {branch}\n{log}");
    }
    assert_money(&world);
}

/// Each purse keeps its cap, and what the provider billed was booked.
fn assert_money(world: &World) {
    let meter = LocalMeter::open(&DataDir::at(&world.data()).meter()).unwrap();
    let repo = mirilla_domain::ids::RepoId::new(world.sim.github().repo_id(REPO).unwrap());
    let billed = PicoUsd::new(
        world
            .sim
            .messages()
            .model_calls()
            .iter()
            .map(|call| call.pico_usd)
            .sum(),
    );
    let today = mirilla_ports::Clock::now(&mirilla_system::SystemClock).get() / 86_400_000;
    let mut booked = PicoUsd::ZERO;
    for day in [today - 1, today] {
        let purse = Purse::RepositoryDay(repo, u32::try_from(day).unwrap());
        let spent = block_on(meter.spent(&purse)).unwrap();
        assert!(
            spent <= PicoUsd::from_micro(10_000_000),
            "day {day}: {spent}"
        );
        booked = booked.plus(spent);
    }
    assert!(booked >= billed, "booked {booked}, billed {billed}");
}
