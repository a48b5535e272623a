//! A run that was kept: repeated byte for byte, explained, and every change to it found.

use std::path::{Path, PathBuf};

use mirilla_sim::Scripted;
use serde_json::{Value, json};

use crate::support::{World, mirilla};

/// A file name that would clear a terminal.
const HOSTILE: &str = "\u{1b}[2Jgone";

struct Kept {
    world: World,
    folder: PathBuf,
}

impl Kept {
    /// Reviews a change of which the model looks something up and finds two things.
    fn new() -> Self {
        let world = World::new();
        let messages = world.sim.messages();
        messages.answer(Scripted::tool_calls(vec![(
            "read_file",
            json!({"path": HOSTILE}),
        )]));
        let finding = |line: u32, quote: &str, title: &str| {
            json!({"path": "Pay.java", "line": line, "end_line": 0,
                "quote": quote, "title": title,
                "message": "When the charge fails, nobody is told.",
                "category": "error-handling", "severity": "high", "confidence": 90,
                "symbol": "Pay.pay", "rule": "", "suggestion": ""})
        };
        let findings = [
            finding(4, "catch (Exception e) { }", "The failure is swallowed"),
            finding(90, "a line that is not there", "Something far away"),
        ];
        messages.answer(Scripted::json(
            &json!({"findings": findings, "summary": "One method."}),
        ));
        let verdict = |item: u32, verdict: &str| json!({"item": item, "verdict": verdict, "severity": "high", "confidence": 90, "reason": ""});
        let verdicts = [verdict(1, "holds"), verdict(2, "wrong")];
        messages.answer_second_look(Scripted::json(&json!({ "verdicts": verdicts })));
        let kept = Self {
            folder: world.dir.path().join("run"),
            world,
        };
        let (code, stdout, stderr) = kept.review();
        assert_eq!(code, 0, "{stdout}{stderr}");
        kept
    }

    fn review(&self) -> (i32, String, String) {
        let patch = b"diff --git a/Pay.java b/Pay.java\n--- a/Pay.java\n+++ b/Pay.java\n@@ -1,2 +1,6 @@\n class Pay {\n+  void pay() {\n+    try { charge(); }\n+    catch (Exception e) { }\n+  }\n }\n";
        let url = self.world.sim.messages().url();
        let key = self.world.sim.messages().api_key().to_owned();
        let folder = self.folder.to_str().unwrap();
        mirilla(
            &["review", "--patch", "-", "--keep", folder],
            patch,
            &[("ANTHROPIC_API_KEY", &key), ("MIRILLA_MODEL_URL", &url)],
        )
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    fn explain(&self, finding: &str) -> (i32, String, String) {
        let folder = self.folder.to_str().unwrap();
        mirilla(&["explain", finding, "--run", folder], b"", &[])
    }
}

fn replay(run: &Path) -> (i32, String, String) {
    mirilla(&["replay", run.to_str().unwrap()], b"", &[])
}

#[test]
fn a_kept_run_is_repeated_byte_for_byte() {
    let kept = Kept::new();
    let plan = std::fs::read_to_string(kept.path("plan.json")).unwrap();
    for run in [kept.folder.clone(), kept.path("run.json")] {
        let (code, stdout, stderr) = replay(&run);
        assert_eq!(code, 0, "{stderr}");
        assert_eq!(stdout, plan);
        assert!(stderr.contains("byte for byte"), "{stderr}");
    }
    let key = kept.world.sim.messages().api_key().to_owned();
    for entry in std::fs::read_dir(&kept.folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(&key), "{}", path.display());
    }
    // A second run does not go over the first one, and nothing is asked for it.
    let asked = kept.world.sim.messages().model_calls().len();
    let (code, _, stderr) = kept.review();
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("is not empty"), "{stderr}");
    assert_eq!(kept.world.sim.messages().model_calls().len(), asked);
}

#[test]
fn one_changed_byte_of_a_kept_run_is_found() {
    let kept = Kept::new();
    for (file, from, to, named) in [
        ("review.json", "swallowed", "swallowee", "the review is not"),
        ("run.json", "swallowed", "swallowee", "the answer of call 2"),
        (
            "run.json",
            "\"turn\":2",
            "\"turn\":3",
            "run.json was changed",
        ),
        ("diff.patch", "charge", "chargE", "the diff is not"),
        ("rules.json", "files", "filez", "rules.json is not the one"),
        ("meta.json", "local/", "locaL/", "meta.json is not the one"),
        (
            "plan.json",
            "swallowed",
            "swallowee",
            "differs from plan.json at /",
        ),
        (
            "plan-input.json",
            "\"max_comments\": 20",
            "\"max_comments\": 0",
            "differs from plan.json at /",
        ),
    ] {
        let path = kept.path(file);
        let text = std::fs::read_to_string(&path).unwrap();
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{file} has no {from}");
        std::fs::write(&path, changed).unwrap();
        let (code, _, stderr) = replay(&kept.folder);
        assert_eq!(code, 1, "{file}: {stderr}");
        assert!(stderr.contains(named), "{file}: {stderr}");
        std::fs::write(&path, text).unwrap();
    }
    assert_eq!(replay(&kept.folder).0, 0);
    let plan = std::fs::read_to_string(kept.path("plan.json")).unwrap();
    let milder = plan.replacen("high", "low", 1);
    std::fs::write(kept.path("plan.json"), milder).unwrap();
    let (code, _, stderr) = kept.explain("Pay.java:4");
    assert_eq!(code, 1);
    assert!(stderr.contains("plan.json was changed"), "{stderr}");
    std::fs::write(kept.path("plan.json"), plan).unwrap();
    std::fs::remove_file(kept.path("run.json")).unwrap();
    let (code, _, stderr) = replay(&kept.folder);
    assert_eq!(code, 1);
    assert!(stderr.contains("run.json is missing"), "{stderr}");
}

#[test]
fn a_finding_is_explained_by_place_fingerprint_and_marker() {
    let kept = Kept::new();
    let plan: Value =
        serde_json::from_slice(&std::fs::read(kept.path("plan.json")).unwrap()).unwrap();
    let items = plan["items"].as_array().unwrap();
    let item = items.iter().find(|item| item["line"] == 4).unwrap();
    let fingerprint = item["fingerprint"].as_str().unwrap();
    let marker = plan["review"]["review"]["comments"][0]["body"]
        .as_str()
        .unwrap();
    let (code, by_place, stderr) = kept.explain("Pay.java:4");
    assert_eq!(code, 0, "{stderr}");
    for wanted in [
        "Pay.java:4  HIGH  error-handling  The failure is swallowed",
        fingerprint,
        "prompt version 1, chunk 1, call 2, turn 2, request ",
        "catch (Exception e) { }",
        "looked up    read_file",
        "-> refused",
        "for 2 calls",
        " % of the review; named 2 findings",
        "second look  holds (call 3; it was high)",
        "a new comment on line 4",
    ] {
        assert!(by_place.contains(wanted), "no {wanted:?} in {by_place}");
    }
    assert!(!by_place.contains('\u{1b}'), "{by_place:?}");
    assert_eq!(kept.explain(fingerprint.get(..8).unwrap()).1, by_place);
    assert_eq!(kept.explain(marker).1, by_place);

    let (code, far, _) = kept.explain("Pay.java:90");
    assert_eq!(code, 0);
    assert!(
        far.contains("second look  wrong (call 3; it was high)"),
        "{far}"
    );
    assert!(
        far.contains("named in the review's body: the second look doubts it"),
        "{far}"
    );
    let (code, _, stderr) = kept.explain("Pay.java:5000");
    assert_eq!(code, 1);
    assert!(stderr.contains("the run has no such finding"), "{stderr}");
    assert_eq!(kept.explain("what?").0, 2);
}

#[test]
fn a_run_without_a_model_is_kept_and_repeated_too() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("run");
    let folder = folder.to_str().unwrap();
    let patch = b"diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,4 @@\n a\n+<<<<<<< HEAD\n+=======\n+>>>>>>> other\n";
    let (code, _, stderr) = mirilla(&["review", "--patch", "-", "--keep", folder], patch, &[]);
    assert_eq!(code, 0, "{stderr}");
    let (code, _, stderr) = mirilla(&["replay", folder], b"", &[]);
    assert_eq!(code, 0, "{stderr}");
    let (code, stdout, stderr) = mirilla(&["explain", "a.txt:2", "--run", folder], b"", &[]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("the fixed check"), "{stdout}");
    let (code, _, stderr) = mirilla(&["replay", dir.path().to_str().unwrap()], b"", &[]);
    assert_eq!(code, 1);
    assert!(
        stderr.contains("there is no plan-input.json in"),
        "{stderr}"
    );
}
