//! Runs one of the project's own Python scripts: one JSON value in, one out.

use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::Venv;
use crate::venv::project_root;

/// Where the scripts lie, relative to the project's root.
const SCRIPTS: &str = "infra/local-aws";

/// Runs a script with `request` on its standard input and returns what it answers.
///
/// # Errors
///
/// When Python or the script fails, with what it printed, or when its answer has an `error`.
pub(crate) fn run(script: &str, request: &Value) -> Result<Value> {
    let venv = Venv::ensure()?;
    let mut child = Command::new(venv.python())
        .arg("-B")
        .arg(project_root().join(SCRIPTS).join(script))
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("could not start {script}"))?;
    let sent = child
        .stdin
        .take()
        .map(|mut input| input.write_all(request.to_string().as_bytes()));
    let output = child
        .wait_with_output()
        .with_context(|| format!("could not wait for {script}"))?;
    if !output.status.success() {
        bail!(
            "{script} ended with {}:\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    sent.transpose()
        .with_context(|| format!("could not write to {script}"))?;
    let answer: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("{script} answered no JSON"))?;
    if let Some(error) = answer.get("error").and_then(Value::as_str) {
        bail!("{error}");
    }
    Ok(answer)
}
