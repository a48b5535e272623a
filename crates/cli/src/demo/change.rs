//! The change that is demonstrated: the built-in story, a range of a repository, or a patch.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use mirilla_diff::{LineKind, parse};
use mirilla_sim::{AccountKind, Commit, InstallOptions, OpenPull, RepoOptions};

use super::Forge;
use crate::arguments::Demo;
use crate::failure::Failure;
use crate::git;
use crate::input::read;

/// The simulated repository.
pub(super) const REPO: &str = "acme/shop";
/// Who opens the pull request.
pub(super) const AUTHOR: &str = "dana";

/// Returns the pull request's present head.
pub(super) fn head(github: &Forge) -> Result<String> {
    Ok(github.tip(REPO, "change")?)
}

/// What is to be opened as a pull request.
#[derive(Debug)]
pub(super) struct Change {
    title: String,
    /// Commits on the base branch, then on the pull request's branch; the last one may be held back.
    base: Vec<(Vec<u8>, Vec<u8>)>,
    head: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    second: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

macro_rules! story {
    ($($part:literal / $file:literal => $path:literal),* $(,)?) => {
        [$(($part, $path, include_str!(concat!("story/", $part, "/", $file)))),*]
    };
}

/// The built-in story: a payment service whose change swallows a failure, shares a map, builds SQL
/// from text, loses a test, and talks to its reviewer.
const STORY: [(&str, &str, &str); 10] = story![
    "base" / "Pay.java" => "src/main/java/shop/Pay.java",
    "base" / "orders.py" => "tools/orders.py",
    "base" / "test_orders.py" => "tools/test_orders.py",
    "base" / "package-lock.json" => "web/package-lock.json",
    "head" / "Pay.java" => "src/main/java/shop/Pay.java",
    "head" / "orders.py" => "tools/orders.py",
    "head" / "test_orders.py" => "tools/test_orders.py",
    "head" / "package-lock.json" => "web/package-lock.json",
    "fix" / "Pay.java" => "src/main/java/shop/Pay.java",
    "head" / "refunds.py" => "tools/refunds.py",
];

impl Change {
    /// Returns the change that the arguments name.
    pub(super) fn of(arguments: &Demo) -> Result<Self> {
        match (&arguments.repo, &arguments.patch) {
            (Some(repo), _) => Self::of_range(repo, &arguments.base, &arguments.head),
            (None, Some(patch)) => Self::of_patch(patch),
            (None, None) => Ok(Self::story()),
        }
    }

    fn story() -> Self {
        let mut change = Self {
            title: "Do not charge an order twice".to_owned(),
            base: Vec::new(),
            head: Vec::new(),
            second: Vec::new(),
        };
        for (part, path, text) in STORY {
            let (path_bytes, bytes) = (path.as_bytes().to_vec(), text.as_bytes().to_vec());
            match (part, path) {
                ("base", _) => change.base.push((path_bytes, bytes)),
                ("fix", _) | (_, "tools/refunds.py") => {
                    change.second.push((path_bytes, Some(bytes)));
                }
                _ => change.head.push((path_bytes, Some(bytes))),
            }
        }
        // Assembled here so that no file of this repository looks as if it held a credential.
        let key = ["AKIA", "Z7QW3MEXAMPLED", "3M"]
            .concat()
            .replace("EXAMPLE", "5TGB2YH");
        let settings = format!("[backup]\nbucket = \"shop-backup\"\naccess_key_id = \"{key}\"\n");
        change
            .head
            .push((b"deploy/backup.toml".to_vec(), Some(settings.into_bytes())));
        change
    }

    fn of_range(repo: &Path, base: &str, head: &str) -> Result<Self> {
        let range = git::Range::resolve(repo, base, head)?;
        let title = git::subject(repo, &range.head)?;
        let mut change = Self {
            title,
            base: Vec::new(),
            head: Vec::new(),
            second: Vec::new(),
        };
        for file in git::changed_blobs(repo, &range)? {
            if let Some(bytes) = file.old {
                change.base.push((file.path.clone(), bytes));
            }
            change.head.push((file.path, file.new));
        }
        change.not_empty("the range changes nothing")
    }

    /// Makes two trees whose diff is the patch: each hunk's lines stand at their numbers, with empty
    /// lines between them.
    fn of_patch(path: &Path) -> Result<Self> {
        let bytes = read(path)?;
        let parsed = parse(&bytes);
        let mut change = Self {
            title: "A patch".to_owned(),
            base: Vec::new(),
            head: Vec::new(),
            second: Vec::new(),
        };
        for file in &parsed.files {
            if file.binary || file.submodule {
                continue;
            }
            let mut old = BTreeMap::new();
            let mut new = BTreeMap::new();
            for line in file.hunks.iter().flat_map(mirilla_diff::Hunk::lines) {
                if line.kind != LineKind::Added
                    && let Some(number) = line.old
                {
                    old.insert(number, line.text.to_vec());
                }
                if line.kind != LineKind::Deleted
                    && let Some(number) = line.new
                {
                    new.insert(number, line.text.to_vec());
                }
            }
            if let Some(name) = &file.old_path {
                change.base.push((name.to_vec(), laid_out(&old)));
                if file.new_path.as_ref() != Some(name) {
                    change.head.push((name.to_vec(), None));
                }
            }
            if let Some(name) = &file.new_path {
                change.head.push((name.to_vec(), Some(laid_out(&new))));
            }
        }
        change.not_empty("the patch changes no text file")
    }

    fn not_empty(self, what: &str) -> Result<Self> {
        if self.head.is_empty() {
            return Err(Failure::nothing(what)
                .hint("give a range with `--base` and `--head`, or another patch")
                .into());
        }
        Ok(self)
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }

    /// Makes repository, App and pull request; returns the pull request's number.
    pub(super) fn open(&self, github: &Forge) -> Result<u64> {
        github.add_account("acme", AccountKind::Organization);
        github.create_repo(REPO, &RepoOptions::default())?;
        github.install("acme", InstallOptions::default())?;
        let mut first = Commit::by(AUTHOR, "Before the change").write("README.md", "A shop.\n");
        for (path, bytes) in &self.base {
            first = first.write(path, bytes);
        }
        github.commit(REPO, "main", &first)?;
        github.commit(REPO, "change", &commit(&self.title, &self.head))?;
        drop(github.take_deliveries());
        Ok(github.open_pull(REPO, OpenPull::new(AUTHOR, "change", &self.title))?)
    }

    /// Pushes the held back commit, if the story has one; returns whether it has.
    pub(super) fn push_again(&self, github: &Forge) -> Result<bool> {
        if self.second.is_empty() {
            return Ok(false);
        }
        github.commit(
            REPO,
            "change",
            &commit("Do not lose failed charges; add refunds", &self.second),
        )?;
        Ok(true)
    }
}

fn commit(message: &str, files: &[(Vec<u8>, Option<Vec<u8>>)]) -> Commit {
    let mut commit = Commit::by(AUTHOR, message);
    for (path, bytes) in files {
        commit = match bytes {
            Some(bytes) => commit.write(path, bytes),
            None => commit.delete(path),
        };
    }
    commit
}

fn laid_out(lines: &BTreeMap<u32, Vec<u8>>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 1;
    for (number, text) in lines {
        while at < *number {
            out.push(b'\n');
            at += 1;
        }
        out.extend_from_slice(text);
        out.push(b'\n');
        at += 1;
    }
    out
}
