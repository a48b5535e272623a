//! Asking about a model, which costs nothing.

use mirilla_model::{AnthropicSettings, ProbeError, probe};
use mirilla_sim::{Sim, SimOptions};

async fn ask(sim: &Sim, key: &str, model: &str) -> Result<mirilla_model::ModelFacts, ProbeError> {
    let endpoint = sim.messages().url().parse().unwrap();
    probe(&AnthropicSettings::new(endpoint, key.into(), model)).await
}

#[tokio::test]
async fn model_is_there_and_no_question_is_put_to_it() {
    let sim = Sim::start(SimOptions::default()).unwrap();
    let key = sim.messages().api_key().to_owned();
    let facts = ask(&sim, &key, "claude-sonnet-5-5").await.unwrap();
    assert_eq!(facts.lifecycle.as_deref(), Some("active"));
    assert_eq!(facts.obeys_schema(), Some(true));
    assert!(
        sim.messages().model_calls().is_empty(),
        "nothing was charged"
    );
    sim.finish().unwrap();
}

#[tokio::test]
async fn each_thing_in_the_way_is_told_apart() {
    let sim = Sim::start(SimOptions::default()).unwrap();
    let key = sim.messages().api_key().to_owned();
    let error = ask(&sim, "sk-ant-SENTINEL", "claude-sonnet-5-5")
        .await
        .unwrap_err();
    assert!(
        matches!(error, ProbeError::Key { status: 401 }),
        "{error:?}"
    );
    assert!(!format!("{error} {error:?}").contains("SENTINEL"));
    let error = ask(&sim, &key, "claude-opus-4-1").await.unwrap_err();
    assert!(matches!(error, ProbeError::Settings(_)), "{error:?}");
    sim.messages().faults().on(
        "GET /v1/models/{id}",
        2,
        mirilla_sim::Fault::status(
            404,
            r#"{"type":"error","error":{"type":"not_found_error"}}"#,
        ),
    );
    let error = ask(&sim, &key, "claude-sonnet-5-5").await.unwrap_err();
    assert!(matches!(error, ProbeError::NoModel), "{error:?}");
    let nowhere = AnthropicSettings::new(
        "http://127.0.0.1:9".parse().unwrap(),
        key.into(),
        "claude-sonnet-5-5",
    );
    let error = probe(&nowhere).await.unwrap_err();
    assert!(matches!(error, ProbeError::Unreachable(_)), "{error:?}");
    // The wrong key is one.
    assert_eq!(sim.messages().take_problems().len(), 1);
    sim.finish().unwrap();
}
