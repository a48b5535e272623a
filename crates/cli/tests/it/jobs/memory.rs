//! What is remembered without a ledger: only what stands on the pull request.

use mirilla_sim::Role;

use super::{Ci, MARKER_KEY, WRITE};
use crate::support::REPO;

#[test]
fn a_push_repeats_nothing_that_was_said() {
    let mut ci = Ci::new();
    ci.read();
    ci.post(&[]).fine();
    ci.world.push("change", 1);
    ci.read();
    ci.post(&[]).fine().says("1 already posted");
    assert_eq!(ci.comments(), 2);
    ci.world.sim.finish().unwrap();
}

#[test]
fn markers_of_another_key_are_text() {
    let mut ci = Ci::new();
    ci.read();
    ci.post(&[]).fine();
    let token = ci.world.token(&WRITE);
    let changed = format!("{MARKER_KEY}-changed");
    let environment = [
        ("MIRILLA_GITHUB_WRITE_TOKEN", token.as_str()),
        ("MIRILLA_MARKER_KEY", &changed),
    ];
    ci.post_with(&[], &environment).fine();
    assert_eq!(ci.comments(), 2, "a key that changes forgets what was said");
}

#[test]
fn a_dismissal_in_a_thread_opens_the_gate() {
    let mut ci = Ci::gated();
    ci.read();
    let stopped = ci.post(&["--gate"]);
    assert_eq!(stopped.code, 10, "{stopped:?}");
    stopped.says("gate: fail -> failure");
    ci.post(&[]).fine().says("gate: fail -> failure");

    let comment = ci.page().reviews[0].comments[0].id;
    let github = ci.world.sim.github();
    github.set_role(REPO, "erin", Role::Write).unwrap();
    let reason = "/mirilla dismiss the caller logs it";
    github.reply(REPO, comment, "erin", reason).unwrap();
    ci.read();
    ci.post(&["--gate"]).fine().says("gate: pass -> success");
    let checks = ci.page().checks;
    assert!(checks.is_empty(), "the job is the check: {checks:?}");
}
