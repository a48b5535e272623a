//! One host with two tokens of the operator's instead of an App.

use std::time::Duration;

use crate::support::{REPO, World, wait_for};

#[test]
fn two_tokens_are_enough_for_a_review() {
    let world = World::new();
    let pr = world.open_pull("change");
    let rights = |pulls| {
        [
            ("contents", "read"),
            ("metadata", "read"),
            ("pull_requests", pulls),
        ]
    };
    let (read, write) = (world.token(&rights("read")), world.token(&rights("write")));
    let server = world.serve_with(&[
        ("MIRILLA_GITHUB_APP_KEY_FILE", ""),
        ("MIRILLA_GITHUB_READ_TOKEN", &read),
        ("MIRILLA_GITHUB_WRITE_TOKEN", &write),
    ]);
    for delivery in world.deliveries() {
        assert_eq!(server.deliver(&delivery), Some(202));
    }
    wait_for("the review", Duration::from_secs(60), || {
        let reviews = world.sim.github().reviews(REPO, pr).unwrap();
        if reviews.len() == 1 {
            Ok(())
        } else {
            Err(format!("{reviews:?}"))
        }
    });
    let said = server.kill();
    assert!(!said.contains("is started again"), "{said}");
}
