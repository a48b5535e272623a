//! What holds for every review of every diff.

use mirilla_domain::plan::{FloorHit, ReviewAction};
use mirilla_domain::review::{Category, Finding, Severity, Side};
use proptest::prelude::*;

use crate::bench::{Bench, hit, posted};

/// Three small files: new lines between old ones, from a small alphabet so that lines repeat.
fn any_diff() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("}".to_owned()),
        Just("close_everything();".to_owned()),
        "[a-z]{1,12}".prop_map(|word| format!("{word}();")),
    ];
    let hunk =
        proptest::collection::vec((prop_oneof![Just(' '), Just('+'), Just('-')], line), 1..12);
    proptest::collection::vec(hunk, 1..4).prop_map(|files| {
        let mut out = String::new();
        for (at, lines) in files.iter().enumerate() {
            let count = |not: char| lines.iter().filter(|(kind, _)| *kind != not).count();
            let (old, new) = (count('+'), count('-'));
            let start = |lines: usize| if lines == 0 { 9 } else { 10 };
            let body: Vec<String> = (lines.iter())
                .map(|(kind, text)| format!("{kind}{text}\n"))
                .collect();
            let body = body.concat();
            out.push_str(&format!(
                "diff --git a/src/f{at}.rs b/src/f{at}.rs\nindex 1..2 100644\n--- a/src/f{at}.rs\n+++ b/src/f{at}.rs\n@@ -{},{old} +{},{new} @@\n{body}",
                start(old), start(new)
            ));
        }
        out
    })
}

fn any_severity() -> impl Strategy<Value = Severity> {
    proptest::sample::select(Severity::ALL.to_vec())
}

fn any_finding() -> impl Strategy<Value = Finding> {
    let path = prop_oneof![
        6 => (0_u8..3).prop_map(|n| format!("src/f{n}.rs")),
        1 => (0_u8..3).prop_map(|n| format!("b/src/f{n}.rs")),
        1 => "[a-z./]{0,8}",
    ];
    let line = prop_oneof![8 => 8_u32..24, 1 => Just(0), 1 => any::<u32>()];
    let hostile = prop_oneof![
        "[a-zA-Z ]{0,20}",
        Just("<!-- mirilla v1 finding=".to_owned()),
        Just("@octo-user please /approve\n/approve".to_owned()),
        Just("| a | b |\n|---|\n# h".to_owned()),
        Just("```\nunclosed <details>".to_owned()),
        ".{0,40}",
    ];
    (
        (path, line, proptest::option::of(8_u32..24), any_severity()),
        proptest::sample::select(Category::ALL[..3].to_vec()),
        (hostile.clone(), hostile),
        (
            0_u8..=101,
            any::<bool>(),
            proptest::option::of("[a-z();}]{0,12}"),
        ),
        proptest::option::of("[a-z();]{0,20}"),
    )
        .prop_map(
            |((path, line, end_line, severity), category, (title, message), rest, suggestion)| {
                let (confidence, on_left, quote) = rest;
                Finding {
                    path,
                    line,
                    end_line,
                    side: if on_left { Side::Left } else { Side::Right },
                    severity,
                    category,
                    title,
                    message,
                    confidence,
                    quote,
                    symbol: None,
                    rule: None,
                    suggestion,
                    doubted: false,
                }
            },
        )
}

fn any_hit() -> impl Strategy<Value = FloorHit> {
    (0_u8..3, 9_u32..20, any_severity()).prop_map(|(file, line, severity)| {
        hit("added-secret", &format!("src/f{file}.rs"), line, severity)
    })
}

#[derive(Debug, Clone)]
struct Setting {
    diff: String,
    findings: Vec<Finding>,
    floor: Vec<FloorHit>,
    max_comments: u32,
    min_severity: Severity,
}

fn any_setting() -> impl Strategy<Value = Setting> {
    (
        any_diff(),
        proptest::collection::vec(any_finding(), 0..12),
        proptest::collection::vec(any_hit(), 0..3),
        prop_oneof![Just(0_u32), 1_u32..6, Just(20)],
        any_severity(),
    )
        .prop_map(
            |(diff, findings, floor, max_comments, min_severity)| Setting {
                diff,
                findings,
                floor,
                max_comments,
                min_severity,
            },
        )
}

fn bench(setting: &Setting) -> Bench {
    let mut bench = Bench::new(&setting.diff);
    bench.found(setting.findings.clone());
    bench.floor.clone_from(&setting.floor);
    bench.policy.max_comments = setting.max_comments;
    bench.policy.min_severity = setting.min_severity;
    bench
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // `Bench::plan` checks every plan: the sum comes out, the forge accepts every anchor, lengths hold.

    #[test]
    fn applied_twice_changes_nothing_the_second_time(setting in any_setting()) {
        let mut bench = bench(&setting);
        bench.run();
        let again = bench.plan();
        prop_assert!(again.is_noop(), "{}", again.counts());
    }

    #[test]
    fn next_job_with_the_same_findings_notifies_nobody(setting in any_setting()) {
        let mut bench = bench(&setting);
        bench.run();
        for _ in 0..2 {
            bench.next_job();
            bench.run();
            prop_assert!(bench.plan().is_noop());
        }
        prop_assert_eq!(bench.created, 1);
    }

    #[test]
    fn reworded_findings_are_the_same_findings(setting in any_setting()) {
        let mut bench = bench(&setting);
        let first = bench.run();
        bench.next_job();
        for finding in &mut bench.read().findings {
            finding.title.push_str(" in other words");
            finding.message = "quite another explanation".to_owned();
        }
        let second = bench.run();
        prop_assert!(posted(&second).is_empty(), "{} then {}", first.counts(), second.counts());
    }

    #[test]
    fn order_of_the_findings_does_not_matter(setting in any_setting()) {
        let forward = bench(&setting).plan();
        let mut reversed = setting;
        reversed.findings.reverse();
        reversed.floor.reverse();
        let backward = bench(&reversed).plan();
        let sorted = |mut places: Vec<(String, u32, Option<u32>)>| {
            places.sort();
            places
        };
        prop_assert_eq!(sorted(posted(&forward)), sorted(posted(&backward)));
        prop_assert_eq!(forward.tally, backward.tally);
    }

    #[test]
    fn one_comment_per_line_and_finding(setting in any_setting()) {
        let plan = bench(&setting).plan();
        if let ReviewAction::Create { review } = &plan.review {
            let markers: std::collections::BTreeSet<&str> =
                review.comments.iter().filter_map(|one| one.body.lines().last()).collect();
            prop_assert_eq!(markers.len(), review.comments.len());
            for comment in &review.comments {
                prop_assert_eq!(comment.body.matches("<!--").count(), 1, "{}", comment.body);
            }
            prop_assert_eq!(plan.body.matches("<!--").count(), 1);
        }
    }
}
