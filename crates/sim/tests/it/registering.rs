//! Registering an App from a manifest, as a browser and the program behind it see it.

use std::time::Duration;

use mirilla_sim::{AccountKind, Problem, Sim, SimOptions, TEST_APP_KEY};
use serde_json::{Value, json};

use crate::client::{Answer, send};
use crate::world::START;

fn manifest() -> Value {
    json!({
        "name": "Reviewer of acme",
        "url": "https://example.test/mirilla",
        "hook_attributes": { "url": "https://hooks.example.test/webhooks/github" },
        "redirect_url": "http://127.0.0.1:4000/created",
        "public": false,
        "default_permissions": {
            "metadata": "read", "contents": "read", "pull_requests": "write", "checks": "write",
        },
        "default_events": ["pull_request", "check_run"],
    })
}

fn start() -> Sim {
    let sim = Sim::start(SimOptions {
        start_at: Some(START.parse().unwrap()),
        ..SimOptions::default()
    })
    .unwrap();
    sim.github().add_account("acme", AccountKind::Organization);
    sim
}

fn post(sim: &Sim, path: &str, fields: &[(&str, &str)]) -> Answer {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(fields);
    let url = format!("{}{path}", sim.github().website_url());
    send("POST", &url, &[], form.finish().as_bytes()).unwrap()
}

/// Presses the button; returns the query that the browser is sent on with.
fn press(sim: &Sim, name: &str) -> Vec<(String, String)> {
    let text = manifest().to_string();
    let fields = [("name", name), ("manifest", text.as_str()), ("state", "s3")];
    let answer = post(sim, "/organizations/acme/settings/apps", &fields);
    assert_eq!(answer.status, 302, "{}", answer.text());
    let to = url::Url::parse(answer.header("location").unwrap()).unwrap();
    assert_eq!(
        to.as_str().split('?').next(),
        Some("http://127.0.0.1:4000/created")
    );
    to.query_pairs().into_owned().collect()
}

fn convert(sim: &Sim, code: &str) -> Answer {
    let url = format!("{}/app-manifests/{code}/conversions", sim.github_api_url());
    send("POST", &url, &[("user-agent", "mirilla-test")], b"").unwrap()
}

#[test]
fn app_is_registered_and_its_code_works_once() {
    let sim = start();
    let text = manifest().to_string();
    let page = post(
        &sim,
        "/organizations/acme/settings/apps/new?state=s3",
        &[("manifest", text.as_str())],
    );
    assert_eq!(page.status, 200);
    assert!(page.text().contains("Create GitHub App"), "{}", page.text());

    let query = press(&sim, "Reviewer of acme");
    assert_eq!(query[1], ("state".to_owned(), "s3".to_owned()));
    let answer = convert(&sim, &query[0].1);
    assert_eq!(answer.status, 201);
    let app = answer.json();
    assert_eq!(app["pem"], json!(TEST_APP_KEY));
    assert_eq!(app["name"], "Reviewer of acme");
    assert_eq!(app["owner"]["login"], "acme");
    assert_eq!(app["events"], json!(["pull_request", "check_run"]));
    assert_eq!(app["permissions"]["pull_requests"], "write");
    assert_eq!(app["webhook_secret"], json!(sim.github().hook_secret()));
    assert_eq!(
        sim.github().hook_url(),
        "https://hooks.example.test/webhooks/github"
    );
    assert_eq!(convert(&sim, &query[0].1).status, 404, "once");
    assert_eq!(convert(&sim, "0000").status, 404);
    sim.finish().unwrap();
}

#[test]
fn code_is_forgotten_after_an_hour_and_a_name_is_taken_once() {
    let sim = start();
    let query = press(&sim, "Reviewer of acme");
    sim.clock().advance(Duration::from_secs(3600));
    assert_eq!(convert(&sim, &query[0].1).status, 404);
    let text = manifest().to_string();
    let again = post(
        &sim,
        "/settings/apps",
        &[("name", "Reviewer of acme"), ("manifest", text.as_str())],
    );
    assert!(again.text().contains("already taken"), "{}", again.text());
    assert_eq!(sim.github().take_problems().len(), 1);
    sim.finish().unwrap();
}

#[test]
fn manifest_is_refused_as_github_refuses_it() {
    let sim = start();
    let cases: [(&str, Value, &str); 9] = [
        ("/url", Value::Null, "url must be a valid URL"),
        (
            "/hook_attributes",
            json!({ "active": false }),
            "\"url\" wasn't supplied.",
        ),
        (
            "/hook_attributes",
            json!({ "url": "http://127.0.0.1:9/x" }),
            "isn't reachable over the public Internet",
        ),
        (
            "/default_events",
            json!(["installation"]),
            "Default events unsupported: installation",
        ),
        (
            "/default_events",
            json!(["issue_comment", "merge_group"]),
            "Default events are not supported by permissions: issue_comment and merge_group",
        ),
        (
            "/default_permissions",
            json!({ "pull_requests": "admin", "checks": "read" }),
            "action is not included in the list",
        ),
        (
            "/default_permissions",
            json!({ "pulls": "read", "checks": "read" }),
            "resource is not included in the list",
        ),
        ("/name", json!("x".repeat(35)), "Name is too long"),
        ("/public", json!("no"), "is not a boolean"),
    ];
    for (pointer, value, wanted) in cases {
        let mut wrong = manifest();
        *wrong.pointer_mut(pointer).unwrap() = value;
        let text = wrong.to_string();
        let page = post(&sim, "/settings/apps/new", &[("manifest", text.as_str())]);
        assert_eq!(page.status, 422, "{text}");
        let said = page.text().replace("&quot;", "\"");
        assert!(said.contains(wanted), "{said}");
        let problems = sim.github().take_problems();
        assert!(
            problems.iter().any(
                |problem| matches!(problem, Problem::BadRequest(what) if what.contains(wanted))
            ),
            "{problems:?}"
        );
    }
    let mut unknown = manifest();
    unknown["webhook"] = json!("https://x.test");
    let text = unknown.to_string();
    let page = post(&sim, "/settings/apps/new", &[("manifest", text.as_str())]);
    assert!(page.text().contains("is not a field of a manifest"));
    let nobody = post(
        &sim,
        "/organizations/nobody/settings/apps/new",
        &[("manifest", text.as_str())],
    );
    assert_eq!(nobody.status, 404);
    sim.github().take_problems();
    sim.finish().unwrap();
}
