//! Anchors are judged by git's diff and nothing else.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::LazyLock;
use std::sync::Mutex;

use mirilla_sim::{Change, Commit, Limits, OpenPull};
use mirilla_sim::{GithubOptions, OutdatedLine};
use proptest::prelude::*;
use serde_json::json;

use crate::world::{REPO, World};

/// One simulator for all cases: starting one per case would cost more than the cases.
static WORLD: LazyLock<Mutex<(World, u32)>> = LazyLock::new(|| {
    let options = GithubOptions {
        limits: Limits::none(),
        outdated_line: OutdatedLine::Absent,
        ..GithubOptions::default()
    };
    Mutex::new((World::with(options), 0))
});

/// A file as a list of short lines, and the same file with some lines changed.
fn edits() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let line = 0_u8..6;
    (
        prop::collection::vec(line.clone(), 0..40),
        prop::collection::vec((0_usize..40, 0_u8..3, line), 0..8),
    )
        .prop_map(|(old, changes)| {
            let mut new = old.clone();
            for (at, kind, line) in changes {
                let at = at.min(new.len());
                match kind {
                    0 => new.insert(at, line),
                    1 if at < new.len() => new[at] = line,
                    _ if at < new.len() => drop(new.remove(at)),
                    _ => {}
                }
            }
            (old, new)
        })
}

fn text(lines: &[u8]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| format!("text {line}\n")).collect();
    lines.concat()
}

/// What git itself shows, walked from the text of a separate `git diff`.
#[derive(Default)]
struct Shown {
    /// Sides and lines.
    lines: BTreeSet<(&'static str, u64)>,
    /// Positions below the first `@@`, and the last one.
    positions: BTreeSet<u64>,
    last: u64,
}

fn shown_by_git(world: &World, base: &str, head: &str) -> Shown {
    let dir = world.gh().git_dir(REPO).unwrap();
    let out = Command::new("git")
        .arg("--git-dir")
        .arg(dir)
        .args([
            "diff",
            "--no-color",
            "--no-ext-diff",
            &format!("{base}...{head}"),
            "--",
            "f.txt",
        ])
        .output()
        .unwrap();
    let mut shown = Shown::default();
    let (mut old, mut new) = (0, 0);
    let mut position = None;
    for line in String::from_utf8(out.stdout).unwrap().lines() {
        if let Some(ranges) = line.strip_prefix("@@ -") {
            let number =
                |text: &str| -> u64 { text.split([',', ' ']).next().unwrap().parse().unwrap() };
            old = number(ranges);
            new = number(ranges.split_once('+').unwrap().1);
            // The first header is no position of its own, later ones are.
            position = Some(position.map_or(0, |position| position + 1));
            continue;
        }
        let Some(position) = position.as_mut() else {
            continue;
        };
        *position += 1;
        shown.positions.insert(*position);
        match line.as_bytes()[0] {
            b' ' => {
                shown.lines.extend([("LEFT", old), ("RIGHT", new)]);
                (old, new) = (old + 1, new + 1);
            }
            b'-' => {
                shown.lines.insert(("LEFT", old));
                old += 1;
            }
            b'+' => {
                shown.lines.insert(("RIGHT", new));
                new += 1;
            }
            other => panic!("{other} in a hunk"),
        }
        shown.last = *position;
    }
    shown
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn anchor_is_accepted_iff_git_shows_the_line((old, new) in edits()) {
        let mut guard = WORLD.lock().unwrap();
        guard.1 += 1;
        let (world, case) = (&guard.0, guard.1);
        let gh = world.gh();
        let (base, head) = (format!("base-{case}"), format!("head-{case}"));
        // The other file keeps the pull request open even if this one did not change.
        let start = Commit::by("alice", "Start").write("f.txt", text(&old)).write("g.txt", "0\n");
        let base_sha = gh.commit(REPO, &base, &start).unwrap();
        gh.push(REPO, &head, &base_sha, "bob").unwrap();
        let change = Commit::by("bob", "Change").write("f.txt", text(&new)).write("g.txt", "1\n");
        let head_sha = gh.commit(REPO, &head, &change).unwrap();
        let open = OpenPull { base, ..OpenPull::new("bob", &head, "Case") };
        let pull = gh.open_pull(REPO, open).unwrap();
        let shown = shown_by_git(world, &base_sha, &head_sha);
        let path = format!("/repos/{REPO}/pulls/{pull}/reviews");
        let status = |place: serde_json::Value| {
            let mut comment = json!({ "path": "f.txt", "body": "y" });
            comment.as_object_mut().unwrap().extend(place.as_object().unwrap().clone());
            let review = json!({ "event": "COMMENT", "body": "x", "comments": [comment] });
            world.call("POST", &path, Some(review)).status
        };
        let expected = |allowed: bool| if allowed { 200 } else { 422 };
        for side in ["LEFT", "RIGHT"] {
            for line in 0..=u64::try_from(new.len().max(old.len())).unwrap() + 2 {
                let allowed = shown.lines.contains(&(side, line));
                let got = status(json!({ "line": line, "side": side }));
                prop_assert_eq!(got, expected(allowed), "{} {}", side, line);
            }
        }
        for position in 0..=shown.last + 2 {
            let allowed = shown.positions.contains(&position);
            let got = status(json!({ "position": position }));
            prop_assert_eq!(got, expected(allowed), "position {}", position);
        }
    }

    #[test]
    fn comment_follows_its_line_or_is_outdated((first, second) in edits(), line in 1_u64..40) {
        let mut guard = WORLD.lock().unwrap();
        guard.1 += 1;
        let (world, case) = (&guard.0, guard.1);
        let gh = world.gh();
        let head = format!("follow-{case}");
        let numbered = |lines: &[u8]| -> String {
            let lines: Vec<String> =
                lines.iter().enumerate().map(|(n, line)| format!("text {line} {n}\n")).collect();
            lines.concat()
        };
        // Every line is unique, so that "the same line" has one meaning.
        let before = numbered(&first);
        gh.commit(REPO, &head, &Commit::by("bob", "One").write("f.txt", &before)).unwrap();
        let pull = gh.open_pull(REPO, OpenPull::new("bob", &head, "Case")).unwrap();
        let at = ("f.txt", mirilla_sim::Side::Right, line);
        let Ok(_) = gh.comment_on_line(REPO, pull, "alice", at, "here") else {
            prop_assert!(usize::try_from(line).unwrap() > first.len());
            return Ok(());
        };
        let wanted = before.lines().nth(usize::try_from(line).unwrap() - 1).unwrap().to_owned();
        let kept = before.lines().enumerate().filter(|(n, _)| second.get(*n) != Some(&3));
        let mut after: Vec<&str> = kept.map(|(_, line)| line).collect();
        after.push("one more");
        let after = after.join("\n") + "\n";
        gh.commit(REPO, &head, &Commit::by("bob", "Two").write("f.txt", &after)).unwrap();
        let place = after.lines().position(|l| l == wanted).map(|n| u64::try_from(n).unwrap() + 1);
        let comment = &gh.threads(REPO, pull).unwrap()[0].comments[0];
        prop_assert_eq!(comment.line, place);
        prop_assert_eq!(comment.outdated, place.is_none());
        let rest = world.get(&format!("/repos/{REPO}/pulls/{pull}/comments")).json();
        prop_assert_eq!(rest[0].get("line").and_then(serde_json::Value::as_u64), place);
        prop_assert_eq!(rest[0]["original_line"].as_u64(), Some(line));
    }
}

#[test]
fn outdated_line_is_null_like_githubs() {
    let world = World::new();
    let at = ("src/pay.rs", mirilla_sim::Side::Right, 10);
    world
        .gh()
        .comment_on_line(REPO, world.pull, "alice", at, "here")
        .unwrap();
    let gone = Commit::by("bob", "Back").write("src/pay.rs", crate::world::numbered(&[(3, "x")]));
    world.gh().commit(REPO, "feature", &gone).unwrap();
    let comment = world.get(&world.at("/comments")).json()[0].clone();
    assert_eq!(
        (&comment["line"], &comment["position"]),
        (&json!(null), &json!(null))
    );
    assert_eq!(comment["original_line"], 10);
    assert_ne!(comment["commit_id"], world.head());
}

#[test]
fn odd_paths_are_found_by_their_own_name() {
    let world = World::new();
    let gh = world.gh();
    let commit = Commit::by("bob", "Odd names")
        .write("tab\there \u{e9} \"q\".rs", "one\n")
        .write("a b/c\\d", "two\n")
        .change(Change::File {
            path: b"run.sh".to_vec(),
            bytes: b"x\n".to_vec(),
            executable: true,
        });
    gh.commit(REPO, "feature", &commit).unwrap();
    let files = world.get(&world.at("/files")).json();
    let names: Vec<_> = files
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["filename"].clone())
        .collect();
    for path in ["tab\there \u{e9} \"q\".rs", "a b/c\\d", "run.sh"] {
        assert!(names.contains(&json!(path)), "{path} in {names:?}");
        let review = json!({
            "event": "COMMENT", "body": "x",
            "comments": [{ "path": path, "line": 1, "body": "y" }],
        });
        assert_eq!(
            world
                .call("POST", &world.at("/reviews"), Some(review))
                .status,
            200,
            "{path}"
        );
    }
    assert_eq!(gh.reviews(REPO, world.pull).unwrap().len(), 3);
}
