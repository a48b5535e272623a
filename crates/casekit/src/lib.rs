//! What the tests of every crate share: the recorded failure cases in `tests/fixtures/cases`, and git.
//!
//! A case is a folder `NNN-slug` with `CASE.md`, its inputs and `expected.json`. Each key of
//! `expected.json` is one assertion: [`Expected`] keeps count of what a test has read and fails it on a
//! key that it did not, so that no expectation is passed over in silence.
//!
//! Only a development dependency: it panics, as tests do.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "test code: a case that cannot be loaded fails its test"
)]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Map, Value};

/// Returns the path of `relative` in the repository, wherever the test runs.
pub fn repo_path(relative: impl AsRef<Path>) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(relative)
}

/// Runs git in `folder` and returns what it printed; fails the test if git does. Nothing that the machine or the
/// person has configured counts.
pub fn git(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("git")
        .current_dir(folder)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
        .args(["-c", "protocol.file.allow=always"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {said}");
    output.stdout
}

/// Loads the cases under `root` (from the repository's root on) whose folder name `keep` accepts, by
/// name. Fails if there is none: a filter that selects nothing would pass for ever.
pub fn cases(root: &str, keep: impl Fn(&str) -> bool) -> Vec<Case> {
    let root = repo_path(root);
    let entries = fs::read_dir(&root).unwrap_or_else(|error| panic!("{}: {error}", root.display()));
    let mut found: Vec<Case> = entries
        .map(|entry| entry.expect("readable directory").path())
        .filter(|path| path.is_dir())
        .map(|dir| Case {
            name: dir
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
            dir,
        })
        .filter(|case| keep(&case.name))
        .collect();
    assert!(!found.is_empty(), "no case selected in {}", root.display());
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// Loads all cases of `kind` (`Kind N:` in `CASE.md`) under `tests/fixtures/cases`.
pub fn cases_of_kind(kind: u32) -> Vec<Case> {
    let mut found = cases("tests/fixtures/cases", |_| true);
    found.retain(|case| case.kind() == kind);
    assert!(!found.is_empty(), "no case of kind {kind}");
    found
}

/// Letters and digits that look generated: what [`made_up`] values are the beginning of.
pub const NOISE: &str = "q7Zt2Lk9Xw4Rb8Vn3Hs6Jd1Gf5Pm0Yc7Tq2Ke9Wa4Ru8Nx3Bv6Lz1Sd5Fh0Jg7Mk2Qp9Xc4";
const UPPER: &str = "Q3EGVZ2LKT5WXB7N";
const HEX: &str = "3f8a1c9e72b4d06587e1f0a9c2d4b6384c6e80a1b2c3d5f7";

/// Puts made-up values into a fixture: `{{36}}` stands for 36 characters that look generated, `{{upper:16}}` and
/// `{{hex:32}}` for upper-case letters with digits and for hexadecimal digits, so that no scanner mistakes a
/// fixture for a leak. A template of another kind stays as it is.
pub fn made_up(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let (code, tail) = after.split_once("}}").unwrap_or((after, ""));
        let (set, len) = code.split_once(':').unwrap_or(("", code));
        let noise = match set {
            "upper" => UPPER,
            "hex" => HEX,
            _ => NOISE,
        };
        if let Ok(len) = len.parse::<usize>() {
            out.push_str(noise.get(..len).expect("a shorter made-up value"));
        } else {
            out.push_str("{{");
            out.push_str(code);
            out.push_str("}}");
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

/// One case folder.
#[derive(Clone, Debug)]
pub struct Case {
    /// The folder's name, `001-eof-marker-old-side`.
    pub name: String,
    /// The folder.
    pub dir: PathBuf,
}

impl Case {
    /// Returns the number in front of the name.
    pub fn id(&self) -> &str {
        self.name.split('-').next().unwrap_or_default()
    }

    /// Returns the kind that `CASE.md` states.
    pub fn kind(&self) -> u32 {
        self.text("CASE.md")
            .lines()
            .find_map(|line| line.strip_prefix("Kind ")?.split(':').next()?.parse().ok())
            .unwrap_or_else(|| panic!("{}: CASE.md states no kind", self.name))
    }

    /// Returns whether the case has a file or folder `file`.
    pub fn has(&self, file: &str) -> bool {
        self.dir.join(file).exists()
    }

    /// Reads a file of the case.
    pub fn bytes(&self, file: &str) -> Vec<u8> {
        fs::read(self.dir.join(file))
            .unwrap_or_else(|error| panic!("{}/{file}: {error}", self.name))
    }

    /// Reads a text file of the case.
    pub fn text(&self, file: &str) -> String {
        String::from_utf8(self.bytes(file))
            .unwrap_or_else(|error| panic!("{}/{file}: {error}", self.name))
    }

    /// Reads a JSON file of the case.
    pub fn json(&self, file: &str) -> Value {
        serde_json::from_slice(&self.bytes(file))
            .unwrap_or_else(|error| panic!("{}/{file}: {error}", self.name))
    }

    /// Reads `expected.json`.
    pub fn expected(&self) -> Expected {
        Expected::of(
            format!("{}/expected.json", self.name),
            self.json("expected.json"),
        )
    }
}

/// A JSON object of which every key must be read.
///
/// Call [`Expected::finish`] at the end; one that is dropped without it fails the test as well.
#[derive(Debug)]
pub struct Expected {
    what: String,
    fields: Map<String, Value>,
    finished: bool,
}

impl Expected {
    /// Reads the object in the file at `path`.
    pub fn load(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let value = serde_json::from_slice(&bytes)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self::of(path.display().to_string(), value)
    }

    /// Wraps an object; `what` names it in failures.
    pub fn of(what: impl Into<String>, value: Value) -> Self {
        let what = what.into();
        let Value::Object(fields) = value else {
            panic!("{what}: not an object");
        };
        Self {
            what,
            fields,
            finished: false,
        }
    }

    /// Takes `key`, which counts as checked from now on.
    pub fn take(&mut self, key: &str) -> Option<Value> {
        self.fields.remove(key)
    }

    /// Takes `key`, which must be there.
    pub fn need(&mut self, key: &str) -> Value {
        self.take(key)
            .unwrap_or_else(|| panic!("{}: no key `{key}`", self.what))
    }

    /// Takes `key`, if it is there, as an object that is to be read in full as well.
    pub fn take_object(&mut self, key: &str) -> Option<Self> {
        let value = self.take(key)?;
        Some(Self::of(format!("{} .{key}", self.what), value))
    }

    /// Takes the list `key`, if it is there, as objects that are to be read in full as well.
    pub fn take_objects(&mut self, key: &str) -> Option<Vec<Self>> {
        let Value::Array(items) = self.take(key)? else {
            panic!("{}: `{key}` is not a list", self.what);
        };
        let named = |(at, item)| Self::of(format!("{} .{key}[{at}]", self.what), item);
        Some(items.into_iter().enumerate().map(named).collect())
    }

    /// Returns the keys that were not taken yet.
    pub fn left(&self) -> BTreeSet<&str> {
        self.fields.keys().map(String::as_str).collect()
    }

    /// Ends the reading; fails if a key was not taken.
    pub fn finish(mut self) {
        self.finished = true;
        assert!(
            self.fields.is_empty(),
            "{}: not checked: {:?}",
            self.what,
            self.left()
        );
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        let excused = self.finished || std::thread::panicking();
        assert!(excused, "{}: dropped without finish()", self.what);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use serde_json::json;

    use super::*;

    fn message(run: impl FnOnce() + std::panic::UnwindSafe) -> String {
        let cause = catch_unwind(run).unwrap_err();
        cause.downcast_ref::<String>().cloned().unwrap_or_default()
    }

    #[test]
    fn unread_keys_fail() {
        let failure = message(|| {
            let mut expected = Expected::of("case", json!({"a": 1, "b": 2}));
            assert_eq!(expected.take("a"), Some(json!(1)));
            expected.finish();
        });
        assert_eq!(failure, r#"case: not checked: {"b"}"#);
    }

    #[test]
    fn unread_keys_of_a_nested_object_fail() {
        let failure = message(|| {
            let mut expected = Expected::of("case", json!({"files": [{"path": "x"}]}));
            for file in expected.take_objects("files").unwrap() {
                file.finish();
            }
        });
        assert_eq!(failure, r#"case .files[0]: not checked: {"path"}"#);
    }

    #[test]
    fn forgetting_to_finish_fails() {
        let failure = message(|| drop(Expected::of("case", json!({}))));
        assert_eq!(failure, "case: dropped without finish()");
    }

    #[test]
    fn a_fully_read_object_passes() {
        let mut expected = Expected::of("case", json!({"a": {"b": null}}));
        let mut inner = expected.take_object("a").unwrap();
        assert_eq!(inner.need("b"), Value::Null);
        assert_eq!(inner.take("b"), None);
        inner.finish();
        expected.finish();
    }

    #[test]
    fn a_filter_that_selects_nothing_fails() {
        assert!(message(|| drop(cases("crates", |_| false))).starts_with("no case selected"));
    }
}
