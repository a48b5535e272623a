//! `mirilla inspect` on the recorded failures, through the program itself.

use mirilla_casekit::cases_of_kind;
use serde_json::Value;

use crate::support::{mirilla, root};

fn file(case: &str, name: &str) -> String {
    root()
        .join("tests/fixtures/cases")
        .join(case)
        .join(name)
        .to_str()
        .unwrap()
        .to_owned()
}

fn json(arguments: &[&str]) -> Value {
    json_of(arguments, b"")
}

fn json_of(arguments: &[&str], stdin: &[u8]) -> Value {
    let (code, stdout, stderr) = mirilla(arguments, stdin, &[]);
    assert_eq!(code, 0, "{arguments:?}: {stderr}");
    serde_json::from_str(&stdout).unwrap()
}

#[test]
fn inspect_lines_gives_the_lines_of_every_diff_case() {
    let mut checked = 0;
    for case in cases_of_kind(1) {
        let expected: Value = case.json("expected.json");
        let Some(files) = expected["files"].as_array() else {
            continue;
        };
        let diff = case.bytes("input.diff");
        let shown = json_of(&["inspect", "lines", "-"], &diff);
        let shown = shown.as_array().unwrap();
        for (want, got) in files.iter().zip(shown) {
            for key in ["added_lines", "deleted_lines", "binary"] {
                if !want[key].is_null() {
                    assert_eq!(
                        got[key],
                        want[key],
                        "{}: {key} of {}",
                        case.id(),
                        want["new_path"]
                    );
                }
            }
            checked += 1;
        }
        assert_eq!(shown.len(), files.len(), "{}", case.id());
        let summary = json_of(&["inspect", "lines", "--summary", "-"], &diff);
        assert_eq!(summary["files"], files.len(), "{}", case.id());
    }
    assert!(checked > 25, "only {checked} files were compared");
}

#[test]
fn inspect_price_gives_the_exact_dollars() {
    let case = "179-cache-read-and-write-prices";
    let expected: Value =
        serde_json::from_slice(&std::fs::read(file(case, "expected.json")).unwrap()).unwrap();
    let bill = json(&[
        "inspect",
        "price",
        &file(case, "usage.json"),
        "--prices",
        &file(case, "prices.json"),
    ]);
    for call in bill["calls"].as_array().unwrap() {
        let id = call["id"].as_str().unwrap();
        assert_eq!(call["usd"], expected["usd"][id], "{id}");
    }
}

#[test]
fn inspect_answer_reads_what_is_wrapped() {
    let case = "104-fenced-and-prose-wrapped-json";
    for name in ["a1.txt", "a2.txt", "a3.txt", "a4.txt", "a5.txt"] {
        let read = json(&[
            "inspect",
            "answer",
            &file(case, name),
            "--diff",
            &file(case, "input.diff"),
        ]);
        let accepted = read["accepted"]
            .as_array()
            .unwrap_or_else(|| panic!("{name}: {read}"));
        assert_eq!(accepted.len(), 1, "{name}: {read}");
        assert_eq!(accepted[0]["line"], 5, "{name}: {read}");
    }
}

#[test]
fn inspect_plan_demotes_what_cannot_be_anchored() {
    let case = "045-one-bad-anchor-must-not-sink-review";
    let plan = json(&[
        "inspect",
        "plan",
        "--diff",
        &file(case, "input.diff"),
        "--review",
        &file(case, "findings.json"),
    ]);
    let comments = plan["review"]["review"]["comments"].as_array().unwrap();
    let places: Vec<&Value> = comments.iter().map(|comment| &comment["line"]).collect();
    assert_eq!(places, [5, 31], "{plan:#}");
    let body = plan["body"].as_str().unwrap();
    assert!(
        body.contains("svc/main.go") && body.contains("20") && body.contains("B between hunks"),
        "{body}"
    );
}

#[test]
fn inspect_sanitise_neutralises_a_mention() {
    let (code, stdout, _) = mirilla(
        &["inspect", "sanitise", "-"],
        b"Ask @octo-user, fixes #12\n",
        &[],
    );
    assert_eq!(code, 0);
    assert!(
        stdout.contains("octo-user") && !stdout.contains(" @octo-user"),
        "{stdout}"
    );
}
