//! Recorded failures that this adapter decides.

use mirilla_casekit::{Case, cases};
use mirilla_domain::money::PicoUsd;
use mirilla_domain::price::PriceTable;
use mirilla_model::wire::{Asked, read_reply};
use serde_json::json;

use crate::support::ASKED;

fn case(id: &str) -> Case {
    cases("tests/fixtures/cases", |name| name.starts_with(id)).remove(0)
}

#[test]
fn case_145_error_body_inside_200_is_a_failed_call() {
    let case = case("145");
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "behaviour/1");
    let mut each = expected.take_object("each").unwrap();
    let failed = each.need("failed");
    for (file, kind) in [
        ("proxy.html", "text/html"),
        ("stream.txt", "text/event-stream"),
    ] {
        for kind in [Some(kind), None, Some("application/json")] {
            let result = read_reply(&case.bytes(file), kind, None, ASKED);
            assert_eq!(json!(result.is_err()), failed, "{file} {kind:?}");
        }
    }
    let stream = case.bytes("stream.txt");
    let lost = read_reply(&stream, Some("text/event-stream"), None, ASKED).unwrap_err();
    let counted = lost.usage.unwrap().total_input();
    assert_eq!(json!(counted), each.need("usage_counted_if_known"));
    each.finish();
    expected.finish();
}

#[test]
fn case_182_missing_usage_is_estimated_upwards_and_flagged() {
    let case = case("182");
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "cost/1");
    assert_eq!(expected.need("each"), "> 0 and flagged estimated");
    // "at 4 bytes/token: 15000 in + 1000 out = 0.06"; the second answer's is the same, and the third
    // reports 900 of output.
    let note = expected.need("floor_note");
    let floor = note.as_str().unwrap().rsplit(' ').next().unwrap();
    let floor = PicoUsd::parse(floor).unwrap();
    let prices = PriceTable::parse(&case.text("prices.json")).unwrap();
    let answers = case.json("answers.json");
    for answer in answers.as_array().unwrap() {
        let bytes = |key: &str| answer[key].as_u64().unwrap();
        let asked = Asked {
            prompt_bytes: bytes("prompt_bytes"),
            max_tokens: 4_000,
        };
        let text = "x".repeat(usize::try_from(bytes("text_bytes")).unwrap());
        let body = json!({"content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
            "usage": answer["usage"]});
        let read = read_reply(body.to_string().as_bytes(), None, None, asked)
            .unwrap()
            .answer;
        let cost = prices.cost("case-model", &read.usage).unwrap();
        assert!(read.usage.estimated && cost >= floor, "{answer}: {cost}");
    }
    expected.finish();
}
