//! Diffs that GitHub will not give whole, rebuilt from its list of files.

use mirilla_casekit::cases;
use mirilla_diff::parse;
use mirilla_domain::code::SkipReason;
use mirilla_ports::ForgeRead as _;
use mirilla_ports::forge::{FetchedDiff, ForgeError};
use mirilla_sim::{Commit, Fault};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{REPO, Reply, Script, TestClock, World, pull, reader, repo};

const DIFF: Option<&str> = Some("application/vnd.github.diff");

/// Fetches the diff of a pull request whose list of files is `files`, through the fallback.
async fn rebuilt(files: &Value, changed_files: u64) -> FetchedDiff {
    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    let too_large = json!({"message": "Sorry", "errors": [{"code": "too_large"}]});
    server.add(
        "GET",
        "/repos/acme/shop/pulls/7",
        DIFF,
        vec![Reply::json(406, &too_large)],
    );
    let compare = format!(
        "/repos/acme/shop/compare/{}...{}",
        "a".repeat(40),
        "b".repeat(40)
    );
    server.get(
        &compare,
        &json!({"merge_base_commit": {"sha": "c".repeat(40)}}),
    );
    server.get("/repos/acme/shop/pulls/7/files", files);
    let fetched = reader(&server.base, &clock)
        .diff(&pull(changed_files))
        .await
        .unwrap();
    server.finish();
    fetched
}

/// The parts of a parsed file that the list of files can give.
fn essence(file: &mirilla_diff::FileDiff<'_>) -> Value {
    let text = |path: &Option<std::borrow::Cow<'_, [u8]>>| {
        path.as_ref()
            .map(|p| String::from_utf8_lossy(p).into_owned())
    };
    let lines = |numbers: &mirilla_diff::LineRanges| numbers.lines().collect::<Vec<_>>();
    json!({
        "old_path": text(&file.old_path), "new_path": text(&file.new_path),
        "added": lines(&file.added), "deleted": lines(&file.deleted),
    })
}

#[tokio::test]
async fn list_of_files_says_the_same_as_the_diff() {
    let mut compared = 0;
    for case in cases("tests/fixtures/cases", |_| true) {
        if !case.has("github_files.json") || !case.has("input.diff") {
            continue;
        }
        let files = case.json("github_files.json");
        let count = files.as_array().unwrap().len() as u64;
        let fetched = rebuilt(&files, count).await;
        let (input, bytes) = (case.bytes("input.diff"), fetched.bytes);
        let (want, got) = (parse(&input), parse(&bytes));
        assert!(got.is_complete(), "{}: {:?}", case.name, got.problems);
        // What has lines must be there, equal, or be named as missing.
        for file in want
            .files
            .iter()
            .filter(|file| !file.hunks.is_empty() && !file.submodule)
        {
            let path = file.display_path().into_owned();
            let missing = fetched.missing.iter().any(|m| m.path == path);
            let found = got.files.iter().find(|f| f.display_path() == path);
            match found {
                Some(found) => assert_eq!(essence(found), essence(file), "{}", case.name),
                None => assert!(missing, "{}: {path} is lost", case.name),
            }
        }
        for file in &got.files {
            assert!(
                want.files.iter().any(|f| f.path() == file.path()),
                "{}",
                case.name
            );
        }
        compared += 1;
    }
    assert!(compared >= 15, "{compared} cases compared");
}

#[tokio::test]
async fn statuses_without_lines_have_their_git_form() {
    let empty = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
    let some = "1".repeat(40);
    let files = json!([
        {"filename": "empty", "status": "added", "sha": empty, "changes": 0},
        {"filename": "gone", "status": "removed", "sha": empty, "changes": 0},
        {"filename": "logo.png", "status": "added", "sha": some, "changes": 0},
        {"filename": "b c", "previous_filename": "a\tc", "status": "renamed", "sha": some, "changes": 0},
        {"filename": "copy", "previous_filename": "b c", "status": "copied", "sha": some, "changes": 0},
        {"filename": "run.sh", "status": "changed", "sha": some, "changes": 0},
        {"filename": "same", "status": "unchanged", "sha": some, "changes": 0},
        {"filename": "vendor/lib", "status": "modified", "sha": some, "additions": 1, "deletions": 1, "changes": 2,
         "patch": format!("@@ -1 +1 @@\n-Subproject commit {}\n+Subproject commit {some}", "2".repeat(40))},
    ]);
    let fetched = rebuilt(&files, 7).await;
    let text = String::from_utf8(fetched.bytes).unwrap();
    let parsed = parse(text.as_bytes());
    assert!(parsed.is_complete(), "{:?}", parsed.problems);
    let got: Vec<_> = parsed
        .files
        .iter()
        .map(|f| {
            format!(
                "{} {} binary={} submodule={}",
                f.status,
                f.display_path(),
                f.binary,
                f.submodule
            )
        })
        .collect();
    assert_eq!(
        got,
        [
            "added empty binary=false submodule=false",
            "deleted gone binary=false submodule=false",
            "added logo.png binary=true submodule=false",
            "renamed b c binary=false submodule=false",
            "copied copy binary=false submodule=false",
            "mode run.sh binary=false submodule=false",
            "modified vendor/lib binary=false submodule=true",
        ],
        "{text}"
    );
    assert_eq!(parsed.files[3].old_path.as_deref(), Some(&b"a\tc"[..]));
    assert_eq!(fetched.missing, []);
}

#[tokio::test]
async fn patches_that_do_not_add_up_and_unlisted_files_are_missing() {
    let entry = |name: &str, additions: u64, patch: &str| {
        json!({"filename": name, "status": "modified", "additions": additions, "deletions": 0,
               "changes": additions, "patch": patch})
    };
    let files = json!([
        entry("cut", 2, "@@ -1 +1,3 @@\n a\n+b"),
        entry("fewer", 3, "@@ -1 +1,3 @@\n a\n+b\n+c"),
        entry("garbled", 1, "not a hunk"),
        entry(
            "fine",
            1,
            "@@ -1 +1,2 @@\n a\n+b\n\\ No newline at end of file"
        ),
        entry("fine", 1, "@@ -1 +1,2 @@\n a\n+b"),
    ]);
    let fetched = rebuilt(&files, 9).await;
    let missing: Vec<_> = fetched.missing.iter().map(|m| m.path.as_str()).collect();
    assert_eq!(
        missing,
        [
            "cut",
            "fewer",
            "garbled",
            "(5 more files that GitHub does not list)"
        ]
    );
    let parsed = parse(&fetched.bytes);
    assert_eq!(
        parsed.files.len(),
        1,
        "a file that a shifted page repeats counts once"
    );
    assert!(parsed.is_complete());
}

#[tokio::test]
async fn diff_past_its_bound_names_the_files_it_leaves_out() {
    let line = "x".repeat(2 * 1024 * 1024);
    let files: Vec<_> = (0..12)
        .map(|n| {
            json!({"filename": format!("f{n}"), "status": "modified", "additions": 1, "deletions": 0,
                   "changes": 1, "patch": format!("@@ -1 +1,2 @@\n a\n+{line}")})
        })
        .collect();
    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    // Too large to be given whole, and its list too large for one page.
    let giant = Reply::raw(200, "text/plain", vec![b' '; 21 * 1024 * 1024]);
    server.add("GET", "/repos/acme/shop/pulls/7", DIFF, vec![giant]);
    let path = "/repos/acme/shop/pulls/7/files";
    let whole = Reply::json(200, &json!(files));
    server.add(
        "GET",
        &format!("{path}?per_page=100&page=1"),
        None,
        vec![whole],
    );
    let next = format!("<{}{path}?per_page=10&page=2>; rel=\"next\"", server.base);
    let some: Vec<_> = files[..5].to_vec();
    let first = Reply::json(200, &json!(some)).with("link", next);
    server.add(
        "GET",
        &format!("{path}?per_page=10&page=1"),
        None,
        vec![first],
    );
    let second = Reply::json(200, &json!(files[5..10]));
    server.add(
        "GET",
        &format!("{path}?per_page=10&page=2"),
        None,
        vec![second],
    );
    let fetched = reader(&server.base, &clock)
        .diff_from(&pull(12), &pull(1).base)
        .await
        .unwrap();
    assert!(fetched.bytes.len() <= 20 * 1024 * 1024);
    let read = parse(&fetched.bytes).files.len();
    assert_eq!(read, 9);
    let missing: Vec<_> = fetched
        .missing
        .iter()
        .map(|m| (&*m.path, m.reason))
        .collect();
    assert_eq!(
        missing,
        [
            ("f9", SkipReason::TooLarge),
            (
                "(2 more files that GitHub does not list)",
                SkipReason::PatchUnavailable
            ),
        ]
    );
    server.finish();
}

#[tokio::test]
async fn other_refusals_of_the_diff_are_errors() {
    let clock = TestClock::new();
    for (status, body) in [
        (406, json!({"message": "Unsupported 'Accept' header"})),
        (404, json!({"message": "Not Found"})),
        (500, json!({"errors": [{"code": "too_large"}]})),
    ] {
        let server = Script::start(&clock).await;
        server.add(
            "GET",
            "/repos/acme/shop/pulls/7",
            DIFF,
            vec![Reply::json(status, &body)],
        );
        let known = pull(1).base;
        let error = reader(&server.base, &clock)
            .diff_from(&pull(1), &known)
            .await
            .unwrap_err();
        match status {
            404 => assert!(matches!(error, ForgeError::NotFound { .. }), "{error:?}"),
            _ => assert!(matches!(error, ForgeError::Unavailable { .. }), "{error:?}"),
        }
        server.finish();
    }
}

#[tokio::test]
async fn three_hundred_and_one_files_are_read_from_the_list() {
    let world = World::new();
    let mut commit = Commit::by("bob", "Much");
    for n in 0..301 {
        commit = commit.write(format!("gen/ä {n:03}.txt"), format!("{n}\n"));
    }
    world.gh().commit(REPO, "feature", &commit).unwrap();
    let reader = world.reader();
    let live = reader.pull_request(&repo(), &world.id).await.unwrap();
    let fetched = reader.diff(&live).await.unwrap();
    assert_eq!(fetched.missing, []);
    let parsed = parse(&fetched.bytes);
    assert!(parsed.is_complete());
    assert_eq!(parsed.files.len() as u64, live.changed_files);
    assert!(
        parsed
            .files
            .iter()
            .any(|f| f.path_str() == Some("gen/ä 300.txt"))
    );
    assert!(world.calls().iter().any(|call| call.starts_with("406 ")));
    world.sim.finish().unwrap();
}

#[tokio::test]
async fn list_that_breaks_off_is_an_error_and_not_a_short_list() {
    let world = World::new();
    let reader = world.reader();
    let live = reader.pull_request(&repo(), &world.id).await.unwrap();
    let too_large = r#"{"errors":[{"code":"too_large"}]}"#;
    let faults = world.gh().faults();
    faults.on_next(
        "GET /repos/{o}/{r}/pulls/{n}",
        Fault::status(406, too_large),
    );
    for nth in 1..=3 {
        faults.on(
            "GET /repos/{o}/{r}/pulls/{n}/files",
            nth,
            Fault::CutBody { bytes: 40 },
        );
    }
    let error = reader.diff(&live).await.unwrap_err();
    assert!(matches!(error, ForgeError::Unavailable { .. }), "{error:?}");
    world.sim.finish().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever a path looks like, the rebuilt section names exactly it.
    #[test]
    fn any_path_survives_the_rebuilt_header(
        new in "[^/\u{0}][^\u{0}]{0,20}", old in "[^/\u{0}][^\u{0}]{0,20}", renamed: bool,
    ) {
        let mut file = json!({"filename": new, "status": "modified", "additions": 1, "deletions": 1,
            "changes": 2, "sha": "3".repeat(40), "patch": "@@ -1 +1 @@\n-a\n+b"});
        if renamed {
            file["status"] = json!("renamed");
            file["previous_filename"] = json!(old);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let fetched = runtime.block_on(rebuilt(&json!([file]), 1));
        let parsed = parse(&fetched.bytes);
        prop_assert!(parsed.is_complete(), "{:?}", parsed.problems);
        prop_assert_eq!(parsed.files.len(), 1);
        let old = if renamed { &old } else { &new };
        prop_assert_eq!(parsed.files[0].new_path.as_deref(), Some(new.as_bytes()));
        prop_assert_eq!(parsed.files[0].old_path.as_deref(), Some(old.as_bytes()));
    }
}
