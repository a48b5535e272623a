//! Real failures, as far as this adapter decides them.

use mirilla_domain::money::PicoUsd;
use mirilla_model::wire::{Asked, read_answer};
use serde_json::json;

use crate::support::{ASKED, Expected, fixture, fixture_json};

#[test]
fn error_body_inside_200_is_a_failed_call() {
    let case = "145-error-body-inside-http-200";
    let expected = Expected::load(case, "behaviour/1");
    for (file, kind) in [
        ("proxy.html", "text/html"),
        ("stream.txt", "text/event-stream"),
    ] {
        let body = fixture(&format!("cases/{case}/{file}"));
        for kind in [Some(kind), None, Some("application/json")] {
            let result = read_answer(&body, kind, None, ASKED);
            assert_eq!(
                json!(result.is_err()),
                *expected.at("/each/failed"),
                "{file} {kind:?}"
            );
        }
    }
    let stream = fixture(&format!("cases/{case}/stream.txt"));
    let lost = read_answer(&stream, Some("text/event-stream"), None, ASKED).unwrap_err();
    let usage = lost.usage.unwrap();
    assert_eq!(
        json!(usage.total_input()),
        *expected.at("/each/usage_counted_if_known")
    );
}

#[test]
fn missing_usage_is_estimated_upwards_and_flagged() {
    let case = "182-usage-missing-or-zero";
    let expected = Expected::load(case, "cost/1");
    assert_eq!(*expected.at("/each"), "> 0 and flagged estimated");
    let floor = expected.at("/floor_note").as_str().unwrap();
    let floor = PicoUsd::parse(floor.rsplit(' ').next().unwrap()).unwrap();
    let prices = fixture_json(&format!("cases/{case}/prices.json"));
    let price = |what: &str| {
        let dollars = prices["usd_per_mtok"][what].as_str().unwrap();
        PicoUsd::new(PicoUsd::parse(dollars).unwrap().get() / 1_000_000)
    };
    let answers = fixture_json(&format!("cases/{case}/answers.json"));
    for answer in answers.as_array().unwrap() {
        let bytes = |key: &str| usize::try_from(answer[key].as_u64().unwrap()).unwrap();
        let asked = Asked {
            body_bytes: bytes("prompt_bytes"),
            max_tokens: 4_000,
        };
        let text = "x".repeat(bytes("text_bytes"));
        let body = json!({"content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
            "usage": answer["usage"]});
        let read = read_answer(body.to_string().as_bytes(), None, None, asked).unwrap();
        let input = price("input").times(read.usage.input_tokens);
        let cost = input.plus(price("output").times(read.usage.output_tokens));
        assert!(read.usage.estimated && cost >= floor, "{answer}: {cost}");
    }
}
