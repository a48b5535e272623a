//! Pull requests that are not, or no longer, to be read.

use super::{Ci, READ};
use crate::support::REPO;

#[test]
fn draft_and_closed_ones_are_skipped_and_later_jobs_are_told() {
    for state in ["draft", "closed"] {
        let ci = Ci::new();
        let github = ci.world.sim.github();
        match state {
            "draft" => github.set_draft(REPO, ci.pull, true, "dana").unwrap(),
            _ => github.close(REPO, ci.pull, "dana").unwrap(),
        }
        let told = ci.world.dir.path().join("output");
        let token = ci.world.token(&READ);
        let said = ci
            .run(
                &[
                    "collect",
                    "--out",
                    &ci.folder("snapshot"),
                    "--pull",
                    &ci.name(),
                ],
                &[
                    ("MIRILLA_GITHUB_READ_TOKEN", &token),
                    ("GITHUB_OUTPUT", told.to_str().unwrap()),
                ],
            )
            .fine();
        said.says("skipped");
        assert_eq!(std::fs::read_to_string(&told).unwrap(), "collected=false\n");
        let review = ci.review();
        assert_eq!(review.code, 1, "{review:?}");
        review.says("does not hold the snapshot of one pull request");
    }
}

#[test]
fn a_head_that_moved_meanwhile_gets_no_review_of_the_old_one() {
    let mut ci = Ci::new();
    ci.read();
    ci.world.push("change", 1);
    ci.post(&[]).fine().says("superseded");
    assert!(ci.page().reviews.is_empty());
    ci.read();
    ci.post(&[]).fine().says("review posted: 2 comments");
    assert_eq!(ci.comments(), 2);
    ci.world.sim.finish().unwrap();
}

#[test]
fn a_write_whose_answer_is_lost_is_not_done_twice() {
    let mut ci = Ci::new();
    ci.read();
    ci.world.sim.github().faults().on(
        "POST /repos/{o}/{r}/pulls/{n}/reviews",
        1,
        mirilla_sim::Fault::DropAfterEffect,
    );
    ci.post(&[]).fine().says("trying again in 1 s");
    assert_eq!(ci.page().reviews.len(), 1);
    ci.world.sim.finish().unwrap();
}
