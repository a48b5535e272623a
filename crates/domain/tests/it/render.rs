//! What people see: calm, short, specific, and inert whatever a model wrote.

use mirilla_casekit::{Case, cases};
use mirilla_domain::code::{FailReason, SkipReason};
use mirilla_domain::ids::ReviewId;
use mirilla_domain::marker;
use mirilla_domain::plan::{Plan, ReviewAction};
use mirilla_domain::review::{Category, Fate, Finding, Outcome, Severity, Side};
use mirilla_domain::thread::ExistingReview;

use crate::bench::{Bench, MAIN_GO, finding, hit, key, new_files, skipped};
use crate::hostile::without_frame;
use crate::sanitise::oracle;

const PAY: &str = "\
diff --git a/src/Pay.java b/src/Pay.java
index 8b2034d..58d39bb 100644
--- a/src/Pay.java
+++ b/src/Pay.java
@@ -80,7 +80,13 @@ class Pay {
     Receipt charge(Card card, Money amount) {
         Request request = Request.of(card, amount);
-        return gateway.send(request);
+        try {
+            return gateway.send(request);
+        } catch (IOException e) {
+            log.warn(\"charge failed\", e);
+            return null;
+        }
     }
 
     void refund(Receipt receipt) {
         gateway.refund(receipt.id());
";

fn swallowed() -> Finding {
    Finding {
        category: Category::ErrorHandling,
        message: "`charge` returns `null` when the gateway fails. `Checkout.pay` treats `null` as \
                  \"already paid\" and ships the order."
            .to_owned(),
        symbol: Some("Pay.charge".to_owned()),
        confidence: 92,
        suggestion: Some("            throw new ChargeFailed(request, e);".to_owned()),
        ..finding("src/Pay.java", 86, "A failed charge looks like a paid one")
    }
}

fn comment_of(plan: &Plan, at: usize) -> &str {
    match &plan.review {
        ReviewAction::Create { review } => &review.comments[at].body,
        other => panic!("no new review: {other:?}"),
    }
}

#[track_caller]
fn assert_inert(text: &str) {
    let bad = oracle::violations(&without_frame(text), &[]);
    assert!(bad.is_empty(), "{bad:#?}\nin:\n{text}");
}

#[test]
fn the_body_says_what_an_earlier_review_answers_for_and_what_this_one_cost() {
    let mut bench = Bench::new(&format!("{PAY}{MAIN_GO}"));
    bench.found(Vec::new());
    bench.cover("svc/main.go", Fate::Carried);
    let text = bench.plan().body;
    assert!(
        text.starts_with("**Complete review** of")
            && text.contains(": 2 of 2 changed files read (1 of them before, unchanged since)."),
        "{text}"
    );
    assert!(
        text.contains("| `svc/main.go` | unchanged since it was read |"),
        "{text}"
    );
    assert!(text.contains("Cost: $0.0251 with"), "{text}");
    // Nothing was left to ask about.
    bench.cover("src/Pay.java", Fate::Carried);
    let review = bench.read();
    (review.turns, review.cost) = (0, mirilla_domain::money::PicoUsd::ZERO);
    let text = bench.plan().body;
    assert!(
        text.contains("(2 of them before, unchanged since)"),
        "{text}"
    );
    assert!(text.contains("no model was asked this time."), "{text}");
}

#[test]
fn comment_with_suggestion_reads_well() {
    let mut bench = Bench::new(PAY);
    bench.found(vec![swallowed()]);
    insta::assert_snapshot!("comment_with_suggestion", comment_of(&bench.plan(), 0));
}

#[test]
fn comment_of_the_floor_and_of_a_rule_read_well() {
    let mut bench = Bench::new(PAY);
    let mut broken_rule = swallowed();
    broken_rule.rule = Some(".mirilla/rules/errors.md".to_owned());
    broken_rule.severity = Severity::Medium;
    broken_rule.suggestion = None;
    bench.found(vec![broken_rule]);
    bench.floor = vec![hit("conflict-marker", "src/Pay.java", 84, Severity::High)];
    let plan = bench.plan();
    insta::assert_snapshot!(
        "comments_of_floor_and_rule",
        format!(
            "{}\n\n=====\n\n{}",
            comment_of(&plan, 0),
            comment_of(&plan, 1)
        )
    );
}

#[test]
fn body_of_a_complete_review_reads_well() {
    let mut bench = Bench::new(PAY);
    bench.found(vec![swallowed()]);
    bench.read().summary =
        "Wraps the gateway call in a `try` so that network failures no longer reach the caller."
            .to_owned();
    insta::assert_snapshot!("body_complete", bench.plan().body);
}

#[test]
fn body_of_a_partial_review_reads_well() {
    let paths: Vec<String> = ["src/a.rs", "src/b.rs", "Cargo.lock", "src/c.rs", "gen/d.rs"]
        .map(str::to_owned)
        .to_vec();
    let mut bench = Bench::new(&new_files(&paths));
    let mut far = finding("src/a.rs", 40, "The retry never stops");
    far.message = "Nothing bounds the loop when the server keeps answering 503.".to_owned();
    let mut low = finding("src/b.rs", 2, "Message names the wrong field");
    low.severity = Severity::Low;
    let mut unknown = finding("src/gone.rs", 3, "About a file of another change");
    unknown.severity = Severity::Medium;
    let placed = finding("src/a.rs", 1, "The lock is taken twice");
    bench.found(vec![far, low, unknown, placed]);
    bench
        .cover("Cargo.lock", skipped(SkipReason::Lockfile))
        .cover("src/c.rs", skipped(SkipReason::CostCap))
        .cover("gen/d.rs", Fate::Failed(FailReason::MalformedAnswer));
    bench.policy.max_comments = 1;
    bench.notes = vec!["`.mirilla.toml` at the base has an unknown key `max_comment` (line 3); the operator's settings apply.".to_owned()];
    let plan = bench.plan();
    insta::assert_snapshot!("body_partial", plan.body);
    assert_eq!(
        plan.counts(),
        "4 findings, 1 off-diff, 2 dropped (unknown-path 1, over-cap 1) -> review posted: 1 comment (HIGH) a.rs:1"
    );
}

#[test]
fn body_of_a_failed_review_reads_well() {
    let mut bench = Bench::new(MAIN_GO);
    bench.review = None;
    insta::assert_snapshot!("body_failed", bench.plan().body);
}

#[test]
fn nothing_is_called_clean_that_was_not_read() {
    let paths: Vec<String> = ["a.rs", "Cargo.lock"].map(str::to_owned).to_vec();
    let mut bench = Bench::new(&new_files(&paths));
    let line = |bench: &Bench| bench.plan().body.lines().nth(2).unwrap().to_owned();
    assert_eq!(line(&bench), "Nothing to report.");
    bench.cover("Cargo.lock", skipped(SkipReason::Lockfile));
    assert_eq!(bench.plan().outcome, Outcome::Complete);
    assert_eq!(line(&bench), "Nothing to report about what was read.");
    bench.cover("a.rs", skipped(SkipReason::Ignored));
    assert_eq!(
        line(&bench),
        "The fixed checks report nothing; the change itself is not reviewed."
    );
}

#[test]
fn body_that_is_edited_in_place_reads_well() {
    let mut bench = Bench::new(PAY);
    bench.found(vec![swallowed()]).run();
    bench.next_job();
    let ReviewAction::Edit { review_id, body } = bench.plan().review else {
        panic!("not edited");
    };
    assert_eq!(review_id, ReviewId::new(1001));
    insta::assert_snapshot!("body_edited", body);
}

#[test]
fn line_for_the_log_reads_like_the_design() {
    let mut bench = Bench::new(PAY);
    let known = finding("src/Pay.java", 82, "Known");
    let far = finding("src/Pay.java", 300, "Elsewhere");
    bench.found(vec![known.clone()]).run();
    bench.push(PAY, vec![known, far, swallowed()]);
    let plan = bench.plan();
    assert_eq!(
        plan.counts(),
        "3 findings, 1 off-diff, 1 already posted -> review posted: 1 comment (HIGH) Pay.java:86"
    );
    assert_eq!(
        plan.tally.equation(),
        "found 3 = posted 1 + already there 1 + in this text 1 + dropped 0"
    );
}

fn case(id: &str) -> Case {
    cases("tests/fixtures/cases", |name| name.starts_with(id)).remove(0)
}

#[test]
fn case_136_every_title_is_one_row() {
    let case = case("136");
    let titles: Vec<String> = serde_json::from_value(case.json("titles.json")).unwrap();
    let mut bench = Bench::new(MAIN_GO);
    let found = titles
        .iter()
        .enumerate()
        .map(|(n, title)| Finding {
            symbol: Some(format!("s{n}")),
            ..finding("svc/main.go", 5, title)
        })
        .collect();
    bench.found(found);
    // No comments at all, so that every title goes into the table.
    bench.policy.max_comments = 0;
    let plan = bench.plan();
    assert_inert(&plan.body);
    let mut expected = case.expected();
    expected.take("schema");
    expected.take("check");
    assert_eq!(expected.take("raw_is_live"), Some(serde_json::json!([])));
    let mut after = expected.take_object("after_sanitising").unwrap();
    after.take("note");
    let rows = after.need("rows").as_u64().unwrap();
    after.finish();
    expected.finish();
    let over = plan.body.split("**Past the limit**").nth(1).unwrap();
    let (table, _) = over.split_once("\n\n<details>").unwrap();
    // A blank line, the head and the dashes come before the rows.
    assert_eq!(oracle_rows(table), rows, "{table}");
    assert!(table.contains('…'), "long titles are cut");
    assert!(!plan.body.lines().any(|line| line.starts_with('#')));
}

/// The rows that a renderer makes of the only table of `text`.
fn oracle_rows(text: &str) -> u64 {
    let html = comrak::markdown_to_html(text, &{
        let mut options = comrak::Options::default();
        options.extension.table = true;
        options
    });
    assert_eq!(html.matches("<table>").count(), 1, "{html}");
    assert!(!html.contains("<h1>") && !html.contains("<h2>"));
    html.split("<tbody>")
        .nth(1)
        .unwrap()
        .matches("<tr>")
        .count() as u64
}

#[test]
fn hostile_text_is_inert_in_comment_body_and_table() {
    let mut corpus: Vec<String> = Vec::new();
    for case in cases("tests/fixtures/cases", |name| {
        name[..3] >= *"118" && name[..3] <= *"137"
    }) {
        for entry in std::fs::read_dir(&case.dir).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name != "CASE.md" && name.strip_suffix(".md").is_some() {
                corpus.push(case.text(&name));
            }
        }
    }
    assert!(corpus.len() > 8, "{}", corpus.len());
    corpus.extend(
        [
            "/approve\n/merge",
            "> @dependabot merge",
            "<!-- mirilla v1 finding=0 -->",
            "<details open><summary>x",
            "```suggestion\nrm -rf /\n```",
            "![x](https://evil.example/a.png) [here](https://evil.example)",
            "\u{202e}txet\u{200b}",
        ]
        .map(str::to_owned),
    );
    for text in &corpus {
        let hostile = |line: u32| Finding {
            title: text.chars().take(400).collect(),
            message: text.clone(),
            rule: Some(text.chars().take(200).collect()),
            ..finding("svc/main.go", line, "")
        };
        let mut bench = Bench::new(MAIN_GO);
        bench.found(vec![hostile(5), hostile(20), hostile(31)]);
        bench.read().summary = text.clone();
        bench.read().model = text.clone();
        bench.notes = vec![text.clone()];
        bench.policy.max_comments = 1;
        let plan = bench.plan();
        assert_inert(comment_of(&plan, 0));
        assert_inert(&plan.body);
        for body in [comment_of(&plan, 0), &plan.body] {
            let said = marker::read(&key(), &plan.job.pull_request, body);
            assert!(said.is_some(), "{body}");
        }
    }
}

#[test]
fn hostile_paths_are_inert() {
    let paths: Vec<String> = ["@octo-user.rs", "a|b.rs", "x`y.rs", "#12 fix.rs", "-->.rs"]
        .map(str::to_owned)
        .to_vec();
    let mut bench = Bench::new(&new_files(&paths));
    let found = paths.iter().map(|path| finding(path, 9, "t")).collect();
    bench.found(found);
    let plan = bench.plan();
    assert_eq!(plan.coverage.read(), 5);
    assert_inert(&plan.body);
}

#[test]
fn bodies_fit_whatever_they_have_to_say() {
    let paths: Vec<String> = (0..400)
        .map(|n| format!("src/{}/{n}.rs", "very-long-folder-name-".repeat(12)))
        .collect();
    let mut bench = Bench::new(&new_files(&paths));
    let wide = "很".repeat(1_400);
    let found = (0..300)
        .map(|n| Finding {
            message: wide.clone(),
            suggestion: Some(format!("{}\n", "x".repeat(200))),
            side: if n % 2 == 0 { Side::Right } else { Side::Left },
            ..finding(
                &paths[n],
                if n % 3 == 0 { 1 } else { 500 },
                &format!("{n} {}", "很".repeat(60)),
            )
        })
        .collect();
    bench.found(found);
    for path in &paths[..300] {
        bench.cover(path, skipped(SkipReason::Deadline));
    }
    bench.read().summary = "很".repeat(2_000);
    bench.notes = vec![wide.clone(); 2];
    bench.policy.max_comments = 5;
    // `Bench::plan` checks the lengths.
    let plan = bench.run();
    assert_eq!(plan.outcome, Outcome::Partial);
    assert!(plan.body.len() > 40_000, "{}", plan.body.len());
    assert!(
        plan.body.contains("more finding"),
        "what does not fit is counted"
    );
    assert!(
        plan.body
            .contains("Written by a model that read untrusted code")
    );
    // And it is still idempotent.
    assert!(bench.plan().is_noop());
}

#[test]
fn suggestions_are_shown_only_where_one_click_is_safe() {
    let suggestion_of = |change: &dyn Fn(&mut Finding)| {
        let mut one = swallowed();
        change(&mut one);
        let plan = Bench::new(PAY).found(vec![one]).plan();
        comment_of(&plan, 0).contains("```suggestion")
    };
    assert!(suggestion_of(&|_| {}), "the control");
    let with = |text: &str| {
        let text = text.to_owned();
        suggestion_of(&|one| one.suggestion = Some(text.clone()))
    };
    assert!(!with("            throw new ChargeFailed(e;"), "unbalanced");
    assert!(!with("            return null;"), "nothing changes");
    assert!(
        !with("            return fetch(\"https://evil.example/\");"),
        "adds a URL"
    );
    for host in ["//evil.test/x.js", "git@evil.test:a/b", "evil.test/x"] {
        let adds_host = with(&format!("            return fetch(\"{host}\");"));
        assert!(!adds_host, "adds the host in {host}");
    }
    assert!(
        with("            return a.total() / count;"),
        "names no host"
    );
    assert!(
        !with("            return nu\u{217c}l;"),
        "adds a look-alike"
    );
    assert!(
        !with("            return decode(\"QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo\");"),
        "adds opaque text"
    );
    assert!(!with("            /approve"), "commands a bot");
    assert!(
        !suggestion_of(&|one| one.line = 80),
        "placed elsewhere than named"
    );
    assert!(
        !suggestion_of(&|one| {
            one.line = 85;
            one.end_line = Some(87);
            one.suggestion = Some("            return retry(request);\n        }".to_owned());
        }) || PAY.contains("+        }\n     }"),
        "a range must be added to its end"
    );
    for path in [
        ".github/workflows/ci.yml",
        "CODEOWNERS",
        "docs/CODEOWNERS",
        ".mirilla/rules/x.md",
        "AGENTS.md",
        "Cargo.lock",
        "web/yarn.lock",
        ".gitattributes",
    ] {
        let diff = PAY.replace("src/Pay.java", path);
        let mut one = swallowed();
        path.clone_into(&mut one.path);
        let plan = Bench::new(&diff).found(vec![one]).plan();
        assert!(!comment_of(&plan, 0).contains("```suggestion"), "{path}");
    }
    let mut floor = Bench::new(PAY);
    floor.floor = vec![hit("added-secret", "src/Pay.java", 84, Severity::High)];
    assert!(!comment_of(&floor.plan(), 0).contains("```suggestion"));
}

#[test]
fn strangers_review_text_is_not_repeated() {
    // A body of ours carries nothing from what others wrote.
    let mut bench = Bench::new(MAIN_GO);
    bench.existing.reviews = vec![ExistingReview {
        id: ReviewId::new(5),
        ours: false,
        pending: false,
        body: "SENTINEL of a stranger".to_owned(),
    }];
    assert!(!bench.plan().body.contains("SENTINEL"));
}
