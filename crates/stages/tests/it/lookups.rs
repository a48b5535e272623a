//! A whole run in which the model looks things up: from the forge's archive to what it is told.

use std::sync::Arc;

use mirilla_sim::Scripted;
use serde_json::{Value, json};

use crate::support::{Ended, Gate, Host, TWO_DEFECTS};

#[tokio::test]
async fn a_review_looks_things_up_in_the_archive_that_was_collected() {
    let mut host = Host::new(TWO_DEFECTS);
    host.policy.verify = false;
    let asks = [
        ("read_file", json!({"path": "a/Pay.java"})),
        ("list_files", json!({"glob": "*.py"})),
        ("search", json!({"pattern": "charge\\("})),
        ("read_file", json!({"path": "../../etc/passwd"})),
    ];
    let blocks = asks.iter().zip(0..).map(|((name, input), number)| {
        json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": name, "input": input})
    });
    host.sim
        .messages()
        .answer(Scripted::blocks(blocks.collect(), "tool_use"));
    let gate = Arc::new(Gate::open());
    host.deliver(&gate, &host.deliveries()[0]).await;
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    host.assert_reviewed_once("with tools").await;

    let calls = host.sim.messages().model_calls();
    let tools: Vec<&Value> = calls
        .iter()
        .map(|call| &call.prompt.body["tools"])
        .collect();
    assert_eq!(tools[0].as_array().unwrap().len(), 3);
    assert!(
        tools.iter().all(|list| *list == tools[0]),
        "the list never varies"
    );
    let results = &calls[1].prompt.body["messages"][2]["content"];
    let results: Vec<(String, bool)> = results
        .as_array()
        .unwrap()
        .iter()
        .map(|result| {
            let text = match &result["content"] {
                Value::String(text) => text.clone(),
                blocks => blocks[0]["text"].as_str().unwrap().to_owned(),
            };
            (text, result["is_error"] == true)
        })
        .collect();
    assert_eq!(results.len(), 4);
    let [(read, _), (listed, _), (found, _), (outside, is_error)] = &results[..] else {
        panic!("{results:?}");
    };
    assert!(
        read.contains("1   class Pay {\n2 +   void pay() {\n"),
        "{read}"
    );
    assert!(listed.contains("\"b/orders.py\" "), "{listed}");
    assert!(
        found.contains("<file path=\"a/Pay.java\">\n4 +       charge();\n"),
        "{found}"
    );
    assert!(
        *is_error && outside.starts_with("It is not in the archive."),
        "{outside}"
    );
    let names = gate.names();
    let read = names.iter().filter(|name| **name == "artifacts.get_range");
    assert!(
        read.count() <= 2,
        "one small archive is one or two requests: {names:?}"
    );
}
