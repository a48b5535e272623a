//! The recorded cases of kinds 2 and 3 (and their neighbours) that are decided by planning.

mod earlier;

use std::collections::BTreeSet;

use mirilla_casekit::{Case, Expected, cases};
use mirilla_domain::anchor::{Anchor, FileLines};
use mirilla_domain::code::SkipReason;
use mirilla_domain::ids::{NewLine, OldLine};
use mirilla_domain::marker;
use mirilla_domain::plan::{ItemFate, Me, Plan, ReviewAction, plan_from_files, read_existing};
use mirilla_domain::review::{Fate, Outcome, Severity, Side};
use serde_json::{Value, json};

use crate::bench::{Bench, MAIN_GO, finding, new_files, skipped};

type Check = fn(&Case, &mut Expected);

/// Each case here, and who answers it.
const CHECKS: [(&str, Check); 19] = [
    ("045", demoted_beside_inline),
    ("049", never_an_empty_body),
    ("051", ranges_in_order),
    ("052", impossible_lines),
    ("061", gitlab_positions),
    ("064", only_out_of_range),
    ("066", earlier::reworded),
    ("067", earlier::shifted),
    ("069", earlier::foreign_markers),
    ("070", earlier::marker_in_text),
    ("072", earlier::older_marker),
    ("073", earlier::resolve_vetoes),
    ("075", earlier::resolved_by_a_person),
    ("076", earlier::outdated_listing),
    ("078", earlier::answered_by_a_person),
    ("079", earlier::own_comments_only),
    ("098", coverage_is_visible),
    ("113", repeated_quote),
    ("116", flood),
];
/// Cases of kinds 2 and 3 that need a forge to answer; the forge's and the post stage's tests hold them.
const NEED_A_FORGE: [&str; 8] = ["046", "048", "054", "055", "057", "058", "060", "063"];

#[test]
fn recorded_cases_are_planned_as_they_should() {
    let known: BTreeSet<&str> = CHECKS.iter().map(|(id, _)| *id).collect();
    let found = cases("tests/fixtures/cases", |name| known.contains(&name[..3]));
    assert_eq!(found.len(), CHECKS.len());
    for case in &found {
        let (_, check) = CHECKS.iter().find(|(id, _)| *id == case.id()).unwrap();
        let mut expected = case.expected();
        expected.take("schema");
        expected.take("note");
        check(case, &mut expected);
        expected.finish();
    }
}

#[test]
fn every_case_of_kinds_two_and_three_has_an_owner() {
    let owned: BTreeSet<&str> = CHECKS
        .iter()
        .map(|(id, _)| *id)
        .chain(NEED_A_FORGE)
        .collect();
    for case in cases("tests/fixtures/cases", |_| true) {
        if matches!(case.kind(), 2 | 3) {
            assert!(owned.contains(case.id()), "{} has no owner", case.name);
        }
    }
}

fn planned(case: &Case, findings: &str, threads: Option<&Value>, policy: Option<&Value>) -> Plan {
    let diff = if case.has("input.diff") {
        case.bytes("input.diff")
    } else {
        MAIN_GO.as_bytes().to_vec()
    };
    planned_on(&diff, &case.json(findings), threads, policy)
}

fn planned_on(
    diff: &[u8],
    findings: &Value,
    threads: Option<&Value>,
    policy: Option<&Value>,
) -> Plan {
    let threads = threads.map(|value| serde_json::to_vec(value).unwrap());
    let mut settings =
        json!({"me": {"login": "reviewbot[bot]", "id": 4242}, "resolve-threads": true});
    if let (Some(Value::Object(more)), Value::Object(fields)) = (policy, &mut settings) {
        fields.extend(more.clone());
    }
    let plan = plan_from_files(
        diff,
        &serde_json::to_vec(findings).unwrap(),
        threads.as_deref(),
        Some(&serde_json::to_vec(&settings).unwrap()),
    )
    .unwrap();
    assert!(plan.tally.reconciles());
    plan
}

fn comments(plan: &Plan) -> Vec<Value> {
    let ReviewAction::Create { review } = &plan.review else {
        return Vec::new();
    };
    review
        .comments
        .iter()
        .map(|one| {
            let side = match one.side {
                Side::Left => "LEFT",
                Side::Right => "RIGHT",
            };
            json!({"path": one.path, "line": one.line, "side": side})
        })
        .collect()
}

fn bodies(plan: &Plan) -> Vec<String> {
    match &plan.review {
        ReviewAction::Create { review } => {
            review.comments.iter().map(|one| one.body.clone()).collect()
        }
        _ => Vec::new(),
    }
}

/// Findings that are neither on a line nor in the body.
fn lost(plan: &Plan) -> usize {
    plan.items
        .iter()
        .filter(|item| !item.title.is_empty())
        .filter(|item| match item.fate {
            ItemFate::Dropped { .. } => !plan.body.contains(&item.title),
            _ => false,
        })
        .count()
}

fn posts(plan: &Plan) -> usize {
    usize::from(matches!(plan.review, ReviewAction::Create { .. }))
}

/// The marker that this product writes for the finding of a plan that has exactly one.
fn marker_of(plan: &Plan) -> String {
    let bodies = bodies(plan);
    assert_eq!(bodies.len(), 1);
    bodies[0].lines().last().unwrap().to_owned()
}

/// Puts the product's real markers where the case says `OWN-MARKER name`.
fn with_markers(value: &Value, markers: &[(&str, &str)]) -> Value {
    let mut text = value.to_string();
    for (placeholder, real) in markers {
        text = text.replace(&format!("<!-- {placeholder} -->"), real);
    }
    assert!(
        !text.contains("OWN-MARKER"),
        "unknown placeholder in {text}"
    );
    serde_json::from_str(&text).unwrap()
}

fn strings(value: &Value) -> Vec<String> {
    let text = |item: &Value| item.as_str().unwrap().to_owned();
    value.as_array().unwrap().iter().map(text).collect()
}

fn body_must_contain(expected: &mut Expected, plan: &Plan) {
    for text in strings(&expected.need("body_must_contain")) {
        assert!(plan.body.contains(&text), "{text} in {}", plan.body);
    }
}

fn demoted_beside_inline(case: &Case, expected: &mut Expected) {
    let plan = planned(case, "findings.json", None, None);
    assert_eq!(json!(posts(&plan)), expected.need("review_posts"));
    assert_eq!(json!(comments(&plan)), expected.need("comments"));
    assert_eq!(json!(lost(&plan)), expected.need("lost_findings"));
    body_must_contain(expected, &plan);
}

fn never_an_empty_body(case: &Case, expected: &mut Expected) {
    let summary = case.json("summary.json");
    let review = json!({"summary": summary["summary"], "findings": case.json("findings.json")});
    for review in [review, json!({"summary": "", "findings": []})] {
        let plan = planned_on(MAIN_GO.as_bytes(), &review, None, None);
        let ReviewAction::Create { review } = plan.review else {
            panic!("no review");
        };
        assert!(!review.body.trim().is_empty());
        // A review carries no verdict that could be anything but a comment.
        let fields = serde_json::to_value(&review).unwrap();
        let names: Vec<&String> = fields.as_object().unwrap().keys().collect();
        assert_eq!(names, ["body", "comments", "commit"]);
    }
    let mut review = expected.take_object("review").unwrap();
    assert_eq!(review.need("event"), json!("COMMENT"));
    assert_eq!(review.need("body_nonempty"), json!(true));
    review.finish();
}

fn ranges_in_order(case: &Case, expected: &mut Expected) {
    let plan = planned(case, "findings.json", None, None);
    for mut result in expected.take_objects("results").unwrap() {
        let title = result.need("title");
        let item = plan.items.iter().find(|item| title == item.title).unwrap();
        assert_eq!(item.fate, ItemFate::Posted, "{title}");
        let anchor = item.anchor.unwrap();
        assert_eq!(json!(anchor.line), result.need("line"), "{title}");
        assert_eq!(
            json!(anchor.start_line),
            result.need("start_line"),
            "{title}"
        );
        result.finish();
    }
}

fn impossible_lines(case: &Case, expected: &mut Expected) {
    let plan = planned(case, "findings.json", None, None);
    assert_eq!(json!(comments(&plan)), expected.need("comments"));
    for title in strings(&expected.need("demoted")) {
        let item = plan.items.iter().find(|item| item.title == title).unwrap();
        assert!(matches!(item.fate, ItemFate::InBody { .. }), "{item:?}");
        assert!(plan.body.contains(&title));
    }
    assert_eq!(json!(lost(&plan)), expected.need("lost_findings"));
}

fn gitlab_positions(case: &Case, expected: &mut Expected) {
    let diff = case.bytes("input.diff");
    let parsed = mirilla_diff::parse(&diff);
    // The refs travel with the request and are not decided here.
    assert!(case.json("refs.json").get("head_sha").is_some());
    let position = |path: &str, side: Side, line: u32| {
        let file = parsed
            .files
            .iter()
            .find(|file| file.path_str() == Some(path))
            .unwrap();
        let lines = FileLines::of(file).unwrap();
        let anchor = Anchor {
            side,
            line,
            start_line: None,
            other_line: lines.get(side, line).unwrap().other,
        };
        let (old, new) = anchor.numbers();
        let old_path = lines.old_path.as_deref().unwrap_or(&lines.path);
        json!({
            "old_path": old_path,
            "new_path": lines.path,
            "old_line": old.map(OldLine::get),
            "new_line": new.map(NewLine::get),
        })
    };
    for mut wanted in expected.take_objects("positions").unwrap() {
        let what = wanted.need("what");
        let got = match what.as_str().unwrap() {
            "added line" => position("pkg/new_name.go", Side::Right, 11),
            "deleted line" => position("pkg/new_name.go", Side::Left, 10),
            "unchanged line after the shift" => position("pkg/new_name.go", Side::Right, 30),
            "new file line 2" => position("fresh.go", Side::Right, 2),
            other => panic!("{other}"),
        };
        for name in ["old_path", "new_path", "old_line", "new_line"] {
            assert_eq!(got[name], wanted.need(name), "{what}: {name}");
        }
        wanted.finish();
    }
}

fn only_out_of_range(case: &Case, expected: &mut Expected) {
    let plan = planned(case, "findings.json", None, None);
    assert_eq!(json!(comments(&plan)), expected.need("comments"));
    assert_eq!(json!(posts(&plan)), expected.need("review_posts"));
    body_must_contain(expected, &plan);
    assert_eq!(lost(&plan), 0);
}

/// Findings of a case's file, read the way the plan reads them.
fn findings_of(case: &Case, diff: &str, file: &str) -> Vec<mirilla_domain::review::Finding> {
    let items = case.json(file);
    let plan = planned_on(diff.as_bytes(), &items, None, None);
    items
        .as_array()
        .unwrap()
        .iter()
        .map(|item| {
            let title = item["title"].as_str().unwrap();
            let seen = plan.items.iter().find(|one| one.title == title).unwrap();
            let mut found = finding(&seen.path, seen.line, title);
            found.quote = item["quote"].as_str().map(str::to_owned);
            found
        })
        .collect()
}

fn coverage_is_visible(case: &Case, expected: &mut Expected) {
    let counts = case.json("plan.json");
    let skipped_paths: Vec<String> = counts["skipped"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["path"].as_str().unwrap().to_owned())
        .collect();
    let read = counts["reviewed"].as_u64().unwrap();
    let mut paths: Vec<String> = (0..read).map(|n| format!("read/{n}.ts")).collect();
    paths.extend(skipped_paths.clone());
    assert_eq!(json!(paths.len()), counts["total"]);
    let mut bench = Bench::new(&new_files(&paths));
    for path in &skipped_paths {
        bench.cover(path, skipped(SkipReason::CostCap));
    }
    bench.read().outcome = Outcome::Complete;
    let plan = bench.plan();
    for number in strings(&expected.need("summary_contains")) {
        assert!(plan.body.lines().next().unwrap().contains(&number));
    }
    let rows = plan.body.matches("| skipped: ").count();
    assert_eq!(json!(rows == 50), expected.need("list_capped"));
    assert!(
        plan.body.contains("and 20 more: 9 read, 11 not"),
        "{}",
        plan.body
    );
    assert!(plan.body.contains("not read: cost-cap 61"));
    // The verdict is made from this outcome; a partial review is never a success.
    assert_eq!(expected.need("check_conclusion_not"), json!(["success"]));
    assert_eq!(plan.outcome, Outcome::Partial);
}

fn repeated_quote(case: &Case, expected: &mut Expected) {
    let plan = planned(case, "answer.json", None, None);
    let parsed_diff = case.bytes("input.diff");
    let parsed = mirilla_diff::parse(&parsed_diff);
    let added: Vec<u32> = parsed.files[0].added.lines().collect();
    assert_eq!(json!(added), expected.need("added_lines"));
    let by_title = expected.need("by_title");
    for (title, line) in by_title.as_object().unwrap() {
        let item = plan.items.iter().find(|item| item.title == *title).unwrap();
        assert_eq!(json!(item.anchor.unwrap().line), *line, "{title}");
    }
}

fn flood(case: &Case, expected: &mut Expected) {
    let spec = case.json("findings_spec.json");
    let config = case.json("config.json");
    let count = u32::try_from(spec["count"].as_u64().unwrap()).unwrap();
    let levels = [
        Severity::Low,
        Severity::Medium,
        Severity::High,
        Severity::Critical,
    ];
    // Distinct by symbol; every tenth is an exact copy of its predecessor.
    let mut found: Vec<mirilla_domain::review::Finding> = Vec::new();
    for n in 0..count {
        let copy = (n % 10 == 9).then(|| found.last().cloned().unwrap());
        found.push(copy.unwrap_or_else(|| {
            let mut one = finding("svc/main.go", 5, &format!("finding {n}"));
            one.severity = levels[usize::try_from(n % 4).unwrap()];
            one.symbol = Some(format!("symbol_{n}"));
            one
        }));
    }
    let mut bench = Bench::new(&case.text("input.diff"));
    bench.policy.max_comments = u32::try_from(config["max_comments"].as_u64().unwrap()).unwrap();
    bench.found(found);
    let plan = bench.plan();
    let max = expected.need("comments_max").as_u64().unwrap();
    assert_eq!(plan.tally.posted as u64, max);
    assert_eq!(expected.need("all_shown_severity"), json!("critical first"));
    let shown = plan
        .items
        .iter()
        .filter(|item| item.fate == ItemFate::Posted);
    assert!(
        shown
            .clone()
            .all(|item| item.severity == Some(Severity::Critical))
    );
    assert_eq!(expected.need("states_hidden_count"), json!(true));
    assert!(
        plan.body
            .contains("880 past the limit of 20 comments, named here"),
        "{}",
        plan.body
    );
    assert!(plan.body.contains("duplicate 100"), "{}", plan.body);
    assert_eq!(json!(posts(&plan)), expected.need("review_posts"));
    // Stable: the same twenty the next time.
    bench.run();
    assert!(bench.plan().is_noop());

    // Without anything to tell them apart they are one finding, which keeps the other titles.
    let same: Vec<_> = (0..count)
        .map(|n| finding("svc/main.go", 5, &format!("finding {n}")))
        .collect();
    let plan = Bench::new(MAIN_GO).found(same).plan();
    assert_eq!(plan.tally.posted, 1);
    let body = bodies(&plan).concat();
    assert!(body.contains("and 994 more"), "{body}");
}

#[test]
fn case_043_quote_of_a_repeated_line_lands_on_the_added_copy() {
    let case = &cases("tests/fixtures/cases", |name| name.starts_with("043"))[0];
    // Lines 2, 6 and 10 read the same; only 6 is added.
    for named in [2, 6, 10, 0] {
        let found = json!([{"path": "h.js", "line": named, "quote": "  close();", "title": "t"}]);
        let plan = planned_on(&case.bytes("input.diff"), &found, None, None);
        assert_eq!(
            comments(&plan),
            [json!({"path": "h.js", "line": 6, "side": "RIGHT"})],
            "named {named}"
        );
    }
}

#[test]
fn case_111_path_spellings_reach_the_file_or_are_named_in_the_body() {
    let case = &cases("tests/fixtures/cases", |name| name.starts_with("111"))[0];
    let answer = case.json("answer.json");
    let mut expected = case.expected();
    expected.take("schema");
    let place = |title: &str| {
        let found: Vec<&Value> = answer["findings"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["title"] == title)
            .collect();
        planned_on(&case.bytes("input.diff"), &json!(found), None, None)
    };
    for title in strings(&expected.need("inline_ok")) {
        assert_eq!(comments(&place(&title)).len(), 1, "{title}");
    }
    for title in strings(&expected.need("inline_or_demoted")) {
        let plan = place(&title);
        let is_named = plan
            .body
            .contains("About files that this change does not have");
        assert!(is_named || comments(&plan).len() == 1, "{title}");
    }
    for title in strings(&expected.need("demoted")) {
        let plan = place(&title);
        assert_eq!(comments(&plan).len(), 0, "{title}");
        assert!(
            plan.body
                .contains("About files that this change does not have")
        );
    }
    assert_eq!(
        expected.need("never"),
        json!("comment on any path other than svc/main.go")
    );
    let all = planned_on(&case.bytes("input.diff"), &answer, None, None);
    assert!(
        comments(&all)
            .iter()
            .all(|one| one["path"] == "svc/main.go")
    );
    expected.finish();
}

#[test]
fn failed_review_resolves_nothing() {
    let mut bench = Bench::new(MAIN_GO);
    bench.found(vec![finding("svc/main.go", 5, "A")]).run();
    bench.existing.threads[0].outdated = true;
    bench.push(MAIN_GO, Vec::new());
    assert_eq!(bench.plan().resolve.len(), 1, "the control");
    bench.cover(
        "svc/main.go",
        Fate::Failed(mirilla_domain::code::FailReason::Refusal),
    );
    let plan = bench.plan();
    assert_eq!(plan.outcome, Outcome::Failed);
    assert!(plan.resolve.is_empty());
}
