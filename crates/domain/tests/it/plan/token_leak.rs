//! What a model could leak through the poster: nothing of it is in the plan, anywhere.

use mirilla_domain::plan::ReviewAction;
use mirilla_domain::redact::Redactor;
use mirilla_domain::review::Finding;

use crate::bench::{Bench, MAIN_GO, finding};

/// Made up for this test: the poster's own token.
const KNOWN: &str = "ghs_MADEUPnotarealtoken00000000000000";
/// Made up for this test: a secret of nobody we know.
const OPAQUE: &str = "q7Zk1pX9vB3mT5rL8wY2nC4hD6fG";

fn leaking(line: u32, text: &str) -> Finding {
    Finding {
        message: format!("The key is {text} here."),
        rule: Some(text.to_owned()),
        suggestion: Some(format!("let key = \"{text}\";")),
        ..finding("svc/main.go", line, &format!("Key {text}"))
    }
}

fn plan_json(text: &str) -> (String, usize) {
    let mut bench = Bench::new(MAIN_GO);
    bench.redactor = Redactor::new([("forge-token", KNOWN)]);
    bench.found(vec![
        leaking(5, text),
        leaking(20, text),
        leaking(31, text),
        Finding {
            path: format!("svc/{text}.go"),
            ..leaking(1, text)
        },
    ]);
    bench.read().summary = format!("Found {text}.");
    bench.notes = vec![format!("Note {text}")];
    bench.policy.max_comments = 1;
    let plan = bench.plan();
    (serde_json::to_string(&plan).unwrap(), plan.redacted)
}

#[test]
fn known_values_and_opaque_runs_are_nowhere_in_a_plan() {
    let spread = |text: &str, every: usize, with: &str| {
        let chars: Vec<char> = text.chars().collect();
        let parts: Vec<String> = chars
            .chunks(every)
            .map(|part| part.iter().collect())
            .collect();
        parts.join(with)
    };
    for text in [
        KNOWN.to_owned(),
        OPAQUE.to_owned(),
        format!("\u{200b}{OPAQUE}\u{200b}"),
        spread(KNOWN, 9, " "),
        format!("AKIA{}", "Q3EXAMPLE7MADEUP"),
    ] {
        let (json, redacted) = plan_json(&text);
        assert!(redacted > 0, "{text}");
        for secret in [text.as_str(), OPAQUE, KNOWN] {
            assert!(!json.contains(secret), "{secret} in {json}");
        }
        for piece in [&KNOWN[8..20], &KNOWN[20..30]] {
            assert!(!json.contains(piece), "{piece} in {json}");
        }
    }
}

#[test]
fn markup_cannot_split_an_opaque_run_that_a_reader_would_see_whole() {
    let (head, tail) = OPAQUE.split_at(12);
    for text in [
        format!("[{head}](https://x.example){tail}"),
        format!("**{head}**{tail}"),
        format!("{head}<b></b>{tail}"),
        format!("{head}<!-- -->{tail}"),
        format!("{head}&#8203;{tail}"),
        format!("`{head}`{tail}"),
    ] {
        let mut bench = Bench::new(MAIN_GO);
        bench.found(vec![leaking(5, &text)]);
        let ReviewAction::Create { review } = bench.plan().review else {
            panic!("not posted");
        };
        let seen = crate::sanitise::oracle::visible_text(&review.comments[0].body);
        assert!(!seen.contains(OPAQUE), "{text} reads {seen}");
    }
}

#[test]
fn what_stands_in_the_diff_may_be_named() {
    let diff = MAIN_GO.replace("new 31", &format!("let digest = \"{OPAQUE}\";"));
    let mut bench = Bench::new(&diff);
    bench.found(vec![Finding {
        message: format!("`{OPAQUE}` is compared byte by byte."),
        ..finding("svc/main.go", 31, "Not constant time")
    }]);
    let plan = bench.plan();
    assert_eq!(plan.redacted, 0);
    let ReviewAction::Create { review } = &plan.review else {
        panic!("not posted");
    };
    assert!(review.comments[0].body.contains(OPAQUE));
}
