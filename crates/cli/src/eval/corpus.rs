//! The folder of labelled changes: `DIR/<set>/<case>/`, as docs/EVAL.md describes it.
//!
//! **Invariant:** a case that is returned has a diff with at least one file, and every label of it points
//! at lines that the diff shows. All that is wrong with a folder is told at once.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use mirilla_domain::eval::Label;
use mirilla_domain::ids::{CommitSha, JobId, RepoName, sha256};
use serde::Deserialize;

use super::answers::{self, Recording};
use crate::failure::Failure;
use crate::git;

/// What describes a case.
const CASE_FILE: &str = "case.toml";
/// Its change, unless that is a commit of a repository.
const DIFF_FILE: &str = "change.diff";
/// Most problems that are told.
const MAX_PROBLEMS: usize = 20;

/// One labelled change.
pub(super) struct Case {
    /// The folder it stands in.
    pub(super) set: String,
    /// Its own folder's name.
    name: String,
    /// Its folder.
    pub(super) dir: PathBuf,
    /// The diff's bytes.
    pub(super) diff: Vec<u8>,
    /// Where its defects are; none if it is clean.
    pub(super) labels: Vec<Label>,
    /// The clone that the model may look into, if the change is a commit of one.
    pub(super) clone_of: Option<InClone>,
    /// Recorded answers.
    pub(super) answers: Vec<Recording>,
}

/// A change in a clone.
pub(super) struct InClone {
    /// Where the clone is.
    pub(super) path: PathBuf,
    /// The commit before the change.
    pub(super) base: CommitSha,
    /// The commit after it.
    pub(super) head: CommitSha,
}

impl Case {
    /// Returns `set/name`.
    pub(super) fn id(&self) -> String {
        format!("{}/{}", self.set, self.name)
    }

    /// Returns a job of its own.
    pub(super) fn job(&self) -> Result<JobId> {
        let digest = sha256(self.id().as_bytes());
        let digits: String = digest.as_str().chars().take(32).collect();
        Ok(JobId::parse(&digits)?)
    }
}

/// All changes of a folder.
pub(super) struct Corpus {
    /// Those that can be reviewed here, by set and name.
    pub(super) cases: Vec<Case>,
    /// Those that cannot, and why.
    pub(super) unavailable: Vec<(String, String)>,
}

/// `case.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct CaseFile {
    source: Source,
    /// Says that there is no known defect.
    #[serde(default)]
    clean: bool,
    #[serde(default)]
    expected: Vec<Label>,
}

/// Where a change comes from.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Source {
    /// SPDX identifier of the code's licence.
    licence: String,
    /// `owner/name`; absent for a change that was written for its set.
    repository: Option<String>,
    /// The commit, whole.
    commit: Option<String>,
    /// Where a person can read it.
    #[expect(dead_code, reason = "for the person who reads the file")]
    url: Option<String>,
    /// Whether the commit is taken backwards: a fix that is undone.
    #[serde(default)]
    reverse: bool,
    /// The files of the commit that count; all if none is named.
    #[serde(default)]
    files: Vec<String>,
}

/// What one folder is.
enum Found {
    Case(Box<Case>),
    Unavailable(String),
}

impl Corpus {
    /// Reads a folder: the sets named, or all; commits are looked up in the clones under `repositories`.
    pub(super) fn read(dir: &Path, sets: &[String], repositories: Option<&Path>) -> Result<Self> {
        let mut corpus = Self {
            cases: Vec::new(),
            unavailable: Vec::new(),
        };
        let mut problems = Vec::new();
        let there = folders(dir)?;
        if let Some(unknown) = sets.iter().find(|set| !there.contains(set)) {
            return Err(Failure::usage(format!(
                "there is no set `{unknown}` in {}; there are {}",
                dir.display(),
                there.join(", ")
            ))
            .into());
        }
        for set in there {
            if !sets.is_empty() && !sets.contains(&set) {
                continue;
            }
            for name in folders(&dir.join(&set))? {
                let id = format!("{set}/{name}");
                match case(dir, &set, &name, repositories) {
                    Ok(Found::Case(case)) => corpus.cases.push(*case),
                    Ok(Found::Unavailable(why)) => corpus.unavailable.push((id, why)),
                    Err(error) => problems.push(format!("{id}: {error:#}")),
                }
            }
        }
        if !problems.is_empty() {
            let more = problems.len().saturating_sub(MAX_PROBLEMS);
            problems.truncate(MAX_PROBLEMS);
            if more > 0 {
                problems.push(format!("and {more} more"));
            }
            return Err(Failure::new(format!(
                "the changes in {} cannot be used:\n  {}",
                dir.display(),
                problems.join("\n  ")
            ))
            .hint("docs/EVAL.md describes the folder")
            .into());
        }
        if corpus.cases.is_empty() && corpus.unavailable.is_empty() {
            return Err(Failure::nothing(format!(
                "there are no labelled changes in {}",
                dir.display()
            ))
            .hint("docs/EVAL.md describes the folder: DIR/<set>/<case>/case.toml")
            .into());
        }
        Ok(corpus)
    }
}

/// Returns the names of a folder's folders, sorted.
fn folders(dir: &Path) -> Result<Vec<String>> {
    let entries = dir
        .read_dir()
        .map_err(|error| Failure::usage(format!("{} cannot be read: {error}", dir.display())))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.path().is_dir() {
            let name = entry.file_name().into_string();
            names.push(name.map_err(|name| {
                Failure::new(format!("the folder {} has no usable name", name.display()))
            })?);
        }
    }
    names.sort();
    Ok(names)
}

fn case(dir: &Path, set: &str, name: &str, repositories: Option<&Path>) -> Result<Found> {
    let dir = dir.join(set).join(name);
    let path = dir.join(CASE_FILE);
    let text = std::fs::read_to_string(&path).context("it has no case.toml")?;
    let file: CaseFile = toml::from_str(&text).context("case.toml cannot be read")?;
    if file.source.licence.trim().is_empty() {
        anyhow::bail!("`licence` is empty");
    }
    match (file.clean, file.expected.is_empty()) {
        (false, true) => anyhow::bail!("it has neither `clean = true` nor an `[[expected]]`"),
        (true, false) => anyhow::bail!("it is said to be clean and has an `[[expected]]`"),
        _ => {}
    }
    for (number, label) in (1_usize..).zip(&file.expected) {
        label
            .check_form()
            .with_context(|| format!("`[[expected]]` number {number} cannot be used"))?;
    }
    let written = dir.join(DIFF_FILE);
    let (diff, clone_of) = if written.is_file() {
        (std::fs::read(&written)?, None)
    } else {
        match from_clone(&file.source, repositories)? {
            Ok((diff, clone_of)) => (diff, Some(clone_of)),
            Err(why) => return Ok(Found::Unavailable(why)),
        }
    };
    let parsed = mirilla_diff::parse(&diff);
    if let Some(problem) = parsed.problems.first() {
        anyhow::bail!("its diff is broken: {problem}");
    }
    if parsed.files.is_empty() {
        anyhow::bail!("its diff is empty");
    }
    for (number, label) in (1_usize..).zip(&file.expected) {
        label
            .check(&parsed.files)
            .with_context(|| format!("`[[expected]]` number {number} cannot be used"))?;
    }
    drop(parsed);
    let answers = answers::read(&dir)?;
    Ok(Found::Case(Box::new(Case {
        set: set.to_owned(),
        name: name.to_owned(),
        dir,
        diff,
        labels: file.expected,
        clone_of,
        answers,
    })))
}

/// Takes a change from a clone; the inner `Err` says why that cannot be done here.
fn from_clone(
    source: &Source,
    repositories: Option<&Path>,
) -> Result<std::result::Result<(Vec<u8>, InClone), String>> {
    let (Some(repository), Some(commit)) = (&source.repository, &source.commit) else {
        anyhow::bail!("it has neither a change.diff nor `repository` and `commit`");
    };
    let name = RepoName::parse(repository)?;
    let commit = CommitSha::parse(commit)?;
    let Some(folder) = repositories else {
        return Ok(Err(format!(
            "it is a commit of {repository}, and no clones were named (`--repositories DIR`)"
        )));
    };
    let owned = folder.join(name.owner()).join(name.name());
    let places = [
        owned.clone(),
        owned.with_file_name(format!("{}.git", name.name())),
        folder.join(name.name()),
        folder.join(format!("{}.git", name.name())),
    ];
    let Some(path) = places.into_iter().find(|place| place.is_dir()) else {
        return Ok(Err(format!(
            "there is no clone of {repository} at {}",
            owned.display()
        )));
    };
    let Some(forward) = git::change(&path, commit.as_str()) else {
        return Ok(Err(format!(
            "{} has no commit {} with one before it",
            path.display(),
            commit.short()
        )));
    };
    let range = if source.reverse {
        git::Range {
            base: forward.head,
            head: forward.base,
        }
    } else {
        forward
    };
    let diff = git::diff_of_files(&path, &range, &source.files)?;
    let at = InClone {
        path,
        base: CommitSha::parse(&range.base)?,
        head: CommitSha::parse(&range.head)?,
    };
    Ok(Ok((diff, at)))
}
