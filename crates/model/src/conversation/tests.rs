#![allow(clippy::arithmetic_side_effects, reason = "test code")]

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use mirilla_ports::model::{Block, LookUp, Question, Stopped};
use mirilla_ports::tools::ToolOutput;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::toolset::Toolset;
use crate::wire::{Asked, ModelName, read_reply, request_body};

const ASKED: Asked = Asked {
    prompt_bytes: 100,
    max_tokens: 500,
};

/// A provider that says what it was given to say, and remembers what it was sent.
#[derive(Default)]
struct Scripted {
    replies: Mutex<VecDeque<Result<Reply, ModelError>>>,
    sent: Mutex<Vec<String>>,
    /// What has passed.
    now: Mutex<Duration>,
    /// How long each call takes.
    takes: Duration,
}

impl Provider for Scripted {
    fn now(&self) -> Timestamp {
        Timestamp::new(0).plus(*self.now.lock().unwrap())
    }

    async fn call(
        &self,
        request: &TurnRequest<'_>,
        _deadline: Timestamp,
    ) -> Result<Reply, ModelError> {
        let body = request_body(request, ModelName::InUrl, None, 500).unwrap();
        let body = String::from_utf8(body).unwrap();
        // Beside the schema's grammar and what the provider adds, the bound covers all that is text.
        let frame = 60 * body.matches("\"type\"").count();
        let bytes = usize::try_from(request.bytes()).unwrap();
        assert!(
            bytes + frame + 300 >= body.len(),
            "{bytes} of {}",
            body.len()
        );
        self.sent.lock().unwrap().push(body);
        *self.now.lock().unwrap() += self.takes;
        self.replies.lock().unwrap().pop_front().expect("a reply")
    }
}

impl Scripted {
    fn new(replies: Vec<Reply>) -> Self {
        Self {
            replies: Mutex::new(replies.into_iter().map(Ok).collect()),
            ..Self::default()
        }
    }

    fn bodies(&self) -> Vec<Value> {
        let sent = self.sent.lock().unwrap();
        sent.iter()
            .map(|body| serde_json::from_str(body).unwrap())
            .collect()
    }

    /// The results that the last call was sent with, as (id, text, error).
    fn results(&self) -> Vec<(String, String, bool)> {
        let body = self.bodies().pop().unwrap();
        let newest = body["messages"].as_array().unwrap().last().unwrap().clone();
        let blocks = newest["content"].as_array().unwrap().iter();
        let results = blocks.filter(|block| block["type"] == "tool_result");
        results
            .map(|block| {
                let text = |key: &str| block[key].as_str().unwrap().to_owned();
                (
                    text("tool_use_id"),
                    text("content"),
                    block["is_error"] == true,
                )
            })
            .collect()
    }

    fn choices(&self) -> Vec<Value> {
        let bodies = self.bodies();
        bodies
            .iter()
            .map(|body| body["tool_choice"]["type"].clone())
            .collect()
    }
}

fn reply(content: &str, stop: &str) -> Reply {
    let body = format!(
        r#"{{"type":"message","content":{content},"stop_reason":"{stop}","usage":{{"input_tokens":9,"output_tokens":9}}}}"#
    );
    read_reply(body.as_bytes(), None, None, ASKED).unwrap()
}

fn calls(uses: &[(&str, &str, Value)]) -> Reply {
    let blocks: Vec<Value> = uses
        .iter()
        .map(
            |(id, name, input)| json!({"type": "tool_use", "id": id, "name": name, "input": input}),
        )
        .collect();
    reply(&json!(blocks).to_string(), "tool_use")
}

fn says(text: &str) -> Reply {
    reply(
        &json!([{"type": "text", "text": text}]).to_string(),
        "end_turn",
    )
}

/// Notes everything it is told.
#[derive(Default)]
struct Noting {
    events: Vec<String>,
    /// From which turn on the call is the last.
    last_from: Option<u32>,
    /// At which turn it ends the conversation.
    stop_at: Option<u32>,
    objections: VecDeque<&'static str>,
}

#[async_trait]
impl CallGate for Noting {
    async fn before(&mut self, call: &NextCall) -> Result<Go, Stopped> {
        assert!(call.last || call.next_bytes > call.bytes);
        self.events.push(format!(
            "before {}{}",
            call.turn,
            if call.last { " last" } else { "" }
        ));
        if self.stop_at == Some(call.turn) {
            return Err(Stopped);
        }
        Ok(match self.last_from {
            Some(from) if call.turn >= from => Go::Last,
            _ => Go::On,
        })
    }

    async fn after(&mut self, outcome: Result<&Answer, &ModelError>) -> Result<(), Stopped> {
        self.events.push(match outcome {
            Ok(answer) => format!("after {:?}", answer.stop),
            Err(error) => format!("failed {error}"),
        });
        Ok(())
    }

    fn looked_up(&mut self, look: &LookUp<'_>) {
        let Self { events, .. } = self;
        events.push(format!(
            "{} {:?} {}",
            look.turn, look.tool, look.output.is_error
        ));
    }

    fn objection(&mut self, _answer: &Answer) -> Option<String> {
        self.objections.pop_front().map(str::to_owned)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    bytes: usize,
    #[serde(default)]
    millis: u64,
}

/// One tool that gives as many bytes as it is asked for, after a while.
fn tools(most_at_once: &Arc<AtomicUsize>) -> Toolset {
    let running = Arc::new(AtomicUsize::new(0));
    let most = Arc::clone(most_at_once);
    let spec = ToolSpec {
        name: "read",
        description: "Gives so many bytes.",
        input_schema: json!({"type": "object"}),
    };
    Toolset::new().with(spec, move |read: Read| {
        let (running, most) = (Arc::clone(&running), Arc::clone(&most));
        async move {
            let now = running.fetch_add(1, Ordering::SeqCst) + 1;
            most.fetch_max(now, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(read.millis)).await;
            running.fetch_sub(1, Ordering::SeqCst);
            ToolOutput::answer("x".repeat(read.bytes))
        }
    })
}

fn question() -> Question {
    let block = |text: &str, cache| Block {
        text: text.to_owned(),
        cache,
    };
    Question {
        system: vec![block("instructions", true), block("rules", true)],
        user: vec![block("the question", false)],
        schema: json!({"type": "object"}),
        max_tokens: 500,
    }
}

async fn talk(
    provider: &Scripted,
    limits: Limits,
    gate: &mut Noting,
) -> Result<Answer, Unanswered> {
    let conversation = Conversation {
        question: &question(),
        tools: &tools(&Arc::default()),
        limits,
        deadline: Timestamp::new(600_000),
        gate,
    };
    converse(provider, conversation).await
}

fn read(bytes: usize) -> (&'static str, &'static str, Value) {
    ("t1", "read", json!({"bytes": bytes}))
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_turn_run_together_and_are_answered_in_one_message_in_order() {
    let uses: Vec<(String, Value)> = (0..6)
        .map(|at| {
            (
                format!("t{at}"),
                json!({"bytes": at + 1, "millis": 600 - 100 * at}),
            )
        })
        .collect();
    let uses: Vec<(&str, &str, Value)> = uses
        .iter()
        .map(|(id, input)| (id.as_str(), "read", input.clone()))
        .collect();
    let provider = Scripted::new(vec![calls(&uses), says("done")]);
    let most = Arc::default();
    let mut gate = Noting::default();
    let begun = tokio::time::Instant::now();
    let answer = converse(
        &provider,
        Conversation {
            question: &question(),
            tools: &tools(&most),
            limits: Limits {
                at_once: 3,
                ..Limits::default()
            },
            deadline: Timestamp::new(600_000),
            gate: &mut gate,
        },
    )
    .await
    .unwrap();
    assert_eq!(answer.text, "done");
    assert_eq!(most.load(Ordering::SeqCst), 3);
    assert!(
        begun.elapsed() < Duration::from_millis(1_500),
        "{:?}",
        begun.elapsed()
    );
    let results = provider.results();
    let wanted: Vec<(String, String, bool)> = (0..6_usize)
        .map(|at| (format!("t{at}"), "x".repeat(at + 1), false))
        .collect();
    assert_eq!(results, wanted);
    assert_eq!(gate.events[0..2], ["before 1", "after ToolUse"]);
    assert_eq!(gate.events[2..8], [r#"1 Some("read") false"#; 6]);
    assert_eq!(gate.events[8..], ["before 2", "after EndTurn"]);
}

#[tokio::test]
async fn unknown_tool_and_bad_arguments_are_answered_and_the_conversation_goes_on() {
    let provider = Scripted::new(vec![
        calls(&[
            ("t1", "write", json!({})),
            ("t2", "read", json!({"path": "x"})),
            ("t3", "read", json!("five")),
            ("t4", "read", json!({"bytes": 0})),
        ]),
        says("done"),
    ]);
    let mut gate = Noting::default();
    let answer = talk(&provider, Limits::default(), &mut gate).await.unwrap();
    assert_eq!(answer.text, "done");
    let results = provider.results();
    let texts: Vec<&str> = results.iter().map(|(_, text, _)| text.as_str()).collect();
    assert_eq!(
        texts[0],
        "There is no tool of this name. The tools are: read."
    );
    assert!(
        texts[1].starts_with("The arguments do not fit: unknown field `path`"),
        "{texts:?}"
    );
    assert!(
        texts[2].starts_with("The arguments do not fit: invalid type: string"),
        "{texts:?}"
    );
    assert_eq!(texts[3], "(nothing)");
    assert_eq!(
        results.iter().map(|r| r.2).collect::<Vec<_>>(),
        [true, true, true, false]
    );
    assert_eq!(gate.events[2], "1 None true");
}

#[tokio::test]
async fn turn_of_the_models_is_sent_back_byte_for_byte() {
    let said = r#"[ {"signature":"E\u0071QB/+=","type":"thinking", "thinking":""},{"type":"redacted_thinking","data":"zz"},
        {"type":"future_block","n":1e2, "b":1.50}, {"citations":null,"text":"Ich schaue \u00fcber","type":"text"},{"type":"tool_use","id":"t1","name":"read","input":{"bytes" : 3},"caller":{"type":"direct"}}]"#;
    let provider = Scripted::new(vec![reply(said, "tool_use"), says("done")]);
    talk(&provider, Limits::default(), &mut Noting::default())
        .await
        .unwrap();
    let sent = provider.sent.lock().unwrap();
    assert!(
        sent[1].contains(&format!(r#"{{"role":"assistant","content":{said}}}"#)),
        "{}",
        sent[1]
    );
}

#[tokio::test]
async fn last_turn_names_the_tools_and_forbids_them() {
    let provider = Scripted::new(vec![calls(&[read(1)]), calls(&[read(1)]), says("done")]);
    let limits = Limits {
        turns: 3,
        ..Limits::default()
    };
    let mut gate = Noting::default();
    assert_eq!(
        talk(&provider, limits, &mut gate).await.unwrap().text,
        "done"
    );
    assert_eq!(provider.choices(), ["auto", "auto", "none"]);
    let bodies = provider.bodies();
    assert!(
        bodies
            .iter()
            .all(|body| body["tools"] == bodies[0]["tools"])
    );
    assert!(
        bodies
            .iter()
            .all(|body| body["output_config"] == bodies[0]["output_config"])
    );
    assert_eq!(gate.events[6], "before 3 last");
    // One turn, or none, leaves the answer alone.
    for turns in [0, 1] {
        let provider = Scripted::new(vec![says("done")]);
        let limits = Limits {
            turns,
            ..Limits::default()
        };
        talk(&provider, limits, &mut Noting::default())
            .await
            .unwrap();
        assert_eq!(provider.choices(), ["none"]);
    }
}

#[tokio::test]
async fn tool_asked_for_on_the_last_turn_is_not_run_and_is_no_answer() {
    let content = r#"[{"type":"text","text":"{\"findings\":[]}"},{"type":"tool_use","id":"t","name":"read","input":{"bytes":1}}]"#;
    let provider = Scripted::new(vec![reply(content, "tool_use")]);
    let limits = Limits {
        turns: 1,
        ..Limits::default()
    };
    let mut gate = Noting::default();
    let answer = talk(&provider, limits, &mut gate).await.unwrap();
    assert_eq!(answer.stop, StopReason::ToolUse);
    assert_eq!(gate.events, ["before 1 last", "after ToolUse"]);
    // Nor is one that says it stopped for a tool and names none, or none that could be answered.
    for content in ["[]", r#"[{"type":"tool_use","name":"read","input":{}}]"#] {
        let provider = Scripted::new(vec![reply(content, "tool_use")]);
        let answer = talk(&provider, Limits::default(), &mut Noting::default())
            .await
            .unwrap();
        assert_eq!(answer.stop, StopReason::ToolUse);
    }
}

#[tokio::test]
async fn results_are_bounded_per_turn_and_in_all() {
    let limits = Limits {
        turn_bytes: 3_000,
        total_bytes: 5_000,
        ..Limits::default()
    };
    let three = [
        ("t1", "read", json!({"bytes": 2_000})),
        ("t2", "read", json!({"bytes": 1_001})),
        ("t3", "read", json!({"bytes": 1_000})),
    ];
    let provider = Scripted::new(vec![calls(&three), calls(&[read(1_500)]), says("done")]);
    talk(&provider, limits, &mut Noting::default())
        .await
        .unwrap();
    // The second call brought 500 of 5,000 under the least that is worth a look.
    assert_eq!(provider.choices(), ["auto", "auto", "none"]);
    let first = &provider.bodies()[1]["messages"][2]["content"];
    assert_eq!(first[0]["content"].as_str().unwrap().len(), 2_000);
    assert_eq!(
        first[1],
        json!({"type": "tool_result", "tool_use_id": "t2", "is_error": true,
            "content": "The result has 1001 bytes and 1000 are left for this turn's results. Ask for less of \
                it, or answer with what you know."})
    );
    assert_eq!(first[2]["content"].as_str().unwrap().len(), 1_000);
    let limits = Limits {
        calls_per_turn: 2,
        ..Limits::default()
    };
    let provider = Scripted::new(vec![calls(&three), says("done")]);
    talk(&provider, limits, &mut Noting::default())
        .await
        .unwrap();
    assert!(
        provider.results()[2]
            .1
            .starts_with("Not run: at most 2 tools run in one turn")
    );
}

#[tokio::test]
async fn answer_is_demanded_while_there_is_time_for_it() {
    let mut provider = Scripted::new(vec![calls(&[read(1)]), calls(&[read(1)]), says("done")]);
    provider.takes = Duration::from_secs(280);
    let answer = talk(&provider, Limits::default(), &mut Noting::default())
        .await
        .unwrap();
    assert_eq!(
        (answer.text.as_str(), provider.choices().len()),
        ("done", 3)
    );
    assert_eq!(provider.choices(), ["auto", "auto", "none"]);
}

#[tokio::test(start_paused = true)]
async fn tool_that_takes_too_long_is_ended() {
    let provider = Scripted::new(vec![
        calls(&[("t1", "read", json!({"bytes": 1, "millis": 3_600_000}))]),
        says("done"),
    ]);
    let begun = tokio::time::Instant::now();
    talk(&provider, Limits::default(), &mut Noting::default())
        .await
        .unwrap();
    assert_eq!(
        provider.results()[0].1,
        "It took too long and was ended. Ask for less."
    );
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn gate_can_make_a_call_the_last_or_end_the_conversation() {
    let provider = Scripted::new(vec![calls(&[read(1)]), says("done")]);
    let mut gate = Noting {
        last_from: Some(2),
        ..Noting::default()
    };
    talk(&provider, Limits::default(), &mut gate).await.unwrap();
    assert_eq!(provider.choices(), ["auto", "none"]);

    let provider = Scripted::new(vec![calls(&[read(1)])]);
    let mut gate = Noting {
        stop_at: Some(2),
        ..Noting::default()
    };
    let error = talk(&provider, Limits::default(), &mut gate)
        .await
        .unwrap_err();
    assert!(matches!(error, Unanswered::Stopped));
    assert_eq!(
        provider.sent.lock().unwrap().len(),
        1,
        "nothing is sent that was not let pass"
    );
    let provider = Scripted::new(vec![]);
    let mut gate = Noting {
        stop_at: Some(1),
        ..Noting::default()
    };
    talk(&provider, Limits::default(), &mut gate)
        .await
        .unwrap_err();
}

#[tokio::test]
async fn failed_call_is_told_once_and_ends_the_conversation() {
    let provider = Scripted::new(vec![calls(&[read(1)])]);
    let down = ModelError::Unavailable {
        status: 529,
        retry_after: None,
    };
    provider.replies.lock().unwrap().push_back(Err(down));
    let mut gate = Noting::default();
    let error = talk(&provider, Limits::default(), &mut gate)
        .await
        .unwrap_err();
    assert!(matches!(
        error,
        Unanswered::Model(ModelError::Unavailable { status: 529, .. })
    ));
    assert_eq!(
        gate.events[3..],
        [
            "before 2",
            "failed the model is not available at the moment (529)"
        ]
    );
}

#[tokio::test]
async fn unfinished_turns_in_mid_conversation_end_it_as_what_they_are() {
    let cut = r#"[{"type":"text","text":"so far"},{"type":"tool_use","id":"t2","name":"read","input":{}}]"#;
    for (stop, reason) in [
        ("max_tokens", StopReason::MaxTokens),
        ("refusal", StopReason::Refusal(None)),
        ("model_context_window_exceeded", StopReason::ContextExceeded),
        (
            "some_future_reason",
            StopReason::Other("some_future_reason".to_owned()),
        ),
    ] {
        let provider = Scripted::new(vec![calls(&[read(1)]), reply(cut, stop)]);
        let mut gate = Noting::default();
        let answer = talk(&provider, Limits::default(), &mut gate).await.unwrap();
        assert_eq!(answer.stop, reason);
        assert_eq!(
            gate.events.len(),
            5,
            "no tool is run for it: {:?}",
            gate.events
        );
    }
    // Text of an earlier turn is no answer.
    let early = r#"[{"type":"text","text":"{\"findings\":[]}"},{"type":"tool_use","id":"t1","name":"read","input":{"bytes":1}}]"#;
    let provider = Scripted::new(vec![reply(early, "tool_use"), reply("[]", "end_turn")]);
    let answer = talk(&provider, Limits::default(), &mut Noting::default())
        .await
        .unwrap();
    assert_eq!(
        (answer.text.as_str(), answer.stop),
        ("", StopReason::EndTurn)
    );
}

#[tokio::test]
async fn paused_turn_is_sent_back_as_it_is_within_the_turns() {
    let paused = r#"[{"type":"text","text":"So far"}]"#;
    let provider = Scripted::new(vec![reply(paused, "pause_turn"), says("done")]);
    let answer = talk(&provider, Limits::default(), &mut Noting::default())
        .await
        .unwrap();
    assert_eq!(answer.text, "done");
    let messages = &provider.bodies()[1]["messages"];
    assert_eq!(messages.as_array().unwrap().len(), 2);
    assert_eq!(messages[1]["content"][0]["text"], "So far");
    let provider = Scripted::new(vec![reply(paused, "pause_turn"); 3]);
    let limits = Limits {
        turns: 3,
        ..Limits::default()
    };
    let answer = talk(&provider, limits, &mut Noting::default())
        .await
        .unwrap();
    assert_eq!(answer.stop, StopReason::Paused);
}

#[tokio::test]
async fn answer_that_is_objected_to_is_sent_back_once() {
    let mut gate = Noting {
        objections: ["Not JSON.", "Still not."].into(),
        ..Noting::default()
    };
    let provider = Scripted::new(vec![calls(&[read(1)]), says("Sure!"), says("again")]);
    let answer = talk(&provider, Limits::default(), &mut gate).await.unwrap();
    assert_eq!(
        answer.text, "again",
        "what comes after the objection is final"
    );
    let messages = provider.bodies()[2]["messages"].clone();
    assert_eq!(messages[3]["content"][0]["text"], "Sure!");
    assert_eq!(
        messages[4],
        json!({"role": "user", "content": [{"type": "text", "text": "Not JSON."}]})
    );
    assert_eq!(provider.choices(), ["auto", "auto", "none"]);

    // Nothing was said: the API takes no empty turn, so the objection joins what was asked.
    let mut gate = Noting {
        objections: ["Empty."].into(),
        ..Noting::default()
    };
    let provider = Scripted::new(vec![reply("[]", "end_turn"), says("{}")]);
    talk(&provider, Limits::default(), &mut gate).await.unwrap();
    let messages = provider.bodies()[1]["messages"].clone();
    assert_eq!(messages.as_array().unwrap().len(), 1);
    assert_eq!(messages[0]["content"][1]["text"], "Empty.");

    // A tool it asked for too late still gets its result.
    let mut gate = Noting {
        objections: ["Answer."].into(),
        ..Noting::default()
    };
    let provider = Scripted::new(vec![calls(&[read(1)]), says("{}")]);
    let limits = Limits {
        turns: 1,
        ..Limits::default()
    };
    talk(&provider, limits, &mut gate).await.unwrap();
    let told = provider.bodies()[1]["messages"][2]["content"].clone();
    assert_eq!(
        (&told[0]["tool_use_id"], &told[0]["is_error"]),
        (&json!("t1"), &json!(true))
    );
    assert_eq!(told[1]["text"], "Answer.");
}

#[tokio::test]
async fn cache_points_move_with_the_conversation() {
    let mut replies: Vec<Reply> = (0..4).map(|_| calls(&[read(1)])).collect();
    replies.push(says("done"));
    let provider = Scripted::new(replies);
    let limits = Limits {
        turns: 5,
        ..Limits::default()
    };
    talk(&provider, limits, &mut Noting::default())
        .await
        .unwrap();
    let marked: Vec<Vec<usize>> = provider
        .bodies()
        .iter()
        .map(|body| {
            let messages = body["messages"].as_array().unwrap().iter().enumerate();
            messages
                .filter(|(_, message)| {
                    let blocks = message["content"].as_array().unwrap();
                    blocks
                        .iter()
                        .any(|block| block.get("cache_control").is_some())
                })
                .map(|(at, _)| at)
                .collect()
        })
        .collect();
    // The last call reads and writes nothing further.
    assert_eq!(marked, [vec![], vec![2], vec![2, 4], vec![4, 6], vec![6]]);
}
