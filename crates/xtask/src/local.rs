//! The deployment on one machine: emulated AWS, the template untouched, the functions as built.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::functions::{self, Profile, Programs};

/// Builds the functions and runs every end-to-end scenario; returns whether all passed.
pub(crate) fn test(root: &Path, profile: Profile) -> Result<bool> {
    Ok(functions::build(root, profile, Programs::Functions)? && scenarios(root)?)
}

/// Builds the functions, deploys them, has one pull request reviewed and stays until Ctrl-C.
pub(crate) fn up(root: &Path, profile: Profile) -> Result<bool> {
    if !functions::build(root, profile, Programs::Functions)? {
        return Ok(false);
    }
    let status = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["run", "--locked", "--quiet", "--package", "mirilla-tests"])
        .status()
        .context("cargo cannot be run")?;
    Ok(status.success())
}

/// Runs the scenarios with the functions that were built last.
pub(crate) fn scenarios(root: &Path) -> Result<bool> {
    // The whole workspace's choice of features: what its tests were built with is used again. Each
    // scenario has an emulator and functions of its own; two at once are enough work.
    let status = Command::new(env!("CARGO"))
        .current_dir(root)
        .args([
            "test",
            "--locked",
            "--workspace",
            "--all-features",
            "--test",
            "deployed",
        ])
        .args(["--", "--test-threads", "2"])
        .status()
        .context("cargo cannot be run")?;
    Ok(status.success())
}
