//! Short histories without forks in them, read without a process of their own.
//!
//! **Invariant:** what is answered here is what `git log` and `git merge-base` answer; where that takes more
//! than following single parents, they are asked.

use std::collections::HashSet;

use chrono::DateTime;

use super::{CommitInfo, GitDir, GitError, Identity};

/// Longer histories are git's business.
const MAX_COMMITS: usize = 200;

impl GitDir {
    /// Returns a commit and all before it, newest first; `None` if they are many, or if one has two parents.
    fn line_of(&self, tip: &str) -> Result<Option<Vec<CommitInfo>>, GitError> {
        let mut line: Vec<CommitInfo> = Vec::new();
        let mut next = Some(tip.to_owned());
        while let Some(sha) = next {
            let known = self.cache().commits.get(&sha).cloned();
            let Some(commit) = known.map_or_else(|| self.read_commit(&sha), |one| Ok(Some(one)))?
            else {
                return Ok(None);
            };
            if commit.parents.len() > 1 || line.len() >= MAX_COMMITS {
                return Ok(None);
            }
            next = commit.parents.first().cloned();
            line.push(commit);
        }
        Ok(Some(line))
    }

    /// Reads a commit object; `None` for a name that is none, or one whose text is not plain.
    pub(super) fn read_commit(&self, sha: &str) -> Result<Option<CommitInfo>, GitError> {
        let object = self.object(sha)?;
        let commit = object.filter(|object| object.kind == "commit" && object.oid == sha);
        let commit = commit.and_then(|object| parse(sha, &object.bytes));
        if let Some(commit) = &commit {
            let mut cache = self.cache();
            cache.commits.insert(sha.to_owned(), commit.clone());
        }
        Ok(commit)
    }

    /// Returns the commits of `base..head`, oldest first; `None` if git has to be asked.
    pub(super) fn short_log(
        &self,
        base: &str,
        head: &str,
    ) -> Result<Option<Vec<CommitInfo>>, GitError> {
        let (Some(before), Some(line)) = (self.line_of(base)?, self.line_of(head)?) else {
            return Ok(None);
        };
        let before: HashSet<&str> = before.iter().map(|one| one.sha.as_str()).collect();
        let new = line.into_iter().rev();
        Ok(Some(
            new.filter(|one| !before.contains(one.sha.as_str()))
                .collect(),
        ))
    }

    /// Returns the newest commit that both come from; `None` if git has to be asked.
    pub(super) fn short_merge_base(&self, a: &str, b: &str) -> Result<Option<String>, GitError> {
        let (Some(one), Some(other)) = (self.line_of(a)?, self.line_of(b)?) else {
            return Ok(None);
        };
        let one: HashSet<&str> = one.iter().map(|commit| commit.sha.as_str()).collect();
        let mut shared = other.into_iter().map(|commit| commit.sha);
        Ok(shared.find(|sha| one.contains(sha.as_str())))
    }
}

/// Takes a commit object apart; `None` if its text says how it is encoded, which git then undoes.
fn parse(sha: &str, bytes: &[u8]) -> Option<CommitInfo> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (headers, message) = text.split_once("\n\n")?;
    let mut commit = CommitInfo {
        sha: sha.to_owned(),
        tree: String::new(),
        parents: Vec::new(),
        author: nobody(),
        committer: nobody(),
        message: message.trim_end_matches('\n').to_owned(),
    };
    for line in headers.lines() {
        match line.split_once(' ')? {
            ("tree", tree) => tree.clone_into(&mut commit.tree),
            ("parent", parent) => commit.parents.push(parent.to_owned()),
            ("author", who) => commit.author = identity(who)?,
            ("committer", who) => commit.committer = identity(who)?,
            _ => return None,
        }
    }
    Some(commit)
}

fn nobody() -> Identity {
    Identity {
        name: String::new(),
        email: String::new(),
        date: String::new(),
    }
}

fn identity(who: &str) -> Option<Identity> {
    let (name, rest) = who.split_once(" <")?;
    let (email, when) = rest.split_once("> ")?;
    let seconds = when.split_once(' ')?.0.parse().ok()?;
    let date = DateTime::from_timestamp(seconds, 0)?;
    Some(Identity {
        name: name.to_owned(),
        email: email.to_owned(),
        date: crate::clock::rfc3339(date),
    })
}
