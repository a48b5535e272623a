//! What was read, decided by the poster: the review's coverage held against the fresh diff.
//!
//! **Invariant:** every path of the fresh diff is in the report exactly once, and none counts as read
//! unless the review names it with the digest of exactly the patch that is there now.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{FreshDiff, FreshFile, ReadReview};
use crate::code::{FailReason, SkipReason};
use crate::ids::sha256;
use crate::review::{Coverage, Fate, Outcome};

/// What became of one changed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state", content = "reason")]
pub enum FileState {
    /// Read at exactly these bytes.
    Reviewed,
    /// Read before, and nothing that was seen then has changed.
    Carried,
    /// Not sent, and why.
    Skipped(SkipReason),
    /// Sent without an answer that counts, and why.
    Failed(FailReason),
    /// Its patch is not the one that was read.
    Stale,
    /// The review does not name it.
    NotCovered,
}

impl FileState {
    /// Returns whether the file counts as read.
    pub const fn is_read(self) -> bool {
        matches!(self, Self::Reviewed | Self::Carried)
    }

    /// Returns what to tell a person, in a few words.
    pub const fn explain(self) -> &'static str {
        match self {
            Self::Reviewed => "read",
            Self::Carried => "unchanged since it was read",
            Self::Skipped(reason) => reason.explain(),
            Self::Failed(reason) => reason.explain(),
            Self::Stale => "it changed after it was read",
            Self::NotCovered => "the reviewer does not mention it",
        }
    }

    /// Worse states are larger.
    const fn rank(self) -> u8 {
        match self {
            Self::Reviewed => 0,
            Self::Carried => 1,
            Self::Skipped(_) => 2,
            Self::Failed(_) => 3,
            Self::Stale => 4,
            Self::NotCovered => 5,
        }
    }

    fn fate(self) -> Fate {
        match self {
            Self::Reviewed => Fate::Reviewed,
            Self::Carried => Fate::Carried,
            Self::Skipped(reason) => Fate::Skipped(reason),
            Self::Failed(reason) => Fate::Failed(reason),
            Self::Stale | Self::NotCovered => Fate::Failed(FailReason::ReviewerDied),
        }
    }
}

/// One changed file and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileCoverage {
    /// The file. Untrusted text.
    pub path: String,
    /// What became of it.
    #[serde(flatten)]
    pub state: FileState,
}

/// Every changed file and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CoverageReport {
    files: Vec<FileCoverage>,
}

impl CoverageReport {
    /// Holds a review's coverage against the diff; without a review nothing was read.
    pub fn compare(diff: &FreshDiff, review: Option<&ReadReview>) -> Self {
        let mut claims: BTreeMap<&str, Vec<&Coverage>> = BTreeMap::new();
        for entry in review.map_or(&[][..], |read| &read.review.coverage) {
            claims.entry(&entry.path).or_default().push(entry);
        }
        let files = diff
            .files()
            .iter()
            .map(|file| FileCoverage {
                path: file.path.clone(),
                state: match review {
                    None => FileState::Failed(FailReason::ReviewerDied),
                    Some(_) => state_of(file, claims.get(file.path.as_str())),
                },
            })
            .collect();
        Self { files }
    }

    /// Returns the files in the order of the diff.
    pub fn files(&self) -> &[FileCoverage] {
        &self.files
    }

    /// Returns what became of a path, if the diff has it.
    pub fn state(&self, path: &str) -> Option<FileState> {
        self.files
            .iter()
            .find(|file| file.path == path)
            .map(|file| file.state)
    }

    /// Returns how many files were read.
    pub fn read(&self) -> usize {
        self.files
            .iter()
            .filter(|file| file.state.is_read())
            .count()
    }

    /// Returns how many of them were read by an earlier review and have not changed since.
    pub fn carried(&self) -> usize {
        self.files
            .iter()
            .filter(|file| file.state == FileState::Carried)
            .count()
    }

    /// Returns how many files were left out.
    pub fn skipped(&self) -> usize {
        let left_out = |file: &&FileCoverage| matches!(file.state, FileState::Skipped(_));
        self.files.iter().filter(left_out).count()
    }

    /// Returns what the coverage amounts to, however good the review file calls itself.
    pub fn outcome(&self, review: Option<&ReadReview>) -> Outcome {
        let Some(read) = review else {
            return Outcome::Failed;
        };
        let coverage: Vec<Coverage> = self
            .files
            .iter()
            .map(|file| Coverage {
                path: file.path.clone(),
                fate: file.state.fate(),
                digest: sha256(b""),
            })
            .collect();
        let rank = |outcome: Outcome| match outcome {
            Outcome::Complete => 0,
            Outcome::Partial => 1,
            Outcome::Failed | Outcome::Superseded => 2,
        };
        let own = Outcome::of(&coverage);
        if rank(read.review.outcome) > rank(own) {
            read.review.outcome
        } else {
            own
        }
    }
}

fn state_of(file: &FreshFile, claims: Option<&Vec<&Coverage>>) -> FileState {
    let claims = claims.map_or(&[][..], Vec::as_slice);
    let worst = claims
        .iter()
        .filter(|claim| claim.digest == file.digest)
        .map(|claim| match claim.fate {
            Fate::Reviewed => FileState::Reviewed,
            Fate::Carried => FileState::Carried,
            Fate::Skipped(reason) => FileState::Skipped(reason),
            Fate::Failed(reason) => FileState::Failed(reason),
        })
        // Two claims about the same bytes contradict each other: the worse one counts.
        .max_by_key(|state| state.rank());
    match (worst, file.missing) {
        (Some(state), Some(missing)) if state.is_read() => FileState::Skipped(missing),
        (Some(state), _) => state,
        (None, Some(missing)) => FileState::Skipped(missing),
        (None, None) if claims.is_empty() => FileState::NotCovered,
        (None, None) => FileState::Stale,
    }
}
