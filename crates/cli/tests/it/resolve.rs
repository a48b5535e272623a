//! Threads are resolved on one host: by a minter of its own, only if the operator says so.

use std::time::Duration;

use mirilla_domain::job::JobState;

use crate::support::{REPO, Server, World, wait_for};

const BRANCH: &str = "change";

/// Delivers what is due and waits until the present head is reviewed.
fn reviewed(world: &World, server: &Server, pr: u64) {
    for delivery in world.deliveries() {
        assert_eq!(server.deliver(&delivery), Some(202));
    }
    wait_for(
        "the head reviewed",
        Duration::from_secs(60),
        || match world.job(BRANCH, pr) {
            Some(job) if job.state == JobState::Posted => Ok(()),
            other => Err(format!("{other:?}")),
        },
    );
}

/// Who resolved the only thread, and the routes of calls whose token may push.
fn seen(variables: &[(&str, &str)]) -> (Option<String>, Vec<String>) {
    let world = World::new();
    let github = world.sim.github();
    github
        .grant(world.installation, "contents", "write")
        .unwrap();
    let pr = world.open_pull(BRANCH);
    let server = world.serve_with(variables);
    reviewed(&world, &server, pr);
    world.mend(BRANCH, 0);
    reviewed(&world, &server, pr);
    drop(server);
    let threads = github.threads(REPO, pr).unwrap();
    assert_eq!(threads.len(), 1);
    let calls = github.calls().into_iter();
    let pushing = calls.filter(|call| call.may_push);
    (
        threads[0].resolved_by.clone(),
        pushing.map(|call| call.route).collect(),
    )
}

#[test]
fn a_host_resolves_threads_only_if_it_is_told_to() {
    assert_eq!(seen(&[]), (None, Vec::new()));
    let (by, pushing) = seen(&[("MIRILLA_RESOLVE_THREADS", "yes")]);
    assert_eq!(by.as_deref(), Some("mirilla[bot]"));
    assert_eq!(pushing, ["POST /graphql", "DELETE /installation/token"]);
}
