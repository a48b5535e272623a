//! What is sent.

use mirilla_model::Effort;
use mirilla_model::wire::{ModelName, TurnRequest, request_body};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{block, fixture_json, question};

const MODEL: ModelName<'_> = ModelName::InBody("claude-sonnet-5-5");

fn body(question: &mirilla_ports::model::Question) -> Value {
    let bytes = request_body(&TurnRequest::once(question), MODEL, None, 21_333).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

#[test]
fn request_equals_the_documented_one() {
    for (file, model) in [
        ("request.structured.json", MODEL),
        ("bedrock.invoke.request.json", ModelName::InUrl),
    ] {
        let wanted = fixture_json(&format!("material/anthropic/{file}"));
        let mut question = question(wanted["output_config"]["format"]["schema"].clone());
        question.max_tokens = 16_000;
        let bytes = request_body(
            &TurnRequest::once(&question),
            model,
            Some(Effort::High),
            21_333,
        )
        .unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&bytes).unwrap(), wanted);
    }
}

#[test]
fn bytes_are_exactly_these() {
    let mut question = question(json!({"type": "object"}));
    question.user.push(block("more", true));
    let bytes = request_body(&TurnRequest::once(&question), MODEL, None, 21_333).unwrap();
    insta::assert_snapshot!(String::from_utf8(bytes).unwrap(), @r#"{"model":"claude-sonnet-5-5","max_tokens":4000,"system":[{"type":"text","text":"<rubric>","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"<diff>"},{"type":"text","text":"more","cache_control":{"type":"ephemeral"}}]}],"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}}"#);
}

#[test]
fn question_the_api_would_refuse_is_not_written() {
    let good = question(json!({"type": "object"}));
    let said = |change: fn(&mut mirilla_ports::model::Question)| {
        let mut bad = good.clone();
        change(&mut bad);
        let error = request_body(&TurnRequest::once(&bad), MODEL, None, 21_333).unwrap_err();
        assert!(!error.hint().is_empty());
        error.to_string()
    };
    assert_eq!(said(|q| q.user.clear()), "the question has no user block");
    assert_eq!(
        said(|q| q.system[0].text = " \n".to_owned()),
        "a block of the question is empty"
    );
    assert_eq!(
        said(|q| q.user = vec![block("x", true); 4]),
        "the question has 5 cache points; 4 are allowed"
    );
    assert_eq!(
        said(|q| q.max_tokens = 21_334),
        "the question's max_tokens 21334 is not between 1 and 21333"
    );
    assert_eq!(
        said(|q| q.max_tokens = 0),
        "the question's max_tokens 0 is not between 1 and 21333"
    );
    assert_eq!(
        said(|q| q.schema = json!([])),
        "the question's schema is not an object"
    );
}

#[test]
fn system_is_left_out_when_there_is_none() {
    let mut question = question(json!({"type": "object"}));
    question.system.clear();
    assert!(body(&question).get("system").is_none());
}

proptest! {
    #[test]
    fn no_question_adds_a_field(texts in prop::collection::vec("\\PC{1,20}x", 1..4), max in 1_u32..21_333) {
        let mut question = question(json!({"type": "object"}));
        question.user = texts.iter().map(|t| block(t, false)).collect();
        question.max_tokens = max;
        let body = body(&question);
        let keys: Vec<&String> = body.as_object().unwrap().keys().collect();
        prop_assert_eq!(keys, ["max_tokens", "messages", "model", "output_config", "system"]);
        for (sent, text) in body["messages"][0]["content"].as_array().unwrap().iter().zip(&texts) {
            prop_assert_eq!(sent, &json!({"type": "text", "text": text}));
        }
    }
}
