//! Posted once: reruns, pushes, crashes, other people.

use mirilla_domain::anchor::OffDiff;
use mirilla_domain::code::{DropReason, FailReason};
use mirilla_domain::ids::{AttemptNo, CommentId, ReviewId};
use mirilla_domain::plan::{ItemFate, ReviewAction, Source};
use mirilla_domain::review::{Category, Fate, Outcome, Severity, Side};
use mirilla_domain::thread::{ExistingComment, ExistingReview};

use crate::bench::{Bench, MAIN_GO, finding, hit, job_id, new_files, posted};

fn two() -> Bench {
    let mut bench = Bench::new(MAIN_GO);
    bench.found(vec![
        finding("svc/main.go", 5, "A"),
        finding("svc/main.go", 31, "B"),
    ]);
    bench
}

#[test]
fn first_review_is_posted_even_if_nothing_was_found() {
    let mut bench = Bench::new(MAIN_GO);
    let plan = bench.run();
    assert!(posted(&plan).is_empty());
    assert_eq!((bench.created, bench.edited), (1, 0));
    assert!(plan.body.contains("Nothing to report."));
    assert!(bench.plan().is_noop());
}

#[test]
fn nothing_new_edits_the_latest_review_and_posts_none() {
    let mut bench = two();
    bench.run();
    bench.next_job();
    let plan = bench.run();
    assert_eq!((bench.created, bench.edited), (1, 1));
    assert_eq!(plan.tally.already_there, 2);
    assert!(bench.plan().is_noop());
    assert_eq!(
        plan.counts(),
        "2 findings, 2 already posted -> review 1001 edited: nothing new"
    );
}

#[test]
fn one_new_finding_posts_a_review_with_it_alone() {
    let mut bench = two();
    bench.run();
    let mut more = bench.read().findings.clone();
    let mut removed = finding("svc/main.go", 51, "C");
    removed.side = Side::Left;
    more.push(removed);
    bench.push(MAIN_GO, more);
    let plan = bench.run();
    assert_eq!(posted(&plan), [("svc/main.go".to_owned(), 51, None)]);
    assert_eq!(
        plan.counts(),
        "3 findings, 2 already posted -> review posted: 1 comment (HIGH) main.go:51"
    );
}

#[test]
fn crash_after_posting_is_told_from_a_new_run_by_the_review_marker() {
    let mut bench = two();
    let plan = bench.run();
    // The same try again, before anything was recorded.
    let again = bench.plan();
    assert!(again.is_noop(), "{}", again.counts());
    // Its body would read differently ("already posted"), and still nobody is bothered.
    assert_ne!(again.body, plan.body);
    // Another try of the job rewrites the body once.
    bench.job.attempt = AttemptNo::new(2);
    bench.read().attempt = AttemptNo::new(2);
    bench.run();
    assert_eq!((bench.created, bench.edited), (1, 1));
    assert!(bench.plan().is_noop());
}

#[test]
fn finding_outside_the_diff_notifies_once() {
    let mut bench = Bench::new(MAIN_GO);
    bench.found(vec![finding("svc/main.go", 20, "between hunks")]);
    bench.run();
    bench.next_job();
    bench.read().findings[0].title = "between the hunks, in other words".to_owned();
    let plan = bench.run();
    assert_eq!((bench.created, bench.edited), (1, 1));
    assert!(plan.body.contains("in other words"));
    assert!(bench.plan().is_noop());
}

#[test]
fn cap_counts_what_is_there_and_lists_the_rest() {
    let paths: Vec<String> = (0..30).map(|n| format!("src/f{n}.rs")).collect();
    let mut bench = Bench::new(&new_files(&paths));
    let found = (0..30)
        .map(|n| {
            let mut one = finding(&format!("src/f{n}.rs"), 1, &format!("t{n}"));
            one.severity = [Severity::Low, Severity::Medium][n % 2];
            one
        })
        .collect();
    bench.found(found);
    bench.policy.max_comments = 10;
    bench.floor = vec![hit("conflict-marker", "src/f0.rs", 2, Severity::Low)];
    let plan = bench.run();
    assert_eq!(plan.tally.posted, 10);
    assert_eq!(plan.tally.dropped[&DropReason::OverCap], 21);
    assert!(plan.body.contains("21 past the limit of 10 comments"));
    assert!(plan.body.contains("| Low | t2 | `src/f2.rs:1` |"));
    // The floor comes first, whatever its severity.
    let floor = plan.items.iter().find(|item| item.source == Source::Floor);
    assert_eq!(floor.unwrap().fate, ItemFate::Posted);
    assert!(bench.plan().is_noop(), "the held back ones stay back");
    bench.next_job();
    bench.run();
    assert_eq!((bench.created, bench.edited), (1, 1));
}

#[test]
fn reviewer_given_up_posts_the_floor_and_says_failed() {
    let mut bench = Bench::new(MAIN_GO);
    bench.review = None;
    bench.floor = vec![hit("added-secret", "svc/main.go", 31, Severity::Critical)];
    let plan = bench.run();
    assert_eq!(plan.outcome, Outcome::Failed);
    assert_eq!(posted(&plan), [("svc/main.go".to_owned(), 31, None)]);
    assert!(
        plan.body
            .starts_with("**Failed review** of `bbbbbbb`: 0 of 1 changed file read")
    );
    assert!(bench.plan().is_noop());
}

#[test]
fn file_for_another_job_or_head_counts_as_none() {
    for change in [
        |bench: &mut Bench| bench.read().job = job_id(99),
        |bench: &mut Bench| bench.read().head = crate::bench::sha('c'),
        |bench: &mut Bench| bench.read().attempt = AttemptNo::new(9),
    ] {
        let mut bench = two();
        change(&mut bench);
        let plan = bench.plan();
        assert_eq!((plan.outcome, plan.tally.found), (Outcome::Failed, 0));
    }
}

#[test]
fn changed_patch_makes_the_file_uncovered_and_its_findings_stale() {
    let mut bench = Bench::new(&new_files(&["a.rs".to_owned(), "b.rs".to_owned()]));
    bench.found(vec![
        finding("a.rs", 1, "old news"),
        finding("b.rs", 1, "B"),
    ]);
    bench.diff = bench
        .diff
        .replace("+second line of a.rs", "+second line of a.rs, later");
    let plan = bench.plan();
    assert_eq!(plan.outcome, Outcome::Partial);
    assert_eq!(posted(&plan), [("b.rs".to_owned(), 1, None)]);
    assert_eq!(plan.tally.dropped[&DropReason::Stale], 1);
    assert!(
        !plan.body.contains("old news"),
        "never text about another diff"
    );
    assert!(plan.body.contains("it changed after it was read"));
}

#[test]
fn file_the_review_does_not_name_is_not_covered() {
    let mut bench = Bench::new(&new_files(&["a.rs".to_owned(), "b.rs".to_owned()]));
    bench.read().coverage.retain(|entry| entry.path == "a.rs");
    let plan = bench.plan();
    assert_eq!(plan.outcome, Outcome::Partial);
    assert!(
        plan.body
            .starts_with("**Partial review** of `bbbbbbb`: 1 of 2 changed files read")
    );
    assert!(plan.body.contains("the reviewer does not mention it"));
}

#[test]
fn contradicting_coverage_counts_as_the_worse() {
    let mut bench = two();
    let mut second = bench.read().coverage[0].clone();
    second.fate = Fate::Failed(FailReason::Truncated);
    bench.read().coverage.push(second);
    assert_eq!(bench.plan().outcome, Outcome::Failed);
}

#[test]
fn thresholds_hold_for_the_model_and_not_for_the_floor() {
    let mut bench = two();
    bench.policy.min_severity = Severity::Critical;
    bench.policy.min_confidence = 95;
    bench.floor = vec![hit("added-secret", "svc/main.go", 31, Severity::Low)];
    let plan = bench.plan();
    assert_eq!(plan.tally.dropped[&DropReason::BelowThreshold], 2);
    assert_eq!(plan.tally.posted, 1);
}

#[test]
fn pending_review_of_ours_is_deleted_before_a_new_one_and_no_other() {
    let mut bench = two();
    let review = |id: u64, ours: bool, pending: bool| ExistingReview {
        id: ReviewId::new(id),
        ours,
        pending,
        body: String::new(),
    };
    bench.existing.reviews = vec![
        review(11, false, false),
        review(55, true, true),
        review(56, false, true),
    ];
    let plan = bench.plan();
    assert_eq!(plan.delete_pending, [ReviewId::new(55)]);
    bench.apply(&plan);
    assert_eq!(bench.created, 1);
    // Nothing to create, nothing to delete.
    bench.existing.reviews.push(review(57, true, true));
    assert!(bench.plan().delete_pending.is_empty());
}

/// A forge that takes comments one by one, and let one of ours vanish with the review's body there already.
#[test]
fn finding_that_its_own_review_does_not_say_is_added_to_that_review() {
    let mut bench = two();
    bench.run();
    let lost = bench.existing.comments.pop().unwrap();
    bench
        .existing
        .threads
        .retain(|thread| !thread.comments.contains(&lost.id));
    bench.policy.comment_on_lines = false;
    let plan = bench.run();
    assert_eq!((plan.tally.already_there, plan.tally.in_body), (1, 1));
    assert!(matches!(plan.review, ReviewAction::Edit { .. }), "{plan:?}");
    assert_eq!((bench.created, bench.edited), (1, 1));
    assert!(bench.plan().is_noop(), "said once");
}

#[test]
fn review_of_ours_without_a_valid_marker_is_never_edited() {
    let mut bench = two();
    bench.run();
    let body = &mut bench.existing.reviews[0].body;
    *body = body.replace("mac=", "mac=0");
    bench.next_job();
    let plan = bench.plan();
    assert!(matches!(plan.review, ReviewAction::Create { .. }));
}

#[test]
fn declined_finding_comes_back_only_if_it_is_worse() {
    let mut bench = two();
    bench.read().findings.truncate(1);
    bench.read().findings[0].severity = Severity::Medium;
    bench.run();
    bench.existing.threads[0].resolved = true;
    bench.next_job();
    assert_eq!(bench.plan().tally.posted, 0);
    bench.read().findings[0].severity = Severity::Critical;
    assert_eq!(bench.plan().tally.posted, 1);
}

#[test]
fn thread_we_resolved_is_opened_anew_when_the_finding_is_back() {
    let mut bench = two();
    bench.run();
    for thread in &mut bench.existing.threads {
        thread.outdated = true;
    }
    let findings = bench.read().findings.clone();
    bench.push(MAIN_GO, Vec::new());
    assert_eq!(bench.run().resolve.len(), 2);
    assert!(bench.plan().is_noop());
    bench.push(MAIN_GO, findings);
    assert_eq!(bench.run().tally.posted, 2);
    assert!(bench.plan().is_noop());
}

#[test]
fn silence_about_unchanged_code_resolves_only_what_is_minor() {
    let mut bench = two();
    bench.read().findings[1].severity = Severity::Low;
    bench.run();
    bench.push(MAIN_GO, Vec::new());
    let plan = bench.plan();
    assert_eq!(plan.resolve.len(), 1);
    assert_eq!(plan.resolve[0].comment, bench.existing.comments[1].id);
}

#[test]
fn ledger_remembers_what_a_person_deleted() {
    let mut bench = two();
    let plan = bench.run();
    bench.recorded = (plan.items.iter())
        .filter_map(|item| item.fingerprint.clone())
        .collect();
    bench.existing.comments.clear();
    bench.existing.threads.clear();
    bench.next_job();
    let plan = bench.plan();
    assert_eq!((plan.tally.posted, plan.tally.already_there), (0, 2));
}

#[test]
fn cut_listing_puts_findings_into_the_body_of_the_review_the_ledger_knows() {
    let mut bench = two();
    bench.run();
    let review = bench.existing.reviews.remove(0);
    bench.existing.comments.clear();
    bench.existing.truncated = true;
    bench.last_review = Some(review.id);
    bench.next_job();
    let plan = bench.plan();
    assert_eq!((plan.tally.posted, plan.tally.in_body), (0, 2));
    assert!(matches!(
        plan.items[0].fate,
        ItemFate::InBody {
            place: OffDiff::TooManyComments,
            ..
        }
    ));
    assert!(matches!(plan.review, ReviewAction::Edit { review_id, .. } if review_id == review.id));
    assert!(plan.resolve.is_empty());
}

#[test]
fn forge_that_refuses_lines_gets_one_body_with_everything() {
    let mut bench = two();
    bench.policy.comment_on_lines = false;
    let plan = bench.plan();
    assert_eq!((plan.tally.posted, plan.tally.in_body), (0, 2));
    assert!(plan.body.contains("`svc/main.go:5`") && plan.body.contains("`svc/main.go:31`"));
    assert!(
        plan.body
            .contains("the forge did not accept a comment there")
    );
}

#[test]
fn many_strangers_change_nothing() {
    let mut bench = two();
    bench.run();
    let own = bench.existing.comments[0].body.clone();
    let stranger = |id: u64| ExistingComment {
        edited: false,
        id: CommentId::new(id),
        in_reply_to: None,
        review: None,
        author: Some(format!("human-{id}")),
        ours: false,
        path: "svc/main.go".to_owned(),
        line: Some(5),
        original_line: Some(5),
        side: Side::Right,
        body: own.clone(),
    };
    let mut before: Vec<ExistingComment> = (1..=900).map(stranger).collect();
    before.append(&mut bench.existing.comments);
    bench.existing.comments = before;
    bench.next_job();
    let plan = bench.plan();
    assert_eq!((plan.tally.posted, plan.tally.already_there), (0, 2));
}

#[test]
fn renamed_file_keeps_its_findings() {
    let added = new_files(&["old/name.rs".to_owned()]);
    let mut bench = Bench::new(&added);
    bench.found(vec![finding("old/name.rs", 2, "A")]).run();
    // Pushed under another name; the file is new to the base either way.
    let moved = added
        .replace("old/name.rs b", "new/name.rs b")
        .replace("b/old/name.rs", "b/new/name.rs");
    bench.push(&moved, vec![finding("new/name.rs", 2, "A")]);
    assert_eq!(bench.plan().tally.already_there, 1);
}

#[test]
fn rename_that_git_tells_as_deleted_and_new_keeps_its_findings() {
    let before = "diff --git a/old.rs b/old.rs\nindex 1..2 100644\n--- a/old.rs\n+++ b/old.rs\n@@ -1,1 +1,3 @@\n first();\n+let first_value = compute();\n+let second_value = first_value + 1;\n";
    let mut bench = Bench::new(before);
    bench.found(vec![finding("old.rs", 2, "A")]);
    bench.run();
    let after = "diff --git a/new.rs b/new.rs\nnew file mode 100644\nindex 0000000..2\n--- /dev/null\n+++ b/new.rs\n@@ -0,0 +1,3 @@\n+first();\n+let first_value = compute();\n+let second_value = first_value + 1;\ndiff --git a/old.rs b/old.rs\ndeleted file mode 100644\nindex 1..0000000\n--- a/old.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-first();\n";
    bench.push(after, vec![finding("new.rs", 2, "A")]);
    let plan = bench.run();
    assert_eq!(posted(&plan), [], "{}", plan.counts());
    assert_eq!(plan.tally.already_there, 1);
}

#[test]
fn rename_against_the_base_matches_under_the_old_name() {
    let edit = "diff --git a/old.rs b/old.rs\nindex 1..2 100644\n--- a/old.rs\n+++ b/old.rs\n@@ -1,2 +1,3 @@\n one\n+let total_price = a + b;\n two\n";
    let mut bench = Bench::new(edit);
    bench.found(vec![finding("old.rs", 2, "A")]).run();
    let renamed = edit
        .replace(
            "index 1..2 100644",
            "similarity index 90%\nrename from old.rs\nrename to new.rs\nindex 1..2 100644",
        )
        .replace("b/old.rs", "b/new.rs");
    bench.push(&renamed, vec![finding("new.rs", 2, "A")]);
    let plan = bench.plan();
    assert_eq!(plan.tally.already_there, 1, "{}", plan.tally.equation());
    bench.existing.comments.clear();
    let ReviewAction::Create { review } = bench.plan().review else {
        panic!("not posted");
    };
    assert_eq!(review.comments[0].path, "new.rs");
    assert_eq!(review.comments[0].old_path.as_deref(), Some("old.rs"));
}

#[test]
fn same_place_and_category_twice_is_one_comment_with_both_titles() {
    let mut bench = Bench::new(MAIN_GO);
    let mut other = finding("svc/main.go", 5, "Other");
    other.category = Category::DataLoss;
    bench.found(vec![
        finding("svc/main.go", 5, "First"),
        finding("svc/main.go", 5, "Second"),
        finding("svc/main.go", 5, "first"),
        other,
    ]);
    let plan = bench.plan();
    assert_eq!(plan.tally.posted, 2);
    assert_eq!(plan.tally.dropped[&DropReason::Duplicate], 2);
    let ReviewAction::Create { review } = plan.review else {
        panic!("not posted");
    };
    assert!(
        review.comments[0]
            .body
            .contains("Also reported on these lines: Second\n")
    );
}

#[test]
fn what_a_fixed_check_found_is_not_said_twice() {
    let mut bench = two();
    for finding in &mut bench.read().findings {
        finding.category = Category::SecretExposure;
    }
    bench.floor = vec![hit("added-secret", "svc/main.go", 5, Severity::Critical)];
    let plan = bench.run();
    assert_eq!(plan.tally.posted, 2, "the hit, and the finding elsewhere");
    assert_eq!(plan.tally.dropped[&DropReason::Duplicate], 1);
    assert!(bench.plan().is_noop());
    // A worse finding is its own.
    bench.floor[0].severity = Severity::Low;
    assert_eq!(bench.plan().tally.posted, 1);
}
