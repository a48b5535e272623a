//! The model is asked: it looks things up in a confined child of `serve` and in `review` over a clone, it is
//! asked on Bedrock, and it cannot be asked.

use std::time::Duration;

use mirilla_casekit::git;
use mirilla_sim::{Scripted, SimFinding};
use serde_json::{Value, json};

use crate::support::{REPO, World, mirilla, wait_for};

/// An answer that reads one file and searches all.
fn looking(path: &str, pattern: &str) -> Scripted {
    let asks = [
        ("read_file", json!({"path": path})),
        ("search", json!({"pattern": pattern})),
    ];
    let blocks = asks.iter().zip(0..).map(|((name, input), number)| {
        json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": name, "input": input})
    });
    Scripted::blocks(blocks.collect(), "tool_use")
}

/// What the model was told, once it asks again.
fn told(world: &World) -> Option<String> {
    let calls = world.sim.messages().model_calls();
    let body = &calls.get(1)?.prompt.body;
    let last = body["messages"].as_array()?.last()?;
    Some(match &last["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks.to_string(),
    })
}

#[test]
fn a_confined_reviewer_reads_its_commits_archive() {
    let world = World::new();
    world.sim.messages().answer(looking("README.md", "work0"));
    world.open_pull("change");
    let server = world.serve();
    for delivery in world.deliveries() {
        assert_eq!(server.deliver(&delivery), Some(202));
    }
    wait_for("the second call", Duration::from_secs(60), || {
        told(&world).map(drop).ok_or_else(|| "none yet".to_owned())
    });
    drop(server);
    let told = told(&world).unwrap();
    assert!(told.contains("1   A shop."), "{told}");
    assert!(told.contains("change/Step0.java"), "{told}");
    assert!(told.contains("4 +       work0();"), "{told}");
}

/// The same over Bedrock, where a role stands in for the key.
#[test]
fn a_preview_asks_bedrock_with_the_environments_credentials() {
    let world = World::new();
    let patch =
        "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-fn a() {}\n+fn b() {}\n";
    let messages = world.sim.messages();
    messages.answer(Scripted::nothing_found());
    let (url, key) = (messages.url(), messages.access_key_id().to_owned());
    let set = [
        ("MIRILLA_BEDROCK_MODEL_ID", "eu.anthropic.claude-sonnet-5-5"),
        ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", url.as_str()),
        ("AWS_REGION", "eu-central-1"),
        ("AWS_ACCESS_KEY_ID", key.as_str()),
        ("AWS_SECRET_ACCESS_KEY", "made-up-secret-key"),
    ];
    let (code, stdout, stderr) = mirilla(&["review", "--patch", "-"], patch.as_bytes(), &set);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert_eq!(messages.counts()["POST /model/{id}/invoke"], 1);
}

/// A wrong key must not look like a clean change.
#[test]
fn a_model_that_reads_nothing_is_a_failure_that_says_why() {
    let patch =
        "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-fn a() {}\n+fn b() {}\n";
    let world = World::new();
    let url = world.sim.messages().url();
    let set = [
        ("ANTHROPIC_API_KEY", "sk-ant-made-up-and-wrong"),
        ("MIRILLA_MODEL_URL", url.as_str()),
    ];
    for format in ["text", "json"] {
        let arguments = ["review", "--patch", "-", "--format", format];
        let (code, stdout, stderr) = mirilla(&arguments, patch.as_bytes(), &set);
        assert_eq!(code, 1, "{stdout}{stderr}");
        assert!(
            stderr.contains("401 authentication_error") && stderr.contains("check the model key"),
            "{stderr}"
        );
        assert!(
            stderr.contains("the model read none of the change"),
            "{stderr}"
        );
    }
    assert_eq!(world.sim.messages().take_problems().len(), 2);
}

/// Ctrl-C while the model is asked.
#[test]
fn a_review_that_is_stopped_leaves_no_copy_of_the_change_behind() {
    let world = World::new();
    let (sender, child) = std::sync::mpsc::channel();
    let stop = mirilla_sim::Fault::before(move || {
        let child: i32 = child.recv_timeout(Duration::from_secs(60)).unwrap();
        let child = rustix::process::Pid::from_raw(child).unwrap();
        rustix::process::kill_process(child, rustix::process::Signal::INT).unwrap();
        std::thread::sleep(Duration::from_secs(2));
    });
    let messages = world.sim.messages();
    messages.faults().on("POST /v1/messages", 1, stop);
    let scratch = world.dir.path().join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let patch = world.dir.path().join("change.patch");
    let change = "--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-fn a() {}\n+fn b() {}\n";
    std::fs::write(&patch, change).unwrap();
    let review = std::process::Command::new(env!("CARGO_BIN_EXE_mirilla"))
        .args(["review", "--patch"])
        .arg(&patch)
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap())
        .env("TMPDIR", &scratch)
        .env("ANTHROPIC_API_KEY", messages.api_key())
        .env("MIRILLA_MODEL_URL", messages.url())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    sender.send(i32::try_from(review.id()).unwrap()).unwrap();
    let output = review.wait_with_output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert!(told.contains("the review was stopped"), "{told}");
    let left = std::fs::read_dir(&scratch).unwrap().count();
    assert_eq!(left, 0, "{told}");
}

#[test]
fn a_finding_that_is_doubted_is_told_so_and_decides_nothing() {
    let world = World::new();
    let messages = world.sim.messages();
    messages.answer(Scripted::findings(
        "One.",
        vec![SimFinding::new("a.rs", 1, "A defect")],
    ));
    let verdict =
        json!({"item": 1, "verdict": "wrong", "severity": "low", "confidence": 90, "reason": ""});
    messages.answer_second_look(Scripted::json(&json!({ "verdicts": [verdict] })));
    let patch =
        "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-fn a() {}\n+fn b() {}\n";
    let (url, key) = (messages.url(), messages.api_key().to_owned());
    let set = [
        ("ANTHROPIC_API_KEY", key.as_str()),
        ("MIRILLA_MODEL_URL", url.as_str()),
    ];
    let arguments = ["review", "--patch", "-", "--fail-on", "high"];
    let (code, stdout, stderr) = mirilla(&arguments, patch.as_bytes(), &set);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(
        stdout.contains("a.rs:1  HIGH (doubted on a second look)  A defect"),
        "{stdout}"
    );
}

#[test]
fn a_preview_looks_in_the_clone_and_shows_nothing_of_the_working_tree() {
    let world = World::new();
    let repo = world.dir.path().join("clone");
    let git = |arguments: &[&str]| drop(git(&repo, arguments));
    std::fs::create_dir(&repo).unwrap();
    git(&["init", "-q", "-b", "main"]);
    std::fs::write(repo.join("lib.rs"), "fn helper() {}\n").unwrap();
    std::fs::write(repo.join("main.rs"), "fn main() {}\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "-qm", "base"]);
    std::fs::write(repo.join("main.rs"), "fn main() { helper(); }\n").unwrap();
    git(&["commit", "-qam", "head"]);
    std::fs::write(repo.join("lib.rs"), "fn helper() { uncommitted(); }\n").unwrap();
    world.sim.messages().answer(looking("lib.rs", "helper"));
    let url = world.sim.messages().url();
    let key = world.sim.messages().api_key().to_owned();
    let (code, stdout, stderr) = mirilla(
        &[
            "review",
            "--repo",
            repo.to_str().unwrap(),
            "--base",
            "HEAD~1",
        ],
        b"",
        &[("ANTHROPIC_API_KEY", &key), ("MIRILLA_MODEL_URL", &url)],
    );
    assert_eq!(code, 0, "{stdout}{stderr}");
    let told = told(&world).unwrap();
    assert!(told.contains("1   fn helper() {}"), "{told}");
    assert!(told.contains("1 + fn main() { helper(); }"), "{told}");
    assert!(!told.contains("uncommitted"), "{told}");
    assert!(stderr.contains("  read       main.rs"), "{stderr}");
    assert!(!world.sim.github().tip(REPO, "main").unwrap().is_empty());
}
