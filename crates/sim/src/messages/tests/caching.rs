//! What is read from the cache, written to it, and charged.

use std::time::Duration;

use super::*;

/// A request with a rubric and a chunk of about so many tokens.
fn ask(rubric: &str, chunk: &str) -> Value {
    let mut body = request();
    body["system"][0]["text"] = json!(rubric);
    body["messages"][0]["content"][0]["text"] = json!(chunk);
    body
}

fn usage(answer: &Value) -> [u64; 3] {
    let usage = &answer["usage"];
    let count = |key: &str| usage[key].as_u64().unwrap();
    let written = count("cache_creation_input_tokens");
    let split = &usage["cache_creation"];
    assert_eq!(split["ephemeral_5m_input_tokens"].as_u64(), Some(written));
    [
        count("cache_read_input_tokens"),
        written,
        count("input_tokens"),
    ]
}

fn rubric() -> String {
    "rule ".repeat(2_000)
}

#[test]
fn second_question_reads_what_the_first_wrote() {
    let desk = Desk::easy();
    let (_, first) = desk.post(&ask(&rubric(), "chunk one"));
    let [read, written, rest] = usage(&first);
    assert!(read == 0 && written > 2_000 && rest < 20, "{first}");
    let (_, second) = desk.post(&ask(&rubric(), "chunk two"));
    assert_eq!(usage(&second), [written, 0, rest]);
    let (_, other) = desk.post(&ask(&format!("{}!", rubric()), "chunk two"));
    assert_eq!(usage(&other), [0, written + 1, rest]);
}

#[test]
fn other_schema_effort_or_model_reads_nothing() {
    let desk = Desk::easy();
    desk.post(&ask(&rubric(), "chunk"));
    let mut schema = ask(&rubric(), "chunk");
    schema["output_config"]["format"]["schema"]["properties"]["summary"]["description"] =
        json!("d");
    let mut effort = ask(&rubric(), "chunk");
    effort["output_config"]["effort"] = json!("low");
    let mut model = ask(&rubric(), "chunk");
    model["model"] = json!("claude-opus-5-5");
    for body in [schema, effort, model] {
        let (_, answer) = desk.post(&body);
        assert_eq!(usage(&answer)[0], 0, "{body}");
        let (_, again) = desk.post(&body);
        assert!(usage(&again)[0] > 2_000, "{body}");
    }
}

#[test]
fn short_rubric_is_not_cached() {
    let desk = Desk::easy();
    for _ in 0..2 {
        let (_, answer) = desk.post(&ask("short", "chunk"));
        let [read, written, rest] = usage(&answer);
        assert!(read == 0 && written == 0 && rest > 0);
    }
    desk.messages.set_cache_minimum("claude-sonnet-5-5", 10);
    desk.post(&ask("short", "chunk"));
    let (_, answer) = desk.post(&ask("short", "chunk"));
    assert!(usage(&answer)[0] > 0);
}

#[test]
fn cache_lives_five_minutes_from_its_last_use() {
    let desk = Desk::easy();
    let read = || usage(&desk.post(&ask(&rubric(), "chunk")).1)[0];
    assert_eq!(read(), 0);
    desk.clock.advance(Duration::from_secs(299));
    assert!(read() > 0);
    desk.clock.advance(Duration::from_secs(299));
    assert!(read() > 0);
    desk.clock.advance(Duration::from_secs(301));
    assert_eq!(read(), 0);
    desk.messages.forget_cache();
    assert_eq!(read(), 0);
}

#[test]
fn refused_and_dropped_requests_write_nothing() {
    let desk = Desk::easy();
    desk.messages.answer(Scripted::overloaded());
    desk.messages.answer(Scripted::dropped_before());
    for _ in 0..2 {
        desk.post(&ask(&rubric(), "chunk"));
    }
    let (_, answer) = desk.post(&ask(&rubric(), "chunk"));
    assert_eq!(usage(&answer)[0], 0);
    desk.messages.forget_cache();
    desk.messages.answer(Scripted::dropped_after(&json!({})));
    desk.post(&ask(&rubric(), "chunk"));
    let (_, answer) = desk.post(&ask(&rubric(), "chunk"));
    assert!(usage(&answer)[0] > 0);
}

#[test]
fn books_price_every_bucket() {
    let desk = Desk::easy();
    desk.post(&ask(&rubric(), "chunk"));
    desk.post(&ask(&rubric(), "chunk"));
    let usage = desk.messages.charged().usage;
    // Sonnet 5.5 per million tokens: 2 in, 10 out, 2.50 written, 0.10 read.
    let wanted = usage.input * 2_000_000
        + usage.output * 10_000_000
        + usage.cache_write_5m * 2_500_000
        + usage.cache_read * 100_000;
    assert!(usage.cache_read > 0 && usage.cache_write_5m == usage.cache_read);
    assert_eq!(desk.messages.charged().pico_usd, wanted);
}

#[test]
fn long_prompt_to_haiku_costs_five_times_as_much() {
    let desk = Desk::easy();
    for words in [1_000, 100_001] {
        let mut body = ask("r", &"word ".repeat(words));
        body["model"] = json!("claude-haiku-5-5");
        desk.post(&body);
    }
    let price = |call: &ModelCall| {
        let usage = call.usage.unwrap();
        let tokens = usage.input + usage.output * 5;
        call.pico_usd / tokens
    };
    let calls = desk.messages.model_calls();
    let prices: Vec<u64> = calls.iter().map(price).collect();
    assert_eq!(prices, [100_000, 500_000]);
}
