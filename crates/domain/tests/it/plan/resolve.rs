//! Which threads a plan closes, which it leaves, and what it says of those.

use mirilla_domain::ids::CommentId;
use mirilla_domain::plan::{MAX_RESOLVED, Plan, Veto, WhyOpen};
use mirilla_domain::thread::ExistingThread;

use crate::bench::{Bench, MAIN_GO, finding, new_files};

/// Two findings that were posted and are gone, on lines that changed.
fn gone() -> Bench {
    let mut bench = Bench::new(MAIN_GO);
    bench.found(vec![
        finding("svc/main.go", 5, "A"),
        finding("svc/main.go", 31, "B"),
    ]);
    bench.run();
    for thread in &mut bench.existing.threads {
        thread.outdated = true;
    }
    bench.push(MAIN_GO, Vec::new());
    bench
}

fn counts(plan: &Plan) -> (usize, usize) {
    (plan.resolve.len(), plan.left_open.len())
}

#[test]
fn without_the_opt_in_threads_are_left_and_named() {
    let mut bench = gone();
    assert_eq!(counts(&bench.plan()), (2, 0), "the control");
    bench.policy.resolve_threads = false;
    let plan = bench.run();
    assert_eq!(counts(&plan), (0, 2));
    assert!(plan.left_open.iter().all(|l| l.why == WhyOpen::NotOptedIn));
    assert!(bench.plan().is_noop(), "what is left is not work");
    let shown = serde_json::to_value(&plan).unwrap();
    assert_eq!(shown["left_open"][0]["why"], "not-opted-in");
}

#[test]
fn more_than_a_run_closes_are_left_to_the_next() {
    let names: Vec<String> = (0..=MAX_RESOLVED).map(|n| format!("f{n}.rs")).collect();
    let diff = new_files(&names);
    let mut bench = Bench::new(&diff);
    bench.found(names.iter().map(|name| finding(name, 1, "A")).collect());
    assert_eq!(bench.run().tally.posted, MAX_RESOLVED + 1);
    for thread in &mut bench.existing.threads {
        thread.outdated = true;
    }
    bench.push(&diff, Vec::new());
    let plan = bench.run();
    assert_eq!(counts(&plan), (MAX_RESOLVED, 1));
    assert_eq!(plan.left_open[0].why, WhyOpen::NextRun);
    bench.next_job();
    assert_eq!(counts(&bench.run()), (1, 0));
}

#[test]
fn an_answer_under_our_own_account_is_an_answer() {
    let mut bench = gone();
    let answer = CommentId::new(9_000);
    let mut said = bench.existing.comments[0].clone();
    (said.id, said.body) = (
        answer,
        "Written by a person with the same token.".to_owned(),
    );
    bench.existing.comments.push(said);
    bench.existing.threads[0].comments.push(answer);
    let plan = bench.plan();
    assert_eq!(counts(&plan), (1, 0));
    assert_eq!(plan.resolve[0].comment, bench.existing.comments[1].id);
}

#[test]
fn a_listing_that_was_cut_closes_nothing() {
    let mut bench = gone();
    bench.existing.truncated = true;
    assert_eq!(counts(&bench.plan()), (0, 0));
}

#[test]
fn what_is_seen_right_before_decides() {
    let bench = gone();
    let resolve = bench.plan().resolve.remove(0);
    let now = bench.existing.threads[0].clone();
    let with = |change: &dyn Fn(&mut ExistingThread)| {
        let mut thread = now.clone();
        change(&mut thread);
        resolve.veto(Some(&thread))
    };
    assert_eq!(with(&|_| {}), None, "the control");
    assert_eq!(resolve.veto(None), Some(Veto::Gone));
    assert_eq!(with(&|one| one.resolved = true), Some(Veto::Resolved));
    assert_eq!(with(&|one| one.complete = false), Some(Veto::NotListed));
    assert_eq!(
        with(&|one| one.comments.push(CommentId::new(9_000))),
        Some(Veto::Answered)
    );
    assert_eq!(with(&|one| one.comments.clear()), Some(Veto::Answered));
}
