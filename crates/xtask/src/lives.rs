//! Many simulated lives of a pull request: the long run of the test that CI runs shortly.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result};

use crate::say;

/// Runs `count` lives from seed `from` on, with their progress; returns whether everything held.
pub(crate) fn run(root: &Path, count: u64, from: u64) -> Result<bool> {
    #[expect(
        clippy::disallowed_methods,
        reason = "how long it took is part of the result"
    )]
    let started = Instant::now();
    let mut command = Command::new(env!("CARGO"));
    command
        .current_dir(root)
        .env("MIRILLA_LIVES", count.to_string())
        .env("MIRILLA_LIVES_FROM", from.to_string())
        .args([
            "test",
            "-p",
            "mirilla-stages",
            "--test",
            "lives",
            "--locked",
        ])
        .args(["everything_holds", "--", "--nocapture"]);
    let passed = command
        .status()
        .context("cargo cannot run the simulation")?
        .success();
    let seconds = started.elapsed().as_secs();
    say(&format!(
        "{count} lives from seed {from} on, in {seconds} s: {}",
        if passed {
            "everything held"
        } else {
            "something did not hold"
        }
    ));
    Ok(passed)
}
