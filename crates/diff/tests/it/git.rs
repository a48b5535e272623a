//! git as the judge: random trees, git's own diff of them, and what git itself reads from it.

use std::{
    collections::BTreeMap,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
};

use mirilla_diff::{FileDiff, FileStatus, LineKind, SectionReader, summary};
use proptest::{
    prelude::*,
    sample::{Index, select, subsequence},
    test_runner::TestRunner,
};

use crate::support::parse_checked;

/// How many pairs of trees one run tries.
const CASES: u32 = 96;

/// Paths that naive readers split, unquote or normalise wrongly. None is a folder of another.
const PATHS: [&[u8]; 16] = [
    b"plain.txt",
    b"src/deep/er/mod.rs",
    b"sp ace.txt",
    b"x b/y",
    b"a b/b b",
    b"b/b/a",
    b"tab\tname",
    b"quo\"te",
    b"back\\slash",
    b"new\nline",
    b"cr\rname",
    b"bell\x07",
    b"\xc3\xbcml\xc3\xa4ut \xe2\x86\x92.md",
    b"latin\xe9",
    b"dev/null",
    b"--- a",
];

/// Lines that look like structure, and line ends that are none.
const LINES: [&[u8]; 22] = [
    b"one",
    b"two",
    b"three",
    b"  indented",
    b"",
    b"",
    b" ",
    b"-- sql comment",
    b"++ plus",
    b"- minus",
    b"+ plus",
    b"@@ -1 +1 @@",
    b"diff --git a/x b/x",
    b"--- a/x",
    b"+++ b/x",
    b"\\ No newline at end of file",
    b"crlf\r",
    b"\r",
    b"lone\rcr",
    b"ff\x0cvt\x0bnel\xc2\x85ls\xe2\x80\xa8",
    b"latin\xe9",
    b"@@ fn heading() { @@",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    File,
    Executable,
    Link,
}

impl Mode {
    fn octal(self) -> &'static str {
        match self {
            Self::File => "100644",
            Self::Executable => "100755",
            Self::Link => "120000",
        }
    }
}

type Tree = BTreeMap<&'static [u8], (Mode, Vec<u8>)>;

/// One splice of a list of lines: where, how many go, what comes.
type Edit = (Index, usize, Vec<&'static [u8]>);

#[derive(Clone, Debug)]
enum Change {
    Keep,
    Edit(Vec<Edit>, bool),
    Chmod,
    Retype,
    Delete,
    Binary,
}

fn join(lines: &[&[u8]], newline: bool) -> Vec<u8> {
    let mut text = lines.join(&b'\n');
    if newline && !lines.is_empty() {
        text.push(b'\n');
    }
    text
}

fn lines() -> impl Strategy<Value = Vec<&'static [u8]>> {
    prop::collection::vec(select(&LINES[..]), 0..40)
}

fn change() -> impl Strategy<Value = Change> {
    let edit = (
        any::<Index>(),
        0..4_usize,
        prop::collection::vec(select(&LINES[..]), 0..4),
    );
    let edits = (prop::collection::vec(edit, 1..4), prop::bool::weighted(0.8))
        .prop_map(|(edits, newline)| Change::Edit(edits, newline));
    prop_oneof![
        1 => Just(Change::Keep),
        8 => edits,
        1 => Just(Change::Chmod),
        1 => Just(Change::Retype),
        2 => Just(Change::Delete),
        1 => Just(Change::Binary),
    ]
}

/// Two trees: files that were there and what became of each, under a new path for some of them, and
/// files that are new.
fn trees() -> impl Strategy<Value = (Tree, Tree)> {
    let old = (lines(), prop::bool::weighted(0.8), change(), any::<bool>());
    let new = (lines(), prop::bool::weighted(0.8));
    (
        subsequence(&PATHS[..], 2..12).prop_shuffle(),
        prop::collection::vec(old, 1..6),
        prop::collection::vec(new, 0..3),
    )
        .prop_map(|(paths, old, new)| {
            let (mut base, mut head) = (Tree::new(), Tree::new());
            let mut paths = paths.into_iter();
            for (lines, newline, change, moves) in old {
                let Some(path) = paths.next() else { break };
                let text = join(&lines, newline);
                base.insert(path, (Mode::File, text.clone()));
                let to = if moves {
                    paths.next().unwrap_or(path)
                } else {
                    path
                };
                match change {
                    Change::Keep => head.insert(to, (Mode::File, text)),
                    Change::Edit(edits, newline) => {
                        let edited = edits.into_iter().fold(lines, splice);
                        head.insert(to, (Mode::File, join(&edited, newline)))
                    }
                    Change::Chmod => head.insert(to, (Mode::Executable, text)),
                    Change::Retype => head.insert(path, (Mode::Link, b"to/target".to_vec())),
                    Change::Delete => None,
                    Change::Binary => head.insert(to, (Mode::File, [&text[..], b"\0\n"].concat())),
                };
            }
            for (lines, newline) in new {
                if let Some(path) = paths.next() {
                    head.insert(path, (Mode::File, join(&lines, newline)));
                }
            }
            (base, head)
        })
}

fn splice(mut lines: Vec<&'static [u8]>, (at, gone, new): Edit) -> Vec<&'static [u8]> {
    let at = at.index(lines.len() + 1);
    let end = (at + gone).min(lines.len());
    lines.splice(at..end, new);
    lines
}

/// How git is asked for the diff.
fn options() -> impl Strategy<Value = Vec<&'static str>> {
    (
        select(vec!["-U3", "-U0", "-U1", "-U25"]),
        select(vec!["--no-renames", "-M", "-C", "-M10%"]),
        select(vec![
            "--src-prefix=a/",
            "--no-prefix",
            "--src-prefix=c/ --dst-prefix=w/",
        ]),
        select(vec!["--abbrev=7", "--full-index", "--binary"]),
        select(vec!["core.quotepath=true", "core.quotepath=false"]),
    )
        .prop_map(|(context, renames, prefix, index, quote)| {
            let mut options = vec!["-c", quote, "diff", context, renames, index];
            options.extend(prefix.split(' '));
            options
        })
}

/// A repository of its own, with no one's configuration.
struct Repo {
    folder: tempfile::TempDir,
    count: AtomicUsize,
}

impl Repo {
    fn new() -> Self {
        let repo = Self {
            folder: tempfile::tempdir().unwrap(),
            count: AtomicUsize::new(0),
        };
        repo.git(&["init", "--quiet", "--bare"], b"");
        repo
    }

    fn git(&self, arguments: &[&str], input: &[u8]) -> Vec<u8> {
        git(self.folder.path(), arguments, input)
    }

    /// Stores both trees in one go; returns the names of the two commits.
    fn import(&self, base: &Tree, head: &Tree) -> (String, String) {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let names = (format!("base-{count}"), format!("head-{count}"));
        let mut stream = Vec::new();
        for (name, tree) in [(&names.0, base), (&names.1, head)] {
            writeln!(stream, "commit refs/heads/{name}").unwrap();
            stream.extend(b"committer T <t@example.test> 0 +0000\ndata 0\n");
            for (path, (mode, bytes)) in tree {
                write!(stream, "M {} inline ", mode.octal()).unwrap();
                stream.extend(quote(path));
                writeln!(stream, "\ndata {}", bytes.len()).unwrap();
                stream.extend(bytes);
                stream.push(b'\n');
            }
        }
        self.git(&["fast-import", "--quiet"], &stream);
        names
    }
}

fn git(folder: &Path, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("git runs");
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        // git may close its input before all is written; what it says about that is in its status.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().unwrap()
    });
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {errors}");
    output.stdout
}

/// Quotes a path for fast-import: every byte as an octal escape.
fn quote(path: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'"'];
    for byte in path {
        write!(quoted, "\\{byte:03o}").unwrap();
    }
    quoted.push(b'"');
    quoted
}

/// One entry of `git diff --raw -z`.
#[derive(Debug, PartialEq, Eq)]
struct Raw {
    status: FileStatus,
    old: Option<(u32, Vec<u8>)>,
    new: Option<(u32, Vec<u8>)>,
}

/// Reads `git diff --raw -z`; a type change is two entries, as it is two in the patch.
fn raw(output: &[u8]) -> Vec<Raw> {
    let mut fields = output.split(|&byte| byte == 0).map(<[u8]>::to_vec);
    let mut entries = Vec::new();
    while let Some(head) = fields.next().filter(|head| !head.is_empty()) {
        let head = String::from_utf8(head).unwrap();
        let parts: Vec<_> = head.trim_start_matches(':').split(' ').collect();
        let mode = |text: &str| u32::from_str_radix(text, 8).unwrap();
        let path = fields.next().unwrap();
        let (old, new) = (mode(parts[0]), mode(parts[1]));
        let (status, target) = match parts[4].as_bytes()[0] {
            b'A' => (FileStatus::Added, path.clone()),
            b'D' => (FileStatus::Deleted, path.clone()),
            b'T' => {
                entries.push(Raw {
                    status: FileStatus::Deleted,
                    old: Some((old, path.clone())),
                    new: None,
                });
                (FileStatus::Added, path.clone())
            }
            b'R' => (FileStatus::Renamed, fields.next().unwrap()),
            b'C' => (FileStatus::Copied, fields.next().unwrap()),
            b'M' if old != new && parts[2] == parts[3] => (FileStatus::ModeChanged, path.clone()),
            b'M' => (FileStatus::Modified, path.clone()),
            other => panic!("status {other}"),
        };
        entries.push(Raw {
            status,
            old: (status != FileStatus::Added).then_some((old, path)),
            new: (status != FileStatus::Deleted).then_some((new, target)),
        });
    }
    entries
}

/// Asserts that the file is what git's raw entry says. A diff without index line prints no mode.
fn assert_is(file: &FileDiff<'_>, raw: &Raw) {
    assert_eq!(file.status, raw.status, "{file:?}");
    for (path, mode, expected) in [
        (&file.old_path, file.old_mode, &raw.old),
        (&file.new_path, file.new_mode, &raw.new),
    ] {
        assert_eq!(
            path.as_deref(),
            expected.as_ref().map(|(_, path)| &path[..]),
            "{file:?}"
        );
        if let Some(mode) = mode {
            assert_eq!(
                Some(mode),
                expected.as_ref().map(|(mode, _)| *mode),
                "{file:?}"
            );
        } else {
            let silent = matches!(file.status, FileStatus::Renamed | FileStatus::Copied);
            assert!(expected.is_none() || silent, "{file:?}");
        }
    }
}

/// Builds the new blob from the old one and the hunks; every line that goes or stays must be there.
fn apply(file: &FileDiff<'_>, old: &[u8]) -> Vec<u8> {
    let old_lines: Vec<&[u8]> = old.split_inclusive(|&byte| byte == b'\n').collect();
    let mut new = Vec::new();
    let mut next = 0;
    let as_stored = |text: &[u8], no_newline: bool| {
        let end: &[u8] = if no_newline { b"" } else { b"\n" };
        [text, end].concat()
    };
    for hunk in &file.hunks {
        let before = match hunk.old_count {
            0 => hunk.old_start,
            _ => hunk.old_start - 1,
        } as usize;
        new.extend(old_lines[next..before].concat());
        next = before;
        for line in hunk.lines() {
            let stored = as_stored(line.text, line.no_newline);
            if line.kind != LineKind::Added {
                assert_eq!(
                    old_lines[line.old.unwrap() as usize - 1],
                    stored,
                    "{file:?}"
                );
                next += 1;
            }
            if line.kind != LineKind::Deleted {
                new.extend(stored);
            }
        }
    }
    new.extend(old_lines[next..].concat());
    new
}

/// One entry of `git apply --numstat -z`: added and deleted lines (nothing for binary), path.
type Counts = (Option<(usize, usize)>, Vec<u8>);

fn numstat(output: &[u8]) -> Vec<Counts> {
    let entries = output.split(|&byte| byte == 0);
    entries
        .filter(|entry| !entry.is_empty())
        .map(|entry| {
            let mut parts = entry.splitn(3, |&byte| byte == b'\t');
            let mut count = || String::from_utf8_lossy(parts.next().unwrap()).parse().ok();
            let counts = count().zip(count());
            (counts, parts.next().unwrap().to_vec())
        })
        .collect()
}

#[test]
fn random_trees_read_as_git_reads_them() {
    let repo = Repo::new();
    let mut runner = TestRunner::new(ProptestConfig {
        cases: CASES,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let pairs = (trees(), options());
    let result = runner.run(&pairs, |((base, head), options)| {
        let (old, new) = repo.import(&base, &head);
        let mut arguments = options;
        arguments.extend([&old[..], &new[..]]);
        let diff = repo.git(&arguments, b"");
        let parsed = parse_checked(&diff);
        assert!(
            parsed.is_complete(),
            "{:?} {:?}",
            parsed.problems,
            parsed.files
        );

        let listed = [&arguments[..], &["--raw", "-z", "--no-abbrev"]].concat();
        let expected = raw(&repo.git(&listed, b""));
        assert_eq!(parsed.files.len(), expected.len(), "{:?}", parsed.files);
        for (file, expected) in parsed.files.iter().zip(&expected) {
            assert_is(file, expected);
        }
        for file in parsed.files.iter().filter(|file| !file.binary) {
            let blob = |tree: &Tree, path: &Option<std::borrow::Cow<'_, [u8]>>| {
                path.as_deref()
                    .map(|path| tree[path].1.clone())
                    .unwrap_or_default()
            };
            let old = blob(&base, &file.old_path);
            assert_eq!(apply(file, &old), blob(&head, &file.new_path), "{file:?}");
        }
        if !diff.is_empty() {
            let strip = if arguments.contains(&"--no-prefix") {
                "-p0"
            } else {
                "-p1"
            };
            let counts = numstat(&repo.git(&["apply", "--numstat", "-z", strip], &diff));
            let ours: Vec<_> = parsed
                .files
                .iter()
                .map(|file| {
                    let counts = (file.added.len(), file.deleted.len());
                    ((!file.binary).then_some(counts), file.path().to_vec())
                })
                .collect();
            assert_eq!(ours, counts);
        }
        assert_sections_agree(&diff, &parsed);
        Ok(())
    });
    result.unwrap();
}

/// One section at a time says the same as all at once, and so does the summary.
fn assert_sections_agree(diff: &[u8], parsed: &mirilla_diff::Parsed<'_>) {
    let sections: Vec<_> = SectionReader::new(diff).map(Result::unwrap).collect();
    let alone: Vec<_> = sections.iter().map(mirilla_diff::Section::parse).collect();
    let files: Vec<_> = alone.iter().flat_map(|parsed| &parsed.files).collect();
    assert_eq!(files, parsed.files.iter().collect::<Vec<_>>());
    let total = summary::of_bytes(diff);
    assert_eq!(summary::of_reader(diff).unwrap(), total);
    assert_eq!(total.files, parsed.files.len());
    assert_eq!(
        total.added,
        parsed.files.iter().map(|f| f.added.len()).sum::<usize>()
    );
    assert_eq!(
        total.deleted,
        parsed.files.iter().map(|f| f.deleted.len()).sum::<usize>()
    );
    assert_eq!(
        total.binary,
        parsed.files.iter().filter(|f| f.binary).count()
    );
}
