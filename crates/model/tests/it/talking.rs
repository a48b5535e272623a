//! Conversations over HTTP, against the simulated Messages API, which refuses what is not as it must be.

use async_trait::async_trait;
use mirilla_domain::money::PicoUsd;
use mirilla_domain::price::{PriceTable, REQUEST_OVERHEAD_TOKENS};
use mirilla_model::Toolset;
use mirilla_ports::model::{
    Answer, CallGate, Go, ModelError, NextCall, StopReason, Stopped, Unanswered,
};
use mirilla_ports::tools::{ToolOutput, ToolSpec};
use mirilla_sim::{Fault, Scripted};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::against_sim::{Rig, small};
use crate::support::block;

const MODEL: &str = "claude-sonnet-5-5";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadFile {
    path: String,
}

pub(crate) fn tools() -> Toolset {
    let spec = ToolSpec {
        name: "read_file",
        description: "Returns a file's text.",
        input_schema: json!({"type": "object", "additionalProperties": false, "required": ["path"],
            "properties": {"path": {"type": "string"}}}),
    };
    Toolset::new().with(spec, async |read: ReadFile| {
        ToolOutput::answer(format!("text of {}\n", read.path).repeat(50))
    })
}

pub(crate) fn look(path: &str) -> (&'static str, Value) {
    ("read_file", json!({"path": path}))
}

/// Books as the product does: the worst case before, the usage after.
#[derive(Default)]
struct Booking {
    set_aside: PicoUsd,
    booked: PicoUsd,
    calls: u32,
    cached: u64,
}

#[async_trait]
impl CallGate for Booking {
    async fn before(&mut self, call: &NextCall) -> Result<Go, Stopped> {
        let bound = call.bytes + REQUEST_OVERHEAD_TOKENS;
        self.set_aside = PriceTable::shipped()
            .worst_case(MODEL, bound, call.max_tokens)
            .unwrap();
        self.calls += 1;
        Ok(Go::On)
    }

    async fn after(&mut self, outcome: Result<&Answer, &ModelError>) -> Result<(), Stopped> {
        let cost = match outcome {
            Ok(answer) => {
                self.cached += answer.usage.cache_read_tokens;
                PriceTable::shipped().cost(MODEL, &answer.usage).unwrap()
            }
            Err(ModelError::AnswerLost { .. }) => self.set_aside,
            Err(_) => PicoUsd::ZERO,
        };
        assert!(cost <= self.set_aside, "{cost} of {}", self.set_aside);
        self.booked = self.booked.plus(cost);
        Ok(())
    }
}

#[tokio::test]
async fn conversation_goes_on_until_the_answer_and_every_call_is_booked() {
    for thinking in [0, 300] {
        let rig = Rig::new();
        let messages = rig.sim.messages();
        messages.set_cache_minimum(MODEL, 50);
        messages.answer_when(
            "the first turn",
            |prompt| prompt.turns() == 0,
            Scripted::tool_calls_after(
                "Let me look.",
                vec![look("a"), look("b"), ("rm", json!({}))],
            )
            .thinking(thinking),
        );
        messages.answer_when(
            "the second turn",
            |prompt| {
                let results = prompt.newest_results();
                let errors: Vec<bool> = results.iter().map(|(_, is_error)| *is_error).collect();
                prompt.turns() == 1
                    && errors == [false, false, true]
                    && results[0].0.starts_with("text of a\n")
                    && results[1].0.starts_with("text of b\n")
            },
            Scripted::tool_calls(vec![look("c"), ("read_file", json!({"file": 5}))])
                .thinking(thinking),
        );
        messages.answer_when(
            "the answer",
            |prompt| {
                let results = prompt.newest_results();
                prompt.turns() == 2 && results[1].1 && results[1].0.contains("unknown field `file`")
            },
            Scripted::json(&json!({"summary": "ok"})),
        );
        let mut question = small();
        question.user = vec![block(&"line of a diff\n".repeat(100), false)];
        let mut gate = Booking::default();
        let answer = rig.converse(&question, &tools(), &mut gate).await.unwrap();
        assert_eq!(
            (answer.text.as_str(), answer.stop),
            (r#"{"summary":"ok"}"#, StopReason::EndTurn)
        );
        let charged = messages.charged();
        assert_eq!((charged.calls, gate.calls), (3, 3));
        assert_eq!(gate.booked.get(), charged.pico_usd);
        // The third call reads what the second wrote: question, first turn, its results.
        assert!(gate.cached > 700, "{}", gate.cached);
        rig.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn what_may_be_charged_is_not_repeated_in_mid_conversation() {
    let lost = [
        Scripted::json(&json!({})).cut(20),
        Scripted::gateway_timeout(),
        Scripted::html_200(),
    ];
    for second in lost {
        let rig = Rig::new();
        rig.sim
            .messages()
            .answer(Scripted::tool_calls(vec![look("a")]));
        rig.sim.messages().answer(second);
        let mut gate = Booking::default();
        let error = rig
            .converse(&small(), &tools(), &mut gate)
            .await
            .unwrap_err();
        assert!(
            matches!(error, Unanswered::Model(ModelError::AnswerLost { .. })),
            "{error:?}"
        );
        assert_eq!((gate.calls, rig.sim.messages().calls().len()), (2, 2));
        assert!(gate.booked.get() >= rig.sim.messages().charged().pico_usd);
        rig.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn overload_in_mid_conversation_is_waited_out() {
    let rig = Rig::new();
    let messages = rig.sim.messages();
    messages.answer(Scripted::tool_calls(vec![look("a")]));
    messages.answer(Scripted::json(&json!({"summary": "ok"})));
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error"}}"#;
    messages
        .faults()
        .on("POST /v1/messages", 2, Fault::status(529, overloaded));
    let mut gate = Booking::default();
    rig.converse(&small(), &tools(), &mut gate).await.unwrap();
    assert_eq!(
        (gate.calls, messages.calls().len()),
        (2, 3),
        "a repetition is the same call"
    );
    assert_eq!(gate.booked.get(), messages.charged().pico_usd);
    rig.sim.finish().unwrap();
}

#[tokio::test]
async fn paused_turn_is_resumed() {
    let rig = Rig::new();
    rig.sim.messages().answer(Scripted::paused("So far"));
    rig.sim.messages().answer_when(
        "the rest",
        |prompt| prompt.turns() == 1,
        Scripted::json(&json!({"summary": "ok"})),
    );
    let answer = rig
        .converse(&small(), &tools(), &mut Booking::default())
        .await
        .unwrap();
    assert_eq!(answer.stop, StopReason::EndTurn);
    rig.sim.finish().unwrap();
}

/// Says no to the first answer.
struct Objecting(Option<&'static str>);

#[async_trait]
impl CallGate for Objecting {
    async fn before(&mut self, _call: &NextCall) -> Result<Go, Stopped> {
        Ok(Go::On)
    }

    async fn after(&mut self, _outcome: Result<&Answer, &ModelError>) -> Result<(), Stopped> {
        Ok(())
    }

    fn objection(&mut self, _answer: &Answer) -> Option<String> {
        self.0.take().map(str::to_owned)
    }
}

#[tokio::test]
async fn objection_is_taken_by_the_api_whatever_the_answer_was() {
    for before in [
        vec![Scripted::text("Sure, here it is.").thinking(20)],
        vec![Scripted::empty()],
        vec![
            Scripted::tool_calls(vec![look("a")]),
            Scripted::text("no JSON either"),
        ],
    ] {
        let rig = Rig::new();
        let messages = rig.sim.messages();
        for answer in before {
            messages.answer(answer);
        }
        messages.answer_when(
            "the last answer",
            |prompt| prompt.user.last().is_some_and(|text| text == "Not JSON."),
            Scripted::json(&json!({"summary": "ok"})),
        );
        let mut gate = Objecting(Some("Not JSON."));
        let answer = rig.converse(&small(), &tools(), &mut gate).await.unwrap();
        assert_eq!(answer.text, r#"{"summary":"ok"}"#);
        rig.sim.finish().unwrap();
    }
}
