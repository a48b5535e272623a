//! What changed: diffs, file lists, commits, comparisons, pages.

use mirilla_sim::{Change, Commit, OpenPull};
use serde_json::{Value, json};

use crate::material::error;
use crate::world::{REPO, World, numbered};

const DIFF: &str = "application/vnd.github.diff";

/// Opens a pull request whose only commit makes these changes.
fn pull_with(world: &World, branch: &str, commit: &Commit) -> String {
    world.gh().commit(REPO, branch, commit).unwrap();
    let pull = world
        .gh()
        .open_pull(REPO, OpenPull::new("bob", branch, branch))
        .unwrap();
    format!("/repos/{REPO}/pulls/{pull}")
}

fn files(count: usize, lines: usize) -> Commit {
    (0..count).fold(Commit::by("bob", "Many"), |commit, n| {
        commit.write(format!("many/{n:04}.txt"), "x\n".repeat(lines))
    })
}

/// Follows `Link: next` and returns all items with the number of pages.
fn all_pages(world: &World, path: &str) -> (Vec<Value>, usize) {
    let (mut items, mut pages) = (Vec::new(), 0);
    let mut next = Some(path.to_owned());
    while let Some(path) = next {
        let answer = world.get(&path);
        items.extend(answer.json().as_array().unwrap().clone());
        pages += 1;
        next = answer.header("link").and_then(|link| {
            link.split(", ")
                .find(|l| l.ends_with("rel=\"next\""))
                .map(|l| {
                    l.trim_start_matches('<')
                        .split_once('>')
                        .unwrap()
                        .0
                        .to_owned()
                })
        });
    }
    (items, pages)
}

#[test]
fn diff_is_from_the_merge_base() {
    let world = World::new();
    let moved = Commit::by("alice", "Meanwhile").write("src/pay.rs", numbered(&[(1, "moved")]));
    world.gh().commit(REPO, "main", &moved).unwrap();
    let diff = world.get_as(&world.at(""), DIFF).text();
    assert!(!diff.contains("moved"), "{diff}");
    assert!(
        diff.contains("index ") && diff.lines().any(|l| l.len() > 85 && l.starts_with("index"))
    );
    let pull = world.get(&world.at("")).json();
    assert_eq!(pull["base"]["sha"], world.gh().tip(REPO, "main").unwrap());
    let legacy = world
        .get_as(&world.at(""), "application/vnd.github.v3.diff")
        .text();
    assert_eq!(legacy, diff);
}

#[test]
fn diff_over_the_file_limit_is_refused_and_the_list_is_not() {
    let world = World::new();
    let fits = pull_with(&world, "fits", &files(300, 1));
    assert_eq!(world.get_as(&fits, DIFF).status, 200);
    let over = pull_with(&world, "over", &files(301, 1));
    let refused = world.get_as(&over, DIFF);
    assert_eq!(
        (refused.status, refused.json()),
        (406, error("406.too_many_files.json"))
    );
    let (listed, pages) = all_pages(&world, &format!("{over}/files?per_page=100"));
    assert_eq!((listed.len(), pages), (301, 4));
    assert_eq!(listed[300]["patch"], "@@ -0,0 +1 @@\n+x");
    assert_eq!(world.get(&over).json()["changed_files"], 301);
}

#[test]
fn diff_over_the_line_limit_is_refused() {
    let world = World::new();
    // Six lines of header stand before the added ones.
    let fits = pull_with(&world, "fits", &files(1, 19_994));
    assert_eq!(world.get_as(&fits, DIFF).text().lines().count(), 20_000);
    let over = pull_with(&world, "over", &files(1, 19_995));
    let refused = world.get_as(&over, DIFF);
    assert_eq!(
        (refused.status, refused.json()),
        (406, error("406.too_many_lines.json"))
    );
    let listed = world.get(&format!("{over}/files")).json();
    assert!(listed[0].get("patch").is_some());
    let huge = pull_with(&world, "huge", &files(1, 20_001));
    let listed = world.get(&format!("{huge}/files")).json();
    assert!(listed[0].get("patch").is_none(), "too large to show");
    assert_eq!(listed[0]["additions"], 20_001);
}

#[test]
fn file_list_ends_at_three_thousand() {
    let world = World::new();
    let over = pull_with(&world, "over", &files(3_001, 1));
    let (listed, pages) = all_pages(&world, &format!("{over}/files?per_page=100"));
    assert_eq!((listed.len(), pages), (3_000, 30));
    assert_eq!(world.get(&over).json()["changed_files"], 3_001);
}

#[test]
fn file_list_says_what_happened_to_each_file() {
    let world = World::new();
    let gh = world.gh();
    let base = Commit::by("alice", "Base")
        .write("gone.txt", "gone\n")
        .write("old.txt", numbered(&[]))
        .write("same.txt", numbered(&[(1, "other")]))
        .write("image.bin", b"\0\x01\x02")
        .write("run.sh", "#!/bin/sh\n")
        .change(Change::Symlink {
            path: b"link".to_vec(),
            target: b"run.sh".to_vec(),
        });
    gh.commit(REPO, "main", &base).unwrap();
    let change = Commit::by("bob", "Change")
        .delete("gone.txt")
        .rename("old.txt", "new.txt")
        .write("new.txt", numbered(&[(20, "last\nno newline")]).trim_end())
        .rename("same.txt", "moved.txt")
        .write("image.bin", b"\0\x01\x03")
        .write("empty.txt", "")
        .write("link", "a file now\n")
        .change(Change::File {
            path: b"run.sh".to_vec(),
            bytes: b"#!/bin/sh\n".to_vec(),
            executable: true,
        })
        .change(Change::Submodule {
            path: b"module".to_vec(),
            sha: "1".repeat(40),
        });
    let at = pull_with(&world, "kinds", &change);
    let listed = world.get(&format!("{at}/files")).json();
    let found = |name: &str| {
        let all = listed.as_array().unwrap();
        all.iter()
            .find(|f| f["filename"] == name)
            .unwrap_or_else(|| panic!("{name}"))
            .clone()
    };
    for (name, status, patch) in [
        ("gone.txt", "removed", true),
        ("new.txt", "renamed", true),
        ("moved.txt", "renamed", false),
        ("image.bin", "modified", false),
        ("empty.txt", "added", false),
        ("link", "changed", false),
        ("run.sh", "changed", false),
        ("module", "added", true),
    ] {
        let file = found(name);
        assert_eq!(file["status"], status, "{name}");
        assert_eq!(file.get("patch").is_some(), patch, "{name}: {file}");
    }
    assert_eq!(found("new.txt")["previous_filename"], "old.txt");
    let patch = found("new.txt")["patch"].as_str().unwrap().to_owned();
    assert!(
        patch.starts_with("@@ -17,4 +17,5 @@") && patch.ends_with("\n\\ No newline at end of file")
    );
    let zeros = "0".repeat(40);
    assert_ne!(
        found("gone.txt")["sha"],
        zeros.as_str(),
        "the old blob's name"
    );
}

#[test]
fn pages_are_bounded_and_linked() {
    let world = World::new();
    world.gh().flood(REPO, world.pull, "mallory", 250).unwrap();
    let path = format!("/repos/{REPO}/issues/{}/comments", world.pull);
    assert_eq!(world.get(&path).json().as_array().unwrap().len(), 30);
    let first = world.get(&format!("{path}?per_page=500"));
    assert_eq!(first.json().as_array().unwrap().len(), 100);
    let link = first.header("link").unwrap();
    assert!(
        link.contains("page=2") && link.contains("rel=\"last\""),
        "{link}"
    );
    let (all, pages) = all_pages(&world, &format!("{path}?per_page=100"));
    assert_eq!((all.len(), pages), (250, 3));
    let last = world.get(&format!("{path}?per_page=100&page=3"));
    let link = last.header("link").unwrap();
    assert!(
        link.contains("rel=\"prev\"") && !link.contains("rel=\"next\""),
        "{link}"
    );
    assert_eq!(world.get(&format!("{path}?page=99")).json(), json!([]));
    assert!(world.get(&world.at("/files")).header("link").is_none());
}

#[test]
fn commits_are_listed_oldest_first() {
    let world = World::new();
    world
        .gh()
        .commit(
            REPO,
            "feature",
            &Commit::by("carol", "More\n\nWhy").write("x", "1"),
        )
        .unwrap();
    let listed = world.get(&world.at("/commits")).json();
    let authors: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|c| &c["author"]["login"])
        .collect();
    assert_eq!(authors, ["bob", "carol"]);
    assert_eq!(listed[1]["commit"]["message"], "More\n\nWhy");
    assert_eq!(listed[1]["parents"][0]["sha"], listed[0]["sha"]);
    assert_eq!(world.get(&world.at("")).json()["commits"], 2);
}

#[test]
fn comparison_knows_the_merge_base() {
    let world = World::new();
    let start = world.gh().tip(REPO, "main").unwrap();
    world
        .gh()
        .commit(REPO, "main", &Commit::by("alice", "Ahead").write("y", "1"))
        .unwrap();
    let compare = world
        .get(&format!("/repos/{REPO}/compare/main...feature"))
        .json();
    assert_eq!(compare["merge_base_commit"]["sha"], start);
    assert_eq!(
        (
            &compare["status"],
            &compare["ahead_by"],
            &compare["behind_by"]
        ),
        (&json!("diverged"), &json!(1), &json!(1))
    );
    assert_eq!(compare["files"].as_array().unwrap().len(), 2);
    let same = world
        .get(&format!("/repos/{REPO}/compare/{start}...{start}"))
        .json();
    assert_eq!(same["status"], "identical");
    let diff = world
        .get_as(&format!("/repos/{REPO}/compare/main...feature"), DIFF)
        .text();
    assert_eq!(diff, world.get_as(&world.at(""), DIFF).text());
    assert_eq!(
        world
            .get(&format!("/repos/{REPO}/compare/main...nowhere"))
            .status,
        404
    );
    // Names of branches may hold slashes.
    world
        .gh()
        .push(REPO, "topic/a", &world.head(), "bob")
        .unwrap();
    assert_eq!(
        world
            .get(&format!("/repos/{REPO}/compare/main...topic/a"))
            .status,
        200
    );
}

#[test]
fn unchanged_answer_is_not_sent_again() {
    let world = World::new();
    let first = world.get(&world.at(""));
    let tag = first.header("etag").unwrap().to_owned();
    let again = world.try_call(
        &world.token,
        "GET",
        &world.at(""),
        &[("if-none-match", &tag)],
        None,
    );
    let again = again.unwrap();
    assert_eq!((again.status, again.body.len()), (304, 0));
    world
        .gh()
        .set_title(REPO, world.pull, "Other", "bob")
        .unwrap();
    let changed = world.try_call(
        &world.token,
        "GET",
        &world.at(""),
        &[("if-none-match", &tag)],
        None,
    );
    assert_eq!(changed.unwrap().json()["title"], "Other");
}

#[test]
fn pull_requests_are_listed_by_state_and_branch() {
    let world = World::new();
    let list = |query: &str| {
        let listed = world.get(&format!("/repos/{REPO}/pulls{query}")).json();
        listed.as_array().unwrap().len()
    };
    assert_eq!(
        (list(""), list("?state=closed"), list("?head=acme:feature")),
        (1, 0, 1)
    );
    world.gh().close(REPO, world.pull, "bob").unwrap();
    assert_eq!(
        (
            list(""),
            list("?state=closed"),
            list("?state=all&base=main")
        ),
        (0, 1, 1)
    );
}
