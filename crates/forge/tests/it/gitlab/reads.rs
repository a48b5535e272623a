//! What is read of a merge request: the same on every version, and the same as git says.

use std::collections::BTreeSet;
use std::process::Command;

use mirilla_diff::{FileDiff, FileStatus, LineRanges, parse};
use mirilla_domain::ids::{CommitSha, Forge, PrNumber, PullRequestRef, RepoId};
use mirilla_domain::snapshot::{PullRequest, TRUSTED_PATHS};
use mirilla_ports::ForgeRead as _;
use mirilla_ports::forge::{FetchedDiff, ForgeError};
use mirilla_sim::{Commit, GitlabLimits, GitlabOptions, GitlabVersion, OpenMerge, Scope};

use super::lab::{Lab, PROJECT, each, repo};
use crate::support::MemoryWriter;

/// Every kind of change that a diff can hold.
fn before() -> Commit {
    Commit::by("alice", "before")
        .write("plain.txt", "one\ntwo\nthree\n")
        .write("moved.txt", "a\nb\nc\nd\ne\nf\n")
        .write("moved and changed.txt", "a\nb\nc\nd\ne\nf\n")
        .write("gone.txt", "gone\n")
        .write("no-end.txt", "last")
        .write("crlf.txt", "one\r\ntwo\r\n")
        .write("ümlaut \"quoted\".txt", "x\n")
        .write("bin.dat", b"\x00\x01before".as_slice())
        .write("dir/empty-later.txt", "x\n")
}

fn after() -> Commit {
    Commit::by("bob", "after")
        .write("plain.txt", "one\n2\nthree\nfour\n")
        .rename("moved.txt", "dir/moved.txt")
        .rename("moved and changed.txt", "moved and more.txt")
        .write("moved and more.txt", "a\nb\nc\nd\ne\nF\n")
        .delete("gone.txt")
        .write("no-end.txt", "last\nand more")
        .write("crlf.txt", "one\r\n2\r\n")
        .write("ümlaut \"quoted\".txt", "y\n")
        .write("bin.dat", b"\x00\x02after".as_slice())
        .write("fresh/new file.txt", "new\n")
        .write("fresh/empty.txt", "")
        .delete("dir/empty-later.txt")
}

/// What a diff says of its files: paths, status, whether it is binary, and the numbers of changed lines.
type Row = (String, String, FileStatus, bool, LineRanges, LineRanges);

fn rows(diff: &[u8]) -> Vec<Row> {
    let parsed = parse(diff);
    assert_eq!(parsed.problems, [], "{}", String::from_utf8_lossy(diff));
    let path = |side: &Option<std::borrow::Cow<'_, [u8]>>| {
        side.as_ref()
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .unwrap_or_default()
    };
    let row = |file: &FileDiff<'_>| {
        let (old, new) = (path(&file.old_path), path(&file.new_path));
        let (added, deleted) = (file.added.clone(), file.deleted.clone());
        (old, new, file.status, file.binary, added, deleted)
    };
    let mut rows: Vec<Row> = parsed.files.iter().map(row).collect();
    rows.sort_by(|one, other| (&one.0, &one.1).cmp(&(&other.0, &other.1)));
    rows
}

/// What git itself says of the change.
fn of_git(lab: &Lab, base: &str, head: &str) -> Vec<u8> {
    let dir = lab.gl().git_dir(PROJECT).unwrap();
    let mut git = Command::new("git");
    git.arg("--git-dir").arg(dir);
    git.args([
        "-c",
        "core.quotePath=true",
        "diff",
        "-M",
        "--no-color",
        "--no-ext-diff",
    ]);
    let output = git.args([base, head]).output().unwrap();
    assert!(output.status.success());
    output.stdout
}

/// Opens a merge request of every kind of change.
fn everything(lab: &mut Lab) {
    let gl = lab.gl();
    let main = gl.commit(PROJECT, "main", &before()).unwrap();
    gl.push(PROJECT, "everything", &main, "bob").unwrap();
    gl.commit(PROJECT, "everything", &after()).unwrap();
    let open = OpenMerge::new("bob", "everything", "Everything");
    lab.iid = lab.gl().open_merge(PROJECT, open).unwrap();
}

fn id(lab: &Lab) -> PullRequestRef {
    PullRequestRef {
        forge: Forge::Gitlab,
        repo: RepoId::new(lab.gl().project_id(PROJECT).unwrap()),
        pr: PrNumber::new(lab.iid),
    }
}

async fn read(lab: &Lab) -> (PullRequest, FetchedDiff) {
    let reader = lab.reader();
    let live = reader.pull_request(&repo(), &id(lab)).await.unwrap();
    let diff = reader.diff(&live).await.unwrap();
    (live, diff)
}

#[tokio::test]
async fn diff_has_the_lines_that_git_says_on_every_version() {
    for mut lab in each() {
        everything(&mut lab);
        let (live, diff) = read(&lab).await;
        assert_eq!(diff.missing, []);
        let git = of_git(&lab, diff.merge_base.as_str(), live.head.as_str());
        let version = lab.gl().version();
        assert_eq!(rows(&diff.bytes), rows(&git), "{version}");
        assert!(rows(&git).len() >= 11, "every kind is there");
        // The object of what is read at the head can be checked.
        for file in parse(&diff.bytes).files {
            let is_new =
                file.new_path.is_some() && !(file.added.is_empty() && file.deleted.is_empty());
            assert!(!is_new || file.new_oid.is_some(), "{version}: {file:?}");
        }
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn merge_request_is_described_the_same_on_every_version() {
    for lab in each() {
        let (live, _) = read(&lab).await;
        assert_eq!(live.id, id(&lab));
        assert_eq!(live.repo_name, repo());
        assert_eq!(
            live.head.as_str(),
            lab.gl().tip(PROJECT, "feature").unwrap()
        );
        assert_eq!(live.base.as_str(), lab.gl().tip(PROJECT, "main").unwrap());
        assert_eq!(
            (live.base_ref.as_str(), live.default_branch.as_str()),
            ("main", "main")
        );
        assert!(live.open && !live.draft && !live.from_fork && !live.author_is_bot);
        assert!(!live.author_is_outsider, "a member");
        assert_eq!(live.author.as_ref().unwrap().as_str(), "bob");
        let named = lab.reader().pull_request_named(&repo(), lab.pr()).await;
        assert_eq!(named.unwrap(), live);
        lab.gl().set_draft(PROJECT, lab.iid, true, "bob").unwrap();
        assert!(read(&lab).await.0.draft, "{}", lab.gl().version());
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn fork_is_read_from_the_project_it_goes_into_also_when_it_is_gone() {
    for mut lab in each() {
        let gl = lab.gl().clone();
        let fork = gl.fork(PROJECT, "mallory").unwrap();
        let step = Commit::by("mallory", "step").write("step.txt", "step\n");
        gl.commit(&fork, "step", &step).unwrap();
        let open = OpenMerge {
            from: Some(fork.clone()),
            ..OpenMerge::new("mallory", "step", "A step")
        };
        lab.iid = gl.open_merge(PROJECT, open).unwrap();
        for gone in [false, true] {
            if gone {
                gl.delete_project(&fork).unwrap();
            }
            let (live, diff) = read(&lab).await;
            assert!(live.from_fork && live.author_is_outsider, "gone: {gone}");
            assert_eq!(rows(&diff.bytes).len(), 1);
            let (writer, stored) = MemoryWriter::within(1 << 20);
            let reader = lab.reader();
            reader.archive(&repo(), &live.head, writer).await.unwrap();
            assert!(stored.lock().unwrap().bytes.starts_with(b"PK"));
        }
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn newcomer_whose_change_was_merged_is_no_outsider() {
    for mut lab in each() {
        let gl = lab.gl().clone();
        let fork = gl.fork(PROJECT, "helper").unwrap();
        for (branch, outsider) in [("one", true), ("two", false)] {
            let commit = Commit::by("helper", branch).write(branch, "x\n");
            gl.commit(&fork, branch, &commit).unwrap();
            let open = OpenMerge {
                from: Some(fork.clone()),
                ..OpenMerge::new("helper", branch, "Help")
            };
            lab.iid = gl.open_merge(PROJECT, open).unwrap();
            assert_eq!(read(&lab).await.0.author_is_outsider, outsider, "{branch}");
            gl.merge(PROJECT, lab.iid, "alice").unwrap();
        }
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn what_gitlab_leaves_out_is_named_and_nothing_else_is_missing() {
    for version in GitlabVersion::PLAYED {
        let limits = GitlabLimits {
            max_patch_bytes: 400,
            collapse_patch_bytes: 100,
            ..GitlabLimits::default()
        };
        let mut lab = Lab::with(GitlabOptions {
            limits,
            ..GitlabOptions::of(version)
        });
        let gl = lab.gl().clone();
        let change = Commit::by("bob", "change")
            .write("small.txt", "x\n")
            .write("middle.txt", "x\n".repeat(60))
            .write("large.txt", "x\n".repeat(600))
            .rename("pkg/old_name.go", "pkg/moved.go");
        gl.commit(PROJECT, "limits", &change).unwrap();
        let open = OpenMerge::new("bob", "limits", "Limits");
        lab.iid = gl.open_merge(PROJECT, open).unwrap();
        let (_, diff) = read(&lab).await;
        let there = rows(&diff.bytes).into_iter();
        let shown: BTreeSet<String> = there
            .filter(|row| !row.4.is_empty() || row.2 == FileStatus::Renamed)
            .map(|row| row.1)
            .collect();
        let missing: BTreeSet<String> = diff.missing.iter().map(|one| one.path.clone()).collect();
        let all = ["large.txt", "middle.txt", "pkg/moved.go", "small.txt"].map(str::to_owned);
        let both: Vec<String> = shown.union(&missing).cloned().collect();
        assert_eq!(both, all, "{version}: {diff:?}");
        assert!(shown.is_disjoint(&missing), "{version}");
        assert!(missing.contains("large.txt") && shown.contains("small.txt"));
        assert!(
            shown.contains("pkg/moved.go"),
            "{version}: a pure rename is whole"
        );
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn files_that_are_not_kept_are_told_of() {
    for version in GitlabVersion::PLAYED {
        let limits = GitlabLimits {
            max_files: 1,
            ..GitlabLimits::default()
        };
        let lab = Lab::with(GitlabOptions {
            limits,
            ..GitlabOptions::of(version)
        });
        let (_, diff) = read(&lab).await;
        let missing: Vec<&str> = diff.missing.iter().map(|one| &*one.path).collect();
        assert_eq!(
            missing,
            ["(more files that GitLab does not keep)"],
            "{version}"
        );
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn diff_that_is_not_ready_is_waited_for_and_not_taken_for_another() {
    for lab in each() {
        let reader = lab.reader();
        let gl = lab.gl();
        gl.lag(true);
        let more = Commit::by("bob", "more").write("more.txt", "x\n");
        gl.commit(PROJECT, "feature", &more).unwrap();
        let live = reader.pull_request(&repo(), &id(&lab)).await.unwrap();
        let early = reader.diff(&live).await;
        assert!(
            matches!(early, Err(ForgeError::Unavailable { .. })),
            "{early:?}"
        );
        gl.prepare(PROJECT, lab.iid).unwrap();
        let live = reader.pull_request(&repo(), &id(&lab)).await.unwrap();
        assert!(reader.diff(&live).await.is_ok());
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn settings_and_rules_are_read_at_one_commit() {
    for lab in each() {
        let gl = lab.gl();
        let settings = Commit::by("alice", "settings")
            .write(".mirilla.toml", "max-comments = 5\n")
            .write(".mirilla/rules/sql.md", "Use parameters.\n")
            .write(".mirilla/rules/deeper/no.md", "Not this one.\n")
            .write("REVIEW.md", b"\xff\xfe".as_slice());
        let main = gl.commit(PROJECT, "main", &settings).unwrap();
        let reader = lab.reader();
        for rev in ["main", &main] {
            let found = reader.files(&repo(), rev, TRUSTED_PATHS).await.unwrap();
            assert_eq!(found.commit, CommitSha::parse(&main).unwrap());
            let files: Vec<(&str, &str)> = found
                .files
                .iter()
                .map(|file| (&*file.path, &*file.text))
                .collect();
            assert_eq!(
                files,
                [
                    (".mirilla.toml", "max-comments = 5\n"),
                    (".mirilla/rules/sql.md", "Use parameters.\n"),
                    ("REVIEW.md", "\u{fffd}"),
                ]
            );
        }
        let nowhere = reader.files(&repo(), "no-such-branch", TRUSTED_PATHS).await;
        assert!(
            matches!(nowhere, Err(ForgeError::NotFound { .. })),
            "{nowhere:?}"
        );
        let nothing = "0".repeat(40);
        let gone = reader.files(&repo(), &nothing, TRUSTED_PATHS).await;
        assert!(matches!(gone, Err(ForgeError::NotFound { .. })), "{gone:?}");
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn token_that_does_not_see_the_project_finds_nothing() {
    for lab in each() {
        let token = lab.gl().create_token("stranger", Scope::ReadApi);
        let reader = lab.reader_with(&token);
        let hidden = reader.pull_request(&repo(), &id(&lab)).await;
        assert!(
            matches!(hidden, Err(ForgeError::NotFound { .. })),
            "{hidden:?}"
        );
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn renamed_project_is_the_same_by_its_number() {
    for lab in each() {
        let (id, reader) = (id(&lab), lab.reader());
        lab.gl()
            .move_project(PROJECT, "acme/platform/store")
            .unwrap();
        let live = reader.pull_request(&repo(), &id).await.unwrap();
        assert_eq!(live.repo_name.as_str(), "acme/platform/store");
        assert!(reader.diff(&live).await.is_ok());
        lab.sim.finish().unwrap();
    }
}

/// Calls of a snapshot, by version; more would be felt by an instance with a low limit.
const MOST_CALLS: usize = 20;

#[tokio::test]
async fn calls_of_a_snapshot_are_bounded() {
    for lab in each() {
        let reader = lab.reader();
        let live = reader.pull_request(&repo(), &id(&lab)).await.unwrap();
        reader.diff(&live).await.unwrap();
        let (writer, _stored) = MemoryWriter::within(1 << 20);
        reader.archive(&repo(), &live.head, writer).await.unwrap();
        let closing = reader.files_and_pull_request(&live, live.base.as_str(), TRUSTED_PATHS);
        closing.await.unwrap();
        let counts = lab.gl().counts();
        let calls: usize = counts.values().sum();
        println!(
            "{}: {calls} calls to collect\n{counts:#?}",
            lab.gl().version()
        );
        assert!(calls <= MOST_CALLS, "{counts:#?}");
        lab.sim.finish().unwrap();
    }
}
