//! Whole calls: the adapter over HTTP against the simulated Messages API.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use mirilla_domain::ids::Timestamp;
use mirilla_domain::money::PicoUsd;
use mirilla_domain::price::PriceTable;
use mirilla_model::capability::KNOWN;
use mirilla_model::{AnthropicModel, AnthropicSettings, Toolset};
use mirilla_ports::clock::{Clock, Entropy};
use mirilla_ports::model::{
    Answer, CallGate, Conversation, Go, Limits, Model, ModelError, NextCall, Question, StopReason,
    Stopped, Unanswered,
};
use mirilla_ports::tools::Toolbox;
use mirilla_sim::{Otherwise, Scripted, Sim, SimOptions};
use serde_json::{Value, json};

use crate::support::{block, question};

/// A clock that jumps when somebody waits, and never draws a lot.
#[derive(Default)]
pub(crate) struct Jumping(Mutex<Vec<u64>>);

#[async_trait]
impl Clock for Jumping {
    fn now(&self) -> Timestamp {
        let waited: u64 = self.0.lock().unwrap().iter().sum();
        Timestamp::new(0).plus(Duration::from_millis(waited))
    }

    async fn sleep(&self, duration: Duration) {
        let millis = u64::try_from(duration.as_millis()).unwrap();
        self.0.lock().unwrap().push(millis);
    }
}

impl Entropy for Jumping {
    fn hex(&self, bytes: usize) -> String {
        "00".repeat(bytes)
    }

    fn below(&self, _bound: u64) -> u64 {
        0
    }
}

/// A gate that lets everything pass.
pub(crate) struct Open;

#[async_trait]
impl CallGate for Open {
    async fn before(&mut self, _call: &NextCall) -> Result<Go, Stopped> {
        Ok(Go::On)
    }

    async fn after(&mut self, _outcome: Result<&Answer, &ModelError>) -> Result<(), Stopped> {
        Ok(())
    }
}

/// A simulator and the adapter that is set to it.
pub(crate) struct Rig<M = AnthropicModel> {
    pub(crate) sim: Sim,
    pub(crate) model: M,
    clock: Arc<Jumping>,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut AnthropicSettings)) -> Self {
        let sim = Sim::start(SimOptions::default()).unwrap();
        let clock = Arc::new(Jumping::default());
        let key = sim.messages().api_key().to_owned();
        let url = sim.messages().url().parse().unwrap();
        let mut settings = AnthropicSettings::new(url, key.into(), "claude-sonnet-5-5");
        change(&mut settings);
        let entropy: Arc<Jumping> = Arc::clone(&clock);
        let model = AnthropicModel::new(settings, Arc::<Jumping>::clone(&clock), entropy).unwrap();
        Self { sim, model, clock }
    }
}

impl<M: Model> Rig<M> {
    /// Takes an adapter made for a simulator, whose time is the clock's.
    pub(crate) fn of(sim: Sim, clock: Arc<Jumping>, model: M) -> Self {
        Self { sim, model, clock }
    }

    /// Asks with an hour of time.
    pub(crate) async fn ask(&self, question: &Question) -> Result<Answer, ModelError> {
        self.ask_within(3_600, question).await
    }

    pub(crate) async fn ask_within(
        &self,
        seconds: u64,
        question: &Question,
    ) -> Result<Answer, ModelError> {
        let mut open = Open;
        let conversation = Conversation {
            question,
            tools: &Toolset::new(),
            limits: Limits::default(),
            deadline: self.clock.now().plus(Duration::from_secs(seconds)),
            gate: &mut open,
        };
        match self.model.converse(conversation).await {
            Ok(answer) => Ok(answer),
            Err(Unanswered::Model(error)) => Err(error),
            Err(Unanswered::Stopped) => panic!("nobody stops it"),
        }
    }

    /// Asks with tools, with an hour of time.
    pub(crate) async fn converse(
        &self,
        question: &Question,
        tools: &dyn Toolbox,
        gate: &mut dyn CallGate,
    ) -> Result<Answer, Unanswered> {
        let conversation = Conversation {
            question,
            tools,
            limits: Limits::default(),
            deadline: self.clock.now().plus(Duration::from_secs(3_600)),
            gate,
        };
        self.model.converse(conversation).await
    }

    /// Scripts one answer and asks the small question.
    pub(crate) async fn get(&self, answer: Scripted) -> Result<Answer, ModelError> {
        self.sim.messages().answer(answer);
        self.ask(&small()).await
    }

    pub(crate) fn waits(&self) -> Vec<u64> {
        self.clock.0.lock().unwrap().clone()
    }

    pub(crate) fn calls(&self) -> usize {
        self.sim.messages().calls().len()
    }
}

pub(crate) fn small() -> Question {
    question(json!({"type": "object", "additionalProperties": false,
        "required": ["summary"], "properties": {"summary": {"type": "string"}}}))
}

pub(crate) fn ok() -> Value {
    json!({"summary": "ok"})
}

/// Describes an error with all its causes.
pub(crate) fn chain(error: &ModelError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[tokio::test]
async fn answer_arrives_with_its_usage_and_price() {
    let rig = Rig::new();
    rig.sim.messages().otherwise(Otherwise::Fixed(ok()));
    let mut question = small();
    question.system = vec![
        block(&"rubric ".repeat(2_000), true),
        block(&"rules ".repeat(500), true),
    ];
    let prices = PriceTable::shipped();
    let mut cost = PicoUsd::ZERO;
    for (chunk, cached) in [("one", false), ("two", true), ("three", true)] {
        question.user = vec![block(chunk, false)];
        let answer = rig.ask(&question).await.unwrap();
        assert_eq!(
            (answer.text.as_str(), answer.stop),
            ("{\"summary\":\"ok\"}", StopReason::EndTurn)
        );
        assert_eq!(answer.model, "claude-sonnet-5-5");
        assert!(
            answer.request_id.starts_with("req_sim_"),
            "{}",
            answer.request_id
        );
        assert_eq!(answer.usage.cache_read_tokens > 0, cached);
        assert_eq!(answer.usage.cache_write_5m_tokens > 0, !cached);
        assert!(!answer.usage.estimated);
        cost = cost.plus(prices.cost("claude-sonnet-5-5", &answer.usage).unwrap());
    }
    assert_eq!(cost.get(), rig.sim.messages().charged().pico_usd);
    rig.sim.finish().unwrap();
}

#[tokio::test]
async fn every_known_model_is_accepted_and_priced_the_same() {
    let prices = PriceTable::shipped();
    for known in KNOWN {
        let rig = Rig::with(|settings| known.id.clone_into(&mut settings.model));
        let answer = rig.get(Scripted::json(&ok())).await.unwrap();
        assert_eq!(rig.model.id(), answer.model);
        let cost = prices.cost(known.id, &answer.usage).unwrap();
        assert_eq!(
            cost.get(),
            rig.sim.messages().charged().pico_usd,
            "{}",
            known.id
        );
        rig.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn effort_and_gateway_path_are_sent() {
    let rig = Rig::with(|settings| {
        settings.effort = Some(mirilla_model::Effort::Low);
        settings.endpoint = settings.endpoint.join("anthropic/").unwrap();
    });
    rig.get(Scripted::json(&ok())).await.unwrap();
    let calls = rig.sim.messages().model_calls();
    assert_eq!(calls[0].prompt.effort.as_deref(), Some("low"));
    assert_eq!(rig.sim.messages().calls()[0].path, "/anthropic/v1/messages");
    rig.sim.finish().unwrap();
}

#[tokio::test]
async fn overload_is_waited_out() {
    let rig = Rig::new();
    for _ in 0..2 {
        rig.sim.messages().answer(Scripted::overloaded());
    }
    let answer = rig.get(Scripted::json(&ok())).await.unwrap();
    assert_eq!(answer.stop, StopReason::EndTurn);
    assert_eq!(rig.waits(), [2_000, 4_000]);
    assert_eq!(rig.sim.messages().charged().calls, 1);
    rig.sim.finish().unwrap();
}

#[tokio::test]
async fn limit_is_obeyed_to_the_second_or_handed_back() {
    let rig = Rig::new();
    rig.sim.messages().answer(Scripted::ramp_limited(7));
    rig.get(Scripted::json(&ok())).await.unwrap();
    assert_eq!(rig.waits(), [7_000]);
    rig.sim.messages().answer(Scripted::ramp_limited(90));
    let error = rig.ask_within(60, &small()).await.unwrap_err();
    let wait = Some(Duration::from_secs(90));
    assert!(
        matches!(error, ModelError::Unavailable { status: 429, retry_after } if retry_after == wait),
        "{error:?}"
    );
    assert_eq!((rig.calls(), rig.waits().len()), (3, 1));
    rig.sim.finish().unwrap();
}

#[tokio::test]
async fn refusals_of_the_provider_are_not_repeated() {
    for (answer, said) in [
        (
            Scripted::spend_limited(),
            "the provider rejected the request (429 contract_spend_limit_reached); the account's \
             spending limit is reached; raise it with the provider",
        ),
        (
            Scripted::error(402, "billing_error", "prose", None),
            "the provider rejected the request (402 billing_error); the account has no credit; add \
             some with the provider",
        ),
        (
            Scripted::error(
                400,
                "invalid_request_error",
                "prompt is too long: 2 tokens > 1 maximum",
                None,
            ),
            "the prompt is longer than the model accepts",
        ),
        (
            Scripted::page(413),
            "the prompt is longer than the model accepts",
        ),
    ] {
        let rig = Rig::new();
        let error = rig.get(answer).await.unwrap_err();
        assert_eq!(chain(&error), said);
        assert_eq!((rig.calls(), rig.waits()), (1, vec![]));
        rig.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn what_may_be_charged_is_asked_once() {
    let lost = "the model's answer was lost after the request had been sent: ";
    let broken = "the connection broke before the whole answer was there";
    for (answer, said) in [
        (Scripted::dropped_before(), broken),
        (Scripted::dropped_after(&ok()), broken),
        (Scripted::json(&ok()).cut(20), broken),
        (Scripted::html_200(), "the answer is not JSON"),
        (
            Scripted::page(502),
            "status 502 does not say whether the request was processed",
        ),
        (
            Scripted::gateway_timeout(),
            "status 504 does not say whether the request was processed",
        ),
        (
            Scripted::error_inside_200(),
            "the answer broke off with the provider's error `overloaded_error`",
        ),
        (
            Scripted::broken_stream(),
            "the answer broke off with the provider's error `overloaded_error`",
        ),
    ] {
        let rig = Rig::new();
        let error = rig.get(answer).await.unwrap_err();
        let text = chain(&error);
        assert!(matches!(error, ModelError::AnswerLost { .. }), "{text}");
        assert!(text.starts_with(&format!("{lost}{said}")), "{text}");
        assert_eq!((rig.calls(), rig.waits()), (1, vec![]), "{said}");
        rig.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn answer_after_the_time_is_lost() {
    let rig = Rig::with(|settings| settings.request_timeout = Duration::from_millis(200));
    for answer in [
        Scripted::json(&ok()).late(Duration::from_millis(600)),
        Scripted::json(&ok()).slow(50, Duration::from_millis(100)),
    ] {
        let error = rig.get(answer).await.unwrap_err();
        let text = chain(&error);
        assert!(matches!(error, ModelError::AnswerLost { .. }), "{text}");
    }
    // The call log is written when a reply leaves; the books when an answer is made.
    assert_eq!(rig.sim.messages().model_calls().len(), 2);
    rig.sim.finish().unwrap();
}

#[tokio::test]
async fn endpoint_that_is_not_there_is_unavailable() {
    let rig = Rig::with(|settings| {
        // A port that was free a moment ago.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        settings
            .endpoint
            .set_port(Some(listener.local_addr().unwrap().port()))
            .unwrap();
    });
    let error = rig.ask(&small()).await.unwrap_err();
    assert!(
        matches!(error, ModelError::Unavailable { status: 0, .. }),
        "{error:?}"
    );
    assert_eq!(rig.waits(), [500, 1_000]);
    rig.sim.finish().unwrap();
}

#[tokio::test]
async fn wrong_key_says_what_to_do_and_not_what_it_was() {
    let key = "sk-ant-made-up-and-wrong";
    let rig = Rig::with(|settings| settings.api_key = key.into());
    let error = rig.ask(&small()).await.unwrap_err();
    let text = format!("{} {error:?} {:?}", chain(&error), rig.model);
    assert!(text.contains("401 authentication_error") && text.contains("check the model key"));
    assert!(!text.contains("made-up-and-wrong"), "{text}");
    assert_eq!(rig.sim.messages().take_problems().len(), 1);
    rig.sim.finish().unwrap();
}

#[tokio::test]
async fn redirect_is_not_followed() {
    let rig = Rig::new();
    let to = rig.sim.trap_url().unwrap();
    let fault = mirilla_sim::Fault::Redirect { to };
    rig.sim
        .messages()
        .faults()
        .on_next("POST /v1/messages", fault);
    let error = rig.ask(&small()).await.unwrap_err();
    assert!(chain(&error).contains("the endpoint redirects"), "{error}");
    // The trap reports any contact.
    rig.sim.finish().unwrap();
}

#[tokio::test]
async fn bad_question_is_not_sent() {
    let rig = Rig::new();
    let mut question = small();
    question.max_tokens = 4_001;
    let error = rig.ask(&question).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the provider rejected the request (0 the question's max_tokens 4001 is not between 1 and \
         4000); lower max_tokens or raise the model's setting"
    );
    assert_eq!(rig.calls(), 0);
    rig.sim.finish().unwrap();
}

#[tokio::test]
async fn unfinished_answers_say_why() {
    let rig = Rig::new();
    let mut question = small();
    question.max_tokens = 3;
    rig.sim.messages().answer(Scripted::json(&ok()));
    let answer = rig.ask(&question).await.unwrap();
    assert_eq!(
        (answer.text.as_str(), answer.stop),
        ("{\"summ", StopReason::MaxTokens)
    );
    rig.sim.messages().set_window("claude-sonnet-5-5", 120);
    let answer = rig.get(Scripted::text("word ".repeat(200))).await.unwrap();
    assert_eq!(answer.stop, StopReason::ContextExceeded);
    rig.sim
        .messages()
        .set_window("claude-sonnet-5-5", 1_000_000);
    for (scripted, stop) in [
        (
            Scripted::refusal(Some("cyber")),
            StopReason::Refusal(Some("cyber".to_owned())),
        ),
        (Scripted::refusal(None), StopReason::Refusal(None)),
        (
            Scripted::unknown_stop(&ok()),
            StopReason::Other("some_future_reason".to_owned()),
        ),
        (Scripted::empty(), StopReason::EndTurn),
        (Scripted::unknown_blocks(&ok()), StopReason::EndTurn),
        (Scripted::thinking_first(50, &ok()), StopReason::EndTurn),
    ] {
        assert_eq!(rig.get(scripted).await.unwrap().stop, stop);
    }
    rig.sim.messages().set_window("claude-sonnet-5-5", 10);
    let error = rig.ask(&small()).await.unwrap_err();
    assert!(matches!(error, ModelError::PromptTooLong), "{error:?}");
    rig.sim.finish().unwrap();
}
