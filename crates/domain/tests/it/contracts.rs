//! The published contracts are what the code says. Run with `UPDATE_CONTRACTS=1` to write them anew.

use mirilla_casekit::repo_path;
use mirilla_domain::schema::{
    answer_schema, plan_input_schema, review_schema, run_schema, second_look_schema,
};
use mirilla_domain::settings;
use serde_json::{Value, json};

fn agrees(file: &str, schema: &Value) {
    let path = repo_path("docs/contracts").join(file);
    let text = format!("{}\n", serde_json::to_string_pretty(schema).unwrap());
    if std::env::var_os("UPDATE_CONTRACTS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "{} is not what the code says; run this test with UPDATE_CONTRACTS=1 and read the difference",
        path.display()
    );
}

#[test]
fn the_schema_of_the_settings_file_is_published() {
    agrees("mirilla.toml.schema.json", &settings::schema());
}

#[test]
fn the_schema_of_the_review_file_is_published() {
    agrees("mirilla.review.v1.schema.json", &review_schema());
}

#[test]
fn the_schemas_of_a_runs_record_and_its_plans_input_are_published() {
    agrees("mirilla.run.v1.schema.json", &run_schema());
    agrees("mirilla.plan-input.v1.schema.json", &plan_input_schema());
}

#[test]
fn the_schema_of_a_models_answer_is_published() {
    agrees("mirilla.answer.schema.json", &answer_schema());
    agrees("mirilla.second-look.schema.json", &second_look_schema());
}

#[test]
fn the_example_is_valid_by_schema_and_by_reader() {
    let text = std::fs::read_to_string(repo_path("docs/contracts/mirilla.example.toml")).unwrap();
    let (read, problems) = settings::parse(&text);
    assert_eq!(problems, []);
    assert!(!read.broken);
    let value: Value = toml::from_str(&text).unwrap();
    assert!(jsonschema::is_valid(&settings::schema(), &value));
    // It shows every key there is.
    let shown: Vec<&String> = value.as_object().unwrap().keys().collect();
    let known = settings::schema()["properties"].clone();
    let mut known: Vec<&String> = known.as_object().unwrap().keys().collect();
    known.sort();
    assert_eq!(shown, known);
}

#[test]
fn a_recorded_review_file_is_valid_by_the_published_schema() {
    let text =
        std::fs::read_to_string(repo_path("tests/fixtures/contracts/review.v1.json")).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    let schema = review_schema();
    if let Err(error) = jsonschema::validate(&schema, &value) {
        panic!("{error}");
    }
    let review: mirilla_domain::review::Review = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(serde_json::to_value(&review).unwrap(), value);
    for (pointer, wrong) in [
        ("/findings/0/severity", json!("catastrophic")),
        ("/findings/0/line", json!("5")),
        ("/coverage/0/fate", json!("clean")),
        ("/coverage/2/reason", json!("because")),
        ("/outcome", json!("fine")),
    ] {
        let mut changed = value.clone();
        *changed.pointer_mut(pointer).unwrap() = wrong;
        assert!(!jsonschema::is_valid(&schema, &changed), "{pointer}");
    }
}
