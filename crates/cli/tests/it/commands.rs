//! Small commands: exit codes, hints, and what goes to which stream.

use mirilla_casekit::git;

use crate::support::mirilla;

const CLEAN: &[u8] = b"diff --git a/a.rs b/a.rs\nindex 1111111..2222222 100644\n--- a/a.rs\n+++ b/a.rs\n@@ -1 +1,2 @@\n fn a() {}\n+fn b() {}\n";

#[test]
fn a_clean_patch_is_fine_and_says_that_no_model_was_asked() {
    let (code, stdout, stderr) = mirilla(&["review", "--patch", "-"], CLEAN, &[]);
    assert_eq!(code, 0, "{stderr}");
    assert!(
        stdout.contains("0 findings") && stdout.contains("no model was asked"),
        "{stdout}"
    );
    assert!(stderr.contains("ANTHROPIC_API_KEY is not set"), "{stderr}");
}

#[test]
fn nothing_to_review_has_an_exit_code_of_its_own() {
    let (code, stdout, stderr) = mirilla(&["review", "--patch", "-"], b"", &[]);
    assert_eq!((code, stdout.as_str()), (3, ""), "{stderr}");
}

#[test]
fn a_conflict_marker_fails_on_high_and_not_without() {
    let patch = b"diff --git a/a.rs b/a.rs\nindex 1111111..2222222 100644\n--- a/a.rs\n+++ b/a.rs\n@@ -1 +1,6 @@\n fn a() {}\n+<<<<<<< HEAD\n+fn b() {}\n+=======\n+fn c() {}\n+>>>>>>> other\n";
    let (code, stdout, _) = mirilla(
        &["review", "--patch", "-", "--fail-on", "medium"],
        patch,
        &[],
    );
    assert_eq!(code, 10, "{stdout}");
    assert!(stdout.contains("a.rs:2"), "{stdout}");
    let (code, _, _) = mirilla(&["review", "--patch", "-"], patch, &[]);
    assert_eq!(code, 0);
}

#[test]
fn answers_of_the_labels_are_not_recorded_as_a_models() {
    let arguments = ["eval", "tests/fixtures/eval", "--oracle", "--record"];
    let (code, _, stderr) = mirilla(&arguments, b"", &[]);
    assert_eq!(code, 2, "{stderr}");
    assert!(
        stderr.contains("--record") && stderr.contains("--oracle"),
        "{stderr}"
    );
}

/// What the poster would say about the repository's settings, a preview says too.
#[test]
fn a_preview_says_that_the_settings_file_is_broken() {
    let dir = tempfile::tempdir().unwrap();
    let repo = dir.path();
    let run = |arguments: &[&str]| drop(git(repo, arguments));
    run(&["init", "-q", "-b", "main"]);
    std::fs::write(repo.join(".mirilla.toml"), "max-usd = \"0,40\"\n").unwrap();
    run(&["add", "."]);
    run(&["commit", "-qm", "base"]);
    std::fs::write(repo.join("a.rs"), "fn a() {}\n").unwrap();
    run(&["add", "."]);
    run(&["commit", "-qm", "head"]);
    let arguments = [
        "review",
        "--repo",
        repo.to_str().unwrap(),
        "--base",
        "HEAD~1",
    ];
    let (code, _, stderr) = mirilla(&arguments, b"", &[]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("`.mirilla.toml` has errors"), "{stderr}");
}

#[test]
fn what_is_not_a_repository_is_named_with_the_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let (code, _, stderr) = mirilla(
        &["review", "--repo", dir.path().to_str().unwrap()],
        b"",
        &[],
    );
    assert_eq!(code, 1, "{stderr}");
    assert!(
        stderr.contains("is not a git repository") && stderr.contains("hint:"),
        "{stderr}"
    );
}

#[test]
fn serve_without_settings_names_all_of_them_at_once() {
    let (code, _, stderr) = mirilla(&["serve"], b"", &[]);
    assert_eq!(code, 2, "{stderr}");
    for name in [
        "MIRILLA_ALLOWED_ACCOUNTS",
        "MIRILLA_WEBHOOK_SECRET",
        "MIRILLA_GITHUB_APP_KEY_FILE",
    ] {
        assert!(stderr.contains(name), "{stderr}");
    }
}

#[test]
fn nothing_a_patch_says_reaches_the_terminal_as_an_escape() {
    let patch = "diff --git a/\"x\" b/y\n--- a/x\n+++ \"b/\\033]52;c;aGk=\\007\u{202e}##[group].rs\"\n@@ -0,0 +1,3 @@\n+<<<<<<< \u{1b}[2J\n+=======\n+>>>>>>> x\n";
    for format in ["text", "json", "sarif", "codequality"] {
        let command = ["review", "--patch", "-", "--format", format];
        let (code, stdout, stderr) = mirilla(&command, patch.as_bytes(), &[]);
        assert_eq!(code, 0, "{format}: {stderr}");
        assert!(stdout.contains(".rs"), "{format}: {stdout}");
        for print in [stdout, stderr] {
            assert!(
                !print.contains(['\u{1b}', '\u{202e}']),
                "{format}: {print:?}"
            );
            assert!(!print.contains("##[group]"), "{format}: {print:?}");
        }
    }
}

#[test]
fn the_reference_is_what_the_program_says() {
    let (code, stdout, stderr) = mirilla(&["config", "reference"], b"", &[]);
    assert_eq!(code, 0, "{stderr}");
    let page = std::fs::read_to_string(crate::support::root().join("docs/REFERENCE.md"))
        .unwrap_or_default();
    assert!(
        stdout == page,
        "docs/REFERENCE.md is not what the program says: run `cargo run -p mirilla -- config reference > docs/REFERENCE.md`"
    );
}

#[test]
fn what_holds_no_diff_is_never_called_clean() {
    let (code, stdout, stderr) = mirilla(&["review", "--patch", "-"], b"<html>502</html>\n", &[]);
    assert_eq!((code, stdout.as_str()), (1, ""), "{stderr}");
    assert!(
        stderr.contains("there is no diff") && stderr.contains("hint:"),
        "{stderr}"
    );
}

#[test]
fn a_hint_survives_being_added_as_context() {
    let (code, _, stderr) = mirilla(
        &[
            "review",
            "--repo",
            env!("CARGO_MANIFEST_DIR"),
            "--base",
            "no-such-branch",
        ],
        b"",
        &[],
    );
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("hint:"), "{stderr}");
}

#[test]
fn a_first_commit_is_reviewed_against_nothing_whatever_a_hook_sets() {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q"]);
    std::fs::write(
        dir.path().join("a.txt"),
        "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n",
    )
    .unwrap();
    git(dir.path(), &["add", "a.txt"]);
    git(dir.path(), &["commit", "-q", "-m", "first"]);
    let elsewhere = [("GIT_DIR", "/nowhere/at/all")];
    let (code, stdout, stderr) = mirilla(
        &["review", "--repo", dir.path().to_str().unwrap()],
        b"",
        &elsewhere,
    );
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("a.txt:1"), "{stdout}{stderr}");
}
