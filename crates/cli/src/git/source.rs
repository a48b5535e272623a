//! The files of a commit, out of a local repository's object database.
//!
//! Names come from one `git ls-tree`, contents from one `git cat-file --batch`. Neither looks at the working
//! tree, at attributes or at filters, so that what is read is what the commit holds.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use mirilla_domain::snapshot::StoredObject;
use mirilla_ports::source::{Entry, EntryKind, Tree, as_path};
use mirilla_ports::{OpenSource, Source, SourceError};
use tokio::sync::OnceCell;

use super::{command, run};

/// One commit of a repository.
pub(crate) struct CommitFiles {
    repo: PathBuf,
    commit: String,
    tree: OnceCell<Arc<Tree>>,
    /// The process that reads objects, once one was asked for.
    objects: Mutex<Option<Objects>>,
}

impl CommitFiles {
    /// Takes a commit id that git itself printed.
    pub(crate) fn new(repo: &Path, commit: &str) -> Self {
        Self {
            repo: repo.to_path_buf(),
            commit: commit.to_owned(),
            tree: OnceCell::new(),
            objects: Mutex::new(None),
        }
    }

    fn list(&self) -> Result<Arc<Tree>, SourceError> {
        let listed = run(
            &self.repo,
            &["ls-tree", "-r", "-l", "-z", "--full-tree", &self.commit],
        );
        let listed = listed.map_err(|error| SourceError::Unavailable {
            source: error.into(),
        })?;
        let mut entries = Vec::new();
        let mut unusable = 0_u64;
        for line in listed
            .split(|byte| *byte == 0)
            .filter(|line| !line.is_empty())
        {
            match entry(line) {
                Some(entry) => entries.push(entry),
                None => unusable = unusable.saturating_add(1),
            }
        }
        Ok(Arc::new(Tree::new(entries, unusable)))
    }
}

/// Reads `MODE TYPE ID SIZE<tab>PATH`.
fn entry(line: &[u8]) -> Option<Entry> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let (facts, name) = line.split_at_checked(tab)?;
    let path = as_path(name.get(1..)?)?;
    let mut facts = std::str::from_utf8(facts).ok()?.split_ascii_whitespace();
    let (mode, _kind, id, size) = (facts.next()?, facts.next()?, facts.next()?, facts.next()?);
    let kind = match mode {
        "120000" => EntryKind::Symlink,
        "160000" => EntryKind::Submodule,
        _ => EntryKind::File,
    };
    Some(Entry {
        path: path.to_owned(),
        kind,
        // A submodule has none: its commit is in another repository.
        size_bytes: size.parse().unwrap_or(0),
        blob: Some(id.to_owned()),
    })
}

#[async_trait]
impl Source for CommitFiles {
    async fn tree(&self) -> Result<Arc<Tree>, SourceError> {
        let tree = self.tree.get_or_try_init(|| async { self.list() });
        tree.await.map(Arc::clone)
    }

    async fn read(&self, path: &str, limit_bytes: u64) -> Result<Vec<u8>, SourceError> {
        let tree = self.tree().await?;
        let entry = tree.entry(path).ok_or(SourceError::NotFound)?;
        if entry.kind == EntryKind::Submodule {
            return Err(SourceError::Unreadable {
                reason: "it is a folder without files",
            });
        }
        if entry.size_bytes > limit_bytes {
            return Err(SourceError::TooLarge { limit: limit_bytes });
        }
        let id = entry.blob.as_deref().unwrap_or_default();
        let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        let read = match objects.take() {
            Some(running) => Ok(running),
            None => Objects::start(&self.repo),
        };
        let broken = |source: std::io::Error| SourceError::Unavailable {
            source: source.into(),
        };
        let mut running = read.map_err(broken)?;
        // A process that broke off in the middle of an answer is not asked again.
        let bytes = running.blob(id, limit_bytes).map_err(broken)?;
        *objects = Some(running);
        bytes.ok_or(SourceError::Unreadable {
            reason: "its object is not in this clone",
        })
    }
}

/// A local commit needs no archive.
impl OpenSource for CommitFiles {
    fn open<'a>(&'a self, _archive: Option<&StoredObject>) -> Option<Box<dyn Source + 'a>> {
        Some(Box::new(self))
    }
}

/// A running `git cat-file --batch`.
struct Objects {
    child: Child,
    ask: ChildStdin,
    answer: BufReader<ChildStdout>,
}

impl Objects {
    fn start(repo: &Path) -> std::io::Result<Self> {
        let mut child = command(repo, &["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (ask, answer) = pipes.ok_or_else(|| std::io::Error::other("git has no pipes"))?;
        Ok(Self {
            child,
            ask,
            answer: BufReader::new(answer),
        })
    }

    /// Reads one blob; `None` if it is not there.
    fn blob(&mut self, id: &str, limit_bytes: u64) -> std::io::Result<Option<Vec<u8>>> {
        let unexpected = || std::io::Error::other("git answered something else");
        self.ask.write_all(format!("{id}\n").as_bytes())?;
        self.ask.flush()?;
        let mut header = String::new();
        self.answer.read_line(&mut header)?;
        let fields: Vec<&str> = header.split_ascii_whitespace().collect();
        let size: u64 = match fields.as_slice() {
            [_, "missing"] => return Ok(None),
            [_, "blob", size] => size.parse().map_err(std::io::Error::other)?,
            _ => return Err(unexpected()),
        };
        if size > limit_bytes {
            return Err(unexpected());
        }
        let mut bytes = Vec::new();
        let answer = &mut self.answer;
        answer.take(size).read_to_end(&mut bytes)?;
        let mut end = [0];
        self.answer.read_exact(&mut end)?;
        if end == *b"\n" && u64::try_from(bytes.len()).is_ok_and(|length| length == size) {
            Ok(Some(bytes))
        } else {
            Err(unexpected())
        }
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        // It ends by itself when its input closes; nobody waits for what it still had to say.
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

#[cfg(test)]
mod tests;
