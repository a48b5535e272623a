//! From the webhook to the review.

use std::sync::Arc;

use mirilla_domain::code::EndReason;
use mirilla_domain::job::{JobKey, JobState};
use mirilla_sim::{Commit, OpenPull};

use crate::play::{ORDERS, PAY, opened, reviewed, scenarios};
use crate::support::{Ended, Gate, Host, Place, TWO_DEFECTS};

scenarios![
    one_review_with_each_finding_on_its_line,
    the_same_webhook_says_nothing_twice,
    webhooks_in_any_order_end_with_the_live_head,
    a_head_that_returns_is_reviewed,
    a_head_that_moves_after_the_snapshot_is_never_posted,
    a_draft_waits_until_it_is_ready,
    closed_is_left_alone_and_reopened_is_read,
    another_base_makes_another_review,
    a_fork_is_reviewed,
    a_fork_that_is_gone_is_reviewed,
    settings_of_the_base_count_and_those_of_the_head_do_not,
    a_new_name_of_the_repository_changes_nothing,
];

async fn one_review_with_each_finding_on_its_line(place: Place) {
    let host = reviewed(place).await;
    let said = host.comments();
    let at: Vec<(&str, Option<u64>)> = said.iter().map(|one| (&*one.0, one.1)).collect();
    assert_eq!(at, [(PAY, Some(6)), (ORDERS, Some(6))]);
    let bodies = host.town.bodies(host.pr);
    assert_eq!(bodies.len(), 1, "{bodies:#?}");
    assert!(
        bodies[0].starts_with("**Complete review**"),
        "{}",
        bodies[0]
    );
    let notices = if host.town.has_drafts() { 1 } else { 3 };
    assert_eq!(host.town.notices(host.pr), notices);
}

async fn the_same_webhook_says_nothing_twice(place: Place) {
    let host = opened(place);
    let (sent, gate) = (host.town.sent().remove(0), Arc::new(Gate::open()));
    for expected in ["queued", "duplicate", "duplicate"] {
        assert_eq!(host.hand_in(&gate, &sent).await.text, expected);
    }
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    assert_eq!(host.hand_in(&gate, &sent).await.text, "duplicate");
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    assert_eq!((host.findings(), host.town.bodies(host.pr).len()), (2, 1));
}

async fn webhooks_in_any_order_end_with_the_live_head(place: Place) {
    let host = opened(place);
    host.push("second", &[("c/extra.txt", "2\n")]);
    host.push("third", &[("c/extra.txt", "3\n")]);
    let gate = Arc::new(Gate::open());
    for sent in host.town.sent().iter().rev().filter(|one| one.about_pull) {
        host.hand_in(&gate, sent).await;
    }
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    host.assert_reviewed_once("the newest first").await;
    assert_eq!((host.findings(), host.town.bodies(host.pr).len()), (2, 1));
}

async fn a_head_that_returns_is_reviewed(place: Place) {
    let host = opened(place);
    let first = host.town.tip("change");
    host.push("second", &[("c/extra.txt", "2\n")]);
    host.town.push("change", &first, "dana");
    host.settles().await;
    host.assert_reviewed_once("A, B, A").await;
}

async fn a_head_that_moves_after_the_snapshot_is_never_posted(place: Place) {
    let host = opened(place);
    let (gate, first) = (Arc::new(Gate::open()), host.key(0).id());
    host.hand_in(&gate, &host.town.sent()[0]).await;
    while host.ledger_state(&first).await != Some(JobState::Collected) {
        host.one_step(&gate).await;
    }
    host.push("moved on", &[("c/extra.txt", "moved\n")]);
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    assert_eq!(host.ledger_state(&first).await, Some(JobState::Superseded));
    host.assert_reviewed_once("moved on").await;
}

async fn a_draft_waits_until_it_is_ready(place: Place) {
    let pull = OpenPull {
        draft: true,
        ..OpenPull::new("dana", "change", "A change")
    };
    let story = (TWO_DEFECTS.base, TWO_DEFECTS.head);
    let host = Host::open_at(place, story, "change", pull);
    host.settles().await;
    assert_eq!((host.findings(), host.town.bodies(host.pr).len()), (0, 0));
    host.town.set_draft(host.pr, false, "dana");
    host.settles().await;
    assert_eq!((host.findings(), host.town.bodies(host.pr).len()), (2, 1));
}

async fn closed_is_left_alone_and_reopened_is_read(place: Place) {
    let host = opened(place);
    let (gate, opened) = (Arc::new(Gate::open()), host.town.sent().remove(0));
    host.hand_in(&gate, &opened).await;
    host.town.close(host.pr, "dana");
    host.settles().await;
    let job = host.job().await.unwrap();
    assert_eq!(job.end_reason, Some(EndReason::Closed), "{job:#?}");
    assert_eq!(host.findings(), 0);
    host.town.reopen(host.pr, "dana");
    host.settles().await;
    assert_eq!((host.findings(), host.town.bodies(host.pr).len()), (2, 1));
}

async fn another_base_makes_another_review(place: Place) {
    let host = reviewed(place).await;
    let main = host.town.tip("main");
    host.town.push("other", &main, "dana");
    host.town.retarget(host.pr, "other", "dana");
    host.settles().await;
    let other = JobKey {
        base_ref: "other".parse().unwrap(),
        ..host.key(0)
    };
    assert_eq!(host.ledger_state(&other.id()).await, Some(JobState::Posted));
    assert_eq!((host.findings(), host.town.bodies(host.pr).len()), (2, 1));
}

/// Opens a pull request of the same change from a stranger's fork, and has it reviewed.
async fn from_a_fork(place: Place, is_gone: bool) {
    let mut host = opened(place);
    let fork = host.town.fork("mallory");
    let commit = Commit::by("mallory", "step").write("c/Step.java", TWO_DEFECTS.head[0].1);
    host.town.commit_to(&fork, "step", &commit);
    drop(host.town.sent());
    let pull = OpenPull {
        from: Some(fork.clone()),
        ..OpenPull::new("mallory", "step", "A step")
    };
    host.pr = host.town.open(pull);
    if is_gone {
        host.town.delete(&fork);
    }
    host.settles().await;
    let bodies = host.town.bodies(host.pr);
    assert_eq!(bodies.len(), 1, "{bodies:#?}");
    let said = host.comments();
    assert_eq!(said.len(), 1, "{said:#?}\n{}", bodies[0]);
    assert_eq!(said[0].0, "c/Step.java");
}

async fn a_fork_is_reviewed(place: Place) {
    from_a_fork(place, false).await;
}

async fn a_fork_that_is_gone_is_reviewed(place: Place) {
    from_a_fork(place, true).await;
}

async fn settings_of_the_base_count_and_those_of_the_head_do_not(place: Place) {
    let base = [
        &[(".mirilla.toml", "ignore = [\"b/**\"]\n")],
        TWO_DEFECTS.base,
    ]
    .concat();
    let head = [
        &[(".mirilla.toml", "ignore = [\"**\"]\n")],
        TWO_DEFECTS.head,
    ]
    .concat();
    let pull = OpenPull::new("dana", "change", "A change");
    let host = Host::open_at(place, (&base, &head), "change", pull);
    host.settles().await;
    let said = host.comments();
    let files: Vec<&str> = said.iter().map(|one| &*one.0).collect();
    assert!(
        files.contains(&PAY) && !files.contains(&ORDERS),
        "{files:?}"
    );
    assert!(
        host.review_body().contains(ORDERS),
        "what was ignored is named"
    );
}

async fn a_new_name_of_the_repository_changes_nothing(place: Place) {
    let mut host = reviewed(place).await;
    let before = host.key(0).pull_request();
    host.town.rename();
    assert_eq!(host.key(0).pull_request(), before, "a number is who it is");
    host.push("more", &[("c/extra.txt", "more\n")]);
    host.settles().await;
    assert_eq!(host.job().await.unwrap().state, JobState::Posted);
    assert_eq!((host.findings(), host.town.bodies(host.pr).len()), (2, 1));
}
