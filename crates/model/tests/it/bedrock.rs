//! Whole calls: the adapter over the SDK against the simulated `InvokeModel`.

use std::sync::Arc;
use std::time::Duration;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use mirilla_domain::money::PicoUsd;
use mirilla_domain::price::PriceTable;
use mirilla_model::{BedrockModel, BedrockSettings};
use mirilla_ports::model::{Model as _, ModelError, StopReason};
use mirilla_sim::{Otherwise, Scripted, Sim, SimOptions};

use crate::against_sim::{Jumping, Open, Rig, chain, ok, small};
use crate::support::block;
use crate::talking::{look, tools};

const PROFILE: &str = "us.anthropic.claude-sonnet-5-5";
const ROUTE: &str = "POST /model/{id}/invoke";

fn aws(endpoint: &str, key: &str) -> SdkConfig {
    let credentials = Credentials::new(key, "made-up-secret-key", None, None, "test");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .endpoint_url(endpoint)
        .credentials_provider(
            aws_sdk_bedrockruntime::config::SharedCredentialsProvider::new(credentials),
        )
        .build()
}

fn rig() -> Rig<BedrockModel> {
    rig_with(|_| {})
}

fn rig_with(change: impl FnOnce(&mut BedrockSettings)) -> Rig<BedrockModel> {
    let sim = Sim::start(SimOptions::default()).unwrap();
    let messages = sim.messages();
    let aws = aws(&messages.url(), messages.access_key_id());
    over(sim, &aws, change)
}

fn over(sim: Sim, aws: &SdkConfig, change: impl FnOnce(&mut BedrockSettings)) -> Rig<BedrockModel> {
    let clock = Arc::new(Jumping::default());
    let mut settings = BedrockSettings::new(PROFILE, "claude-sonnet-5-5");
    change(&mut settings);
    let entropy: Arc<Jumping> = Arc::clone(&clock);
    let model = BedrockModel::new(settings, aws, Arc::<Jumping>::clone(&clock), entropy).unwrap();
    Rig::of(sim, clock, model)
}

#[tokio::test]
async fn answer_arrives_with_its_usage_and_price() {
    let rig = rig();
    rig.sim.messages().otherwise(Otherwise::Fixed(ok()));
    let mut question = small();
    question.system = vec![block(&"rubric ".repeat(2_000), true)];
    let prices = PriceTable::shipped();
    let mut cost = PicoUsd::ZERO;
    for (chunk, cached) in [("one", false), ("two", true)] {
        question.user = vec![block(chunk, false)];
        let answer = rig.ask(&question).await.unwrap();
        assert_eq!(
            (answer.text.as_str(), answer.stop),
            ("{\"summary\":\"ok\"}", StopReason::EndTurn)
        );
        assert!(
            answer.request_id.starts_with("req_sim_"),
            "{}",
            answer.request_id
        );
        assert_eq!(answer.usage.cache_read_tokens > 0, cached);
        cost = cost.plus(prices.cost(rig.model.id(), &answer.usage).unwrap());
    }
    assert_eq!(cost.get(), rig.sim.messages().charged().pico_usd);
    assert_eq!(
        rig.sim.messages().calls()[0].path,
        "/model/us.anthropic.claude-sonnet-5-5/invoke"
    );
    rig.sim.finish().unwrap();
}

#[tokio::test]
async fn profile_ids_and_arns_are_called_as_they_are() {
    for (id, model) in [
        (
            "global.anthropic.claude-haiku-4-5-20251001-v1:0",
            "claude-haiku-4-5",
        ),
        (
            "arn:aws:bedrock:eu-central-1:123456789012:inference-profile/eu.anthropic.claude-opus-5",
            "claude-opus-5",
        ),
    ] {
        let rig = rig_with(|settings| {
            id.clone_into(&mut settings.model_id);
            model.clone_into(&mut settings.model);
        });
        rig.get(Scripted::json(&ok())).await.unwrap();
        rig.sim.finish().unwrap();
    }
}

#[test]
fn settings_that_cannot_be_meant_are_refused() {
    let check = |id: &str, model: &str| {
        BedrockSettings::new(id, model)
            .check()
            .map(|known| known.id)
    };
    let own = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123def456";
    assert_eq!(check(own, "claude-opus-5").unwrap(), "claude-opus-5");
    for (id, model, said) in [
        ("", "claude-opus-5", "the Bedrock model id `` is not"),
        (
            "us.anthropic.claude opus",
            "claude-opus-5",
            "is not a model's or inference profile's",
        ),
        (
            PROFILE,
            "claude-opus-5",
            "names `claude-sonnet-5-5`, but the model is set to `claude-opus-5`",
        ),
        (
            "anthropic.claude-3-haiku-20240307-v1:0",
            "claude-opus-5",
            "`claude-3-haiku` is not known to support structured output; use one of claude-",
        ),
        (
            PROFILE,
            "us.amazon.nova-pro",
            "is not known to support structured output",
        ),
    ] {
        let error = check(id, model).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[tokio::test]
async fn throttling_and_outages_are_waited_out() {
    let rig = rig();
    for answer in [Scripted::ramp_limited(7), Scripted::overloaded()] {
        rig.sim.messages().answer(answer);
    }
    rig.get(Scripted::json(&ok())).await.unwrap();
    assert_eq!(rig.waits(), [7_000, 1_000]);
    assert_eq!(rig.sim.messages().charged().calls, 1);
    rig.sim.finish().unwrap();
}

#[tokio::test]
async fn what_may_be_charged_is_asked_once() {
    for (answer, said) in [
        (Scripted::dropped_before(), "the connection broke"),
        (Scripted::dropped_after(&ok()), "the connection broke"),
        (Scripted::json(&ok()).cut(20), "the connection broke"),
        (Scripted::html_200(), "the answer is not JSON"),
        (Scripted::page(424), "status 424 does not say"),
        (Scripted::gateway_timeout(), "status 504 does not say"),
    ] {
        let rig = rig();
        let error = rig.get(answer).await.unwrap_err();
        let text = chain(&error);
        assert!(
            matches!(error, ModelError::AnswerLost { .. }) && text.contains(said),
            "{text}"
        );
        assert_eq!((rig.calls(), rig.waits()), (1, vec![]), "{said}");
        rig.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn answer_after_the_time_is_lost() {
    let rig = rig_with(|settings| settings.request_timeout = Duration::from_millis(300));
    let late = Scripted::json(&ok()).late(Duration::from_millis(900));
    let error = rig.get(late).await.unwrap_err();
    assert!(
        chain(&error).ends_with("no answer came in time"),
        "{}",
        chain(&error)
    );
    rig.sim.finish().unwrap();
}

#[tokio::test]
async fn endpoint_that_is_not_there_is_unavailable_and_free() {
    let sim = Sim::start(SimOptions::default()).unwrap();
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    for endpoint in [
        format!("http://{free}"),
        "http://no-such-host.invalid".to_owned(),
    ] {
        let aws = aws(&endpoint, sim.messages().access_key_id());
        let rig = over(Sim::start(SimOptions::default()).unwrap(), &aws, |_| {});
        let error = rig.ask(&small()).await.unwrap_err();
        assert!(
            matches!(error, ModelError::Unavailable { status: 0, .. }),
            "{endpoint}: {error:?}"
        );
        assert_eq!(rig.waits(), [500, 1_000]);
    }
    sim.finish().unwrap();
}

#[tokio::test]
async fn refusals_say_what_to_do() {
    let too_long = Scripted::error(
        400,
        "invalid_request_error",
        "Input is too long for requested model.",
        None,
    );
    let rig_too_long = rig();
    let error = rig_too_long.get(too_long).await.unwrap_err();
    assert!(matches!(error, ModelError::PromptTooLong), "{error:?}");

    let sim = Sim::start(SimOptions::default()).unwrap();
    let stranger = aws(&sim.messages().url(), "AKIASOMEBODYELSE0000");
    let stranger = over(sim, &stranger, |_| {});
    let bare = rig_with(|settings| settings.model_id = "anthropic.claude-sonnet-5-5".to_owned());
    for (rig, said) in [
        (
            stranger,
            "(403 AccessDeniedException); the role may not call this model: it needs bedrock:InvokeModel",
        ),
        (
            bare,
            "(400 ValidationException); this model is called through an inference profile",
        ),
    ] {
        let error = rig.ask(&small()).await.unwrap_err();
        assert!(chain(&error).contains(said), "{}", chain(&error));
        assert_eq!((rig.calls(), rig.waits()), (1, vec![]));
        assert_eq!(rig.sim.messages().take_problems().len(), 1);
        rig.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn conversation_sends_its_turns_back_untouched() {
    let rig = rig();
    rig.sim
        .messages()
        .answer(Scripted::tool_calls(vec![look("src/a.rs")]));
    rig.sim
        .messages()
        .answer(Scripted::thinking_first(5, &ok()));
    let answer = rig.converse(&small(), &tools(), &mut Open).await.unwrap();
    assert_eq!(answer.text, "{\"summary\":\"ok\"}");
    assert_eq!(rig.sim.messages().counts()[ROUTE], 2);
    // The simulator knows its own turns: a changed one would be a problem.
    rig.sim.finish().unwrap();
}
