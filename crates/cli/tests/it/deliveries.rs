//! Webhooks that the host did not take: the sweeper has the simulated GitHub send or show them again.

use std::time::Duration;

use mirilla_domain::job::JobState;

use crate::support::{REPO, World, wait_for};

fn posted(world: &World, branch: &str, pr: u64) {
    wait_for("the review", Duration::from_secs(60), || {
        let job = world.job(branch, pr);
        match &job {
            Some(job) if job.state == JobState::Posted => Ok(()),
            _ => Err(format!("{job:?}")),
        }
    });
}

#[test]
fn lost_webhook_is_asked_for_again_and_one_too_large_is_read() {
    let world = World::new();
    let github = world.sim.github();
    let lost = world.open_pull("lost");
    let deliveries = world.deliveries();
    github.record_answer(deliveries[0].id, 502).unwrap();
    let large = world.open_pull("large");
    let deliveries = world.deliveries();
    github.record_answer(deliveries[0].id, 413).unwrap();

    let server = world.serve();
    let mut again = Vec::new();
    wait_for("a redelivery", Duration::from_secs(60), || {
        again.extend(world.deliveries());
        if again.is_empty() {
            Err("none".to_owned())
        } else {
            Ok(())
        }
    });
    assert_eq!(again.len(), 1, "{again:?}");
    let status = server.deliver(&again[0]).unwrap();
    assert_eq!(status, 202);
    github.record_answer(again[0].id, status).unwrap();
    posted(&world, "lost", lost);
    posted(&world, "large", large);
    // Two more looks at the record find nothing to do.
    std::thread::sleep(Duration::from_secs(10));
    assert_eq!(world.deliveries(), []);
    let log = server.kill();
    for pr in [lost, large] {
        let reviews = github.reviews(REPO, pr).unwrap();
        assert_eq!(reviews.len(), 1, "{log}");
    }
}
