//! Real git repositories, driven through the `git` program.
//!
//! One bare repository holds a network: a repository and its forks share objects, as on GitHub.
//! Everything that depends only on object names is cached for good, and objects are read and compared through
//! long-lived processes, so that a test with thousands of calls starts few of them.
//!
//! **Invariant:** no hook, no user or system configuration, no textconv and no external diff takes
//! part; what the repositories hold is data.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use chrono::{DateTime, Utc};

use crate::diff::Diff;

mod carry;
mod cat;
mod command;
mod history;
mod import;
mod pairs;
mod tree;

pub(crate) use carry::carry;
use cat::CatFile;
pub(crate) use cat::Object;
pub use command::GitError;
use command::{git, run, unexpected};
pub use import::{Change, Commit};
use pairs::TreePairs;
pub(crate) use tree::{find, tree_entries};

/// One bare repository.
#[derive(Debug)]
pub(crate) struct GitDir {
    path: PathBuf,
    cat: Mutex<Option<CatFile>>,
    /// Compares with names that were changed, to be shown.
    shown: Mutex<Option<TreePairs>>,
    /// Compares line by line.
    lines: Mutex<Option<TreePairs>>,
    cache: Mutex<Cache>,
}

#[derive(Debug, Default)]
struct Cache {
    diffs: HashMap<String, Arc<Diff>>,
    logs: HashMap<(String, String), Arc<[CommitInfo]>>,
    merge_bases: HashMap<(String, String), Option<String>>,
    archives: HashMap<(String, ArchiveKind, String), Bytes>,
    line_maps: HashMap<(String, String), Arc<Diff>>,
    commits: HashMap<String, CommitInfo>,
}

/// What `git log` says about one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommitInfo {
    pub(crate) sha: String,
    pub(crate) tree: String,
    pub(crate) parents: Vec<String>,
    pub(crate) author: Identity,
    pub(crate) committer: Identity,
    pub(crate) message: String,
}

/// A name in a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) name: String,
    pub(crate) email: String,
    /// RFC 3339, UTC.
    pub(crate) date: String,
}

/// The two archive formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ArchiveKind {
    /// `zipball`
    Zip,
    /// `tarball`
    TarGz,
}

/// Fields of one commit in `git log` output, each ending in NUL; messages hold no NUL.
const LOG_FORMAT: &str = "%H%x00%T%x00%P%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%B%x00";
const LOG_FIELDS: usize = 10;

impl GitDir {
    /// Creates an empty bare repository at `path`.
    pub(crate) fn init(path: &Path, default_branch: &str) -> Result<Self, GitError> {
        let mut command = git();
        command.args(["init", "--quiet", "--bare", "--template="]);
        command
            .arg(format!("--initial-branch={default_branch}"))
            .arg(path);
        run("init", &mut command, None)?;
        Ok(Self::at(path))
    }

    /// Clones a repository on this machine to `path`, bare, with its branches and tags.
    pub(crate) fn clone_from(source: &Path, path: &Path) -> Result<Self, GitError> {
        let mut command = git();
        command.args(["-c", "protocol.file.allow=always"]);
        command.args([
            "clone",
            "--quiet",
            "--bare",
            "--no-hardlinks",
            "--template=",
        ]);
        command.arg("--").arg(source).arg(path);
        run("clone", &mut command, None)?;
        Ok(Self::at(path))
    }

    fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            cat: Mutex::new(None),
            shown: Mutex::new(None),
            lines: Mutex::new(None),
            cache: Mutex::new(Cache::default()),
        }
    }

    /// Returns where the repository lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn command(&self, subcommand: &str) -> Command {
        let mut command = git();
        command.arg("--git-dir").arg(&self.path).arg(subcommand);
        command
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the branch that HEAD names, and all branches with their tips.
    pub(crate) fn branches(&self) -> Result<(String, Vec<(String, String)>), GitError> {
        let head = fs::read_to_string(self.path.join("HEAD")).map_err(|source| GitError::Io {
            command: "HEAD".to_owned(),
            source,
        })?;
        let head = head
            .trim()
            .trim_start_matches("ref: refs/heads/")
            .to_owned();
        let mut command = self.command("for-each-ref");
        command.args(["--format=%(objectname) %(refname:lstrip=2)", "refs/heads/"]);
        let out = run("for-each-ref", &mut command, None)?;
        let branches = String::from_utf8_lossy(&out)
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(sha, name)| (name.to_owned(), sha.to_owned()))
            .collect();
        Ok((head, branches))
    }

    /// Points `reference` (full name) at `sha`, or deletes it.
    ///
    /// Written as a loose reference, which every git understands, to save a process per push.
    pub(crate) fn set_ref(&self, reference: &str, sha: Option<&str>) -> Result<(), GitError> {
        let file = self.path.join(reference);
        let outcome = match sha {
            Some(sha) => file
                .parent()
                .map_or(Ok(()), fs::create_dir_all)
                .and_then(|()| fs::write(&file, format!("{sha}\n"))),
            None => match fs::remove_file(&file) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
                other => other,
            },
        };
        outcome.map_err(|source| GitError::Io {
            command: format!("update {reference}"),
            source,
        })
    }

    /// Writes one commit and returns its name; no branch moves.
    pub(crate) fn commit(
        &self,
        parents: &[&str],
        commit: &Commit,
        email: &str,
        at: DateTime<Utc>,
    ) -> Result<String, GitError> {
        let stream = import::stream(parents, commit, email, at);
        let mut command = self.command("fast-import");
        command.args(["--quiet", "--done", "--force", "--date-format=raw"]);
        let out = run("fast-import", &mut command, Some(&stream))?;
        let sha = String::from_utf8_lossy(&out).trim().to_owned();
        if sha.len() < 40 {
            return Err(unexpected(
                "fast-import",
                &format!("no commit name but {sha:?}"),
            ));
        }
        Ok(sha)
    }

    /// Merges `head` into `base` and returns the merge commit.
    pub(crate) fn merge(
        &self,
        base: &str,
        head: &str,
        message: &str,
        name: &str,
        email: &str,
        at: DateTime<Utc>,
    ) -> Result<String, GitError> {
        let mut command = self.command("merge-tree");
        command.args(["--write-tree", "--no-messages", base, head]);
        let tree = run("merge-tree", &mut command, None)?;
        let mut command = self.command("commit-tree");
        let date = format!("{} +0000", at.timestamp());
        for (role, value) in [("NAME", name), ("EMAIL", email), ("DATE", date.as_str())] {
            command.env(format!("GIT_AUTHOR_{role}"), value);
            command.env(format!("GIT_COMMITTER_{role}"), value);
        }
        command.args(["-p", base, "-p", head, "-m", message]);
        command.arg(String::from_utf8_lossy(&tree).trim());
        let out = run("commit-tree", &mut command, None)?;
        Ok(String::from_utf8_lossy(&out).trim().to_owned())
    }

    /// Reads an object by any name git understands; `None` if there is no such object.
    pub(crate) fn object(&self, name: &str) -> Result<Option<Object>, GitError> {
        self.ask("contents", name)
    }

    /// Returns the full name of the object of the wanted type that `name` leads to.
    pub(crate) fn resolve(&self, name: &str, kind: &str) -> Result<Option<String>, GitError> {
        Ok(self
            .ask("info", &format!("{name}^{{{kind}}}"))?
            .map(|object| object.oid))
    }

    /// Returns the size of an object, if there is one.
    pub(crate) fn size(&self, name: &str) -> Result<Option<u64>, GitError> {
        Ok(self.ask("info", name)?.map(|object| object.size))
    }

    fn ask(&self, verb: &str, name: &str) -> Result<Option<Object>, GitError> {
        if name.is_empty() || name.contains(['\n', '\0']) {
            return Ok(None);
        }
        let mut slot = self.cat.lock().unwrap_or_else(PoisonError::into_inner);
        let mut cat = match slot.take() {
            Some(cat) => cat,
            None => CatFile::start(&mut self.command("cat-file"))?,
        };
        let answer = cat.ask(verb, name)?;
        *slot = Some(cat);
        Ok(answer)
    }

    /// Returns the three-dot diff: from the merge base of both commits to `head`.
    pub(crate) fn diff(&self, base: &str, head: &str) -> Result<Arc<Diff>, GitError> {
        let shared = self.merge_base(base, head)?;
        let shared = shared.ok_or_else(|| unexpected("diff", "no merge base"))?;
        self.diff_straight(&shared, head)
    }

    /// Returns the two-dot diff: from one commit to the other.
    pub(crate) fn diff_straight(&self, from: &str, to: &str) -> Result<Arc<Diff>, GitError> {
        let key = format!("{from}..{to}");
        if let Some(known) = self.cache().diffs.get(&key) {
            return Ok(Arc::clone(known));
        }
        let flags = [DIFF_FLAGS.as_slice(), &["--find-renames"]].concat();
        let bytes = self.compare(&self.shown, &flags, from, to)?;
        let diff = Arc::new(Diff::parse(bytes)?);
        self.cache().diffs.insert(key, Arc::clone(&diff));
        Ok(diff)
    }

    /// Returns the diff between two commits, without context, to carry line numbers of a path from one to the
    /// other.
    pub(crate) fn line_map(
        &self,
        from: &str,
        to: &str,
        path: &[u8],
    ) -> Result<Arc<Diff>, GitError> {
        let key = (from.to_owned(), to.to_owned());
        if let Some(known) = self.cache().line_maps.get(&key) {
            return Ok(Arc::clone(known));
        }
        if self.is_same_blob(from, to, path)? {
            return Ok(Arc::new(Diff::parse(Vec::new())?));
        }
        let flags = [DIFF_FLAGS.as_slice(), &["--unified=0", "--no-renames"]].concat();
        let bytes = self.compare(&self.lines, &flags, from, to)?;
        let diff = Arc::new(Diff::parse(bytes)?);
        self.cache().line_maps.insert(key, Arc::clone(&diff));
        Ok(diff)
    }

    /// Returns what git prints about the trees of two commits.
    fn compare(
        &self,
        slot: &Mutex<Option<TreePairs>>,
        flags: &[&str],
        from: &str,
        to: &str,
    ) -> Result<Vec<u8>, GitError> {
        let tree = |commit: &str| {
            let tree = self.resolve(commit, "tree")?;
            tree.ok_or_else(|| unexpected("diff", &format!("no tree of {commit}")))
        };
        let (from, to) = (tree(from)?, tree(to)?);
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let mut pairs = match slot.take() {
            Some(pairs) => pairs,
            None => TreePairs::start(&mut self.command("diff-tree"), flags)?,
        };
        let answer = pairs.diff(&from, &to)?;
        *slot = Some(pairs);
        Ok(answer)
    }

    /// Returns whether a path is the same file in two commits: then no process needs to compare them.
    fn is_same_blob(&self, from: &str, to: &str, path: &[u8]) -> Result<bool, GitError> {
        let Ok(path) = std::str::from_utf8(path) else {
            return Ok(false);
        };
        let blob = |commit: &str| self.ask("info", &format!("{commit}:{path}"));
        let before = blob(from)?.filter(|object| object.kind == "blob");
        Ok(before.is_some()
            && before.map(|object| object.oid) == blob(to)?.map(|object| object.oid))
    }

    /// Returns the merge base of two commits, if they have one.
    pub(crate) fn merge_base(&self, a: &str, b: &str) -> Result<Option<String>, GitError> {
        let key = (a.to_owned(), b.to_owned());
        if let Some(known) = self.cache().merge_bases.get(&key) {
            return Ok(known.clone());
        }
        if let Some(found) = self.short_merge_base(a, b)? {
            self.cache().merge_bases.insert(key, Some(found.clone()));
            return Ok(Some(found));
        }
        let mut command = self.command("merge-base");
        command.args([a, b]);
        let found = match run("merge-base", &mut command, None) {
            Ok(out) => Some(String::from_utf8_lossy(&out).trim().to_owned()),
            // Exit without a word: no common ancestor.
            Err(GitError::Failed { stderr, .. }) if stderr.is_empty() => None,
            Err(e) => return Err(e),
        };
        self.cache().merge_bases.insert(key, found.clone());
        Ok(found)
    }

    /// Returns the commits of `base..head`, oldest first; an empty `base` means all of them.
    pub(crate) fn log(&self, base: &str, head: &str) -> Result<Arc<[CommitInfo]>, GitError> {
        let key = (base.to_owned(), head.to_owned());
        if let Some(known) = self.cache().logs.get(&key) {
            return Ok(Arc::clone(known));
        }
        if !base.is_empty()
            && let Some(log) = self.short_log(base, head)?
        {
            let log = Arc::<[CommitInfo]>::from(log);
            self.cache().logs.insert(key, Arc::clone(&log));
            return Ok(log);
        }
        let mut command = self.command("log");
        command.args(["--reverse", "--topo-order", "--no-show-signature"]);
        command.arg(format!("--format=tformat:{LOG_FORMAT}"));
        if base.is_empty() {
            command.args([head, "--"]);
        } else {
            command.arg(format!("{base}..{head}")).arg("--");
        }
        let out = run("log", &mut command, None)?;
        let log = Arc::<[CommitInfo]>::from(parse_log(&String::from_utf8_lossy(&out)));
        self.cache().logs.insert(key, Arc::clone(&log));
        Ok(log)
    }

    /// Returns one commit.
    pub(crate) fn commit_info(&self, sha: &str) -> Result<CommitInfo, GitError> {
        if let Some(known) = self.cache().commits.get(sha) {
            return Ok(known.clone());
        }
        let key = (String::new(), format!("{sha}^!"));
        if let Some(known) = self.cache().logs.get(&key) {
            return known.first().cloned().ok_or_else(|| unexpected("log", sha));
        }
        if let Some(commit) = self.read_commit(sha)? {
            return Ok(commit);
        }
        let mut command = self.command("log");
        command.args(["--max-count=1", "--no-show-signature"]);
        command
            .arg(format!("--format=tformat:{LOG_FORMAT}"))
            .args([sha, "--"]);
        let out = run("log", &mut command, None)?;
        let log = Arc::<[CommitInfo]>::from(parse_log(&String::from_utf8_lossy(&out)));
        self.cache().logs.insert(key, Arc::clone(&log));
        log.first().cloned().ok_or_else(|| unexpected("log", sha))
    }

    /// Returns an archive of a commit whose entries all begin with `prefix`.
    pub(crate) fn archive(
        &self,
        sha: &str,
        kind: ArchiveKind,
        prefix: &str,
    ) -> Result<Bytes, GitError> {
        let key = (sha.to_owned(), kind, prefix.to_owned());
        if let Some(known) = self.cache().archives.get(&key) {
            return Ok(known.clone());
        }
        let format = match kind {
            ArchiveKind::Zip => "zip",
            ArchiveKind::TarGz => "tar.gz",
        };
        let mut command = self.command("archive");
        command
            .arg(format!("--format={format}"))
            .arg(format!("--prefix={prefix}"));
        command.args(["--", sha]);
        let bytes = Bytes::from(run("archive", &mut command, None)?);
        self.cache().archives.insert(key, bytes.clone());
        Ok(bytes)
    }
}

/// How every diff is made: plain git, exact names, and both lists in one process.
const DIFF_FLAGS: [&str; 10] = [
    "--raw",
    "-z",
    "--patch",
    "--full-index",
    "--abbrev=64",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

fn parse_log(text: &str) -> Vec<CommitInfo> {
    let fields: Vec<&str> = text.split('\0').collect();
    fields
        .chunks_exact(LOG_FIELDS)
        .filter_map(|chunk| {
            let [sha, tree, parents, an, ae, at, cn, ce, ct, body] = chunk else {
                return None;
            };
            let identity = |name: &&str, email: &&str, time: &&str| Identity {
                name: (*name).to_owned(),
                email: (*email).to_owned(),
                date: time
                    .parse()
                    .ok()
                    .and_then(|seconds| DateTime::from_timestamp(seconds, 0))
                    .map_or_else(|| "1970-01-01T00:00:00Z".to_owned(), crate::clock::rfc3339),
            };
            Some(CommitInfo {
                sha: sha.trim_start_matches('\n').to_owned(),
                tree: (*tree).to_owned(),
                parents: parents.split_whitespace().map(str::to_owned).collect(),
                author: identity(an, ae, at),
                committer: identity(cn, ce, ct),
                message: body.trim_end_matches('\n').to_owned(),
            })
        })
        .collect()
}
