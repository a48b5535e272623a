//! Chunks: recorded cases of kind 5, and what holds for any diff.

mod skipped;

use std::collections::{BTreeMap, BTreeSet};

use mirilla_casekit::{Expected, cases};
use mirilla_diff::{FileDiff, LineKind, parse};
use mirilla_domain::chunk::{Chunk, ChunkPlan, MIN_CHUNK_TOKENS, plan_chunks};
use mirilla_domain::code::{FailReason, SkipReason};
use mirilla_domain::digest;
use mirilla_domain::review::{Fate, Outcome};
use mirilla_domain::settings::{BrokenSettings, OperatorPolicy, Policy, RepoSettings};
use mirilla_domain::snapshot::MissingFile;
use proptest::prelude::*;
use serde_json::json;

const ROOT: &str = "tests/fixtures/cases";

fn case(id: &str) -> mirilla_casekit::Case {
    cases(ROOT, |name| name.starts_with(id)).remove(0)
}

fn plan(diff: &[u8], tokens: u32) -> ChunkPlan {
    plan_chunks(&parse(diff).files, &[], &Policy::default(), tokens)
}

fn shown(plan: &ChunkPlan) -> BTreeSet<String> {
    let files = plan.chunks.iter().flat_map(|chunk| &chunk.files);
    files.map(|file| file.path.clone()).collect()
}

fn reason_of(plan: &ChunkPlan, path: &str) -> Option<SkipReason> {
    plan.skipped
        .iter()
        .find(|file| file.path == path)
        .map(|file| file.reason)
}

fn new_file(path: &str, lines: &[String]) -> String {
    let added: Vec<String> = lines.iter().map(|line| format!("+{line}\n")).collect();
    let added = added.concat();
    format!(
        "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{} @@\n{added}",
        lines.len()
    )
}

/// Every line of some chunks: path, old number, new number, kind, text.
type Shown = (String, Option<u32>, Option<u32>, LineKind, Vec<u8>);

fn lines_of(chunks: &[Chunk], files: &[FileDiff<'_>]) -> Vec<Shown> {
    chunks
        .iter()
        .flat_map(|chunk| &chunk.files)
        .flat_map(|file| file.pieces.iter().map(move |piece| (file, piece)))
        .flat_map(|(file, piece)| {
            piece.lines(files).map(move |line| {
                (
                    file.path.clone(),
                    line.old,
                    line.new,
                    line.kind,
                    line.text.to_vec(),
                )
            })
        })
        .collect()
}

fn lines_of_diff(files: &[FileDiff<'_>], path: &str) -> Vec<Shown> {
    files
        .iter()
        .filter(|file| digest::name(file) == path)
        .flat_map(|file| {
            file.lines().map(|line| {
                (
                    path.to_owned(),
                    line.old,
                    line.new,
                    line.kind,
                    line.text.to_vec(),
                )
            })
        })
        .collect()
}

#[test]
fn case_095_one_giant_line_hides_only_its_own_file() {
    let case = case("095");
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "behaviour/1");
    let plan = plan(
        &case.bytes("input.diff"),
        OperatorPolicy::default().chunk_tokens,
    );
    let reviewed: Vec<String> = serde_json::from_value(expected.need("reviewed")).unwrap();
    assert_eq!(shown(&plan).into_iter().collect::<Vec<_>>(), reviewed);
    let left: Vec<String> = serde_json::from_value(expected.need("not_reviewed")).unwrap();
    let skipped: Vec<String> = plan.skipped.iter().map(|file| file.path.clone()).collect();
    assert_eq!(skipped, left);
    // Visible: the review counts as partial, and the reason is one that people read.
    assert_eq!(expected.need("visible_on_pr"), true);
    assert_eq!(reason_of(&plan, &left[0]), Some(SkipReason::TooLarge));
    assert_eq!(
        Outcome::of(&plan.coverage(&[Fate::Reviewed])),
        Outcome::Partial
    );
    expected.finish();
}

#[test]
fn case_096_code_comes_before_prose_whatever_its_name() {
    let case = case("096");
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "behaviour/1");
    let diff = case.bytes("input.diff");
    let plan = plan(&diff, MIN_CHUNK_TOKENS);
    assert_eq!(
        json!(shown(&plan).len() + plan.skipped.len()),
        expected.need("manifest_lists_all")
    );
    assert!(plan.chunks.len() > 1, "the diff does not fit one chunk");
    let first: Vec<&str> = plan.chunks[0]
        .files
        .iter()
        .map(|file| file.path.as_str())
        .collect();
    let must: Vec<String> = serde_json::from_value(expected.need("must_be_included")).unwrap();
    assert_eq!(first[..1], must[..1]);
    // The prompt's own side of this case is checked with the prompt.
    assert_eq!(expected.need("prompt_says_not_shown"), true);
    expected.finish();
}

#[test]
fn case_099_lines_of_a_cut_hunk_keep_their_numbers() {
    let case = case("099");
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "diff-truth/1");
    let mut files = expected.take_objects("files").unwrap();
    let mut truth = files.remove(0);
    assert!(files.is_empty());
    let diff = case.bytes("input.diff");
    let parsed = parse(&diff);
    let max_lines = case.json("config.json")["max_lines_per_chunk"]
        .as_u64()
        .unwrap();
    let file = &parsed.files[0];
    let path = digest::name(file);
    assert_eq!(truth.need("old_path"), path);
    assert_eq!(truth.need("new_path"), path);
    assert_eq!(truth.need("status"), file.status.as_str());
    assert_eq!(truth.need("binary"), file.binary);
    for (key, mode) in [("old_mode", file.old_mode), ("new_mode", file.new_mode)] {
        assert_eq!(truth.need(key), format!("{:o}", mode.unwrap()));
    }
    let right: Vec<u32> = serde_json::from_value(truth.need("commentable_right")).unwrap();
    assert!(
        right
            .iter()
            .all(|line| file.commentable(mirilla_diff::Side::Right, *line))
    );
    let hunk = &file.hunks[0];
    assert_eq!(
        truth.need("hunks"),
        json!([{
            "old_start": hunk.old_start, "old_count": hunk.old_count,
            "new_start": hunk.new_start, "new_count": hunk.new_count
        }])
    );
    assert_eq!(truth.need("alignment"), "unique");
    for tokens in [MIN_CHUNK_TOKENS, 300, 400, 1000] {
        let plan = plan_chunks(&parsed.files, &[], &Policy::default(), tokens);
        assert!(plan.chunks.len() > 1 && plan.skipped.is_empty(), "{tokens}");
        let lines = lines_of(&plan.chunks, &parsed.files);
        let numbers = |kind: LineKind, new: bool| -> Vec<u32> {
            let of_kind = lines.iter().filter(|line| line.3 == kind);
            of_kind
                .filter_map(|line| if new { line.2 } else { line.1 })
                .collect()
        };
        let read = |truth: &serde_json::Value| -> Vec<u32> {
            serde_json::from_value(truth.clone()).unwrap()
        };
        if tokens == MIN_CHUNK_TOKENS {
            assert!(plan.chunks.iter().all(|chunk| {
                let shown: usize = chunk.files[0].pieces.iter().map(|p| p.end - p.first).sum();
                shown as u64 <= max_lines
            }));
            assert_eq!(
                numbers(LineKind::Added, true),
                read(&truth.need("added_lines"))
            );
            assert_eq!(
                numbers(LineKind::Deleted, false),
                read(&truth.need("deleted_lines"))
            );
            let pairs: Vec<(u32, u32)> =
                serde_json::from_value(truth.need("context_pairs")).unwrap();
            let context = lines.iter().filter(|line| line.3 == LineKind::Context);
            assert_eq!(
                context
                    .map(|l| (l.1.unwrap(), l.2.unwrap()))
                    .collect::<Vec<_>>(),
                pairs
            );
        }
        assert_eq!(lines, lines_of_diff(&parsed.files, &path), "{tokens}");
    }
    truth.finish();
    // The property itself is proved for any diff by `nothing_is_lost_doubled_or_renumbered`.
    assert!(expected.need("property").is_string());
    expected.finish();
}

#[test]
fn case_101_what_the_forge_holds_back_is_named_and_ignore_rules_come_first() {
    let case = case("101");
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "behaviour/1");
    let policy = Policy {
        ignore: serde_json::from_value(case.json("config.json")["ignore"].clone()).unwrap(),
        ..Policy::default()
    };
    let diff = b"diff --git a/src/a.go b/src/a.go\n--- a/src/a.go\n+++ b/src/a.go\n@@ -1 +1 @@\n-a\n+b\n\
        diff --git a/x.bin b/x.bin\nBinary files a/x.bin and b/x.bin differ\n\
        diff --git a/old.md b/new.md\nsimilarity index 100%\nrename from old.md\nrename to new.md\n";
    // The list's entries without changes, as the forge adapter hands them over.
    let missing: Vec<MissingFile> = case
        .json("gitlab_diffs.json")
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["collapsed"] == true || entry["too_large"] == true)
        .map(|entry| MissingFile {
            path: entry["new_path"].as_str().unwrap().to_owned(),
            reason: SkipReason::PatchUnavailable,
        })
        .collect();
    let plan = plan_chunks(&parse(diff).files, &missing, &policy, 8_000);
    let strings =
        |value: serde_json::Value| -> Vec<String> { serde_json::from_value(value).unwrap() };
    assert_eq!(
        shown(&plan).into_iter().collect::<Vec<_>>(),
        strings(expected.need("reviewed"))
    );
    for path in strings(expected.need("needs_other_source")) {
        assert_eq!(
            reason_of(&plan, &path),
            Some(SkipReason::PatchUnavailable),
            "{path}"
        );
    }
    for path in strings(expected.need("ignored")) {
        assert_eq!(reason_of(&plan, &path), Some(SkipReason::Ignored), "{path}");
    }
    let outcome = Outcome::of(&plan.coverage(&[Fate::Reviewed]));
    assert_eq!(
        json!(outcome == Outcome::Complete),
        expected.need("complete")
    );
    assert_eq!(strings(expected.need("must_not")).len(), 2);
    expected.finish();
}

#[test]
fn the_parts_of_a_file_share_their_chunks_with_no_other_file() {
    let long: Vec<String> = (0..150)
        .map(|n| format!("let value_{n} = compute({n});"))
        .collect();
    let small = ["let a = 1;".to_owned()];
    let mut diff = new_file("src/long.rs", &long);
    for name in ["a", "b", "c"] {
        diff.push_str(&new_file(&format!("src/{name}.rs"), &small));
    }
    let plan = plan(diff.as_bytes(), 1_000);
    assert!(plan.chunks.len() > 2);
    for chunk in &plan.chunks {
        let paths: BTreeSet<&str> = chunk.files.iter().map(|file| file.path.as_str()).collect();
        assert!(
            !paths.contains("src/long.rs") || paths.len() == 1,
            "{paths:?}"
        );
    }
    assert_eq!(shown(&plan).len(), 4);
}

#[test]
fn a_type_change_is_one_file() {
    let diff = "diff --git a/l b/l\ndeleted file mode 100644\nindex 1..0\n--- a/l\n+++ /dev/null\n@@ -1 +0,0 @@\n-text\n\
        diff --git a/l b/l\nnew file mode 120000\nindex 0..2\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+target\n\\ No newline at end of file\n";
    let plan = plan(diff.as_bytes(), 8_000);
    let covered = plan.coverage(&[Fate::Reviewed]);
    assert_eq!(covered.len(), 1);
    assert_eq!(covered[0].path, "l");
}

#[test]
fn broken_settings_that_may_hide_an_ignore_rule_send_nothing() {
    let policy = Policy {
        broken_settings: Some(BrokenSettings::IgnoreUnknown),
        ..Policy::default()
    };
    let diff = case("096").bytes("input.diff");
    let plan = plan_chunks(&parse(&diff).files, &[], &policy, 8_000);
    assert!(plan.chunks.is_empty());
    assert!(
        plan.skipped
            .iter()
            .all(|file| file.reason == SkipReason::SettingsBroken)
    );
    assert_eq!(Outcome::of(&plan.coverage(&[])), Outcome::Partial);
}

#[test]
fn a_repository_cannot_take_back_what_the_operator_ignores() {
    let operator = OperatorPolicy {
        ignore: vec!["secrets/".to_owned()],
        ..OperatorPolicy::default()
    };
    let repo = RepoSettings {
        ignore: vec!["!secrets/".to_owned(), "gen/".to_owned()],
        ..RepoSettings::default()
    };
    let ignored = operator.with(&repo).ignored();
    assert!(ignored.matches("secrets/a.rs") && ignored.matches("gen/a.rs"));
    assert!(!ignored.matches("src/a.rs"));
}

#[test]
fn the_worst_part_decides_what_became_of_a_file() {
    let diff = case("099").bytes("input.diff");
    let plan = plan(&diff, 1_000);
    assert!(plan.chunks.len() >= 3);
    let mut fates = vec![Fate::Reviewed; plan.chunks.len()];
    assert_eq!(plan.coverage(&fates)[0].fate, Fate::Reviewed);
    fates[1] = Fate::Skipped(SkipReason::CostCap);
    assert_eq!(
        plan.coverage(&fates)[0].fate,
        Fate::Skipped(SkipReason::CostCap)
    );
    fates[0] = Fate::Failed(FailReason::Refusal);
    assert_eq!(
        plan.coverage(&fates)[0].fate,
        Fate::Failed(FailReason::Refusal)
    );
    assert_eq!(plan.coverage(&fates[..1]).len(), 1);
}

fn a_line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z (){};=]{0,40}",
        1 => "[ -~]{0,120}",
        1 => Just("\u{6f22}\u{5b57} \u{202e}x".to_owned()),
    ]
}

/// A diff of several files whose hunks are consistent by construction.
fn a_diff() -> impl Strategy<Value = String> {
    let line = (0..3_u8, a_line());
    let hunk = proptest::collection::vec(line, 1..40);
    let path = "(src|docs|tests|web/app)/[a-c]{1,2}\\.(rs|md|py|json)";
    let file = (path, proptest::collection::vec((hunk, 1..30_u32), 1..4));
    proptest::collection::vec(file, 1..8).prop_map(|files| {
        let mut text = String::new();
        let mut seen = BTreeSet::new();
        for (path, hunks) in files {
            if !seen.insert(path.clone()) {
                continue;
            }
            text += &format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n");
            let (mut old, mut new) = (1_u32, 1_u32);
            for (lines, gap) in hunks {
                let count =
                    |wanted: &[u8]| lines.iter().filter(|l| wanted.contains(&l.0)).count() as u32;
                let (olds, news) = (count(&[0, 2]), count(&[0, 1]));
                let start = |at: u32, n: u32| if n == 0 { at - 1 } else { at };
                (old, new) = (old + gap, new + gap);
                text += &format!(
                    "@@ -{},{olds} +{},{news} @@\n",
                    start(old, olds),
                    start(new, news)
                );
                for (kind, line) in &lines {
                    text += &format!("{}{line}\n", [' ', '+', '-'][usize::from(*kind)]);
                }
                (old, new) = (old + olds, new + news);
            }
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 96, ..ProptestConfig::default() })]

    /// Every changed file stands in the plan once; every line of a file that is asked about is shown
    /// once, under its number in the whole diff; chunks keep to their size.
    #[test]
    fn nothing_is_lost_doubled_or_renumbered(diff in a_diff(), tokens in 256_u32..2_000) {
        let parsed = parse(diff.as_bytes());
        prop_assert!(parsed.is_complete(), "{:?}\n{diff}", parsed.problems);
        let plan = plan_chunks(&parsed.files, &[], &Policy::default(), tokens);
        let all: BTreeSet<String> = parsed.files.iter().map(digest::name).collect();
        let skipped: BTreeSet<String> = plan.skipped.iter().map(|file| file.path.clone()).collect();
        let asked = shown(&plan);
        prop_assert!(asked.is_disjoint(&skipped));
        prop_assert_eq!(skipped.len(), plan.skipped.len());
        prop_assert_eq!(asked.union(&skipped).cloned().collect::<BTreeSet<_>>(), all);
        prop_assert_eq!(plan.coverage(&vec![Fate::Reviewed; plan.chunks.len()]).len(), parsed.files.len());

        let mut by_file: BTreeMap<String, Vec<(u32, Vec<Shown>)>> = BTreeMap::new();
        for chunk in &plan.chunks {
            prop_assert!(chunk.tokens <= u64::from(tokens));
            for file in &chunk.files {
                let one = Chunk { files: vec![file.clone()], tokens: 0 };
                let lines = lines_of(&[one], &parsed.files);
                by_file.entry(file.path.clone()).or_default().push((file.part, lines));
            }
        }
        for (path, mut parts) in by_file {
            parts.sort_by_key(|(part, _)| *part);
            let numbers: Vec<u32> = parts.iter().map(|(part, _)| *part).collect();
            prop_assert_eq!(numbers, (1..=parts.len() as u32).collect::<Vec<_>>());
            let lines: Vec<Shown> = parts.into_iter().flat_map(|(_, lines)| lines).collect();
            prop_assert_eq!(lines, lines_of_diff(&parsed.files, &path));
        }
    }

    /// Cutting a chunk in two loses nothing and ends.
    #[test]
    fn halves_hold_the_same_lines(diff in a_diff()) {
        let parsed = parse(diff.as_bytes());
        let plan = plan_chunks(&parsed.files, &[], &Policy::default(), 2_000);
        for chunk in &plan.chunks {
            let mut open = vec![chunk.clone()];
            let mut done = Vec::new();
            let mut steps = 0;
            while let Some(chunk) = open.pop() {
                steps += 1;
                prop_assert!(steps < 10_000);
                match chunk.halves(&parsed.files) {
                    Some([one, two]) => open.extend([two, one]),
                    None => done.push(chunk),
                }
            }
            let of = |chunks: &[Chunk]| {
                let mut lines = lines_of(chunks, &parsed.files);
                lines.sort_by_key(|line| (line.0.clone(), line.1, line.2));
                lines
            };
            prop_assert_eq!(of(&done), of(std::slice::from_ref(chunk)));
        }
    }

    /// Any bytes give a plan that names each file once.
    #[test]
    fn any_bytes_are_planned(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let mut diff = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n".to_vec();
        diff.extend(bytes);
        let parsed = parse(&diff);
        let plan = plan_chunks(&parsed.files, &[], &Policy::default(), 256);
        let names: BTreeSet<String> = parsed.files.iter().map(digest::name).collect();
        prop_assert_eq!(plan.coverage(&[]).len(), names.len());
    }
}

#[test]
fn digests_ignore_where_a_change_stands_and_see_everything_else() {
    let diff = |start: u32, index: &str, heading: &str, added: &str, mode: &str| {
        format!(
            "diff --git a/f b/f\n{mode}index {index}\n--- a/f\n+++ b/f\n@@ -{start},2 +{start},2 @@{heading}\n x\n-a\n+{added}\n"
        )
    };
    let digest = |text: &str| {
        let parsed = parse(text.as_bytes());
        digest::patch_digest(&parsed.files[0])
    };
    let base = digest(&diff(10, "111..222 100644", "", "b", ""));
    assert_eq!(digest(&diff(99, "111..222 100644", "", "b", "")), base);
    assert_eq!(
        digest(&diff(10, "1111111..3333333 100644", " fn f()", "b", "")),
        base
    );
    assert_ne!(digest(&diff(10, "111..222 100644", "", "c", "")), base);
    assert_ne!(
        digest(&diff(
            10,
            "111..222",
            "",
            "b",
            "old mode 100644\nnew mode 100755\n"
        )),
        base
    );
    let renamed = "diff --git a/f b/g\nsimilarity index 90%\nrename from f\nrename to g\n--- a/f\n+++ b/g\n@@ -10,2 +10,2 @@\n x\n-a\n+b\n";
    assert_ne!(digest(renamed), base);
}

#[test]
fn paths_that_are_not_text_keep_different_names() {
    let diff = b"diff --git \"a/\\351\" \"b/\\351\"\nold mode 100644\nnew mode 100755\n\
        diff --git \"a/\\350\" \"b/\\350\"\nold mode 100644\nnew mode 100755\n";
    let parsed = parse(diff);
    let plan = plan_chunks(&parsed.files, &[], &Policy::default(), 256);
    let names: BTreeSet<&str> = plan.skipped.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(names, BTreeSet::from(["\\xe9", "\\xe8"]));
    assert!(
        plan.skipped
            .iter()
            .all(|file| file.reason == SkipReason::UnusablePath)
    );
}

#[test]
fn expected_reader_is_strict() {
    // Guards the guard: an unread key must fail these tests.
    let result = std::panic::catch_unwind(|| Expected::of("x", json!({"a": 1})).finish());
    assert!(result.is_err());
}
