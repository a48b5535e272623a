//! The steps of CI, in order, with the time each took.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result};

use crate::functions::{Profile, Programs};
use crate::{check, functions, local, say, template};

/// How much is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Everything.
    Full,
    /// Without release build and fuzzing.
    Quick,
}

/// Seconds each fuzz target runs in CI.
const FUZZ_SECONDS: u32 = 20;

/// Runs all steps; returns whether all of them passed.
pub(crate) fn run(root: &Path, extent: Extent) -> bool {
    let mut steps = Steps {
        root,
        failed: Vec::new(),
    };
    steps.cargo("format", &["fmt", "--all", "--check"], &[]);
    steps.own("workspace rules", check::run);
    steps.own("template", template::lint);
    steps.cargo(
        "lints",
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--all-features",
            "--locked",
            "--",
            "-D",
            "warnings",
        ],
        &[],
    );
    // Snapshots may not be rewritten by the run that compares them.
    let frozen = [("INSTA_UPDATE", "no"), ("CI", "true")];
    if has(root, &["nextest", "--version"]) {
        steps.cargo(
            "tests",
            &[
                "nextest",
                "run",
                "--workspace",
                "--all-features",
                "--locked",
                "--profile",
                "ci",
            ],
            &frozen,
        );
    } else {
        steps.cargo(
            "tests",
            &[
                "test",
                "--workspace",
                "--all-features",
                "--locked",
                "--lib",
                "--bins",
                "--tests",
            ],
            &frozen,
        );
    }
    steps.cargo(
        "examples in the documentation",
        &["test", "--workspace", "--doc", "--locked"],
        &[],
    );
    steps.cargo(
        "documentation",
        &[
            "doc",
            "--workspace",
            "--no-deps",
            "--document-private-items",
            "--locked",
        ],
        &[("RUSTDOCFLAGS", "-D warnings")],
    );
    if has(root, &["deny", "--version"]) {
        steps.cargo(
            "licences and bans",
            &["deny", "--offline", "check", "bans", "licenses", "sources"],
            &[],
        );
    } else {
        say("  --   licences and bans: cargo-deny is not installed, left out");
    }
    if extent == Extent::Full {
        steps.own("release build", |root| {
            // The command was built and run by the tests; linking it once more takes minutes.
            functions::build(root, Profile::Release, Programs::Functions)
        });
        steps.own("end to end on emulated AWS", local::scenarios);
        steps.own("fuzz smoke", |root| fuzz(root, FUZZ_SECONDS));
    }
    if steps.failed.is_empty() {
        say("all steps passed");
    } else {
        say(&format!("failed: {}", steps.failed.join(", ")));
    }
    steps.failed.is_empty()
}

/// Runs every fuzz target for `seconds`; returns whether none found a crash.
///
/// The targets are built with the stable compiler's coverage instrumentation, so that neither
/// `cargo-fuzz` nor a nightly toolchain is needed.
pub(crate) fn fuzz(root: &Path, seconds: u32) -> Result<bool> {
    let directory = root.join("tests/fuzz");
    let targets = std::fs::read_dir(directory.join("fuzz_targets"))
        .with_context(|| format!("{} cannot be listed", directory.display()))?;
    let mut fine = true;
    for target in targets {
        let path = target?.path();
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else {
            continue;
        };
        let (corpus, artifacts) = (format!("corpus/{name}"), format!("artifacts/{name}/"));
        for folder in [&corpus, &artifacts] {
            std::fs::create_dir_all(directory.join(folder))
                .with_context(|| format!("tests/fuzz/{folder} cannot be made"))?;
        }
        let mut command = Command::new(env!("CARGO"));
        command
            .current_dir(&directory)
            .env(
                "RUSTFLAGS",
                "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
                 -Cllvm-args=-sanitizer-coverage-pc-table \
                 -Cllvm-args=-sanitizer-coverage-trace-compares \
                 --cfg fuzzing -Cdebug-assertions",
            )
            // Building takes longer than the smoke runs: what is optimised further finds no more in so short a time.
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", if seconds > FUZZ_SECONDS { "3" } else { "1" })
            // With a target named, the flags do not reach build scripts, which could not be linked.
            .args(["run", "--release", "--target", "host-tuple"])
            .args(["--bin", name, "--"])
            .arg(format!("-max_total_time={seconds}"))
            .args(["-timeout=10", "-rss_limit_mb=1024", "-max_len=8192", "-verbosity=0"])
            .arg(format!("-artifact_prefix={artifacts}"))
            // New inputs go to the first folder; the recorded ones are where the search begins.
            .args([&corpus, "../fixtures"]);
        let passed = command
            .status()
            .with_context(|| format!("cargo cannot run the fuzz target {name}"))?
            .success();
        fine &= passed;
    }
    Ok(fine)
}

struct Steps<'a> {
    root: &'a Path,
    failed: Vec<String>,
}

impl Steps<'_> {
    fn cargo(&mut self, name: &str, arguments: &[&str], environment: &[(&str, &str)]) {
        self.own(name, |root| {
            let mut command = Command::new(env!("CARGO"));
            command
                .current_dir(root)
                .args(arguments)
                .envs(environment.iter().copied());
            Ok(command.status().context("cargo cannot be run")?.success())
        });
    }

    fn own(&mut self, name: &str, step: impl FnOnce(&Path) -> Result<bool>) {
        say(&format!("==== {name}"));
        #[expect(
            clippy::disallowed_methods,
            reason = "a step's time is for the person who waits"
        )]
        let started = Instant::now();
        let passed = step(self.root).unwrap_or_else(|error| {
            say(&format!("{error:#}"));
            false
        });
        let seconds = started.elapsed().as_secs();
        say(&format!(
            "  {} {name} ({seconds} s)",
            if passed { "ok  " } else { "FAIL" }
        ));
        if !passed {
            self.failed.push(name.to_owned());
        }
    }
}

fn has(root: &Path, arguments: &[&str]) -> bool {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root).args(arguments);
    command.output().is_ok_and(|output| output.status.success())
}
