//! Whose dismissal counts, and what it covers.

use mirilla_domain::code::DropReason;
use mirilla_domain::gate::Ruling;
use mirilla_domain::ids::CommentId;
use mirilla_domain::plan::{ItemFate, Plan};
use mirilla_domain::review::{Severity, Side};
use mirilla_domain::settings::Gate;
use mirilla_domain::thread::{Dismissal, ExistingComment};

use crate::bench::{Bench, MAIN_GO, finding};

const FILE: &str = "svc/main.go";

/// One finding of a severity, posted, with the gate on.
fn reported(severity: Severity) -> Bench {
    let mut bench = Bench::new(MAIN_GO);
    bench.policy.gate.gate = Gate::High;
    bench.found(vec![finding(FILE, 5, "A")]);
    bench.read().findings[0].severity = severity;
    bench.run();
    bench.next_job();
    bench
}

/// Somebody answers our first comment; what the forge says of them is by the way.
fn dismissed(bench: &mut Bench, body: &str, may_write: bool, wrote_change: bool) {
    let ours = bench.existing.comments[0].id;
    let comment = CommentId::new(9_000);
    bench.existing.comments.push(ExistingComment {
        id: comment,
        in_reply_to: Some(ours),
        review: None,
        author: Some("wanda".to_owned()),
        ours: false,
        path: FILE.to_owned(),
        line: Some(5),
        original_line: Some(5),
        side: Side::Right,
        body: body.to_owned(),
        edited: false,
    });
    bench.existing.dismissals.push(Dismissal {
        comment,
        by: "wanda".to_owned(),
        may_write,
        wrote_change,
    });
}

fn declined(plan: &Plan) -> usize {
    assert!(plan.tally.reconciles());
    let dropped = plan.tally.dropped.get(&DropReason::Declined);
    dropped.copied().unwrap_or(0)
}

fn ruling(plan: &Plan) -> Ruling {
    plan.check.as_ref().unwrap().verdict.ruling
}

#[test]
fn declined_finding_stays_declined_also_reworded() {
    let mut bench = reported(Severity::High);
    assert_eq!(ruling(&bench.plan()), Ruling::Fail);
    dismissed(
        &mut bench,
        "/mirilla dismiss the caller holds it",
        true,
        false,
    );
    bench.read().findings[0].title = "A, in other words".to_owned();
    let plan = bench.run();
    assert_eq!((declined(&plan), plan.tally.found), (1, 1));
    assert_eq!(ruling(&plan), Ruling::Pass);
    assert!(plan.resolve.is_empty(), "a person is part of the thread");
    assert!(bench.plan().is_noop());
    // Where the model does not find it again, it counts no more either.
    bench.next_job();
    bench.read().findings.clear();
    assert_eq!(ruling(&bench.plan()), Ruling::Pass);
}

#[test]
fn dismissal_counts_only_from_a_writer_without_a_part_in_the_change() {
    let reason = "/mirilla dismiss known";
    for (body, may_write, wrote_change, counts) in [
        (reason, true, false, true),
        (reason, false, false, false),
        (reason, true, true, false),
        (reason, false, true, false),
        ("/mirilla dismiss", true, false, false),
        ("`/mirilla dismiss known`", true, false, false),
        ("> /mirilla dismiss known", true, false, false),
        ("won't fix", true, false, false),
    ] {
        let mut bench = reported(Severity::High);
        dismissed(&mut bench, body, may_write, wrote_change);
        let plan = bench.run();
        let context = format!("{body} {may_write} {wrote_change}");
        assert_eq!(declined(&plan), usize::from(counts), "{context}");
        let expected = if counts { Ruling::Pass } else { Ruling::Fail };
        assert_eq!(ruling(&plan), expected, "{context}");
        assert_eq!(plan.tally.posted, 0, "it is never posted again: {context}");
    }
}

#[test]
fn operator_may_let_authors_decline_if_they_can_write() {
    for (may_write, counts) in [(true, 1), (false, 0)] {
        let mut bench = reported(Severity::High);
        bench.policy.self_dismiss = true;
        dismissed(&mut bench, "/mirilla dismiss known", may_write, true);
        assert_eq!(declined(&bench.run()), counts);
    }
}

#[test]
fn decline_covers_nothing_worse_than_what_was_seen() {
    let mut bench = reported(Severity::Medium);
    dismissed(&mut bench, "/mirilla dismiss known", true, false);
    for (severity, count) in [
        (Severity::Low, 1),
        (Severity::Medium, 1),
        (Severity::High, 0),
        (Severity::Critical, 0),
    ] {
        bench.read().findings[0].severity = severity;
        let plan = bench.plan();
        assert_eq!(declined(&plan), count, "{severity:?}");
        if count == 0 {
            let fate = &plan.items[0].fate;
            assert!(matches!(fate, ItemFate::AlreadyThere { .. }), "{fate:?}");
        }
    }
}

#[test]
fn decline_covers_its_own_finding_alone() {
    let mut bench = Bench::new(MAIN_GO);
    bench.found(vec![finding(FILE, 5, "A"), finding(FILE, 31, "B")]);
    bench.run();
    bench.next_job();
    dismissed(&mut bench, "/mirilla dismiss known", true, false);
    let plan = bench.run();
    assert_eq!((declined(&plan), plan.tally.already_there), (1, 1));
}

#[test]
fn edited_comments_and_answers_to_others_dismiss_nothing() {
    let mut bench = reported(Severity::High);
    dismissed(&mut bench, "/mirilla dismiss known", true, false);
    let answer = bench.existing.comments.len() - 1;
    bench.existing.comments[answer].edited = true;
    assert_eq!(declined(&bench.plan()), 0);
    bench.existing.comments[answer].edited = false;
    assert_eq!(declined(&bench.plan()), 1);
    // Our comment without a marker that verifies is nobody's finding.
    bench.existing.comments[0].body = "A".to_owned();
    assert_eq!(declined(&bench.plan()), 0);
}

/// "Declined as a fixture, then used in production."
#[test]
fn decline_does_not_follow_the_line_into_a_file_that_git_calls_another() {
    let line = "+    run(cmd, shell=True)\n";
    let new_file = |path: &str| {
        format!(
            "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n{line}"
        )
    };
    let mut bench = Bench::new(&new_file("tests/fix.py"));
    bench.policy.gate.gate = Gate::High;
    bench.found(vec![finding("tests/fix.py", 1, "Runs a shell")]);
    bench.run();
    bench.next_job();
    dismissed(&mut bench, "/mirilla dismiss a fixture", true, false);
    assert_eq!(declined(&bench.plan()), 1);
    bench.push(
        &new_file("src/run.py"),
        vec![finding("src/run.py", 1, "Runs a shell")],
    );
    let plan = bench.plan();
    assert_eq!(declined(&plan), 0);
    assert_eq!(ruling(&plan), Ruling::Fail);
}

#[test]
fn check_names_who_declined_what_and_why_and_nobody_is_called_by_it() {
    let mut bench = reported(Severity::High);
    let body = "/mirilla dismiss held by @acme/all, see ![x](https://e.test/x.png) <!-- -->";
    dismissed(&mut bench, body, true, false);
    let plan = bench.plan();
    assert_eq!((declined(&plan), ruling(&plan)), (1, Ruling::Pass));
    let check = plan.check.unwrap();
    let line = check.summary.lines().find(|line| line.contains("wanda"));
    let line = line.unwrap_or_else(|| panic!("{}", check.summary));
    assert!(
        line.starts_with("- **High:** A, `svc/main.go:5`: by `wanda`, who says: held by "),
        "{line}"
    );
    // What would call somebody, show an image or hide text stands in code.
    assert!(
        !line.contains("![") && line.contains("`<!-- -->`"),
        "{line}"
    );
    assert!(line.contains("`@acme/all`"), "{line}");
    let basis = check.basis.unwrap();
    assert_eq!(
        (basis.declined, basis.declined_by.as_slice()),
        (1, &["wanda".to_owned()][..])
    );
    assert!(
        basis.to_string().ends_with("declined=1 by wanda"),
        "{basis}"
    );
}

#[test]
fn declined_finding_about_which_a_run_is_silent_is_named_all_the_same() {
    let mut bench = reported(Severity::High);
    dismissed(&mut bench, "/mirilla dismiss ok", true, false);
    bench.found(Vec::new());
    let plan = bench.plan();
    assert_eq!((declined(&plan), ruling(&plan)), (0, Ruling::Pass));
    let summary = plan.check.unwrap().summary;
    let line = "- **High:** an earlier finding, `svc/main.go:5`: by `wanda`, who says: ok";
    assert!(summary.contains(line), "{summary}");
}
