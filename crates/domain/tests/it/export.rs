//! What other tools are handed, against their own descriptions of it.

use mirilla_casekit::repo_path;
use mirilla_domain::code::{FailReason, SkipReason};
use mirilla_domain::escape;
use mirilla_domain::export::{Export, codequality, sarif, standing};
use mirilla_domain::plan::{Item, ItemFate};
use mirilla_domain::review::{Fate, Outcome, Severity, Side};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::bench::{Bench, MAIN_GO, finding, new_files};

/// Names and words that mean something to a terminal, a CI runner, a viewer of SARIF, or a URI.
const HOSTILE: [&str; 8] = [
    "a/\u{1b}]52;c;aGk=\u{7}.go",
    "::error file=x::y",
    "##[group]##vso[task.setvariable variable=a]b",
    "right\u{202e}tfel\u{200b}",
    "[click](https://evil.example/?a=b) {0} \\[",
    "with space/50%/c#d?e:f.go",
    "line\nbreak\r::set-output name=a::b",
    "<script>alert(1)</script>&amp;",
];

fn exported(
    bench: &Bench,
    format: impl Fn(&Export<'_>) -> Result<String, serde_json::Error>,
) -> Value {
    let plan = bench.plan();
    let read = bench.review.as_ref().unwrap();
    let text = format(&Export {
        items: &plan.items,
        review: &read.review,
        version: "1.2.3",
    })
    .unwrap();
    let printed = escape::json(&text);
    let hidden = |c: char| escape::is_unsafe(c) && c != '\n';
    assert!(!printed.chars().any(hidden), "{printed}");
    for mark in ["##[", "##vso["] {
        assert!(!printed.contains(mark), "{printed}");
    }
    assert!(
        !printed
            .lines()
            .any(|line| line.trim_start().starts_with("::"))
    );
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), value);
    value
}

fn valid_sarif(bench: &Bench) -> Value {
    let path = repo_path("tests/fixtures/contracts/sarif-schema-2.1.0.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let value = exported(bench, sarif);
    if let Err(error) = jsonschema::validate(&schema, &value) {
        panic!("{error} at {}", error.instance_path());
    }
    value
}

/// The fields that GitLab documents, each with its type, and no other.
fn valid_codequality(bench: &Bench) -> Value {
    let schema = json!({
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": false,
            "required": ["description", "check_name", "fingerprint", "severity", "location"],
            "properties": {
                "description": {"type": "string", "minLength": 1},
                "check_name": {"type": "string", "minLength": 1},
                "fingerprint": {"type": "string", "minLength": 1},
                "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
                "location": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["path", "lines"],
                    "properties": {
                        "path": {"type": "string", "pattern": "^(?!/|\\.{1,2}/|.*/\\.{1,2}/)."},
                        "lines": {
                            "type": "object",
                            "required": ["begin"],
                            "properties": {
                                "begin": {"type": "integer", "minimum": 1},
                                "end": {"type": "integer", "minimum": 1},
                            },
                        },
                    },
                },
            },
        },
    });
    let value = exported(bench, |export| codequality(export.reported()));
    if let Err(error) = jsonschema::validate(&schema, &value) {
        panic!("{error} at {}", error.instance_path());
    }
    let issues = value.as_array().unwrap();
    let prints: std::collections::BTreeSet<&str> = issues
        .iter()
        .map(|issue| issue["fingerprint"].as_str().unwrap())
        .collect();
    assert_eq!(
        prints.len(),
        issues.len(),
        "GitLab shows the first of equal ones alone"
    );
    value
}

fn reported() -> Bench {
    let mut bench = Bench::new(MAIN_GO);
    let mut removed = finding("svc/main.go", 51, "Gone");
    removed.side = Side::Left;
    let mut low = finding("svc/main.go", 31, "Small");
    low.severity = Severity::Low;
    bench.found(vec![
        finding("svc/main.go", 5, "Race"),
        low,
        removed,
        finding("svc/main.go", 900, "Elsewhere"),
        finding("not/there.go", 1, "Dropped"),
    ]);
    bench
}

#[test]
fn sarif_names_place_level_and_identity_of_what_is_reported() {
    let value = valid_sarif(&reported());
    let results = value["runs"][0]["results"].as_array().unwrap();
    let seen: Vec<(&str, &Value, &Value)> = results
        .iter()
        .map(|result| {
            let place = &result["locations"][0]["physicalLocation"];
            let text = result["message"]["text"].as_str().unwrap();
            (
                text.lines().next().unwrap(),
                &result["level"],
                &place["region"]["startLine"],
            )
        })
        .collect();
    assert!(
        seen.contains(&("Race", &json!("error"), &json!(5))),
        "{seen:?}"
    );
    assert!(
        seen.contains(&("Small", &json!("note"), &json!(31))),
        "{seen:?}"
    );
    assert!(
        seen.contains(&("Gone", &json!("error"), &Value::Null)),
        "a line of the old file: {seen:?}"
    );
    assert!(seen.iter().all(|(title, ..)| *title != "Dropped"));
    let rules = value["runs"][0]["tool"]["driver"]["rules"]
        .as_array()
        .unwrap();
    for result in results {
        let at = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[at]["id"], result["ruleId"]);
        assert!(result["partialFingerprints"]["mirilla/v1"].is_string());
    }
}

#[test]
fn a_finding_keeps_its_identity_when_the_code_moves() {
    let prints = |bench: &Bench| -> Vec<String> {
        let value = valid_sarif(bench);
        let results = value["runs"][0]["results"].as_array().unwrap();
        let print = |one: &Value| {
            one["partialFingerprints"]["mirilla/v1"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        results.iter().map(print).collect()
    };
    let before = prints(Bench::new(MAIN_GO).found(vec![finding("svc/main.go", 31, "One")]));
    let moved = MAIN_GO.replace("@@ -28,6 +28,7 @@", "@@ -128,6 +128,7 @@");
    let after =
        prints(Bench::new(&moved).found(vec![finding("svc/main.go", 131, "In other words")]));
    assert_eq!(before, after);
}

#[test]
fn what_nobody_read_is_told_apart_from_clean() {
    let mut bench = Bench::new(MAIN_GO);
    let clean = valid_sarif(&bench);
    assert_eq!(
        clean["runs"][0]["invocations"][0]["executionSuccessful"],
        json!(true)
    );
    assert_eq!(
        clean["runs"][0]["invocations"][0]["toolExecutionNotifications"],
        json!([])
    );
    for (fate, level) in [
        (Fate::Failed(FailReason::Refusal), "warning"),
        (Fate::Skipped(SkipReason::CostCap), "note"),
    ] {
        bench.cover("svc/main.go", fate);
        bench.read().outcome = Outcome::Failed;
        let value = valid_sarif(&bench);
        let said = &value["runs"][0]["invocations"][0];
        assert_eq!(said["executionSuccessful"], json!(false));
        assert_eq!(said["toolExecutionNotifications"][0]["level"], json!(level));
    }
}

#[test]
fn codequality_has_a_line_and_an_identity_for_everything() {
    let value = valid_codequality(&reported());
    let by_line = |line: u32| {
        let issues = value.as_array().unwrap().iter();
        issues
            .filter(|one| one["location"]["lines"]["begin"] == json!(line))
            .count()
    };
    assert_eq!((by_line(5), by_line(31)), (1, 1));
    assert_eq!(
        valid_codequality(&Bench::new(MAIN_GO)),
        json!([]),
        "clean is an empty list"
    );
}

/// A report is compared with nothing: what is left out of it looks mended.
#[test]
fn what_an_earlier_run_said_still_stands_until_its_thread_is_resolved() {
    let bench = reported();
    let first = bench.plan();
    let fate = |resolved| ItemFate::AlreadyThere {
        comment: None,
        resolved,
    };
    let mut items = first.items.clone();
    let posted = items
        .iter_mut()
        .filter(|item| item.fate == ItemFate::Posted);
    for (item, resolved) in posted.zip([true, false, false]) {
        item.fate = fate(resolved);
    }
    let count = |items: &[Item]| {
        let report = codequality(standing(items)).unwrap();
        let report: Vec<Value> = serde_json::from_str(&report).unwrap();
        report.len()
    };
    let before = count(&first.items);
    assert!(before > 2);
    assert_eq!(count(&items), before - 1);
}

#[test]
fn hostile_names_and_words_stay_data() {
    let names = HOSTILE.map(|name| name.replace(char::is_control, "-"));
    let mut bench = Bench::new(&new_files(&names));
    let fresh = bench.fresh();
    let found = fresh.files().iter().flat_map(|file| {
        HOSTILE.iter().map(|words| {
            let mut one = finding(&file.path, 1, words);
            one.message = (*words).to_owned();
            one
        })
    });
    let found: Vec<_> = found.collect();
    bench.found(found);
    let value = valid_sarif(&bench);
    let results = value["runs"][0]["results"].as_array().unwrap();
    assert!(!results.is_empty());
    for result in results {
        let uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            .as_str()
            .unwrap();
        assert!(
            uri.is_ascii() && !uri.contains([':', ' ', '#', '?']),
            "{uri}"
        );
        let text = result["message"]["text"].as_str().unwrap();
        assert!(!text.contains("](") || text.contains("\\]("), "{text}");
    }
    valid_codequality(&bench);
}

proptest! {
    #[test]
    fn escaped_json_means_the_same_and_holds_nothing_unsafe(text in "[\\PC\\n\u{0}-\u{1f}\u{200b}-\u{202e}#\\[\"\\\\:]{0,60}") {
        let value = json!({ "text": text });
        let printed = serde_json::to_string_pretty(&value).unwrap();
        let escaped = escape::json(&printed);
        prop_assert_eq!(serde_json::from_str::<Value>(&escaped).unwrap(), value);
        prop_assert!(!escaped.chars().any(|c| escape::is_unsafe(c) && c != '\n'));
        prop_assert!(!escaped.contains("##["));
    }
}
