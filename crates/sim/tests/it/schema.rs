//! GitHub's published OpenAPI description as a judge of every answer.
//!
//! Each answer that a test gets through [`crate::world::World`] is validated here; an answer with a
//! field that the description does not have fails as well.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex};

use jsonschema::{Draft, Validator};
use serde_json::{Map, Value, json};

/// Routes that the copied part of the description does not have, and one whose description nothing
/// can fulfil: an account that is a user and an enterprise at once.
const NOT_DESCRIBED: [&str; 6] = [
    "POST /app-manifests/{}/conversions",
    "GET /app/installations",
    "POST /graphql",
    "GET /repos/{}/{}/pulls/{}/reviews/{}",
    "DELETE /repos/{}/{}/pulls/{}/reviews/{}",
    "GET /repos/{}/{}/issues/comments/{}",
];

/// Which description is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Edition {
    Cloud,
    EnterpriseServer,
}

struct Judge {
    paths: BTreeMap<String, Value>,
    components: Value,
    built: Mutex<BTreeMap<String, &'static Validator>>,
}

static CLOUD: LazyLock<Judge> = LazyLock::new(|| Judge::load("github-openapi-subset.json"));
static SERVER: LazyLock<Judge> = LazyLock::new(|| Judge::load("ghes-3.17-openapi-subset.json"));

/// Takes the parameters' names out of a path.
fn shape(path: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for c in path.chars() {
        if c == '{' {
            inside = true;
            out.push_str("{}");
        } else if c == '}' {
            inside = false;
        } else if !inside {
            out.push(c);
        }
    }
    out
}

impl Judge {
    fn load(name: &str) -> Self {
        let mut doc = crate::material::json(name);
        modernise(&mut doc);
        let mut paths = BTreeMap::new();
        for (path, methods) in doc["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let key = format!("{} {}", method.to_uppercase(), shape(path));
                paths.insert(key, operation.clone());
            }
        }
        Self {
            paths,
            components: doc["components"].clone(),
            built: Mutex::default(),
        }
    }

    fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let Some(reference) = schema.get("$ref").and_then(Value::as_str) else {
            return schema;
        };
        let pointer = reference.strip_prefix("#/components").unwrap();
        self.resolve(self.components.pointer(pointer).unwrap())
    }

    fn schema(&self, route: &str, status: u16) -> Option<Value> {
        let operation = self
            .paths
            .get(route)
            .unwrap_or_else(|| panic!("{route} is not in the description"));
        let response = operation["responses"]
            .get(status.to_string())
            .unwrap_or_else(|| {
                // Answers that any route can give.
                assert!(
                    [301, 307, 401, 403, 404, 410, 415, 422, 429].contains(&status),
                    "{route} answers {status}"
                );
                &Value::Null
            });
        if response.is_null() {
            return Some(json!({ "$ref": "#/components/schemas/basic-error" }));
        }
        let response = self.resolve(response);
        let schema = response
            .get("content")?
            .get("application/json")?
            .get("schema")?;
        Some(schema.clone())
    }

    fn validator(&self, route: &str, status: u16, schema: &Value) -> &'static Validator {
        let mut built = self.built.lock().unwrap();
        built.entry(format!("{status} {route}")).or_insert_with(|| {
            let whole = json!({ "allOf": [schema], "components": self.components });
            let validator = jsonschema::options()
                .with_draft(Draft::Draft202012)
                .should_validate_formats(true)
                .build(&whole)
                .unwrap();
            Box::leak(Box::new(validator))
        })
    }

    /// Collects fields that the description does not have.
    fn undocumented(&self, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
        let mut properties = Map::new();
        let mut items = None;
        let mut free = false;
        self.gather(schema, &mut properties, &mut items, &mut free);
        match value {
            Value::Object(fields) if !properties.is_empty() && !free => {
                for (name, value) in fields {
                    match properties.get(name) {
                        Some(schema) => {
                            self.undocumented(schema, value, &format!("{at}/{name}"), found);
                        }
                        None => found.push(format!("{at}/{name}")),
                    }
                }
            }
            Value::Array(values) => {
                for (index, value) in values.iter().enumerate() {
                    if let Some(items) = &items {
                        self.undocumented(items, value, &format!("{at}/{index}"), found);
                    }
                }
            }
            _ => {}
        }
    }

    fn gather(
        &self,
        schema: &Value,
        properties: &mut Map<String, Value>,
        items: &mut Option<Value>,
        free: &mut bool,
    ) {
        let schema = self.resolve(schema);
        if let Some(own) = schema.get("properties").and_then(Value::as_object) {
            for (name, more) in own {
                properties
                    .entry(name.clone())
                    .or_insert_with(|| more.clone());
            }
        }
        if schema
            .get("additionalProperties")
            .is_some_and(|more| *more != json!(false))
        {
            *free = true;
        }
        if let Some(own) = schema.get("items") {
            *items = Some(own.clone());
        }
        for word in ["allOf", "oneOf", "anyOf"] {
            for part in schema
                .get(word)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                self.gather(part, properties, items, free);
            }
        }
    }
}

/// Rewrites OpenAPI 3.0's `nullable` into what JSON Schema understands.
fn modernise(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(modernise),
        Value::Object(fields) => {
            fields.values_mut().for_each(modernise);
            // Examples are no schemas.
            fields.remove("example");
            fields.remove("examples");
            if fields.remove("nullable") == Some(json!(true)) {
                let own = Value::Object(std::mem::take(fields));
                fields.insert("anyOf".to_owned(), json!([own, { "type": "null" }]));
            }
        }
        _ => {}
    }
}

/// What GitHub really sends although its description has it otherwise.
fn known_gap(pointer: &str, value: &Value) -> bool {
    let field = pointer.rsplit('/').next().unwrap_or_default();
    // A deleted fork, and an outdated comment.
    (value.is_null() && (pointer.ends_with("/head/repo") || ["line", "position"].contains(&field)))
        // The list of suites' apps and the like name the client id.
        || field == "client_id"
}

/// Judges one answer; `route` is method and template. Returns what is wrong.
pub(crate) fn judge(edition: Edition, route: &str, status: u16, body: &Value) -> Vec<String> {
    let judge: &Judge = match edition {
        Edition::Cloud => &CLOUD,
        Edition::EnterpriseServer => &SERVER,
    };
    let (method, path) = route.split_once(' ').unwrap();
    let route = format!("{method} {}", shape(path));
    if NOT_DESCRIBED.contains(&route.as_str()) {
        return Vec::new();
    }
    let Some(schema) = judge.schema(&route, status) else {
        return Vec::new();
    };
    let validator = judge.validator(&route, status, &schema);
    let mut wrong: Vec<String> = validator
        .iter_errors(body)
        .filter(|error| !known_gap(&error.instance_path().to_string(), error.instance()))
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    let mut undocumented = Vec::new();
    // Errors carry a status that their description leaves out.
    if status < 300 {
        judge.undocumented(&schema, body, "", &mut undocumented);
    }
    undocumented.retain(|pointer| !known_gap(pointer, &json!(0)));
    wrong.extend(
        undocumented
            .into_iter()
            .map(|pointer| format!("{pointer} is not documented")),
    );
    wrong
}

#[test]
fn judge_finds_missing_wrong_and_unknown_fields() {
    let route = "POST /repos/{o}/{r}/pulls/{n}/comments/{c}/replies";
    let problems = judge(Edition::Cloud, route, 404, &json!({ "message": 5 }));
    assert!(
        problems.iter().any(|p| p.contains("/message")),
        "{problems:?}"
    );
    let route = "GET /repos/{o}/{r}/git/blobs/{sha}";
    let problems = judge(
        Edition::Cloud,
        route,
        200,
        &json!({ "sha": "x", "colour": "red" }),
    );
    assert!(
        problems.iter().any(|p| p.contains("required")),
        "{problems:?}"
    );
    assert!(
        problems
            .iter()
            .any(|p| p.contains("/colour is not documented")),
        "{problems:?}"
    );
}

#[test]
fn every_route_is_in_the_description() {
    for route in mirilla_sim::route_names() {
        let (method, path) = route.split_once(' ').unwrap();
        let key = format!("{method} {}", shape(path));
        assert!(
            CLOUD.paths.contains_key(&key) || NOT_DESCRIBED.contains(&key.as_str()),
            "{key}"
        );
    }
}
