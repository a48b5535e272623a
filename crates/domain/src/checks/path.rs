//! What a path says about a file.

use mirilla_diff::FileDiff;

/// What the checks need to know about the file they are in.
#[derive(Clone, Debug)]
pub(super) struct Context {
    /// The path that hits name.
    pub(super) path: String,
    /// The file holds tests, or material for tests.
    pub(super) is_test: bool,
    /// The file is prose.
    pub(super) is_prose: bool,
    /// The file was written by a package manager.
    pub(super) is_lockfile: bool,
}

impl Context {
    /// Judges a file by its path.
    pub(super) fn of(file: &FileDiff<'_>) -> Self {
        let path = file.display_path().into_owned();
        let lower = path.to_ascii_lowercase();
        Self {
            is_test: is_test(&lower),
            is_prose: is_prose(&lower),
            is_lockfile: is_lockfile(&lower),
            path,
        }
    }
}

/// Both paths of a file, lower-cased; one if they are equal.
pub(super) fn both(file: &FileDiff<'_>) -> Vec<String> {
    let mut paths: Vec<String> = [&file.old_path, &file.new_path]
        .into_iter()
        .flatten()
        .map(|path| String::from_utf8_lossy(path).to_ascii_lowercase())
        .collect();
    paths.dedup();
    paths
}

/// The last segment of a path.
pub(super) fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The extension of a path, without its dot; empty if there is none.
pub(super) fn extension(path: &str) -> &str {
    name(path)
        .rsplit_once('.')
        .map_or("", |(_, extension)| extension)
}

/// Tests and their material, by the habits of many languages.
pub(super) fn is_test(lower: &str) -> bool {
    const DIRECTORIES: &[&str] = &[
        "test",
        "tests",
        "testing",
        "testdata",
        "test-data",
        "test_data",
        "__tests__",
        "__test__",
        "spec",
        "specs",
        "fixtures",
        "fixture",
        "__fixtures__",
        "__mocks__",
        "mocks",
        "e2e",
        "snapshots",
        "__snapshots__",
        "cypress",
        "testsuite",
        "unittests",
        "integration-tests",
        "androidtest",
        "testfixtures",
        "testutils",
        "test-utils",
    ];
    let name = name(lower);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let directories = lower.strip_suffix(name).unwrap_or_default();
    let in_directory = directories
        .split('/')
        .any(|part| DIRECTORIES.contains(&part) || part.rsplit(['.', '-']).next() == Some("tests"));
    in_directory
        || [
            "_test", "_tests", "_spec", ".test", ".spec", "-test", "-spec", "tests",
        ]
        .iter()
        .any(|end| stem.ends_with(end))
        || stem.starts_with("test_")
        || stem == "test"
        || matches!(extension(lower), "snap")
        || name == "conftest.py"
        || (stem.ends_with("test")
            && matches!(
                extension(lower),
                "java" | "kt" | "cs" | "php" | "scala" | "groovy" | "swift"
            ))
        || (stem.ends_with("it") && extension(lower) == "java" && stem.len() > 4)
}

fn is_prose(lower: &str) -> bool {
    matches!(
        extension(lower),
        "md" | "mdx" | "markdown" | "rst" | "adoc" | "txt" | "org" | "tex"
    ) || lower
        .split('/')
        .any(|part| matches!(part, "docs" | "doc" | "documentation"))
}

fn is_lockfile(lower: &str) -> bool {
    matches!(
        name(lower),
        "cargo.lock"
            | "package-lock.json"
            | "npm-shrinkwrap.json"
            | "yarn.lock"
            | "pnpm-lock.yaml"
            | "bun.lock"
            | "bun.lockb"
            | "poetry.lock"
            | "pdm.lock"
            | "uv.lock"
            | "pipfile.lock"
            | "gemfile.lock"
            | "composer.lock"
            | "go.sum"
            | "go.work.sum"
            | "flake.lock"
            | "packages.lock.json"
            | "podfile.lock"
            | "pubspec.lock"
            | "mix.lock"
            | "gradle.lockfile"
            | "package.resolved"
            | "deno.lock"
            | "conan.lock"
            | "module.bazel.lock"
            | "paket.lock"
            | "stack.yaml.lock"
            | "cabal.project.freeze"
            | ".terraform.lock.hcl"
            | "verification-metadata.xml"
            | "chart.lock"
            | "rebar.lock"
            | "project.assets.json"
    )
}
