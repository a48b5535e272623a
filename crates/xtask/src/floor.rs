//! Counts how often the fixed checks report something in the histories of other people's repositories.
//!
//! Not part of CI: the histories are not ours to ship. The table says which repositories, up to which
//! commit, and what a person said of each hit.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use crate::say;

/// Heads of the histories, and verdicts on their hits.
const TABLE: &str = "tests/fixtures/floor/verdicts.tsv";
/// How many commits of each are read.
const COMMITS: &str = "-1000";

/// Reads the last commits of each repository that the table names and `clones` has; returns whether every hit
/// has a verdict.
pub(crate) fn survey(root: &Path, clones: &Path) -> Result<bool> {
    let table = root.join(TABLE);
    let text = std::fs::read_to_string(&table)
        .with_context(|| format!("{} cannot be read", table.display()))?;
    let mut fine = true;
    for line in text.lines() {
        let ["head", repository, commit] = line.split('\t').collect::<Vec<_>>()[..] else {
            continue;
        };
        let clone = clones.join(repository);
        if !clone.exists() {
            say(&format!(
                "{repository}: not read; clone it to {}",
                clone.display()
            ));
            continue;
        }
        let mut log = Command::new("git")
            .arg("-C")
            .arg(&clone)
            .args(["log", COMMITS, "--no-merges", "-p", "--no-color"])
            .args(["--no-ext-diff", "--no-textconv", "--format=%x00%H", commit])
            .stdout(Stdio::piped())
            .spawn()
            .context("git cannot be run")?;
        let output = log.stdout.take().context("git has no output")?;
        let status = Command::new(env!("CARGO"))
            .current_dir(root)
            .args([
                "run",
                "--quiet",
                "--profile",
                "bench",
                "--package",
                "mirilla-domain",
            ])
            .args([
                "--example",
                "floor_survey",
                "--",
                "commits",
                repository,
                TABLE,
            ])
            .stdin(output)
            .status()
            .context("cargo cannot be run")?;
        fine &= log.wait()?.success() && status.success();
    }
    Ok(fine)
}
