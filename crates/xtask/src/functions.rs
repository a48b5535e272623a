//! Builds what is shipped: the functions, where the template looks for them, and the command.
//!
//! **Invariant:** one build with one choice of features: what is tried on one machine is what is
//! deployed. It builds for this machine and fetches no toolchain.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use mirilla_localaws::FUNCTIONS;

use crate::say;

/// How the functions are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// As they are deployed.
    Release,
    /// Quickly, for trying a change.
    Debug,
}

/// What is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Programs {
    /// The functions.
    Functions,
    /// The functions and the command.
    All,
}

/// Builds them; returns whether that worked.
pub(crate) fn build(root: &Path, profile: Profile, programs: Programs) -> Result<bool> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root).args(["build", "--locked"]);
    if programs == Programs::All {
        command.args(["--package", "mirilla"]);
    }
    if profile == Profile::Release {
        command.arg("--release");
    }
    for function in FUNCTIONS {
        command.args(["--package", &format!("mirilla-{function}")]);
    }
    if !command.status().context("cargo cannot be run")?.success() {
        return Ok(false);
    }
    for function in FUNCTIONS {
        let (from, to) = (
            built(root, profile).join(function),
            bootstrap(root, function),
        );
        let folder = to.parent().unwrap_or(root);
        std::fs::create_dir_all(folder)
            .with_context(|| format!("{} cannot be made", folder.display()))?;
        let bytes = std::fs::copy(&from, &to)
            .with_context(|| format!("{} cannot be copied to {}", from.display(), to.display()))?;
        say(&format!(
            "  {} ({:.1} MB)",
            to.strip_prefix(root).unwrap_or(&to).display(),
            f64::from(u32::try_from(bytes).unwrap_or(u32::MAX)) / 1e6
        ));
    }
    Ok(true)
}

fn built(root: &Path, profile: Profile) -> PathBuf {
    root.join(match profile {
        Profile::Release => "target/release",
        Profile::Debug => "target/debug",
    })
}

/// Returns where the template expects a function's program.
fn bootstrap(root: &Path, function: &str) -> PathBuf {
    root.join("target/lambda").join(function).join("bootstrap")
}
