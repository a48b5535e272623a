//! A local repository through `git`, asked for objects only.
//!
//! The working tree is never read, no hook, filter or external diff ever runs, and no configuration
//! of the repository or the user changes what is printed.
//!
//! **Invariant:** every argument that came from outside stands after `--end-of-options` or `--`, or is
//! a commit id that git itself printed.

mod source;

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use crate::failure::Failure;
pub(crate) use source::CommitFiles;

/// Branches that are looked for when no base is named, in this order.
const USUAL_BASES: [&str; 5] = [
    "origin/HEAD",
    "origin/main",
    "origin/master",
    "main",
    "master",
];

/// Two commits: what is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Range {
    /// The merge base.
    pub(crate) base: String,
    /// The commit on top.
    pub(crate) head: String,
}

/// A file that a range changes.
#[derive(Debug)]
pub(crate) struct ChangedBlob {
    /// Its path, byte for byte.
    pub(crate) path: Vec<u8>,
    /// Its text before.
    pub(crate) old: Option<Vec<u8>>,
    /// Its text after.
    pub(crate) new: Option<Vec<u8>>,
}

impl Range {
    /// Finds the two commits; the base is the merge base of both.
    pub(crate) fn resolve(repo: &Path, base: &str, head: &str) -> Result<Self> {
        let head = commit(repo, head)?;
        let base = commit(repo, base)?;
        let merge_base = text(repo, &["merge-base", &base, &head]).map_err(|_error| {
            Failure::new(format!("{base} and {head} have no commit in common")).hint(
                "name a base from the same history, or fetch more of it (`git fetch --unshallow`)",
            )
        })?;
        Ok(Self {
            base: merge_base,
            head,
        })
    }

    /// Finds the range from the usual base branch, or the last commit alone; a first commit is compared
    /// with nothing.
    pub(crate) fn usual(repo: &Path, head: &str) -> Result<Self> {
        let head_id = commit(repo, head)?;
        for base in USUAL_BASES {
            if let Ok(range) = Self::resolve(repo, base, head)
                && range.base != head_id
            {
                return Ok(range);
            }
        }
        let parent = format!("{head_id}~1^{{commit}}");
        if let Ok(base) = text(repo, &["rev-parse", "--verify", "--quiet", &parent]) {
            return Ok(Self {
                base,
                head: head_id,
            });
        }
        if text(repo, &["rev-parse", "--is-shallow-repository"])? == "true" {
            return Err(Failure::new(
                "this clone is shallow: the commit before the last one is not here",
            )
            .hint("fetch it with `git fetch --unshallow`, or name a base with `--base`")
            .into());
        }
        let base = text(repo, &["hash-object", "-t", "tree", "/dev/null"])?;
        Ok(Self {
            base,
            head: head_id,
        })
    }
}

/// Returns what one commit changes; `None` if it is not there, or is the first one.
pub(crate) fn change(repo: &Path, id: &str) -> Option<Range> {
    Some(Range {
        base: commit(repo, &format!("{id}~1")).ok()?,
        head: commit(repo, id).ok()?,
    })
}

/// Returns the diff of a range.
pub(crate) fn diff(repo: &Path, range: &Range) -> Result<Vec<u8>> {
    diff_of_files(repo, range, &[])
}

/// Returns the diff of some files of a range, each named byte for byte; of all if none is named.
pub(crate) fn diff_of_files(repo: &Path, range: &Range, files: &[String]) -> Result<Vec<u8>> {
    let mut arguments = vec![
        "diff-tree",
        "-r",
        "-p",
        "--full-index",
        "--find-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        &range.base,
        &range.head,
        "--",
    ];
    arguments.extend(files.iter().map(String::as_str));
    run(repo, &arguments)
}

/// Returns a commit's subject line.
pub(crate) fn subject(repo: &Path, commit: &str) -> Result<String> {
    text(repo, &["log", "-1", "--format=%s", commit])
}

/// Returns a file's text at a commit; `None` if it is not there or not text.
pub(crate) fn file(repo: &Path, commit: &str, path: &str) -> Option<String> {
    let bytes = run(repo, &["cat-file", "blob", &format!("{commit}:{path}")]).ok()?;
    String::from_utf8(bytes).ok()
}

/// Returns the files directly in a folder at a commit.
pub(crate) fn folder(repo: &Path, commit: &str, path: &str) -> Vec<String> {
    let listed = text(
        repo,
        &["ls-tree", "--name-only", "-z", &format!("{commit}:{path}")],
    );
    let listed = listed.unwrap_or_default();
    listed
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(|name| format!("{path}{name}"))
        .collect()
}

/// Returns the text files that a range changes, both sides.
pub(crate) fn changed_blobs(repo: &Path, range: &Range) -> Result<Vec<ChangedBlob>> {
    let listed = run(
        repo,
        &[
            "diff-tree",
            "-r",
            "-z",
            "--no-renames",
            &range.base,
            &range.head,
        ],
    )?;
    let mut parts = listed
        .split(|byte| *byte == 0)
        .filter(|part| !part.is_empty());
    let mut blobs = Vec::new();
    while let (Some(header), Some(path)) = (parts.next(), parts.next()) {
        let header = String::from_utf8_lossy(header);
        let fields: Vec<&str> = header.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, old, new, _status] = fields.as_slice() else {
            continue;
        };
        blobs.push(ChangedBlob {
            path: path.to_vec(),
            old: blob(repo, old_mode, old)?,
            new: blob(repo, new_mode, new)?,
        });
    }
    Ok(blobs)
}

fn blob(repo: &Path, mode: &str, id: &str) -> Result<Option<Vec<u8>>> {
    if mode.starts_with("100") {
        run(repo, &["cat-file", "blob", id]).map(Some)
    } else {
        Ok(None)
    }
}

/// Returns the id of the commit that `rev` names.
fn commit(repo: &Path, rev: &str) -> Result<String> {
    let named = format!("{rev}^{{commit}}");
    text(
        repo,
        &[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &named,
        ],
    )
    .map_err(|error| {
        if text(repo, &["rev-parse", "--git-dir"]).is_err() {
            return Failure::new(format!("{} is not a git repository", repo.display()))
                .hint("name one with `--repo PATH`, or give a patch with `--patch FILE`")
                .into();
        }
        if text(repo, &["rev-list", "-n", "1", "--all"]).is_ok_and(|newest| newest.is_empty()) {
            return Failure::nothing(format!("{} has no commits yet", repo.display())).into();
        }
        error.context(
            Failure::new(format!("`{rev}` names no commit in {}", repo.display()))
                .hint("name a branch, a tag or a commit id"),
        )
    })
}

fn text(repo: &Path, arguments: &[&str]) -> Result<String> {
    let bytes = run(repo, arguments)?;
    Ok(String::from_utf8_lossy(&bytes)
        .trim_end_matches('\n')
        .to_owned())
}

/// Returns a git that runs nothing of the repository's and reads nobody's configuration.
fn command(repo: &Path, arguments: &[&str]) -> Command {
    let mut git = Command::new("git");
    git.arg("-C")
        .arg(repo)
        .args([
            "-c",
            "core.quotePath=true",
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "core.fsmonitor=false",
        ])
        .args([
            "-c",
            "diff.noprefix=false",
            "-c",
            "diff.mnemonicPrefix=false",
            "-c",
            "diff.renameLimit=0",
        ])
        .args(["--no-pager", "--no-optional-locks"])
        .args(arguments)
        // A hook's own variables would make git look into another repository than the one named.
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .env_remove("GIT_COMMON_DIR")
        .env_remove("GIT_NAMESPACE")
        .env_remove("GIT_OBJECT_DIRECTORY")
        .env_remove("GIT_ALTERNATE_OBJECT_DIRECTORIES")
        .env_remove("GIT_CONFIG_PARAMETERS")
        .env_remove("GIT_CONFIG_COUNT")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_LITERAL_PATHSPECS", "1")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C");
    git
}

fn run(repo: &Path, arguments: &[&str]) -> Result<Vec<u8>> {
    let output = command(repo, arguments)
        .stdin(Stdio::null())
        .output()
        .context("git cannot be run; install git, or give a patch with `--patch FILE`")?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim();
    anyhow::bail!(
        "git {} failed{}{said}",
        arguments.first().unwrap_or(&""),
        if said.is_empty() { "" } else { ": " }
    );
}
