//! The recorded failures of kind 7 that are about posted text.

use mirilla_casekit::{Case, Expected, cases};
use mirilla_domain::sanitise;
use serde_json::Value;

use super::{HOST, assert_safe, oracle, policy};

/// How the oracle names what the cases call live.
fn names(live: &str) -> &'static [&'static str] {
    match live {
        "mentions" => &["mention", "email"],
        "refs" => &["reference", "gh reference", "merge request", "issue url"],
        "closing" => &["closing"],
        "html_comments" => &["node HtmlInline", "node HtmlBlock"],
        "images" => &["node Image"],
        "hrefs" | "bad_hrefs" => &["link to"],
        "commands" => &["command line"],
        "footer" => &["footer swallowed", "node HtmlBlock", "node HtmlInline"],
        other => panic!("unknown kind of liveness {other}"),
    }
}

fn is_live(text: &str, kind: &str) -> bool {
    let found = oracle::violations(text, &[HOST]);
    found
        .iter()
        .any(|what| names(kind).iter().any(|name| what.contains(name)))
}

fn strings(value: Option<Value>) -> Vec<String> {
    value
        .map(|value| serde_json::from_value(value).unwrap())
        .unwrap_or_default()
}

/// What a case feeds to the sanitiser: name and text.
fn inputs(case: &Case) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = std::fs::read_dir(&case.dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "CASE.md" && name.rsplit('.').next() == Some("md"))
        .map(|name| (name.clone(), case.text(&name)))
        .collect();
    found.sort();
    found
}

/// Checks the keys that are the same for every case; `output` is what would be posted.
fn check_common(after: &mut Expected, output: &str) {
    assert_safe(output);
    for kind in strings(after.take("none_live")) {
        assert!(!is_live(output, &kind), "{kind} live in {output}");
    }
    if after.take("footer_visible") == Some(Value::Bool(true)) {
        assert!(!is_live(output, "footer"));
    }
    for text in strings(after.take("must_contain")) {
        assert!(output.contains(&text), "{text:?} lost from {output}");
    }
    let visible = oracle::visible_text(output);
    for text in strings(after.take("visible_text_contains")) {
        assert!(
            visible.contains(&text),
            "{text:?} not readable in {visible}"
        );
    }
}

fn run_texts(case: &Case) {
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "sanitise/1");
    expected.need("check");
    let live_before = strings(expected.take("raw_is_live"));
    let after = expected.take("after_sanitising").unwrap();
    expected.finish();
    let inputs = inputs(case);
    assert!(!inputs.is_empty(), "{} has no text", case.name);
    for kind in &live_before {
        let seen = inputs.iter().any(|(_, text)| is_live(text, kind));
        assert!(seen, "{}: the oracle does not see {kind}", case.name);
    }
    for (name, text) in inputs {
        let output = sanitise::body(&text, &policy());
        let mut after = Expected::of(format!("{}/{name}", case.name), after.clone());
        // Says what is left to the product; the oracle's link rule is the answer.
        after.take("note");
        check_common(&mut after, &output);
        after.finish();
    }
}

#[test]
fn recorded_texts_are_inert_and_readable() {
    const TEXTS: [&str; 9] = [
        "118", "119", "121", "122", "124", "127", "128", "130", "137",
    ];
    let cases = cases("tests/fixtures/cases", |name| {
        TEXTS.iter().any(|id| name.starts_with(id))
    });
    assert_eq!(cases.len(), TEXTS.len());
    for case in cases {
        run_texts(&case);
    }
}

#[test]
fn case_125_suggestion_outgrows_the_fences_inside() {
    let case = &cases("tests/fixtures/cases", |name| name.starts_with("125"))[0];
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "sanitise/1");
    assert_eq!(expected.need("raw_is_live"), Value::Array(Vec::new()));
    expected.need("check");
    let mut after = expected.take_object("after_sanitising").unwrap();
    let replacement = case.json("suggestion.json")["replacement"]
        .as_str()
        .unwrap()
        .to_owned();
    let output = sanitise::suggestion(&replacement, None).unwrap();

    let fence = output.chars().take_while(|&c| c == '`').count();
    assert!(fence as u64 >= after.need("fence_min_length").as_u64().unwrap());
    assert_eq!(after.need("footer_visible"), Value::Bool(true));
    let (info, code) = oracle::only_code_block(&output);
    assert_eq!(
        (info.as_str(), code),
        ("suggestion", format!("{replacement}\n"))
    );
    after.finish();
    expected.finish();
}

#[test]
fn case_136_titles_make_one_row_each() {
    let case = &cases("tests/fixtures/cases", |name| name.starts_with("136"))[0];
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "sanitise/1");
    assert_eq!(expected.need("raw_is_live"), Value::Array(Vec::new()));
    expected.need("check");
    let mut after = expected.take_object("after_sanitising").unwrap();
    let titles: Vec<String> = serde_json::from_value(case.json("titles.json")).unwrap();
    let titles: Vec<String> = titles
        .iter()
        .map(|title| sanitise::title(title, &policy()))
        .collect();

    let rows: Vec<String> = titles
        .iter()
        .map(|title| format!("| high | {title} |"))
        .collect();
    let table = format!("| severity | finding |\n| --- | --- |\n{}", rows.join("\n"));
    assert_safe(&table);
    let html = oracle::html(&table);
    let body = html.split("<tbody>").nth(1).unwrap();
    assert_eq!(
        body.matches("<tr>").count() as u64,
        after.need("rows").as_u64().unwrap()
    );
    assert_eq!(body.matches("<td>").count(), titles.len() * 2);
    assert!(!html.contains("<h"), "{html}");
    // "very long titles are cut with an ellipsis"
    assert!(after.need("note").as_str().unwrap().contains("ellipsis"));
    assert!(titles.last().unwrap().ends_with('…'));
    for title in &titles {
        assert!(
            !title.contains('\n') && title.chars().count() <= policy().max_title_chars,
            "{title:?}"
        );
        assert_safe(title);
    }
    after.finish();
    expected.finish();
}
