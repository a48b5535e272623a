//! Answers of models: recorded cases of kind 6, and what holds for any text.

use std::collections::BTreeSet;

use mirilla_casekit::{Case, cases};
use mirilla_diff::parse;
use mirilla_domain::answer::{
    AnswerError, Answered, MAX_FINDINGS, MAX_MESSAGE_CHARS, MAX_SUMMARY_CHARS, MAX_TITLE_CHARS,
    Names, UNSURE, read,
};
use mirilla_domain::code::FailReason;
use mirilla_domain::review::{Category, Severity};
use proptest::prelude::*;
use serde_json::{Value, json};

fn case(id: &str) -> Case {
    cases("tests/fixtures/cases", |name| name.starts_with(id)).remove(0)
}

fn read_in(case: &Case, text: &str) -> Result<Answered, AnswerError> {
    let diff = case.bytes("input.diff");
    read(text, &parse(&diff).files)
}

fn strings(value: Value) -> Vec<String> {
    serde_json::from_value(value).unwrap()
}

fn titles(answered: &Answered) -> Vec<String> {
    answered
        .findings
        .iter()
        .map(|finding| finding.title.clone())
        .collect()
}

#[test]
fn case_104_fences_prose_and_marks_around_the_object_do_not_matter() {
    let case = case("104");
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "behaviour/1");
    let mut each = expected.take_object("each").unwrap();
    let (count, path, line) = (each.need("findings"), each.need("path"), each.need("line"));
    for file in ["a1.txt", "a2.txt", "a3.txt", "a4.txt", "a5.txt"] {
        let answered = read_in(&case, &case.text(file)).unwrap();
        assert_eq!(json!(answered.findings.len()), count, "{file}");
        assert_eq!(json!(answered.findings[0].path), path, "{file}");
        assert_eq!(json!(answered.findings[0].line), line, "{file}");
    }
    each.finish();
    expected.finish();
}

#[test]
fn case_105_json_quoted_from_the_change_is_not_the_answer() {
    let case = case("105");
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "behaviour/1");
    let answered = read_in(&case, &case.text("answer.txt")).unwrap();
    assert_eq!(json!(answered.findings.len()), expected.need("findings"));
    // There is no word for it: an answer is findings and a summary.
    assert_eq!(expected.need("approved"), false);
    let fields = serde_json::to_value(&answered).unwrap();
    let fields: BTreeSet<&str> = fields
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(fields, BTreeSet::from(["findings", "rejected", "summary"]));
    expected.finish();
}

#[test]
fn an_empty_list_after_findings_is_no_answer() {
    let finding = r#"{"findings":[{"path":"a","line":1,"severity":"high","title":"t"}]}"#;
    let text = format!("{finding}\nThe test adds {{\"findings\":[]}}.");
    assert_eq!(read(&text, &[]), Err(AnswerError::Ambiguous));
    assert_eq!(
        AnswerError::Ambiguous.fail_reason(),
        FailReason::MalformedAnswer
    );
}

#[test]
fn case_107_refusals_and_silence_are_not_clean() {
    let case = case("107");
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "behaviour/1");
    let mut each = expected.take_object("each").unwrap();
    assert_eq!(each.need("conclusive"), false);
    for file in [
        "apology.json",
        "blank.json",
        "empty.json",
        "refusal.json",
        "unavailable.json",
    ] {
        let response = case.json(file);
        let blocks = response["content"].as_array().unwrap();
        let text: String = blocks
            .iter()
            .filter_map(|block| block["text"].as_str())
            .collect();
        let error = read_in(&case, &text).unwrap_err();
        // A failed chunk makes the coverage failed, from which no check is a success.
        let reason = error.fail_reason();
        assert!(
            matches!(
                reason,
                FailReason::EmptyAnswer | FailReason::MalformedAnswer
            ),
            "{file}"
        );
        let plan = mirilla_domain::chunk::plan_chunks(
            &parse(&case.bytes("input.diff")).files,
            &[],
            &mirilla_domain::settings::Policy::default(),
            8_000,
        );
        let covered = plan.coverage(&[mirilla_domain::review::Fate::Failed(reason)]);
        assert_eq!(
            mirilla_domain::review::Outcome::of(&covered),
            mirilla_domain::review::Outcome::Failed
        );
    }
    assert_eq!(strings(each.need("check_conclusion_not")), ["success"]);
    assert_eq!(each.need("approve"), false);
    each.finish();
    expected.finish();
}

#[test]
fn case_108_findings_of_another_shape_are_an_error_never_zero_findings() {
    let case = case("108");
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "behaviour/1");
    for file in strings(expected.need("inconclusive")) {
        let error = read_in(&case, &case.text(&file)).unwrap_err();
        assert!(
            matches!(
                error,
                AnswerError::NotAList { .. }
                    | AnswerError::ListMissing { .. }
                    | AnswerError::NoObject
            ),
            "{file}: {error}"
        );
        assert!(error.again().contains("one JSON object"), "{file}");
    }
    // Our contract is an object, so that a bare list is no answer.
    assert!(
        expected
            .need("a6")
            .as_str()
            .unwrap()
            .contains("only if the contract allows arrays")
    );
    assert_eq!(
        read_in(&case, &case.text("a6.json")),
        Err(AnswerError::NotAnObject { found: "a list" })
    );
    expected.finish();
}

#[test]
fn case_110_good_items_survive_bad_ones() {
    let case = case("110");
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "behaviour/1");
    let answered = read_in(&case, &case.text("answer.json")).unwrap();
    for title in strings(expected.need("kept_at_least")) {
        assert!(titles(&answered).contains(&title), "{title}");
    }
    let caps = answered
        .findings
        .iter()
        .find(|finding| finding.title == "caps")
        .unwrap();
    assert_eq!((caps.severity, caps.confidence), (Severity::High, UNSURE));
    let names = [("odd", 1), ("item 4", 4), ("item 5", 5)];
    for name in strings(expected.need("reported_dropped_or_defaulted")) {
        let (_, item) = names.iter().find(|(known, _)| *known == name).unwrap();
        let refused = answered
            .rejected
            .iter()
            .find(|refused| refused.item == *item)
            .unwrap();
        assert!(!refused.reason.is_empty(), "{name}");
    }
    assert_eq!(answered.rejected.len(), 3);
    expected.finish();
}

#[test]
fn case_111_paths_are_normalised_only_where_they_can_mean_one_file() {
    let case = case("111");
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "behaviour/1");
    let answered = read_in(&case, &case.text("answer.json")).unwrap();
    // An item whose title is empty has its message as one.
    let path_of = |spelling: &str| {
        let title = if spelling.trim().is_empty() {
            "x"
        } else {
            spelling.trim()
        };
        answered
            .findings
            .iter()
            .find(|f| f.title == title)
            .unwrap()
            .path
            .clone()
    };
    for spelling in strings(expected.need("inline_ok")) {
        assert_eq!(path_of(&spelling), "svc/main.go", "{spelling:?}");
    }
    for spelling in strings(expected.need("inline_or_demoted")) {
        let path = path_of(&spelling);
        assert!(
            path == "svc/main.go" || path == spelling,
            "{spelling:?} became {path:?}"
        );
    }
    // Kept under the model's own name, which no file has: the plan puts it into the body.
    for spelling in strings(expected.need("demoted")) {
        assert_eq!(path_of(&spelling), spelling);
    }
    assert_eq!(
        expected.need("never"),
        "comment on any path other than svc/main.go"
    );
    assert_eq!(answered.rejected, []);
    expected.finish();
}

#[test]
fn spellings_that_could_mean_two_files_mean_none() {
    let diff = b"diff --git a/a/x b/a/x\n--- a/a/x\n+++ b/a/x\n@@ -1 +1 @@\n-a\n+b\n\
        diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\
        diff --git a/old b/new\nsimilarity index 90%\nrename from old\nrename to new\n--- a/old\n+++ b/new\n@@ -1 +1 @@\n-a\n+b\n";
    let parsed = parse(diff);
    let names = Names::of(&parsed.files);
    assert_eq!(names.resolve("a/x"), Some("a/x"));
    assert_eq!(names.resolve("b/x"), Some("x"));
    assert_eq!(names.resolve("./a/x"), Some("a/x"));
    assert_eq!(names.resolve(" a/x"), None, "a/x, or x with its prefix");
    assert_eq!(names.resolve("old"), Some("new"));
    assert_eq!(names.resolve("New"), None);
    assert_eq!(names.resolve("a/../x"), None);
    assert_eq!(names.resolve("x:12"), Some("x"));
}

#[test]
fn case_113_a_repeated_quote_means_the_nearest_added_line() {
    let case = case("113");
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "behaviour/1");
    let diff = case.bytes("input.diff");
    let added: Vec<u32> = parse(&diff).files[0].added.lines().collect();
    assert_eq!(json!(added), expected.need("added_lines"));
    let answered = read_in(&case, &case.text("answer.json")).unwrap();
    let by_title: std::collections::BTreeMap<String, u32> = answered
        .findings
        .iter()
        .map(|f| (f.title.clone(), f.line))
        .collect();
    assert_eq!(json!(by_title), expected.need("by_title"));
    expected.finish();
}

#[test]
fn quotes_place_findings_and_ties_go_up() {
    let diff = b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,6 @@\n close();\n+open();\n+close();\n+x\n+open();\n+    read();\n end\n";
    let parsed = parse(diff);
    let line = |quote: &str, line: u32, end: u32| {
        let text = json!({"findings": [{
            "path": "f", "line": line, "end_line": end, "severity": "low", "title": "t", "quote": quote
        }]});
        let answered = read(&text.to_string(), &parsed.files).unwrap();
        (answered.findings[0].line, answered.findings[0].end_line)
    };
    // Lines 2 and 5 say `open();`: from line 1 the nearest is 2, from line 4 it is 5.
    assert_eq!(line("open();", 1, 0), (2, None));
    assert_eq!(line("open();", 4, 0), (5, None));
    assert_eq!(line("open();\n  read();", 2, 3), (5, Some(6)));
    // The context line 1 says `close();` as well, but only 3 was added.
    assert_eq!(line("close();", 1, 0), (3, None));
    // Numbers and marks that a model copies from the prompt are no part of the code.
    assert_eq!(line("  6 +     read();", 1, 0), (6, None));
    // A quote that stands nowhere, or says nothing, moves nothing.
    assert_eq!(line("nowhere();", 4, 0), (4, None));
    assert_eq!(line("x", 1, 0), (1, None));
}

#[test]
fn case_114_slips_of_syntax_give_the_finding_or_an_error() {
    let case = case("114");
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "behaviour/1");
    assert_eq!(expected.need("each"), "one finding or malformed");
    for file in ["a1.txt", "a2.txt", "a3.txt", "a4.txt", "a5.txt"] {
        match read_in(&case, &case.text(file)) {
            Ok(answered) => assert_eq!(answered.findings.len(), 1, "{file}"),
            Err(error) => assert_eq!(
                error.fail_reason(),
                FailReason::MalformedAnswer,
                "{file}: {error}"
            ),
        }
    }
    assert_eq!(
        expected.need("a6"),
        "malformed (must not become zero findings)"
    );
    assert_eq!(
        read_in(&case, &case.text("a6.txt")),
        Err(AnswerError::DuplicateKey {
            key: "findings".to_owned()
        })
    );
    expected.finish();
}

#[test]
fn case_116_a_flood_is_bounded_and_the_worst_survive() {
    let case = case("116");
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "behaviour/1");
    let count = case.json("findings_spec.json")["count"].as_u64().unwrap();
    let severities = ["low", "medium", "high", "critical"];
    let item = |n: u64| {
        // Every tenth is an exact copy of the one before it.
        let n = if n % 10 == 9 { n - 1 } else { n };
        json!({
            "path": "svc/main.go", "line": 5, "severity": severities[(n % 4) as usize],
            "title": format!("finding {n}"), "body": "x"
        })
    };
    let items: Vec<Value> = (0..count).map(item).collect();
    let answered = read_in(&case, &json!({ "findings": items }).to_string()).unwrap();
    assert_eq!(answered.findings.len(), MAX_FINDINGS);
    // 250 of 1,000 were critical and some of those were copies: nothing milder is kept.
    assert!(
        answered
            .findings
            .iter()
            .all(|finding| finding.severity == Severity::Critical)
    );
    let distinct: BTreeSet<String> = titles(&answered).into_iter().collect();
    assert_eq!(distinct.len(), MAX_FINDINGS);
    // What is refused is counted to the last item.
    let (last, listed) = answered.rejected.split_last().unwrap();
    assert_eq!(
        last.reason,
        format!("{} more items were refused", 800 - listed.len())
    );
    // Cap, order and the hidden count on the pull request are the plan's, checked there.
    assert_eq!(
        expected.need("comments_max"),
        case.json("config.json")["max_comments"]
    );
    assert_eq!(expected.need("all_shown_severity"), "critical first");
    assert_eq!(expected.need("states_hidden_count"), true);
    assert_eq!(expected.need("review_posts"), 1);
    expected.finish();
}

/// Field by field: what is cut, what is left out, what refuses the item.
#[test]
fn every_field_has_its_bound() {
    let base = json!({"path": "f", "line": 3, "severity": "high", "title": "t", "message": "m"});
    let with = |change: Value| {
        let mut item = base.clone();
        item.as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        let good = json!({"path": "other", "line": 1, "severity": "low", "title": "good"});
        read(&json!({"findings": [item, good]}).to_string(), &[]).unwrap()
    };
    let kept = |change: Value| with(change).findings[0].clone();
    let refused = |change: Value| with(change).rejected[0].reason.clone();
    let long = "x".repeat(MAX_MESSAGE_CHARS + 1);

    let title = kept(json!({ "title": long })).title;
    assert_eq!(
        (title.chars().count(), title.ends_with('…')),
        (MAX_TITLE_CHARS, true)
    );
    assert_eq!(kept(json!({"title": "two\n  lines"})).title, "two lines");
    assert_eq!(
        kept(json!({"title": "", "message": "First. Second."})).title,
        "First"
    );
    assert_eq!(kept(json!({"message": ""})).message, "t");
    assert!(refused(json!({ "message": long })).contains("message is longer"));
    assert!(refused(json!({ "suggestion": long })).contains("suggestion is longer"));
    assert!(refused(json!({ "path": "p".repeat(1_025) })).contains("path is longer"));
    assert!(refused(json!({"severity": "catastrophic"})).contains("severity"));
    assert!(refused(json!({"title": 7})).contains("title is a number"));
    assert_eq!(
        kept(json!({"severity": "CRITICAL "})).severity,
        Severity::Critical
    );
    assert_eq!(
        kept(json!({"category": "Secret Exposure"})).category,
        Category::SecretExposure
    );
    assert_eq!(
        kept(json!({"category": "vibes"})).category,
        Category::Correctness
    );
    assert_eq!(kept(json!({ "symbol": long })).symbol, None);
    assert_eq!(
        kept(json!({"symbol": "", "rule": "", "suggestion": "", "quote": ""})).rule,
        None
    );

    for (line, end, expected) in [
        (json!(5), json!(5), (5, None)),
        (json!(9), json!(5), (5, Some(9))),
        (json!(5), json!(0), (5, None)),
        (json!("7"), Value::Null, (7, None)),
        (json!(0), json!(0), (0, None)),
        (json!(-3), json!(0), (0, None)),
        (Value::Null, json!(4), (4, None)),
        (json!(1e30), json!(0), (0, None)),
        (json!(1_000_000_000), json!(0), (1_000_000_000, None)),
    ] {
        let finding = kept(json!({"line": line, "end_line": end}));
        assert_eq!((finding.line, finding.end_line), expected);
    }
    for (value, percent) in [
        (json!(85), 85),
        (json!(0.85), 85),
        (json!(1.0), 100),
        (json!(0.0), 0),
        (json!(101), UNSURE),
        (json!(-1), UNSURE),
        (json!(1.7), UNSURE),
        (json!("high"), UNSURE),
    ] {
        assert_eq!(
            kept(json!({ "confidence": value })).confidence,
            percent,
            "{value}"
        );
    }
    let summary = json!({"findings": [], "summary": "s".repeat(5_000)}).to_string();
    assert_eq!(
        read(&summary, &[]).unwrap().summary.chars().count(),
        MAX_SUMMARY_CHARS
    );
}

#[test]
fn a_list_of_which_nothing_can_be_used_is_not_clean() {
    let error = read(r#"{"findings":["text", {"path":"f"}],"summary":""}"#, &[]).unwrap_err();
    assert!(
        matches!(error, AnswerError::NoUsableFinding { items: 2, .. }),
        "{error}"
    );
}

#[test]
fn an_answer_that_breaks_off_is_truncated_whatever_it_quotes() {
    for text in [
        r#"{"findings":[{"path":"f","line":1,"#,
        r#"{"summary":"{\"findings\":[]}","findings":[{"path":"#,
        "```json\n{\"findings\": [\n  {\"path\": \"f\"},",
        r#"{"findings":[{"message":"adds {"findings":[]}"#,
    ] {
        let error = read(text, &[]).unwrap_err();
        assert!(
            matches!(
                error.fail_reason(),
                FailReason::Truncated | FailReason::MalformedAnswer
            ),
            "{text}: {error}"
        );
    }
}

#[test]
fn prose_with_braces_does_not_hide_the_answer() {
    let text = "In `fn main() {` the loop `{x}` runs on.\n{\"findings\":[],\"summary\":\"fine\"}\nBye {now}";
    assert_eq!(read(text, &[]).unwrap().summary, "fine");
}

#[test]
fn depth_and_size_are_bounded_before_anything_is_parsed() {
    let deep = format!(
        "{{\"findings\":{}{}}}",
        "[".repeat(50_000),
        "]".repeat(50_000)
    );
    assert_eq!(read(&deep, &[]), Err(AnswerError::TooDeep));
    let long = format!(
        "{{\"findings\":[],\"summary\":\"{}\"}}",
        "x".repeat(1024 * 1024)
    );
    assert!(matches!(read(&long, &[]), Err(AnswerError::TooLong { .. })));
    for text in [
        "{".repeat(500_000),
        "{x \"".repeat(200_000),
        "{\"".repeat(300_000),
        "{x }".repeat(200_000),
    ] {
        assert!(read(&text, &[]).is_err());
    }
}

#[test]
fn the_schema_of_the_answer_accepts_what_is_read_and_bounds_nothing() {
    let schema = mirilla_domain::schema::answer_schema();
    let valid = json!({"summary": "", "findings": [{
        "path": "f", "line": 1, "end_line": 0, "quote": "", "title": "t", "message": "m",
        "category": "injection", "severity": "high", "confidence": 80, "symbol": "", "rule": "", "suggestion": ""
    }]});
    assert!(jsonschema::is_valid(&schema, &valid));
    assert_eq!(read(&valid.to_string(), &[]).unwrap().findings.len(), 1);
    assert!(!jsonschema::is_valid(&schema, &json!({"findings": []})));
    let text = schema.to_string();
    for refused in [
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "$ref",
        "oneOf",
    ] {
        assert!(!text.contains(refused), "{refused}");
    }
    // Every object is closed and requires all it knows.
    for object in [&schema, &schema["properties"]["findings"]["items"]] {
        assert_eq!(object["additionalProperties"], false);
        let required: BTreeSet<&str> = object["required"]
            .as_array()
            .unwrap()
            .iter()
            .map(|key| key.as_str().unwrap())
            .collect();
        let known: BTreeSet<&str> = object["properties"]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(required, known);
    }
}

fn an_item() -> impl Strategy<Value = Value> {
    let severity = prop_oneof![Just("high"), Just("LOW"), Just("medium"), Just("odd")];
    (any::<String>(), any::<i64>(), severity, ".{0,20}", any::<f64>()).prop_map(
        |(path, line, severity, title, confidence)| {
            json!({
                "path": path, "line": line, "severity": severity, "title": title, "confidence": confidence,
                "quote": title, "end_line": line.wrapping_add(1)
            })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        let answered = read(&text, &[]);
        prop_assert!(answered.is_err() || text.contains("findings"));
    }

    #[test]
    fn no_brackets_make_it_panic(text in "[{}\\[\\]\":,a-c\\\\ ]{0,80}|\\PC*\\{\"findings\":[\\[\\]{},\"]{0,30}") {
        drop(read(&text, &[]));
    }

    /// A valid answer with one byte changed is read within bounds or refused; where it is read, each item
    /// is a finding or a refusal.
    #[test]
    fn mutated_answers_stay_within_bounds(
        items in proptest::collection::vec(an_item(), 0..6),
        at in any::<proptest::sample::Index>(),
        byte in any::<char>(),
    ) {
        let valid = json!({"findings": items, "summary": "s"}).to_string();
        let mut chars: Vec<char> = valid.chars().collect();
        let at = at.index(chars.len());
        chars[at] = byte;
        for text in [valid, chars.into_iter().collect()] {
            if let Ok(answered) = read(&text, &[]) {
                for finding in &answered.findings {
                    prop_assert!(finding.title.chars().count() <= MAX_TITLE_CHARS);
                    prop_assert!(finding.confidence <= 100);
                    prop_assert!(finding.end_line.is_none_or(|end| end > finding.line));
                    prop_assert!(!finding.title.contains('\n'));
                }
                let unread = answered.findings.is_empty() && !answered.rejected.is_empty();
                prop_assert!(!unread);
            }
        }
    }

    /// Reading twice what is valid counts every item once.
    #[test]
    fn every_item_is_kept_or_refused(items in proptest::collection::vec(an_item(), 1..8)) {
        let text = json!({"findings": items.clone()}).to_string();
        match read(&text, &[]) {
            Ok(answered) => prop_assert_eq!(answered.findings.len() + answered.rejected.len(), items.len()),
            Err(error) => {
                let all_refused = matches!(error, AnswerError::NoUsableFinding { .. });
                prop_assert!(all_refused, "{}", error);
            }
        }
    }
}
