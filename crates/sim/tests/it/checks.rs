//! Check runs and commit statuses.

use mirilla_sim::{GithubOptions, OpenPull};
use serde_json::{Value, json};

use crate::client::Answer;
use crate::world::{REPO, World};

fn create(world: &World, body: Value) -> Answer {
    world.call("POST", &format!("/repos/{REPO}/check-runs"), Some(body))
}

fn output(annotations: usize) -> Value {
    let one = json!({
        "path": "src/pay.rs", "start_line": 10, "end_line": 10, "annotation_level": "warning",
        "message": "Hm.",
    });
    json!({ "title": "T", "summary": "S", "annotations": vec![one; annotations] })
}

#[test]
fn run_goes_from_queued_to_completed() {
    let world = World::new();
    let head = world.head();
    let made = create(
        &world,
        json!({ "name": "Mirilla", "head_sha": head, "external_id": "job-1" }),
    );
    assert_eq!(made.status, 201);
    let made = made.json();
    assert_eq!(
        (&made["status"], &made["conclusion"]),
        (&json!("queued"), &Value::Null)
    );
    assert_eq!(made["pull_requests"][0]["number"], world.pull);
    let path = format!("/repos/{REPO}/check-runs/{}", made["id"]);
    let running = world
        .call("PATCH", &path, Some(json!({ "status": "in_progress" })))
        .json();
    assert_eq!(running["status"], "in_progress");
    let without = world.call("PATCH", &path, Some(json!({ "status": "completed" })));
    assert_eq!(without.status, 422, "completed needs a conclusion");
    let done = json!({ "conclusion": "neutral", "output": output(50) });
    let done = world.call("PATCH", &path, Some(done)).json();
    assert_eq!(
        (&done["status"], &done["output"]["annotations_count"]),
        (&json!("completed"), &json!(50))
    );
    assert!(done["completed_at"].is_string());
    let more = world
        .call("PATCH", &path, Some(json!({ "output": output(3) })))
        .json();
    assert_eq!(
        more["output"]["annotations_count"], 53,
        "annotations are added"
    );
    let seen = world.gh().check_runs(REPO, &head).unwrap();
    assert_eq!(seen[0].conclusion.as_deref(), Some("neutral"));
    assert_eq!(
        (seen[0].external_id.as_str(), seen[0].annotations),
        ("job-1", 53)
    );
    assert_eq!(world.get(&path).json(), more);
}

#[test]
fn run_is_held_to_githubs_limits() {
    let world = World::new();
    let head = world.head();
    let base = json!({ "name": "Mirilla", "head_sha": head });
    let with = |name: &str, value: Value| {
        let mut body = base.clone();
        body[name] = value;
        create(&world, body).status
    };
    assert_eq!(with("conclusion", json!("great")), 422);
    assert_eq!(with("status", json!("waiting")), 422);
    assert_eq!(with("output", output(51)), 422);
    assert_eq!(with("output", json!({ "title": "T" })), 422);
    let long = json!({ "title": "T", "summary": "x".repeat(65_536) });
    assert_eq!(with("output", long), 422);
    assert_eq!(
        with(
            "output",
            json!({ "title": "T", "summary": "x".repeat(65_535) })
        ),
        201
    );
    let button = json!({ "label": "l", "description": "d", "identifier": "i" });
    assert_eq!(with("actions", json!(vec![button.clone(); 4])), 422);
    let wordy = json!({ "label": "x".repeat(21), "description": "d", "identifier": "i" });
    assert_eq!(with("actions", json!([wordy])), 422);
    assert_eq!(with("head_sha", json!("0".repeat(40))), 422);
    assert_eq!(create(&world, json!({ "head_sha": head })).status, 422);
}

#[test]
fn latest_run_of_each_name_is_listed() {
    let world = World::new();
    let head = world.head();
    for (name, conclusion) in [
        ("Mirilla", "failure"),
        ("Mirilla", "success"),
        ("Other", "neutral"),
    ] {
        create(
            &world,
            json!({ "name": name, "head_sha": head, "conclusion": conclusion }),
        );
    }
    let list = |query: &str| {
        let path = format!("/repos/{REPO}/commits/{head}/check-runs{query}");
        let listed = world.get(&path).json();
        let runs = listed["check_runs"].as_array().unwrap().clone();
        runs.iter()
            .map(|r| r["conclusion"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(list(""), ["neutral", "success"]);
    assert_eq!(list("?check_name=Mirilla"), ["success"]);
    assert_eq!(
        list("?check_name=Mirilla&filter=all"),
        ["success", "failure"]
    );
    assert_eq!(list("?app_id=1"), Vec::<String>::new());
    let by_branch = world
        .get(&format!("/repos/{REPO}/commits/feature/check-runs"))
        .json();
    assert_eq!(by_branch["total_count"], 2);
}

#[test]
fn run_on_a_fork_names_no_pull_request() {
    let world = World::new();
    let gh = world.gh();
    let fork = gh.fork(REPO, "mallory").unwrap();
    let commit = mirilla_sim::Commit::by("mallory", "Patch").write("x", "1\n");
    let sha = gh.commit(&fork, "patch", &commit).unwrap();
    let open = OpenPull {
        from: Some(fork),
        ..OpenPull::new("mallory", "patch", "Patch")
    };
    gh.open_pull(REPO, open).unwrap();
    let made = create(&world, json!({ "name": "Mirilla", "head_sha": sha }));
    assert_eq!(
        (made.status, &made.json()["pull_requests"]),
        (201, &json!([]))
    );
}

#[test]
fn statuses_combine_by_context() {
    let mut options = GithubOptions::default();
    options
        .app
        .permissions
        .push(("statuses".to_owned(), "write".to_owned()));
    let world = World::with(options);
    let head = world.head();
    let set = |body: Value| {
        world.call(
            "POST",
            &format!("/repos/{REPO}/statuses/{head}"),
            Some(body),
        )
    };
    let combined = || {
        world
            .get(&format!("/repos/{REPO}/commits/{head}/status"))
            .json()
    };
    assert_eq!(combined()["state"], "pending");
    assert_eq!(
        set(json!({ "state": "pending", "context": "mirilla" })).status,
        201
    );
    assert_eq!(
        set(json!({ "state": "success", "context": "Mirilla" })).status,
        201
    );
    let seen = combined();
    assert_eq!(
        (&seen["state"], &seen["total_count"]),
        (&json!("success"), &json!(1))
    );
    set(json!({ "state": "failure", "context": "other", "target_url": "https://example.test/x" }));
    assert_eq!(combined()["state"], "failure");
    assert_eq!(set(json!({ "state": "neutral" })).status, 422);
    let long = json!({ "state": "success", "description": "x".repeat(141) });
    assert_eq!(set(long).status, 422);
    assert_eq!(world.gh().statuses(REPO, &head).unwrap().len(), 3);
}
