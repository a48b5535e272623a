//! The workspace's own rules, each as a list of violations.
//!
//! The rules are data at the top of this file: which crate may depend on which, what a pure crate may
//! not link, how long a file may be.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::{say, template};

/// Which workspace members a member may depend on (tests aside). A new edge is a decision: it is made
/// here, with its reason in the commit.
const ALLOWED: &[(&str, &[&str])] = &[
    ("mirilla-diff", &[]),
    ("mirilla-domain", &["mirilla-diff"]),
    ("mirilla-ports", &["mirilla-domain"]),
    (
        "mirilla-stages",
        &[
            "mirilla-diff",
            "mirilla-domain",
            "mirilla-ports",
            // The names of log fields, which are fixed there.
            "mirilla-telemetry",
        ],
    ),
    ("mirilla-http", &[]),
    (
        "mirilla-forge",
        &[
            "mirilla-diff",
            "mirilla-domain",
            "mirilla-ports",
            "mirilla-http",
        ],
    ),
    (
        "mirilla-model",
        &["mirilla-domain", "mirilla-ports", "mirilla-http"],
    ),
    ("mirilla-local", &["mirilla-domain", "mirilla-ports"]),
    ("mirilla-archive", &["mirilla-domain", "mirilla-ports"]),
    ("mirilla-system", &["mirilla-domain", "mirilla-ports"]),
    // Its signed addresses go through the one HTTP client that bounds hosts and bytes.
    (
        "mirilla-aws",
        &["mirilla-domain", "mirilla-http", "mirilla-ports"],
    ),
    (
        "mirilla-lambda",
        &[
            "mirilla-domain",
            "mirilla-ports",
            "mirilla-stages",
            "mirilla-telemetry",
        ],
    ),
    ("mirilla-telemetry", &["mirilla-domain"]),
    ("mirilla-sim", &[]),
    (
        "mirilla",
        &[
            "mirilla-diff",
            "mirilla-domain",
            "mirilla-ports",
            "mirilla-stages",
            "mirilla-http",
            "mirilla-forge",
            "mirilla-model",
            "mirilla-archive",
            "mirilla-local",
            "mirilla-system",
            "mirilla-telemetry",
            "mirilla-sim",
            // What an operator's machine does to a stack on AWS.
            "mirilla-stack",
        ],
    ),
    ("mirilla-intake", FUNCTION),
    ("mirilla-collector", FORGE_FUNCTION),
    ("mirilla-reviewer", MODEL_FUNCTION),
    ("mirilla-poster", FORGE_FUNCTION),
    ("mirilla-sweeper", FORGE_FUNCTION),
    ("mirilla-minter", FORGE_FUNCTION),
    ("mirilla-casekit", &[]),
    ("mirilla-localaws", &[]),
    ("mirilla-stack", &[]),
    ("mirilla-contract", &["mirilla-domain", "mirilla-ports"]),
    // Runs the review stage as a host does, against the simulator.
    (
        "mirilla-costs",
        &[
            "mirilla-archive",
            "mirilla-diff",
            "mirilla-domain",
            "mirilla-local",
            "mirilla-model",
            "mirilla-ports",
            "mirilla-sim",
            "mirilla-stages",
            "mirilla-system",
        ],
    ),
    ("xtask", &["mirilla-localaws"]),
    (
        "mirilla-tests",
        // Connects the App as its operator does.
        &["mirilla-localaws", "mirilla-sim", "mirilla-stack"],
    ),
];

/// A function that speaks to AWS alone.
const FUNCTION: &[&str] = &[
    "mirilla-aws",
    "mirilla-domain",
    "mirilla-lambda",
    "mirilla-ports",
    "mirilla-stages",
    "mirilla-system",
    "mirilla-telemetry",
];

/// A function that also speaks to a forge.
const FORGE_FUNCTION: &[&str] = &[
    "mirilla-aws",
    "mirilla-domain",
    "mirilla-forge",
    "mirilla-lambda",
    "mirilla-ports",
    "mirilla-stages",
    "mirilla-system",
    "mirilla-telemetry",
];

/// A function that also speaks to a model.
const MODEL_FUNCTION: &[&str] = &[
    // What the model's tools read; no other function opens an archive.
    "mirilla-archive",
    "mirilla-aws",
    "mirilla-domain",
    "mirilla-model",
    "mirilla-lambda",
    "mirilla-ports",
    "mirilla-stages",
    "mirilla-system",
    "mirilla-telemetry",
];

/// What a pure crate must not link, directly or through others.
const IMPURE: &[&str] = &[
    "tokio",
    "reqwest",
    "hyper",
    "rusqlite",
    "axum",
    "rand",
    "getrandom",
    "tempfile",
];

/// Crates without clock, file, network and randomness.
const PURE: &[&str] = &[
    "mirilla-diff",
    "mirilla-domain",
    "mirilla-ports",
    "mirilla-stages",
];

/// Most lines of a source file, tests aside.
const MAX_LINES: usize = 700;

/// Most third-party packages in the lockfile: a new dependency is a decision, not an accident.
const MAX_PACKAGES: usize = 470;

/// Checks all rules; returns whether none is broken.
pub(crate) fn run(root: &Path) -> Result<bool> {
    let metadata = metadata(root)?;
    let mut problems = Vec::new();
    directions(&metadata, &mut problems)?;
    purity(&metadata, &mut problems)?;
    manifests(&metadata, &mut problems)?;
    lengths(root, &mut problems)?;
    packages(&metadata, &mut problems)?;
    code_map(root, &metadata, &mut problems)?;
    crate::operations::check(root, &mut problems)?;
    template::check(root, &mut problems)?;
    for problem in &problems {
        say(&format!("- {problem}"));
    }
    Ok(problems.is_empty())
}

fn metadata(root: &Path) -> Result<Value> {
    let output = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["metadata", "--format-version", "1", "--locked"])
        .output()
        .context("cargo metadata cannot be run")?;
    anyhow::ensure!(
        output.status.success(),
        "cargo metadata failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn list<'a>(value: &'a Value, key: &str) -> Result<&'a Vec<Value>> {
    value
        .get(key)
        .and_then(Value::as_array)
        .with_context(|| format!("cargo metadata has no `{key}`"))
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    value
        .get(key)
        .and_then(Value::as_str)
        .with_context(|| format!("cargo metadata has no `{key}`"))
}

/// Returns the workspace's own packages.
fn members(metadata: &Value) -> Result<Vec<&Value>> {
    let ids: BTreeSet<&str> = list(metadata, "workspace_members")?
        .iter()
        .filter_map(Value::as_str)
        .collect();
    Ok(list(metadata, "packages")?
        .iter()
        .filter(|package| text(package, "id").is_ok_and(|id| ids.contains(id)))
        .collect())
}

fn directions(metadata: &Value, problems: &mut Vec<String>) -> Result<()> {
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.iter().copied().collect();
    for package in members(metadata)? {
        let name = text(package, "name")?;
        let Some(may) = allowed.get(name) else {
            problems.push(format!(
                "{name} is not in the list of directions: add it to ALLOWED in crates/xtask/src/check.rs"
            ));
            continue;
        };
        for dependency in list(package, "dependencies")? {
            let on = text(dependency, "name")?;
            let for_tests = dependency.get("kind").and_then(Value::as_str) == Some("dev");
            if on.starts_with("mirilla") && !for_tests && !may.contains(&on) {
                problems.push(format!(
                    "{name} must not depend on {on}: dependencies point from adapters to ports to domain to diff"
                ));
            }
        }
    }
    Ok(())
}

fn purity(metadata: &Value, problems: &mut Vec<String>) -> Result<()> {
    let mut name_of = BTreeMap::new();
    for package in list(metadata, "packages")? {
        name_of.insert(text(package, "id")?, text(package, "name")?);
    }
    let mut links: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let resolve = metadata
        .get("resolve")
        .context("cargo metadata has no `resolve`")?;
    for node in list(resolve, "nodes")? {
        let mut on = Vec::new();
        for dependency in list(node, "deps")? {
            let normal = list(dependency, "dep_kinds")?
                .iter()
                .any(|kind| kind.get("kind").is_some_and(Value::is_null));
            if normal {
                on.push(text(dependency, "pkg")?);
            }
        }
        links.insert(text(node, "id")?, on);
    }
    for (id, name) in &name_of {
        if !PURE.contains(name) {
            continue;
        }
        let mut seen = BTreeSet::new();
        let mut open = vec![*id];
        while let Some(next) = open.pop() {
            if seen.insert(next) {
                open.extend(links.get(next).into_iter().flatten());
            }
        }
        for linked in seen.iter().filter_map(|id| name_of.get(id)) {
            if IMPURE.contains(linked) {
                problems.push(format!(
                    "{name} links {linked}: a pure crate takes what it needs as a value or through a port"
                ));
            }
        }
    }
    Ok(())
}

fn manifests(metadata: &Value, problems: &mut Vec<String>) -> Result<()> {
    for package in members(metadata)? {
        let path = PathBuf::from(text(package, "manifest_path")?);
        let manifest = std::fs::read_to_string(&path)?;
        if !manifest.contains("[lints]\nworkspace = true") {
            problems.push(format!(
                "{}: add `[lints]` with `workspace = true`",
                path.display()
            ));
        }
        for (number, line) in manifest.lines().enumerate() {
            if line.contains("version = \"") && !line.contains("workspace") && line.contains('{') {
                problems.push(format!(
                    "{}:{}: take the version from [workspace.dependencies]",
                    path.display(),
                    number + 1
                ));
            }
        }
    }
    Ok(())
}

fn lengths(root: &Path, problems: &mut Vec<String>) -> Result<()> {
    for path in sources(&root.join("crates"))? {
        let is_test = path
            .components()
            .any(|part| matches!(part.as_os_str().to_str(), Some("tests" | "benches")))
            || path.file_stem().is_some_and(|stem| stem == "tests");
        let lines = std::fs::read_to_string(&path)?.lines().count();
        if !is_test && lines > MAX_LINES {
            problems.push(format!(
                "{} has {lines} lines, at most {MAX_LINES}: split it by idea",
                path.display()
            ));
        }
        if path.file_name().is_some_and(|name| name == "mod.rs") {
            problems.push(format!(
                "{}: use `foo.rs` beside `foo/`, not `mod.rs`",
                path.display()
            ));
        }
    }
    Ok(())
}

/// Returns every Rust file below a folder.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next)
            .with_context(|| format!("{} cannot be listed", next.display()))?
        {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn packages(metadata: &Value, problems: &mut Vec<String>) -> Result<()> {
    let third_party = list(metadata, "packages")?
        .iter()
        .filter(|package| package.get("source").is_some_and(|s| !s.is_null()))
        .count();
    if third_party > MAX_PACKAGES {
        problems.push(format!(
            "{third_party} third-party packages, at most {MAX_PACKAGES}: drop one, or raise MAX_PACKAGES with a reason"
        ));
    }
    Ok(())
}

/// ARCHITECTURE.md must name every member, or a reader looks in the wrong place.
fn code_map(root: &Path, metadata: &Value, problems: &mut Vec<String>) -> Result<()> {
    let map = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap_or_default();
    for package in members(metadata)? {
        let manifest = PathBuf::from(text(package, "manifest_path")?);
        let folder = manifest
            .parent()
            .and_then(|folder| folder.strip_prefix(root).ok());
        if let Some(folder) = folder.and_then(Path::to_str)
            && !map.contains(&format!("`{folder}`"))
        {
            problems.push(format!(
                "ARCHITECTURE.md does not name `{folder}` in its code map"
            ));
        }
    }
    Ok(())
}
