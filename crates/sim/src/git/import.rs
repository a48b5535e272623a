//! Commits made from data in memory.

use chrono::{DateTime, Utc};

/// A commit to be made: who, why, and what changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub(crate) author: String,
    pub(crate) message: String,
    pub(crate) changes: Vec<Change>,
    pub(crate) verified: bool,
}

/// One changed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The path becomes a file.
    File {
        /// The path's bytes.
        path: Vec<u8>,
        /// The new contents.
        bytes: Vec<u8>,
        /// Whether the file may be executed.
        executable: bool,
    },
    /// The path becomes a symbolic link.
    Symlink {
        /// The path's bytes.
        path: Vec<u8>,
        /// Where the link points.
        target: Vec<u8>,
    },
    /// The path becomes a submodule at a commit.
    Submodule {
        /// The path's bytes.
        path: Vec<u8>,
        /// The submodule's commit, 40 hex digits.
        sha: String,
    },
    /// The path goes away.
    Delete {
        /// The path's bytes.
        path: Vec<u8>,
    },
    /// The path gets another name, unchanged.
    Rename {
        /// The old path's bytes.
        from: Vec<u8>,
        /// The new path's bytes.
        to: Vec<u8>,
    },
}

impl Commit {
    /// Starts a commit by an account.
    pub fn by(author: &str, message: &str) -> Self {
        Self {
            author: author.to_owned(),
            message: message.to_owned(),
            changes: Vec::new(),
            verified: false,
        }
    }

    /// Makes GitHub say that the author really signed it.
    #[must_use]
    pub fn verified(mut self) -> Self {
        self.verified = true;
        self
    }

    /// Adds a file with these contents.
    #[must_use]
    pub fn write(self, path: impl AsRef<[u8]>, bytes: impl AsRef<[u8]>) -> Self {
        self.change(Change::File {
            path: path.as_ref().to_vec(),
            bytes: bytes.as_ref().to_vec(),
            executable: false,
        })
    }

    /// Adds a deletion.
    #[must_use]
    pub fn delete(self, path: impl AsRef<[u8]>) -> Self {
        self.change(Change::Delete {
            path: path.as_ref().to_vec(),
        })
    }

    /// Adds a renaming.
    #[must_use]
    pub fn rename(self, from: impl AsRef<[u8]>, to: impl AsRef<[u8]>) -> Self {
        self.change(Change::Rename {
            from: from.as_ref().to_vec(),
            to: to.as_ref().to_vec(),
        })
    }

    /// Adds any change.
    #[must_use]
    pub fn change(mut self, change: Change) -> Self {
        self.changes.push(change);
        self
    }
}

/// Writes the `git fast-import` stream for one commit that prints the commit's name.
///
/// Format: <https://git-scm.com/docs/git-fast-import#_input_format>
pub(super) fn stream(parents: &[&str], commit: &Commit, email: &str, at: DateTime<Utc>) -> Vec<u8> {
    let mut out = Vec::new();
    let who = format!("{} <{email}> {} +0000", commit.author, at.timestamp());
    out.extend_from_slice(b"commit refs/sim/scratch\nmark :1\n");
    out.extend_from_slice(format!("author {who}\ncommitter {who}\n").as_bytes());
    data(&mut out, commit.message.as_bytes());
    match parents {
        // Without a parent the scratch branch's last commit would become one.
        [] => out
            .splice(0..0, *b"reset refs/sim/scratch\n\n")
            .for_each(drop),
        [first, merged @ ..] => {
            out.extend_from_slice(format!("from {first}\n").as_bytes());
            for parent in merged {
                out.extend_from_slice(format!("merge {parent}\n").as_bytes());
            }
        }
    }
    for change in &commit.changes {
        match change {
            Change::File {
                path,
                bytes,
                executable,
            } => {
                let mode = if *executable { "100755" } else { "100644" };
                blob(&mut out, mode, path, bytes);
            }
            Change::Symlink { path, target } => blob(&mut out, "120000", path, target),
            Change::Submodule { path, sha } => {
                out.extend_from_slice(format!("M 160000 {sha} ").as_bytes());
                quoted(&mut out, path);
                out.push(b'\n');
            }
            Change::Delete { path } => {
                out.extend_from_slice(b"D ");
                quoted(&mut out, path);
                out.push(b'\n');
            }
            Change::Rename { from, to } => {
                out.extend_from_slice(b"R ");
                quoted(&mut out, from);
                out.push(b' ');
                quoted(&mut out, to);
                out.push(b'\n');
            }
        }
    }
    out.extend_from_slice(b"\nget-mark :1\ndone\n");
    out
}

fn blob(out: &mut Vec<u8>, mode: &str, path: &[u8], bytes: &[u8]) {
    out.extend_from_slice(format!("M {mode} inline ").as_bytes());
    quoted(out, path);
    out.push(b'\n');
    data(out, bytes);
}

fn data(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(format!("data {}\n", bytes.len()).as_bytes());
    out.extend_from_slice(bytes);
    out.push(b'\n');
}

fn quoted(out: &mut Vec<u8>, path: &[u8]) {
    out.push(b'"');
    for &byte in path {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}
