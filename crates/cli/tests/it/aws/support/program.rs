//! The program, run as an operator runs it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStderr, Command, Stdio};

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// Everything that was printed.
    pub(crate) fn said(&self) -> String {
        format!("{}\n{}", self.stdout, self.stderr)
    }
}

fn command(arguments: &[&str], environment: &[(String, String)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mirilla"));
    command
        .args(arguments)
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap())
        // No profile of the person who runs the tests.
        .env("HOME", "/nonexistent")
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs the program to its end.
pub(crate) fn run(arguments: &[&str], stdin: &[u8], environment: &[(String, String)]) -> Ran {
    let mut child = command(arguments, environment)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let bytes = stdin.to_vec();
    let writer = std::thread::spawn(move || drop(input.write_all(&bytes)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// `mirilla app create`, waiting for the browser.
pub(crate) struct Creating {
    child: Child,
    lines: BufReader<ChildStderr>,
    said: String,
    /// The page's address.
    pub(crate) address: String,
}

impl Creating {
    pub(crate) fn start(arguments: &[&str], environment: &[(String, String)]) -> Self {
        let mut child = command(arguments, environment)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let address = loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "it ended: {said}");
            said.push_str(&line);
            if let Some(address) = line.trim().strip_prefix("http://127.0.0.1:") {
                break format!("http://127.0.0.1:{address}");
            }
        };
        Self {
            child,
            lines,
            said,
            address,
        }
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ran {
        let mut stdout = String::new();
        let mut out = self.child.stdout.take().unwrap();
        out.read_to_string(&mut stdout).unwrap();
        self.lines.read_to_string(&mut self.said).unwrap();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        Ran {
            code,
            stdout,
            stderr: std::mem::take(&mut self.said),
        }
    }

    /// Ends it as the kernel would, and returns what it said.
    pub(crate) fn kill(mut self) -> String {
        self.child.kill().unwrap();
        self.end().said()
    }
}
