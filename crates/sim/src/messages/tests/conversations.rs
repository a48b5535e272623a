//! Conversations with tools: what is refused, and what the books say.

use serde_json::{Value, json};

use super::super::Scripted;
use super::{Desk, request};

/// What is done to a conversation before it is sent.
type Change = fn(&mut Value);

fn asked() -> Value {
    let mut body = request();
    body["tools"] =
        json!([{"name": "read_file", "description": "Reads.", "input_schema": {"type": "object"}}]);
    body["tool_choice"] = json!({"type": "auto"});
    body
}

/// Asks once; returns the request with the model's turn and a result for each of its calls.
fn continued(api: &Desk) -> Value {
    api.messages.answer(
        Scripted::tool_calls_after(
            "Let me look.",
            vec![
                ("read_file", json!({"path": "a"})),
                ("read_file", json!({"path": "b"})),
            ],
        )
        .thinking(40),
    );
    let mut body = asked();
    let (status, answer) = api.post(&body);
    assert_eq!((status, &answer["stop_reason"]), (200, &json!("tool_use")));
    let uses = answer["content"].as_array().unwrap().iter();
    let results: Vec<Value> = uses
        .filter(|block| block["type"] == "tool_use")
        .map(|block| json!({"type": "tool_result", "tool_use_id": block["id"], "content": "text"}))
        .collect();
    assert_eq!(results.len(), 2);
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": answer["content"]}));
    messages.push(json!({"role": "user", "content": results}));
    body
}

#[test]
fn conversation_that_holds_everything_goes_on() {
    let api = Desk::new();
    let mut body = continued(&api);
    body["messages"][2]["content"][1]["cache_control"] = json!({"type": "ephemeral"});
    body["tool_choice"] = json!({"type": "none"});
    api.messages.answer_when(
        "the answer",
        |prompt| {
            prompt.turns() == 1 && prompt.newest_results().len() == 2 && !prompt.may_call_tools()
        },
        Scripted::json(&json!({"summary": "ok"})),
    );
    assert_eq!(api.text(&body), r#"{"summary":"ok"}"#);
    assert_eq!(api.messages.take_problems(), []);
}

#[test]
fn conversation_that_lacks_something_is_refused() {
    let table: [(Change, &str); 7] = [
        (
            |body| drop(body["messages"][2]["content"].as_array_mut().unwrap().pop()),
            "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after",
        ),
        (
            |body| body["messages"][2]["content"][0]["tool_use_id"] = json!("toolu_other"),
            "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after",
        ),
        (
            |body| {
                let again = body["messages"][2]["content"][0].clone();
                body["messages"][2]["content"]
                    .as_array_mut()
                    .unwrap()
                    .push(again);
            },
            "messages.2: each tool_use must have a single result. Found multiple `tool_result` blocks",
        ),
        (
            |body| {
                let text = json!({"type": "text", "text": "first"});
                body["messages"][2]["content"]
                    .as_array_mut()
                    .unwrap()
                    .insert(0, text);
            },
            "messages.2.content.1: `tool_result` blocks must come before text",
        ),
        (
            |body| body["messages"][1]["content"][0]["signature"] = json!("EqQBx"),
            "cannot be modified",
        ),
        (
            |body| {
                let turn = body["messages"][1]["content"].as_array_mut();
                turn.unwrap().remove(0);
            },
            "cannot be modified",
        ),
        (
            |body| {
                body.as_object_mut().unwrap().remove("tools");
                body.as_object_mut().unwrap().remove("tool_choice");
            },
            "Requests which include `tool_use` or `tool_result` blocks must define tools",
        ),
    ];
    for (change, said) in table {
        let api = Desk::new();
        let mut body = continued(&api);
        change(&mut body);
        let refused = api.refusal(&body);
        assert!(
            refused.starts_with("400 invalid_request_error") && refused.contains(said),
            "{refused}"
        );
    }
}

#[test]
fn change_that_spoils_the_cache_is_a_problem() {
    let table: [(Change, &str); 3] = [
        (
            |body| body["messages"][1]["content"][1]["text"] = json!("I looked."),
            "a turn of the model's that was changed",
        ),
        (
            |body| body["tools"][0]["description"] = json!("Reads a file."),
            "other tools than earlier in the conversation",
        ),
        (
            |body| body["messages"][0]["content"][0]["text"] = json!("another diff"),
            "a conversation whose beginning was changed",
        ),
    ];
    for (change, said) in table {
        let api = Desk::new();
        let mut body = continued(&api);
        change(&mut body);
        api.messages.answer(Scripted::text("x"));
        assert_eq!(api.post(&body).0, 200);
        let problems = format!("{:?}", api.messages.take_problems());
        assert!(problems.contains(said), "{problems}");
    }
}

#[test]
fn paused_turn_is_taken_back_as_it_was_and_no_other() {
    let api = Desk::new();
    api.messages.answer(Scripted::paused("So far"));
    let mut body = asked();
    let (_, answer) = api.post(&body);
    let turn = json!({"role": "assistant", "content": answer["content"]});
    body["messages"].as_array_mut().unwrap().push(turn);
    api.messages.answer(Scripted::text("done"));
    assert_eq!(api.text(&body), "done");
    assert_eq!(api.messages.take_problems(), []);
    body["messages"][1]["content"][0]["text"] = json!("So far, so good");
    assert!(api.refusal(&body).contains("assistant message prefill"));
}

#[test]
fn tool_calls_cost_output_and_are_cut_like_text() {
    let api = Desk::new();
    drop(continued(&api));
    let usage = api.messages.model_calls()[0].usage.unwrap();
    assert!(usage.output > 40 + 10, "{usage:?}");
    let mut body = asked();
    body["max_tokens"] = json!(2);
    api.messages.answer(Scripted::tool_calls(vec![(
        "read_file",
        json!({"path": "a/long/path.rs"}),
    )]));
    let (_, answer) = api.post(&body);
    assert_eq!(answer["stop_reason"], "max_tokens");
    assert_eq!(answer["content"], json!([]));
}
