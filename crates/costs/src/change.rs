//! The commits, their diffs, and pushes that touch one file.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use mirilla_domain::digest;
use mirilla_domain::ids::CommitSha;
use serde::Deserialize;

use crate::tokens;

/// One commit to review.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Commit {
    /// Its number in the list.
    pub(crate) number: u32,
    /// `owner/name`.
    pub(crate) repo: String,
    /// The commit before it.
    pub(crate) base: String,
    /// The commit.
    pub(crate) head: String,
}

/// The change that is reviewed.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    /// The repository's git directory.
    pub(crate) git: PathBuf,
    /// The commit that is read.
    pub(crate) head: CommitSha,
    /// The commit it is compared with.
    pub(crate) base: CommitSha,
    /// The diff.
    pub(crate) diff: Vec<u8>,
    /// The patch of each file, without what git says about it: tokens by path.
    files: Vec<(String, u64)>,
}

impl Commit {
    /// Reads the list of commits.
    pub(crate) fn read(list: &Path) -> Result<Vec<Self>> {
        let text = std::fs::read(list).with_context(|| list.display().to_string())?;
        serde_json::from_slice(&text).with_context(|| list.display().to_string())
    }

    /// Returns how people call it.
    pub(crate) fn name(&self) -> String {
        let short: String = self.head.chars().take(8).collect();
        format!("{}@{short}", self.repo)
    }

    /// Reads what it changes.
    pub(crate) fn change(&self, clones: &Path) -> Result<Change> {
        let places = [
            clones.join(&self.repo),
            clones.join(self.repo.replace('/', "+")).join("repo"),
        ];
        let git = places
            .into_iter()
            .find(|place| place.is_dir())
            .with_context(|| format!("no clone of {} in {}", self.repo, clones.display()))?;
        let arguments = [
            "diff-tree",
            "-r",
            "-M",
            "-p",
            "--full-index",
            "--no-commit-id",
        ];
        let diff = Command::new("git")
            .arg("-C")
            .arg(&git)
            .args(arguments)
            .args([&self.base, &self.head])
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()?;
        ensure!(
            diff.status.success(),
            "git: {}",
            String::from_utf8_lossy(&diff.stderr)
        );
        Ok(Change {
            git,
            head: CommitSha::parse(&self.head)?,
            base: CommitSha::parse(&self.base)?,
            files: patches(&diff.stdout),
            diff: diff.stdout,
        })
    }
}

impl Change {
    /// Returns the tokens of one file's patch.
    pub(crate) fn tokens_of(&self, path: &str) -> u64 {
        let of_path = self.files.iter().filter(|(name, _)| name == path);
        of_path.map(|(_, tokens)| tokens).sum()
    }

    /// Returns how many files are changed.
    pub(crate) fn files(&self) -> usize {
        self.files.len()
    }

    /// Returns the change as it is after a push that adds a line to one of its files.
    pub(crate) fn touching(&self, path: &str) -> Result<Self> {
        let parsed = mirilla_diff::parse(&self.diff);
        let file = parsed.files.iter().find(|file| digest::name(file) == path);
        let hunk = file
            .and_then(|file| file.hunks.last())
            .context("a file without hunks")?;
        let at = |part: &[u8]| {
            let offset = part.as_ptr().addr().checked_sub(self.diff.as_ptr().addr());
            offset.filter(|at| {
                at.checked_add(part.len())
                    .is_some_and(|end| end <= self.diff.len())
            })
        };
        let start = at(hunk.body).context("a hunk outside its diff")?;
        // The header counts one line more, or the parser would not believe the hunk.
        let header = format!(
            "-{},{} +{},{}",
            hunk.old_start,
            hunk.old_count,
            hunk.new_start,
            hunk.new_count.saturating_add(1)
        );
        let (before, body) = self.diff.split_at(start);
        let line = before
            .split(|byte| *byte == b'\n')
            .rev()
            .nth(1)
            .unwrap_or_default();
        let kept = before.len().saturating_sub(line.len()).saturating_sub(1);
        let mut diff = before.get(..kept).unwrap_or_default().to_vec();
        diff.extend_from_slice(format!("@@ {header} @@\n+one more line\n").as_bytes());
        diff.extend_from_slice(body);
        let touched = mirilla_diff::parse(&diff);
        ensure!(
            touched.files.len() == parsed.files.len(),
            "the touched diff does not parse"
        );
        ensure!(
            touched.problems.len() == parsed.problems.len(),
            "{:?}",
            touched.problems
        );
        let files = patches(&diff);
        Ok(Self {
            diff,
            files,
            ..self.clone()
        })
    }
}

fn patches(diff: &[u8]) -> Vec<(String, u64)> {
    let parsed = mirilla_diff::parse(diff);
    let of = |file: &mirilla_diff::FileDiff<'_>| {
        let mut patch = String::new();
        for hunk in &file.hunks {
            let header = format!(
                "@@ -{},{} +{},{} @@ {}\n",
                hunk.old_start,
                hunk.old_count,
                hunk.new_start,
                hunk.new_count,
                String::from_utf8_lossy(hunk.heading)
            );
            patch.push_str(&header);
            patch.push_str(&String::from_utf8_lossy(hunk.body));
        }
        (digest::name(file), tokens::count(&patch))
    };
    parsed.files.iter().map(of).collect()
}
