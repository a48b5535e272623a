//! Labelled changes: the shipped ones through the oracle, and a model that is asked, recorded, replayed.

use std::path::Path;

use mirilla_sim::{Otherwise, Scripted, Sim, SimOptions};
use serde_json::{Value, json};

use crate::support::{mirilla, root};

/// Runs `mirilla eval` and returns what it prints as JSON.
fn eval(dir: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Value {
    let mut all = vec!["eval", dir.to_str().unwrap(), "--format", "json"];
    all.extend(arguments);
    let (code, stdout, stderr) = mirilla(&all, b"", environment);
    assert_eq!(code, 0, "{stdout}{stderr}");
    serde_json::from_str(&stdout).unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn sum(counts: &Value) -> u64 {
    counts.as_object().unwrap().values().map(number).sum()
}

/// A folder with one change that swallows a failure and one that is clean.
fn small() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let case = |name: &str, code: &str, about: &str| {
        let case = dir.path().join("mine").join(name);
        std::fs::create_dir_all(&case).unwrap();
        let lines: Vec<String> = code.lines().map(|line| format!("+{line}\n")).collect();
        let diff = format!(
            "diff --git a/{name}.java b/{name}.java\nnew file mode 100644\n--- /dev/null\n+++ b/{name}.java\n@@ -0,0 +1,{} @@\n{}",
            lines.len(),
            lines.concat()
        );
        std::fs::write(case.join("change.diff"), diff).unwrap();
        let about = format!("[source]\nlicence = \"Apache-2.0\"\n{about}");
        std::fs::write(case.join("case.toml"), about).unwrap();
    };
    case(
        "bug",
        "class A {\n  void a() {\n    try {\n      b();\n    } catch (Exception e) {\n    }\n  }\n}\n",
        "[[expected]]\npath = \"bug.java\"\nline = 5\nend_line = 6\nwhat = \"swallowed\"\n",
    );
    case("clean", "class B {\n  int b;\n}\n", "");
    let path = dir.path().join("mine/clean/case.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, format!("clean = true\n{text}")).unwrap();
    dir
}

fn finding(path: &str, line: u32, confidence: u8) -> Value {
    json!({
        "path": path, "line": line, "end_line": line, "quote": "", "title": "The failure is swallowed",
        "message": "Nobody is told.", "category": "error-handling", "severity": "high",
        "confidence": confidence, "symbol": "", "rule": "", "suggestion": "",
    })
}

fn answer(findings: &[Value]) -> Scripted {
    Scripted::text(json!({"summary": "", "findings": findings}).to_string())
}

fn sim() -> (Sim, String, String) {
    let sim = Sim::start(SimOptions::default()).unwrap();
    sim.messages().otherwise(Otherwise::Reviewer);
    let (key, url) = (sim.messages().api_key().to_owned(), sim.messages().url());
    (sim, key, url)
}

#[test]
fn oracle_finds_every_label_of_the_shipped_changes() {
    let dir = root().join("tests/fixtures/eval");
    let result = eval(&dir, &["--oracle"], &[]);
    // No clone is named, so the public ones are there by reference only; their labels were read.
    let unavailable = result["unavailable"].as_array().unwrap();
    let of = |set: &str| {
        let is_in = |one: &&Value| one["case"].as_str().unwrap().starts_with(set);
        unavailable.iter().filter(is_in).count()
    };
    assert!(of("public-bugs/") >= 30 && of("public-clean/") >= 30);
    assert_eq!(of("written"), 0);
    let all = &result["all"]["answered"];
    assert_eq!(number(&all["changes"]), 22);
    let defects = number(&all["defects"]);
    assert!(defects >= 12, "{all}");
    let found = number(&all["found_on_line"]) + number(&all["found_in_text"]);
    let rest = sum(&all["lost"]) + number(&all["unread"]) + number(&all["missed"]);
    assert_eq!(found + rest, defects);
    assert_eq!(rest, 0, "a perfect answer was lost: {result:#}");
    // It is no model, and no figure says that it is one.
    assert_eq!(result["models"], json!([]));
    for set in result["sets"].as_object().unwrap().values() {
        assert_eq!(set["model"], Value::Null);
    }
}

#[test]
fn without_answers_there_is_no_figure_about_a_model() {
    let dir = root().join("tests/fixtures/eval");
    let result = eval(&dir, &["--set", "written-bugs"], &[]);
    assert_eq!(result["all"]["model"], Value::Null);
    assert_eq!(result["all"]["answered"], Value::Null);
    assert_eq!(result["all"]["floor"]["changes"], 12);
    let dir = dir.to_str().unwrap();
    let (code, stdout, _) = mirilla(&["eval", dir, "--set", "written-bugs"], b"", &[]);
    assert_eq!(code, 0);
    assert!(
        stdout.contains("no answers are recorded, so there is no figure about a model"),
        "{stdout}"
    );
    assert!(!stdout.contains("precision"), "{stdout}");
}

#[test]
fn what_was_asked_and_recorded_is_replayed_to_the_same_figures() {
    let dir = small();
    let (sim, key, url) = sim();
    // About the defect twice, once too unsure; about nothing once; and a finding on the clean change.
    sim.messages().answer(answer(&[
        finding("bug.java", 5, 90),
        finding("bug.java", 6, 10),
        finding("bug.java", 1, 95),
    ]));
    sim.messages()
        .answer(answer(&[finding("clean.java", 2, 80)]));
    let environment = [
        ("ANTHROPIC_API_KEY", key.as_str()),
        ("MIRILLA_MODEL_URL", url.as_str()),
    ];
    let asked = eval(dir.path(), &["--ask", "--record"], &environment);
    let model = &asked["all"]["model"];
    assert_eq!(asked["answers"], "asked");
    assert_eq!(number(&asked["all"]["answered"]["found_on_line"]), 1);
    assert_eq!(number(&model["reported"]), 3, "{asked:#}");
    assert_eq!(number(&model["clean_changes_flagged"]), 1);
    assert!(model["cost_usd"].as_str().unwrap() > "0.00");
    let calls = sim.messages().model_calls().len();
    let replayed = eval(dir.path(), &[], &[]);
    assert_eq!(
        sim.messages().model_calls().len(),
        calls,
        "nobody was asked"
    );
    assert_eq!(replayed["answers"], "recorded");
    assert_eq!(replayed["models"], asked["models"]);
    for part in ["sets", "all", "cases"] {
        assert_eq!(replayed[part], asked[part], "{part}");
    }
    assert_eq!(replayed["misfits"], json!([]));
    let (_, table, _) = mirilla(&["eval", dir.path().to_str().unwrap()], b"", &[]);
    let row = table.lines().find(|line| line.starts_with("all")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    // Changes, defects, found, lost, unread, missed, reported, false; then the shares.
    assert_eq!(
        cells[1..9],
        ["2", "1", "1", "0", "0", "0", "3", "2"],
        "{table}"
    );
    assert_eq!(cells[9..12], ["33.3%", "100.0%", "50.0%"], "{table}");
    assert!(
        table.contains("clean changes with a finding: 1 of 1 (1 finding)"),
        "{table}"
    );
    // A filter of ours that is stricter loses what the model found, and is blamed for it.
    let policy = dir.path().join("policy.toml");
    std::fs::write(&policy, "min-confidence = 95\n").unwrap();
    let strict = eval(
        dir.path(),
        &[],
        &[("MIRILLA_POLICY_FILE", policy.to_str().unwrap())],
    );
    assert_eq!(
        strict["all"]["answered"]["lost"],
        json!({"below-threshold": 1})
    );
    assert_eq!(strict["all"]["model"]["recall"], 0.0);
}

#[test]
fn a_cap_ends_the_run_and_leaves_the_rest_out() {
    let dir = small();
    let (sim, key, url) = sim();
    let result = eval(
        dir.path(),
        &["--ask", "--max-usd", "0.0001"],
        &[("ANTHROPIC_API_KEY", &key), ("MIRILLA_MODEL_URL", &url)],
    );
    assert_eq!(result["unasked"], json!(["mine/bug", "mine/clean"]));
    assert_eq!(result["all"]["model"], Value::Null);
    assert_eq!(sim.messages().model_calls().len(), 0);
}

/// The small folder with answers recorded beside its changes.
fn recorded() -> tempfile::TempDir {
    let dir = small();
    let (_sim, key, url) = sim();
    let environment = [
        ("ANTHROPIC_API_KEY", key.as_str()),
        ("MIRILLA_MODEL_URL", &url),
    ];
    eval(dir.path(), &["--ask", "--record"], &environment);
    dir
}

#[test]
fn answers_to_other_questions_are_left_out_and_named() {
    let dir = recorded();
    let recorded = dir.path().join("mine/bug/answers/001.json");
    let text = std::fs::read_to_string(&recorded).unwrap();
    std::fs::write(recorded.with_file_name("009.json"), &text).unwrap();
    let result = eval(dir.path(), &[], &[]);
    assert_eq!(result["misfits"][0]["case"], "mine/bug");
    assert_eq!(number(&result["all"]["answered"]["changes"]), 1);
}

#[test]
fn answers_about_another_diff_are_left_out_and_named() {
    let dir = recorded();
    let diff = dir.path().join("mine/bug/change.diff");
    let text = std::fs::read_to_string(&diff).unwrap();
    let line = text.lines().last().unwrap();
    std::fs::write(&diff, text.replace(line, &format!("{line} "))).unwrap();
    let result = eval(dir.path(), &[], &[]);
    assert_eq!(result["misfits"][0]["case"], "mine/bug");
    assert_eq!(
        result["misfits"][0]["why"],
        "it answers questions about another diff"
    );
}

/// That nobody was reached says nothing about a model.
#[test]
fn a_model_that_was_not_reached_has_no_figures() {
    let dir = small();
    let (sim, _key, url) = sim();
    let environment = [
        ("ANTHROPIC_API_KEY", "sk-ant-made-up-and-wrong"),
        ("MIRILLA_MODEL_URL", url.as_str()),
    ];
    let result = eval(dir.path(), &["--ask"], &environment);
    assert_eq!(result["all"]["model"], Value::Null, "{result:#}");
    assert!(!sim.messages().take_problems().is_empty());
}

#[test]
fn a_label_that_is_not_in_its_diff_is_refused_by_name() {
    let dir = small();
    let case = dir.path().join("mine/bug/case.toml");
    let text = std::fs::read_to_string(&case).unwrap();
    std::fs::write(&case, text.replace("line = 5", "line = 50")).unwrap();
    let (code, _, stderr) = mirilla(&["eval", dir.path().to_str().unwrap()], b"", &[]);
    assert_eq!(code, 1);
    assert!(
        stderr.contains("mine/bug: `[[expected]]` number 1"),
        "{stderr}"
    );
    let (code, _, stderr) = mirilla(&["eval", dir.path().to_str().unwrap(), "--ask"], b"", &[]);
    assert_ne!(code, 0, "{stderr}");
    let empty = tempfile::tempdir().unwrap();
    let (code, _, _) = mirilla(&["eval", empty.path().to_str().unwrap()], b"", &[]);
    assert_eq!(code, 3);
}

#[test]
fn a_fix_in_a_clone_is_undone() {
    let dir = tempfile::tempdir().unwrap();
    let repo = dir.path().join("clones/acme/shop");
    std::fs::create_dir_all(&repo).unwrap();
    let git = |arguments: &[&str]| {
        let output = std::process::Command::new("git")
            .current_dir(&repo)
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
            .args(["-c", "commit.gpgsign=false"])
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "git {arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "-q", "-b", "main"]);
    std::fs::write(repo.join("a.c"), "int f(int *p) {\n  return *p;\n}\n").unwrap();
    std::fs::write(repo.join("a_test.c"), "int t;\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "-qm", "before"]);
    std::fs::write(
        repo.join("a.c"),
        "int f(int *p) {\n  return p ? *p : 0;\n}\n",
    )
    .unwrap();
    std::fs::write(repo.join("a_test.c"), "int t = 1;\n").unwrap();
    git(&["commit", "-qam", "fix"]);
    let case = dir.path().join("set/fixes/null");
    std::fs::create_dir_all(&case).unwrap();
    let text = format!(
        "[source]\nlicence = \"MIT\"\nrepository = \"acme/shop\"\ncommit = \"{}\"\nreverse = true\nfiles = [\"a.c\"]\n\
         [[expected]]\npath = \"a.c\"\nline = 2\nwhat = \"null\"\n",
        git(&["rev-parse", "HEAD"])
    );
    std::fs::write(case.join("case.toml"), text).unwrap();
    let clones = dir.path().join("clones");
    let set = dir.path().join("set");
    let with = ["--oracle", "--repositories", clones.to_str().unwrap()];
    let result = eval(&set, &with, &[]);
    assert_eq!(result["cases"][0]["defects"], json!([{"fate": "found"}]));
    let without = eval(&set, &["--oracle"], &[]);
    assert_eq!(without["unavailable"][0]["case"], "fixes/null");
    assert_eq!(without["all"]["answered"], Value::Null);
}
