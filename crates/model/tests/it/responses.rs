//! How a reply with status 200 is read.

use mirilla_domain::money::Usage;
use mirilla_model::wire::{Lost, read_failure, read_reply};
use mirilla_ports::model::{Answer, StopReason};
use proptest::prelude::*;
use serde_json::json;

use crate::support::{ASKED, fixture, head};

const JSON: Option<&str> = Some("application/json; charset=utf-8");

fn read(body: &[u8]) -> Answer {
    read_reply(body, JSON, Some("req_1"), ASKED).unwrap().answer
}

fn lost(body: &[u8], content_type: Option<&str>) -> (String, Option<Usage>) {
    let lost = read_reply(body, content_type, None, ASKED).unwrap_err();
    (lost.to_string(), lost.usage)
}

#[test]
fn recorded_answers_are_read() {
    let usage = Usage {
        input_tokens: 412,
        output_tokens: 901,
        cache_read_tokens: 5_120,
        ..Usage::default()
    };
    let whole = r#"{"summary": "ok", "findings": []}"#;
    let other = StopReason::Other("some_future_reason".to_owned());
    let cyber = StopReason::Refusal(Some("cyber".to_owned()));
    for (file, text, stop) in [
        ("end_turn.with_thinking", whole, StopReason::EndTurn),
        (
            "max_tokens.truncated",
            r#"{"summary": "ok","#,
            StopReason::MaxTokens,
        ),
        (
            "context_exceeded",
            r#"{"summary""#,
            StopReason::ContextExceeded,
        ),
        ("unknown_block_and_stop", whole, other),
        ("refusal", "", cyber),
    ] {
        let answer = read(&fixture(&format!(
            "material/anthropic/response.{file}.json"
        )));
        let wanted = Answer {
            text: text.to_owned(),
            stop,
            usage,
            model: "claude-sonnet-5-5".to_owned(),
            request_id: "req_1".to_owned(),
        };
        assert_eq!(answer, wanted, "{file}");
    }
}

#[test]
fn recorded_streams_are_lost_with_their_usage() {
    let kind = Some("text/event-stream; charset=utf-8");
    let (said, usage) = lost(
        &fixture("material/anthropic/stream.midstream_error.sse"),
        kind,
    );
    assert_eq!(
        said,
        "the answer broke off with the provider's error `overloaded_error`"
    );
    assert_eq!(usage.map(|u| u.cache_read_tokens), Some(5_120));
    let (said, usage) = lost(&fixture("material/anthropic/stream.ok.sse"), kind);
    assert_eq!(said, "the answer is not JSON");
    assert_eq!(
        usage.map(|u| (u.input_tokens, u.output_tokens)),
        Some((412, 901))
    );
}

#[test]
fn text_blocks_are_joined_and_others_skipped() {
    let body = json!({"type": "message", "content": [
        {"type": "thinking", "thinking": "hm", "text": "not this"},
        {"type": "text", "text": "{\"a\":"},
        {"type": "tool_use", "text": "nor this"},
        17, null, {"text": "no type"}, {"type": "text", "text": 5},
        {"type": "text", "text": "1}"},
    ], "stop_reason": "end_turn"});
    assert_eq!(read(body.to_string().as_bytes()).text, r#"{"a":1}"#);
}

/// What the reviewer needs to call each of these inconclusive arrives unchanged.
#[test]
fn refusal_and_apology_are_not_made_into_an_answer() {
    let refused = StopReason::Refusal(None);
    for (name, text, stop) in [
        (
            "apology",
            "I can't help with reviewing this code.",
            StopReason::EndTurn,
        ),
        ("blank", "  \n", StopReason::EndTurn),
        ("empty", "", StopReason::EndTurn),
        ("refusal", "", refused),
    ] {
        let case = "cases/107-refusal-or-empty-is-not-clean";
        let answer = read_reply(&fixture(&format!("{case}/{name}.json")), None, None, ASKED)
            .unwrap()
            .answer;
        assert_eq!((answer.text.as_str(), answer.stop), (text, stop), "{name}");
        assert!(answer.usage.estimated, "{name}");
    }
}

#[test]
fn two_hundred_that_is_no_message_is_lost() {
    let error = fixture("material/anthropic/error.529.json");
    for (body, kind, said) in [
        (
            &error[..],
            JSON,
            "the answer broke off with the provider's error `overloaded_error`",
        ),
        (
            b"<html></html>",
            Some("text/html"),
            "the answer is not JSON",
        ),
        (b"<html></html>", JSON, "the answer is not JSON"),
        (b"", JSON, "the answer is not JSON"),
        (b"", None, "the answer is not JSON"),
        (b"{\"content\": [", JSON, "the answer is not JSON"),
        (b"{}", JSON, "the answer is JSON but not a message"),
        (b"[]", JSON, "the answer is JSON but not a message"),
        (
            b"{\"type\":\"message\"}",
            JSON,
            "the answer is JSON but not a message",
        ),
        (
            b"{\"type\":\"completion\",\"content\":[]}",
            JSON,
            "the answer is JSON but not a message",
        ),
        (
            b"{\"content\":[]}",
            Some("text/plain"),
            "the answer is not JSON",
        ),
    ] {
        assert_eq!(lost(body, kind), (said.to_owned(), None));
    }
    let half = br#"{"type":"message","usage":{"input_tokens":9,"output_tokens":2}}"#;
    assert_eq!(
        lost(half, JSON)
            .1
            .map(|u| (u.input_tokens, u.output_tokens)),
        Some((9, 2))
    );
    assert!(matches!(
        read_reply(b"<", JSON, None, ASKED).unwrap_err().lost,
        Lost::NotJson
    ));
}

#[test]
fn names_from_outside_are_made_plain() {
    let body = json!({"content": [], "stop_reason": "refusal\n::error::",
        "model": "m\u{1b}[31m\u{202e}x", "request_id": "r".repeat(500)});
    let answer = read_reply(body.to_string().as_bytes(), None, None, ASKED)
        .unwrap()
        .answer;
    assert_eq!(answer.stop, StopReason::Other("unknown".to_owned()));
    assert_eq!(
        (answer.model.as_str(), answer.request_id.len()),
        ("m[31mx", 128)
    );
    let body = br#"{"content": [], "stop_reason": "refusal", "stop_details": null}"#;
    assert_eq!(read(body).stop, StopReason::Refusal(None));
    assert_eq!(
        read(br#"{"content": []}"#).stop,
        StopReason::Other("missing".to_owned())
    );
}

/// Bytes that are often nearly right: recorded bodies with a piece replaced.
fn nearly() -> impl Strategy<Value = Vec<u8>> {
    const FILES: &[&str] = &[
        "response.end_turn.with_thinking.json",
        "response.refusal.json",
        "error.429.ramp.json",
        "stream.midstream_error.sse",
    ];
    (
        prop::sample::select(FILES),
        any::<prop::sample::Index>(),
        any::<Vec<u8>>(),
        0_usize..40,
    )
        .prop_map(|(file, at, new, gone)| {
            let mut body = fixture(&format!("material/anthropic/{file}"));
            let start = at.index(body.len());
            let end = start.saturating_add(gone).min(body.len());
            body.splice(start..end, new);
            body
        })
}

proptest! {
    #[test]
    fn any_bytes_are_an_answer_or_a_failure(
        body in prop_oneof![any::<Vec<u8>>(), nearly()],
        kind in prop::option::of(prop_oneof![Just("application/json".to_owned()), Just("text/event-stream".to_owned()), "\\PC{0,12}"]),
        status in any::<u16>(),
        wait in prop::option::of("\\PC{0,12}"),
    ) {
        if let Ok(reply) = read_reply(&body, kind.as_deref(), None, ASKED) {
            prop_assert!(reply.answer.usage.total_input() > 0);
        }
        let wait = wait.unwrap_or_default();
        let head = head(status, &[("retry-after", &wait), ("retry-after-ms", &wait)]);
        let said = format!("{:?}", read_failure(&head, &body));
        prop_assert!(said.len() < 400, "{}", said);
    }
}
