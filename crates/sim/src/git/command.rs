//! Running `git` so that only its arguments count.

use std::io::{self, Write as _};
use std::process::{Command, Output, Stdio};

/// Why git could not do what the simulator asked.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The program could not be run, or its files not be read.
    #[error("cannot run git {command}")]
    Io {
        /// The subcommand.
        command: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// Git refused.
    #[error("git {command} failed: {stderr}")]
    Failed {
        /// The subcommand.
        command: String,
        /// What it said.
        stderr: String,
    },
    /// Git answered something this code does not understand.
    #[error("git {command} answered something unexpected: {what}")]
    Unexpected {
        /// The subcommand.
        command: String,
        /// What was wrong.
        what: String,
    },
}

/// Returns the error for an answer that makes no sense.
pub(super) fn unexpected(command: &str, what: &str) -> GitError {
    GitError::Unexpected {
        command: command.to_owned(),
        what: what.to_owned(),
    }
}

/// Variables of the caller's environment that would change what git does.
const UNWANTED_VARIABLES: [&str; 14] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
    "GIT_ATTR_SOURCE",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_TRACE",
    "GIT_PREFIX",
];

/// Starts a command line that nothing on this machine can change.
pub(super) fn git() -> Command {
    let mut command = Command::new("git");
    for name in UNWANTED_VARIABLES {
        command.env_remove(name);
    }
    for (name, value) in [
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_SYSTEM", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_ATTR_NOSYSTEM", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_NO_REPLACE_OBJECTS", "1"),
        ("HOME", "/nonexistent"),
        ("XDG_CONFIG_HOME", "/nonexistent"),
        ("LC_ALL", "C"),
        ("TZ", "UTC"),
    ] {
        command.env(name, value);
    }
    for setting in [
        "core.hooksPath=/dev/null",
        "core.fsmonitor=false",
        "core.quotePath=true",
        "gc.auto=0",
        "safe.directory=*",
        "protocol.allow=never",
        "diff.renameLimit=5000",
    ] {
        command.args(["-c", setting]);
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs a command to its end and returns what it printed.
pub(super) fn run(
    name: &str,
    command: &mut Command,
    input: Option<&[u8]>,
) -> Result<Vec<u8>, GitError> {
    let failed = |source| GitError::Io {
        command: name.to_owned(),
        source,
    };
    let Output {
        status,
        stdout,
        stderr,
    } = match input {
        None => command.output().map_err(failed)?,
        Some(input) => {
            let mut child = command.stdin(Stdio::piped()).spawn().map_err(failed)?;
            // Our inputs are consumed before git writes anything, so one thread is enough.
            let written = child
                .stdin
                .take()
                .map_or(Ok(()), |mut stdin| stdin.write_all(input));
            let output = child.wait_with_output().map_err(failed)?;
            if output.status.success() {
                written.map_err(failed)?;
            }
            output
        }
    };
    if !status.success() {
        let stderr = String::from_utf8_lossy(&stderr).trim().to_owned();
        return Err(GitError::Failed {
            command: name.to_owned(),
            stderr,
        });
    }
    Ok(stdout)
}
