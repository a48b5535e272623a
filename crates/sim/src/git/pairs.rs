//! One long-lived `git diff-tree` process that compares pairs of trees.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::command::{GitError, unexpected};

/// A line that names no object: git repeats it, and so says that everything before it was answered.
const END: &[u8] = b"mirilla-sim-end-of-this-answer-f1b0c2\n";

/// A running `diff-tree --stdin`.
#[derive(Debug)]
pub(crate) struct TreePairs {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl TreePairs {
    /// Starts the process; `command` already ends in `diff-tree`.
    pub(crate) fn start(command: &mut Command, flags: &[&str]) -> Result<Self, GitError> {
        let mut child = command
            .args(["--stdin", "-r"])
            .args(flags)
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(unexpected("diff-tree", "no pipes"));
        };
        Ok(Self {
            child,
            stdin,
            stdout: BufReader::new(stdout),
        })
    }

    /// Returns what git prints about two trees, which are there.
    pub(crate) fn diff(&mut self, from: &str, to: &str) -> Result<Vec<u8>, GitError> {
        let pair = format!("{from} {to}\n");
        self.stdin.write_all(pair.as_bytes()).map_err(failed)?;
        self.stdin.write_all(END).map_err(failed)?;
        self.stdin.flush().map_err(failed)?;
        let mut header = Vec::new();
        self.stdout.read_until(b'\n', &mut header).map_err(failed)?;
        if header != pair.as_bytes() {
            let header = String::from_utf8_lossy(&header);
            return Err(unexpected("diff-tree", &header));
        }
        let mut answer = Vec::new();
        while !answer.ends_with(END) {
            if self.stdout.read_until(b'\n', &mut answer).map_err(failed)? == 0 {
                return Err(unexpected("diff-tree", "an answer without end"));
            }
        }
        answer.truncate(answer.len().saturating_sub(END.len()));
        Ok(answer)
    }
}

impl Drop for TreePairs {
    fn drop(&mut self) {
        // It may have ended by itself; there is nobody to tell either way.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn failed(source: io::Error) -> GitError {
    GitError::Io {
        command: "diff-tree".to_owned(),
        source,
    }
}
