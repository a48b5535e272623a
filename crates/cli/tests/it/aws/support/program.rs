//! The program, run as an operator runs it.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStderr, Command, Stdio};

use mirilla_sim::Sim;

use crate::support::mirilla;

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

/// Runs the program to its end.
pub(crate) fn run(arguments: &[&str], stdin: &[u8], environment: &[(String, String)]) -> Ran {
    // No profile of the person who runs the tests.
    let mut variables = vec![("HOME", "/nonexistent")];
    variables.extend(environment.iter().map(|(n, v)| (n.as_str(), v.as_str())));
    let (code, stdout, stderr) = mirilla(arguments, stdin, &variables);
    Ran {
        code,
        stdout,
        stderr,
    }
}

/// Runs `mirilla app key` with a private key on standard input.
pub(crate) fn app_key(
    sim: &Sim,
    stack: &str,
    more: &[&str],
    pem: &str,
    environment: &[(String, String)],
) -> Ran {
    let web = sim.github().website_url();
    let mut arguments = vec!["app", "key", "--pem", "-", "--stack", stack];
    arguments.extend(["--github-url", web.as_str()]);
    arguments.extend_from_slice(more);
    run(&arguments, pem.as_bytes(), environment)
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
        let mut child = Command::new(env!("CARGO_BIN_EXE_mirilla"))
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap())
            .env("HOME", "/nonexistent")
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
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
