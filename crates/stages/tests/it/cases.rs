//! The recorded cases of kind 5 that need a model to answer; the others are decided by chunks, prompt and plan,
//! and the domain's tests hold them.

use std::sync::Arc;

use mirilla_casekit::cases;
use mirilla_domain::review::{Outcome, Review};
use mirilla_domain::snapshot::Keys;
use mirilla_ports::Artifacts as _;
use mirilla_sim::Scripted;
use serde_json::json;

use crate::support::{Ended, Gate, Host, TWO_DEFECTS};

#[tokio::test]
async fn case_102_a_prompt_that_is_too_long_is_cut_and_asked_again() {
    let case = cases("tests/fixtures/cases", |name| name.starts_with("102")).remove(0);
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "behaviour/1");
    let host = Host::new(TWO_DEFECTS);
    let model = host.sim.messages();
    let script = case.json("script.json");
    let routes = script["routes"].as_array().unwrap();
    assert_eq!(routes.len(), 1);
    for reply in routes[0]["replies"].as_array().unwrap() {
        let status = u16::try_from(reply["status"].as_u64().unwrap()).unwrap();
        let body = &reply["json"];
        model.answer(if status == 200 {
            assert_eq!(*body, json!({"findings": []}));
            Scripted::nothing_found()
        } else {
            let text = |name: &str| body["error"][name].as_str().unwrap();
            Scripted::error(status, text("type"), text("message"), None)
        });
    }
    let gate = Arc::new(Gate::open());
    host.deliver(&gate, &host.deliveries()[0]).await;
    assert_eq!(host.run(&gate).await, Ended::Quiet);

    let calls = model.model_calls();
    let asked: Vec<String> = calls
        .iter()
        .map(|call| call.prompt.text().replace(char::is_whitespace, " "))
        .collect();
    assert_eq!(json!(asked.len()), expected.need("model_calls"));
    let job = host.job().await.unwrap();
    let file = host
        .artifacts()
        .get(&Keys::findings(&job.id, job.attempt), 1 << 20)
        .await
        .unwrap();
    let review: Review = serde_json::from_slice(&file).unwrap();
    assert_eq!(
        json!(review.outcome == Outcome::Complete),
        expected.need("complete")
    );
    assert_eq!(
        expected.need("must_not"),
        json!(["retry the identical prompt"])
    );
    for (at, one) in asked.iter().enumerate() {
        assert!(
            !asked[..at].contains(one),
            "call {at} repeats an earlier one"
        );
    }
    // The halves together are what was refused.
    for path in ["a/Pay.java", "b/orders.py"] {
        let shown = format!("<file path=\"{path}\"");
        let times = asked[1..].iter().filter(|text| text.contains(&shown));
        assert_eq!(times.count(), 1, "{path}");
    }
    expected.finish();
}
