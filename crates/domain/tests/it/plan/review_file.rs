//! The review file, read as what a hostile process may have written.

use mirilla_domain::code::DropReason;
use mirilla_domain::plan::{MAX_FILE_BYTES, ReadReview, ReviewFileError, read_review};
use mirilla_domain::review::{Outcome, Severity};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::bench::{Bench, MAIN_GO, finding};

fn file() -> Value {
    let mut bench = Bench::new(MAIN_GO);
    bench.found(vec![finding("svc/main.go", 5, "A")]);
    serde_json::to_value(bench.read()).unwrap()
}

fn read(value: &Value) -> Result<ReadReview, ReviewFileError> {
    read_review(&serde_json::to_vec(value).unwrap())
}

#[test]
fn file_that_we_write_is_read_unchanged() {
    let mut bench = Bench::new(MAIN_GO);
    let mut full = finding("svc/main.go", 5, "A");
    full.end_line = Some(6);
    full.quote = Some("line 5 changed".to_owned());
    full.symbol = Some("main".to_owned());
    full.rule = Some("r.md".to_owned());
    full.suggestion = Some("line 5 better".to_owned());
    bench.found(vec![full]);
    let written = bench.read().clone();
    let read = read_review(&serde_json::to_vec(&written).unwrap()).unwrap();
    assert_eq!(read.review, written);
    assert!(read.refused.is_empty() && read.lost_coverage == 0);
}

#[test]
fn whole_file_is_refused_with_the_field_that_is_wrong() {
    let with = |name: &str, value: Value| {
        let mut file = file();
        file[name] = value;
        read(&file).unwrap_err().to_string()
    };
    let without = |name: &str| {
        let mut file = file();
        file.as_object_mut().unwrap().remove(name);
        read(&file).unwrap_err().to_string()
    };
    for name in ["schema", "job", "attempt", "head", "findings", "coverage"] {
        let message = format!("the review file's field `{name}` is missing or malformed");
        assert_eq!(without(name), message);
        assert_eq!(with(name, json!({"a": 1})), message);
    }
    for schema in ["", "mirilla.review.v0", "mirilla.review.v01", "other.v2"] {
        assert!(
            with("schema", json!(schema)).contains("`schema`"),
            "{schema}"
        );
    }
    assert!(
        read_review(b"[]")
            .unwrap_err()
            .to_string()
            .contains("`schema`")
    );
}

#[test]
fn newer_file_is_kept_for_a_newer_poster() {
    let mut file = file();
    file["schema"] = json!("mirilla.review.v2");
    file["findings"] = json!("whatever version 2 does");
    let error = read(&file).unwrap_err();
    assert!(error.is_newer(), "{error}");
    assert_eq!(
        error.to_string(),
        "the review file has schema version 2; this poster reads version 1"
    );
}

#[test]
fn size_depth_and_repeated_keys_are_bounded() {
    let large = vec![b' '; MAX_FILE_BYTES + 1];
    assert!(matches!(
        read_review(&large).unwrap_err(),
        ReviewFileError::TooLarge { .. }
    ));
    let deep = format!("{}{}", "[".repeat(60), "]".repeat(60));
    let very_deep = "[".repeat(100_000);
    let text = file().to_string();
    let twice = text.replacen("\"outcome\":", "\"outcome\":\"partial\",\"outcome\":", 1);
    let trailing = format!("{text} {{}}");
    for bytes in [deep, very_deep, twice, trailing, text.replace('}', "")] {
        let error = read_review(bytes.as_bytes()).unwrap_err();
        assert!(matches!(error, ReviewFileError::Json(_)), "{error}");
    }
}

#[test]
fn broken_items_cost_only_themselves() {
    let good = file()["findings"][0].clone();
    let with = |name: &str, value: Value| {
        let mut item = good.clone();
        item[name] = value;
        item
    };
    let broken = [
        (json!("text"), "it is not an object"),
        (
            with("severity", json!("catastrophic")),
            "the severity is unknown",
        ),
        (with("category", json!("style")), "the category is unknown"),
        (
            with("side", json!("middle")),
            "the side is neither left nor right",
        ),
        (
            with("confidence", json!(101)),
            "the confidence is not between 0 and 100",
        ),
        (
            with("confidence", json!(-1)),
            "the confidence is not between 0 and 100",
        ),
        (
            with("path", json!("p".repeat(5_000))),
            "the path is longer than any path",
        ),
        (
            with("title", json!("t".repeat(8_001))),
            "the title is too long",
        ),
        (
            with("message", json!("m".repeat(8_001))),
            "the message is too long",
        ),
        (
            with("quote", json!("q".repeat(8_001))),
            "the quote is too long",
        ),
        (
            with("symbol", json!("s".repeat(301))),
            "the symbol is too long",
        ),
        (
            with("rule", json!("r".repeat(301))),
            "the rule's name is too long",
        ),
        (
            with("suggestion", json!("s".repeat(8_001))),
            "the suggestion is too long",
        ),
        (
            json!({"severity": "low", "category": "correctness", "confidence": 1, "title": " ", "message": ""}),
            "it says nothing",
        ),
    ];
    let mut file = file();
    let mut items: Vec<Value> = broken.iter().map(|(item, _)| item.clone()).collect();
    items.push(good.clone());
    file["findings"] = json!(items);
    let read = read(&file).unwrap();
    assert_eq!(read.review.findings.len(), 1);
    let whys: Vec<&str> = read.refused.iter().map(|one| one.why).collect();
    let wanted: Vec<&str> = broken.iter().map(|(_, why)| *why).collect();
    assert_eq!(whys, wanted);

    // They are counted, and the sum comes out.
    let mut bench = Bench::new(MAIN_GO);
    bench.review = Some(read);
    let plan = bench.plan();
    assert_eq!(plan.tally.found, broken.len() + 1);
    assert_eq!(plan.tally.dropped[&DropReason::Invalid], broken.len());
    assert_eq!(plan.tally.posted, 1);
}

#[test]
fn impossible_lines_are_no_line_and_the_finding_survives() {
    for line in [
        json!(0),
        json!(-3),
        json!(4_294_967_296_u64),
        json!(1.5),
        json!("5"),
        Value::Null,
    ] {
        let mut file = file();
        file["findings"][0]["line"] = line;
        file["findings"][0]["end_line"] = json!(-1);
        let read = read(&file).unwrap();
        assert_eq!(
            (
                read.review.findings[0].line,
                read.review.findings[0].end_line
            ),
            (0, None)
        );
    }
}

#[test]
fn unreadable_coverage_never_counts_as_read() {
    let mut bench = Bench::new(MAIN_GO);
    let mut file = file();
    file["coverage"][0]["fate"] = json!("blessed");
    let read_file = read(&file).unwrap();
    assert_eq!(read_file.lost_coverage, 1);
    bench.review = Some(read_file);
    let plan = bench.plan();
    assert_eq!(plan.coverage.read(), 0);
    assert_ne!(plan.outcome, Outcome::Complete);

    let mut file = self::file();
    file["outcome"] = json!("splendid");
    bench.review = Some(read(&file).unwrap());
    assert_eq!(
        bench.plan().outcome,
        Outcome::Partial,
        "an unknown outcome is not complete"
    );
}

#[test]
fn unknown_fields_are_ignored_and_names_must_look_like_names() {
    let mut file = file();
    file["later"] = json!({"more": [1, 2]});
    file["findings"][0]["later"] = json!(true);
    file["model"] = json!("x\n@octo-user");
    file["usage"] = json!("broken");
    file["turns"] = json!(-1);
    let read = read(&file).unwrap();
    assert_eq!(read.review.model, "");
    assert_eq!(read.review.findings[0].severity, Severity::High);
    assert_eq!((read.review.turns, read.review.usage.input_tokens), (0, 0));
}

#[test]
fn more_findings_than_anyone_reads_are_refused_unread() {
    let mut file = file();
    let one = json!({"severity": "low", "category": "correctness", "confidence": 1, "title": "t"});
    file["findings"] = json!(vec![one; 2_010]);
    let read = read(&file).unwrap();
    assert_eq!(
        (read.review.findings.len(), read.refused.len()),
        (2_000, 10)
    );
}

/// JSON of any shape, with the names that the file has.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        Just(json!("high")),
        Just(json!("svc/main.go")),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        let names = proptest::sample::select(vec![
            "path",
            "line",
            "end_line",
            "severity",
            "category",
            "title",
            "message",
            "confidence",
            "fate",
            "reason",
            "digest",
            "side",
            "suggestion",
        ]);
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::btree_map(names.prop_map(str::to_owned), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in any::<Vec<u8>>()) {
        prop_assert!(read_review(&bytes).is_err());
    }

    #[test]
    fn any_value_in_any_field_gives_a_plan_that_adds_up(
        name in proptest::sample::select(vec![
            "findings", "coverage", "usage", "cost", "rejected", "summary", "model", "outcome", "turns",
        ]),
        value in any_json(),
        as_list in any::<bool>(),
    ) {
        let mut file = file();
        file[name] = if as_list { json!([value]) } else { value };
        if let Ok(read) = read(&file) {
            let mut bench = Bench::new(MAIN_GO);
            bench.review = Some(read);
            // `Bench::plan` checks it.
            bench.plan();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::sanitise::cases(400), ..ProptestConfig::default() })]

    #[test]
    fn no_review_file_whatsoever_breaks_out(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        crate::hostile::judge(&crate::hostile::file(&bytes));
    }
}
