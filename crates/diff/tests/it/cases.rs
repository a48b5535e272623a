//! The recorded failures of kind 1: one test walks them all, and every key of `expected.json` must be
//! one that it knows and checked.

use std::panic::catch_unwind;

use mirilla_casekit::{Case, Expected, cases_of_kind};
use mirilla_diff::{FileDiff, FileStatus, Incomplete, LineKind, Parsed, Side, parse_patch};
use serde_json::Value;

use crate::support::{assert_file_invariants, parse_checked};

#[test]
fn every_recorded_case_maps_as_expected() {
    let cases = cases_of_kind(1);
    assert!(cases.len() >= 29, "only {} cases", cases.len());
    // All of them, so that one run says everything that a change breaks.
    let failed: Vec<_> = cases
        .iter()
        .filter(|case| catch_unwind(|| check(case)).is_err())
        .map(|case| &case.name)
        .collect();
    assert!(failed.is_empty(), "failed: {failed:#?}");
}

fn check(case: &Case) {
    let input = case.bytes("input.diff");
    let parsed = parse_checked(&input);
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "diff-truth/1", "{}", case.name);

    let context = expected.take("context").map(|value| number(&value));
    let forges = ForgeLists::load(case);
    let files = expected.take_objects("files");
    if let Some(files) = files {
        assert_eq!(parsed.files.len(), files.len(), "{}: files", case.name);
        for (at, (file, expected)) in parsed.files.iter().zip(files).enumerate() {
            if let Some(context) = context {
                assert_context(file, context);
            }
            let listed = forges.patches_of(at);
            check_file(case, file, &listed, expected);
        }
    }
    for mut probe in expected.take_objects("probes").unwrap_or_default() {
        check_probe(&parsed, &forges, &mut probe);
        probe.finish();
    }
    if let Some(paths) = expected.take("eol_only_files") {
        let found: Vec<_> = parsed
            .files
            .iter()
            .filter(|file| file.only_line_endings_changed())
            .map(|file| Value::from(file.display_path()))
            .collect();
        assert_eq!(Value::from(found), paths, "{}", case.name);
    } else {
        assert!(!parsed.files.iter().any(FileDiff::only_line_endings_changed));
    }
    let damaged = check_words(case, &parsed, &mut expected);
    if !damaged {
        assert!(parsed.is_complete(), "{}: {:?}", case.name, parsed.problems);
    }
    expected.finish();
}

/// Checks the keys whose values are sentences about damaged input; each sentence must be known.
/// Returns whether there are any.
fn check_words(case: &Case, parsed: &Parsed<'_>, expected: &mut Expected) -> bool {
    let incomplete = expected.take("incomplete");
    if let Some(incomplete) = &incomplete {
        assert_eq!(
            incomplete,
            &Value::Bool(!parsed.is_complete()),
            "{}",
            case.name
        );
    }
    let must = sentences(expected.take("must"));
    for sentence in &must {
        match sentence.as_str() {
            "flag file or diff as incomplete" => assert!(!parsed.is_complete()),
            // Reaching this line is the proof.
            "no panic" => {}
            "coverage note names t.txt" => {
                let flagged = parsed.files.iter().find(|file| file.incomplete.is_some());
                assert_eq!(flagged.unwrap().path(), b"t.txt");
                assert_eq!(flagged.unwrap().incomplete, Some(Incomplete::Truncated));
            }
            _ => panic!("{}: unknown `must`: {sentence}", case.name),
        }
    }
    let accept = sentences(expected.take("accept"));
    assert!(
        accept.is_empty()
            || accept
                .iter()
                .any(|sentence| accepted(case, parsed, sentence)),
        "{}: none of {accept:?}",
        case.name
    );
    let must_not = sentences(expected.take("must_not"));
    for sentence in &must_not {
        match sentence.as_str() {
            "panic" => {}
            "report hunk 2 lines as unchanged/clean" => {
                let file = &parsed.files[0];
                for line in 7..40 {
                    assert!(
                        !file.commentable(Side::Right, line),
                        "line {line} is past the cut"
                    );
                    assert!(file.hunk_at(Side::Left, line).is_none());
                }
                assert!(file.incomplete.is_some());
            }
            "comment on RIGHT line 4 or above" => assert_right_within(&parsed.files[0], 3),
            "ok.txt having RIGHT line 3 commentable" => assert_right_within(&parsed.files[0], 1),
            "unnamed file" => assert!(parsed.files.iter().all(|file| !file.path().is_empty())),
            _ => panic!("{}: unknown `must_not`: {sentence}", case.name),
        }
    }
    incomplete.is_some() || !must.is_empty() || !accept.is_empty() || !must_not.is_empty()
}

/// Returns whether the outcome is the one that `sentence` allows.
fn accepted(case: &Case, parsed: &Parsed<'_>, sentence: &str) -> bool {
    match sentence {
        "typed parse error naming o.txt" => parsed
            .problems
            .iter()
            .any(|problem| problem.path.as_deref() == Some(b"o.txt")),
        "file flagged malformed with RIGHT lines \u{2286} {1,2,3}" => {
            assert_right_within(&parsed.files[0], 3);
            parsed.files[0].incomplete == Some(Incomplete::CountMismatch)
        }
        "file new.py with added [1,2]" => {
            let file = &parsed.files[0];
            file.path() == b"new.py"
                && file.old_path.is_none()
                && file.added.lines().eq([1, 2])
                && file.deleted.is_empty()
        }
        "typed parse error" => !parsed.problems.is_empty(),
        // The second file of the input starts on its seventh line.
        "typed error after ok.txt" => parsed.problems.iter().any(|problem| problem.line == 7),
        "second block ignored with a warning" => {
            parsed.files.len() == 1 && !parsed.problems.is_empty()
        }
        _ => panic!("{}: unknown `accept`: {sentence}", case.name),
    }
}

fn assert_right_within(file: &FileDiff<'_>, last: u32) {
    for line in last + 1..50 {
        assert!(!file.commentable(Side::Right, line), "line {line}");
    }
}

/// Checks one file of the diff, and the same file as the forges' lists have it.
fn check_file(case: &Case, file: &FileDiff<'_>, listed: &[FileDiff<'_>], mut expected: Expected) {
    let name = format!("{} {}", case.name, file.display_path());
    if let Some(hex) = expected.take("path_bytes_hex") {
        let hex = hex.as_str().unwrap();
        let bytes: Vec<u8> = (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect();
        assert_eq!(file.path(), bytes, "{name}");
        assert_eq!(file.path_str(), None, "{name}: not UTF-8");
    } else {
        assert_eq!(file.path_str(), Some(&*file.display_path()), "{name}");
    }
    let lossy = |path: Option<&[u8]>| path.map(String::from_utf8_lossy).map(Value::from);
    if let Some(path) = expected.take("old_path") {
        assert_eq!(
            lossy(file.old_path.as_deref()).unwrap_or_default(),
            path,
            "{name}"
        );
    }
    assert_eq!(
        lossy(file.new_path.as_deref()).unwrap_or_default(),
        expected.need("new_path"),
        "{name}"
    );
    if let Some(status) = expected.take("status") {
        assert_eq!(file.status.as_str(), status, "{name}");
    }
    if let Some(binary) = expected.take("binary") {
        assert_eq!(Value::from(file.binary), binary, "{name}");
    }
    let submodule = expected.take("submodule").unwrap_or(Value::Bool(false));
    assert_eq!(Value::from(file.submodule), submodule, "{name}");
    for (key, mode) in [("old_mode", file.old_mode), ("new_mode", file.new_mode)] {
        let Some(expected) = expected.take(key) else {
            continue;
        };
        // The truth knows the trees; a pure rename prints no mode.
        let section = String::from_utf8_lossy(file.section);
        let printed = section.contains("\nindex ") || section.contains(" mode ");
        if printed || mode.is_some() {
            let mode = mode.map(|mode| format!("{mode:06o}")).map(Value::from);
            assert_eq!(mode.unwrap_or_default(), expected, "{name} {key}");
        } else {
            assert!(
                file.hunks.is_empty(),
                "{name}: a file with hunks has an index line"
            );
        }
    }
    let views = [std::slice::from_ref(file), listed].concat();
    let lists = [
        ("added_lines", lines_of as fn(&FileDiff<'_>) -> Value),
        ("deleted_lines", |file| file.deleted.lines().collect()),
        ("context_pairs", context_pairs),
        ("commentable_right", commentable_right),
        ("commentable_right_certain", commentable_right),
        ("hunks", hunks),
    ];
    for (key, of) in lists {
        let Some(expected) = expected.take(key) else {
            continue;
        };
        for view in &views {
            assert_eq!(of(view), expected, "{name} {key}");
        }
    }
    for view in listed {
        assert_file_invariants(view);
        assert_eq!(
            view.submodule, file.submodule,
            "{name}: submodule in the list"
        );
        assert_eq!(
            view.incomplete, file.incomplete,
            "{name}: incomplete in the list"
        );
        assert!(view.lines().eq(file.lines()), "{name}: text in the list");
    }
    match expected.take("alignment").as_ref().and_then(Value::as_str) {
        None => {}
        // Blobs allow one minimal diff, or git's printed text decides: the line lists above are it
        // in either case, and the blobs must agree with them.
        Some("unique" | "git-choice") => assert_blobs(case, file),
        Some(other) => panic!("{name}: unknown alignment {other}"),
    }
    expected.finish();
}

fn lines_of(file: &FileDiff<'_>) -> Value {
    file.added.lines().collect()
}

fn context_pairs(file: &FileDiff<'_>) -> Value {
    file.lines()
        .filter(|line| line.kind == LineKind::Context)
        .map(|line| Value::from(vec![line.old.unwrap(), line.new.unwrap()]))
        .collect()
}

fn commentable_right(file: &FileDiff<'_>) -> Value {
    (0..2_000)
        .filter(|&line| file.commentable(Side::Right, line))
        .collect()
}

fn hunks(file: &FileDiff<'_>) -> Value {
    file.hunks
        .iter()
        .map(|hunk| {
            serde_json::json!({
                "old_start": hunk.old_start, "old_count": hunk.old_count,
                "new_start": hunk.new_start, "new_count": hunk.new_count,
            })
        })
        .collect()
}

/// Every hunk begins and ends with at most `context` lines of context.
fn assert_context(file: &FileDiff<'_>, context: u32) {
    for hunk in &file.hunks {
        let kinds: Vec<_> = hunk.lines().map(|line| line.kind).collect();
        let is_context = |kind: &&LineKind| **kind == LineKind::Context;
        let before = kinds.iter().take_while(is_context).count();
        let after = kinds.iter().rev().take_while(is_context).count();
        assert!(before <= context as usize && after <= context as usize);
    }
}

/// The text of every line is that of the blob at that number, on the sides that are recorded.
fn assert_blobs(case: &Case, file: &FileDiff<'_>) {
    for (side, folder, path) in [
        (Side::Left, "base", &file.old_path),
        (Side::Right, "head", &file.new_path),
    ] {
        let Some(path) = path
            .as_deref()
            .and_then(|path| std::str::from_utf8(path).ok())
        else {
            continue;
        };
        let blob = format!("blobs/{folder}/{path}");
        if !case.has(&blob) || file.submodule {
            continue;
        }
        let bytes = case.bytes(&blob);
        let lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
        for line in file.lines() {
            if let Some(number) = line.number(side) {
                assert_eq!(
                    line.text,
                    lines[number as usize - 1],
                    "{blob} line {number}"
                );
            }
        }
    }
}

fn check_probe(parsed: &Parsed<'_>, forges: &ForgeLists, probe: &mut Expected) {
    let path = probe.need("path");
    let side = match probe.need("side").as_str() {
        Some("LEFT") => Side::Left,
        Some("RIGHT") => Side::Right,
        other => panic!("side {other:?}"),
    };
    let line = number(&probe.need("line"));
    let commentable = probe.need("commentable");
    let is_asked = |file: &&FileDiff<'_>| file.display_path() == path.as_str().unwrap();
    let answer = parsed
        .files
        .iter()
        .filter(is_asked)
        .any(|file| file.commentable(side, line));
    assert_eq!(Value::from(answer), commentable, "{path} {side:?} {line}");
    let at = parsed
        .files
        .iter()
        .position(|file| is_asked(&file))
        .unwrap();
    for file in forges.patches_of(at) {
        let answer = Value::from(file.commentable(side, line));
        assert_eq!(answer, commentable, "list: {path} {side:?} {line}");
    }
}

fn number(value: &Value) -> u32 {
    value
        .as_u64()
        .and_then(|value| value.try_into().ok())
        .unwrap()
}

fn sentences(value: Option<Value>) -> Vec<String> {
    let sentences = value.unwrap_or_else(|| Value::from(Vec::<Value>::new()));
    serde_json::from_value(sentences).unwrap()
}

/// The same diff as the two forges' list endpoints give it.
#[derive(Debug, Default)]
struct ForgeLists {
    github: Vec<Value>,
    gitlab: Vec<Value>,
}

impl ForgeLists {
    fn load(case: &Case) -> Self {
        let list = |file: &str| match case.has(file).then(|| case.json(file)) {
            Some(Value::Array(items)) => items,
            Some(_) => panic!("{}/{file} is not a list", case.name),
            None => Vec::new(),
        };
        Self {
            github: list("github_files.json"),
            gitlab: list("gitlab_diffs.json"),
        }
    }

    /// Reads the entry at `at` of each list through `parse_patch`.
    fn patches_of(&self, at: usize) -> Vec<FileDiff<'_>> {
        let github = self.github.get(at).map(github_file);
        let gitlab = self.gitlab.get(at).map(gitlab_file);
        github.into_iter().chain(gitlab).collect()
    }
}

fn text<'v>(entry: &'v Value, key: &str) -> Option<&'v [u8]> {
    entry.get(key)?.as_str().map(str::as_bytes)
}

fn github_file(entry: &Value) -> FileDiff<'_> {
    let status = match entry["status"].as_str().unwrap() {
        "added" => FileStatus::Added,
        "removed" => FileStatus::Deleted,
        "modified" => FileStatus::Modified,
        "renamed" => FileStatus::Renamed,
        "copied" => FileStatus::Copied,
        "changed" => FileStatus::ModeChanged,
        other => panic!("status {other}"),
    };
    let new = text(entry, "filename");
    let old = text(entry, "previous_filename").or(new);
    let (file, problems) = parse_patch(
        old.filter(|_| status != FileStatus::Added),
        new.filter(|_| status != FileStatus::Deleted),
        status,
        text(entry, "patch").unwrap_or_default(),
    );
    assert_eq!(problems, []);
    assert_eq!(entry["additions"], file.added.len());
    assert_eq!(entry["deletions"], file.deleted.len());
    file
}

fn gitlab_file(entry: &Value) -> FileDiff<'_> {
    let is = |key: &str| entry[key].as_bool().unwrap();
    let status = match (is("new_file"), is("deleted_file"), is("renamed_file")) {
        (true, _, _) => FileStatus::Added,
        (_, true, _) => FileStatus::Deleted,
        (_, _, true) => FileStatus::Renamed,
        _ => FileStatus::Modified,
    };
    let (file, problems) = parse_patch(
        text(entry, "old_path").filter(|_| status != FileStatus::Added),
        text(entry, "new_path").filter(|_| status != FileStatus::Deleted),
        status,
        text(entry, "diff").unwrap_or_default(),
    );
    assert_eq!(problems, []);
    file
}
