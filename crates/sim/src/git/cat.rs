//! One long-lived `git cat-file` process.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::command::{GitError, unexpected};

/// An object as git stores it; without contents if only its name was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) oid: String,
    /// `blob`, `tree`, `commit` or `tag`.
    pub(crate) kind: String,
    pub(crate) size: u64,
    pub(crate) bytes: Vec<u8>,
}

/// A running `cat-file --batch-command`.
#[derive(Debug)]
pub(crate) struct CatFile {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl CatFile {
    /// Starts the process; `command` already ends in `cat-file`.
    pub(crate) fn start(command: &mut Command) -> Result<Self, GitError> {
        let mut child = command
            .arg("--batch-command")
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(unexpected("cat-file", "no pipes"));
        };
        Ok(Self {
            child,
            stdin,
            stdout: BufReader::new(stdout),
        })
    }

    /// Asks for `info` or `contents` of an object; `None` if there is no such object.
    pub(crate) fn ask(&mut self, verb: &str, name: &str) -> Result<Option<Object>, GitError> {
        self.stdin
            .write_all(format!("{verb} {name}\n").as_bytes())
            .map_err(failed)?;
        self.stdin.flush().map_err(failed)?;
        let mut line = Vec::new();
        self.stdout.read_until(b'\n', &mut line).map_err(failed)?;
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        if line.ends_with(" missing") || line.ends_with(" ambiguous") {
            return Ok(None);
        }
        let mut words = line.split(' ');
        let (Some(oid), Some(kind), Some(Ok(size)), None) = (
            words.next(),
            words.next(),
            words.next().map(str::parse::<u64>),
            words.next(),
        ) else {
            return Err(unexpected("cat-file", &line));
        };
        let mut bytes = Vec::new();
        if verb == "contents" {
            (&mut self.stdout)
                .take(size)
                .read_to_end(&mut bytes)
                .map_err(failed)?;
            self.stdout.read_exact(&mut [0_u8]).map_err(failed)?;
        }
        Ok(Some(Object {
            oid: oid.to_owned(),
            kind: kind.to_owned(),
            size,
            bytes,
        }))
    }
}

impl Drop for CatFile {
    fn drop(&mut self) {
        // It may have ended by itself; there is nobody to tell either way.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn failed(source: io::Error) -> GitError {
    GitError::Io {
        command: "cat-file".to_owned(),
        source,
    }
}
