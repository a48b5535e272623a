//! Cuts a diff into questions that fit, riskiest code first, and says what is not asked and why.
//!
//! A chunk refers to lines of the diff by index and holds no text: it is small, can be stored, and can
//! be shown from the diff as parsed or from the same diff with its secrets masked.
//!
//! **Invariant:** every changed file stands in the plan exactly once: whole, over several chunks that
//! together show every line once under its number in the whole diff, skipped with one reason, or carried.

mod pack;
mod risk;
mod skip;
mod split;
mod tokens;

use std::collections::BTreeSet;

use mirilla_diff::{FileDiff, Line};
use serde::{Deserialize, Serialize};

use crate::code::SkipReason;
use crate::digest;
use crate::ids::Sha256Hex;
use crate::review::{Coverage, Fate};
use crate::settings::Policy;
use crate::snapshot::MissingFile;

pub use risk::Risk;
pub use skip::{LOCKFILES, is_generated_name, is_lockfile, is_vendored};
pub use tokens::{estimate_tokens, token_bound};

/// Smallest chunk size that is used: below it, headers would outweigh code.
pub const MIN_CHUNK_TOKENS: u32 = 256;

/// How a diff is asked about.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChunkPlan {
    /// The questions, most valuable first.
    pub chunks: Vec<Chunk>,
    /// Files that are not asked about.
    pub skipped: Vec<Skipped>,
    /// Files that are not asked about because nothing has changed since they were read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<CarriedFile>,
}

/// A file that an earlier review answers for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CarriedFile {
    /// The file's name in coverage.
    pub path: String,
    /// What identifies its change.
    pub digest: Sha256Hex,
}

/// The code of one question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// The files, or parts of files, in the order in which they are shown.
    pub files: Vec<FilePart>,
    /// Their estimated tokens, headers and line numbers included.
    pub tokens: u64,
}

/// A file in a chunk, or the part of it that fits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePart {
    /// The file's name in coverage and findings.
    pub path: String,
    /// What identifies the whole file's change.
    pub digest: Sha256Hex,
    /// How much it matters.
    pub risk: Risk,
    /// Which part this is, from 1.
    pub part: u32,
    /// How many parts the file has.
    pub parts: u32,
    /// The lines, in the order of the diff.
    pub pieces: Vec<Piece>,
    /// Estimated tokens of this part.
    pub tokens: u64,
}

/// A run of lines of one hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// The file's index in the diff.
    pub entry: usize,
    /// The hunk's index in the file.
    pub hunk: usize,
    /// The first line's index in the hunk.
    pub first: usize,
    /// The index after the last line.
    pub end: usize,
}

impl Piece {
    /// Iterates over its lines with their numbers in the whole diff; nothing if the diff is another one.
    pub fn lines<'d>(&self, files: &[FileDiff<'d>]) -> impl Iterator<Item = Line<'d>> + use<'d> {
        let lines = files
            .get(self.entry)
            .and_then(|file| file.hunks.get(self.hunk))
            .map(mirilla_diff::Hunk::lines);
        lines
            .into_iter()
            .flatten()
            .skip(self.first)
            .take(self.end.saturating_sub(self.first))
    }
}

/// A file that is not asked about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The file's name in coverage.
    pub path: String,
    /// Why.
    pub reason: SkipReason,
    /// What identifies its change.
    pub digest: Sha256Hex,
}

/// Plans the questions about a diff: at most `tokens` estimated tokens of code in each (at least
/// [`MIN_CHUNK_TOKENS`]).
///
/// `missing` are files whose changes the forge did not give; ignore rules and the fail-closed rule for
/// broken settings come from `policy`.
pub fn plan_chunks(
    files: &[FileDiff<'_>],
    missing: &[MissingFile],
    policy: &Policy,
    tokens: u32,
) -> ChunkPlan {
    let limit = u64::from(tokens.max(MIN_CHUNK_TOKENS));
    let ignored = policy.ignored();
    let mut skipped = Vec::new();
    let mut parts = Vec::new();
    for change in digest::changes(files, missing) {
        let entries: Vec<(usize, &FileDiff<'_>)> = change
            .entries
            .iter()
            .filter_map(|at| Some((*at, files.get(*at)?)))
            .collect();
        let reason = if policy.sends_nothing() {
            Some(SkipReason::SettingsBroken)
        } else if ignored.matches(&change.path) {
            Some(SkipReason::Ignored)
        } else {
            let given = missing.iter().find(|file| file.path == change.path);
            skip::reason(&change.path, &entries, given.map(|file| file.reason), limit)
        };
        match reason {
            Some(reason) => skipped.push(Skipped {
                path: change.path,
                reason,
                digest: change.digest,
            }),
            None => parts.extend(split::parts(&change, &entries, limit)),
        }
    }
    ChunkPlan {
        chunks: pack::pack(parts, limit),
        skipped,
        carried: Vec::new(),
    }
}

impl ChunkPlan {
    /// Returns the plan without the files that an earlier review answers for. What is left is packed
    /// anew, into chunks of the same size.
    #[must_use]
    pub fn without(self, carried: &BTreeSet<String>, tokens: u32) -> Self {
        let limit = u64::from(tokens.max(MIN_CHUNK_TOKENS));
        let parts = self.chunks.into_iter().flat_map(|chunk| chunk.files);
        let (out, left): (Vec<_>, Vec<_>) = parts.partition(|part| carried.contains(&part.path));
        let mut files = self.carried;
        for part in out {
            if part.part == 1 {
                files.push(CarriedFile {
                    path: part.path,
                    digest: part.digest,
                });
            }
        }
        Self {
            chunks: pack::pack(left, limit),
            skipped: self.skipped,
            carried: files,
        }
    }

    /// Returns the coverage that answers amount to: `fates` says what became of each chunk, in order.
    ///
    /// A file in several chunks counts as reviewed only if all of them are; one that failed makes it
    /// failed, and one that was not asked makes it skipped. A chunk without a fate was not asked.
    pub fn coverage(&self, fates: &[Fate]) -> Vec<Coverage> {
        let unasked = Fate::Skipped(SkipReason::NoModel);
        let mut covered: Vec<Coverage> = Vec::new();
        for (at, chunk) in self.chunks.iter().enumerate() {
            let fate = fates.get(at).unwrap_or(&unasked);
            for file in &chunk.files {
                match covered.iter_mut().find(|line| line.path == file.path) {
                    Some(line) if weight(fate) > weight(&line.fate) => line.fate = fate.clone(),
                    Some(_) => {}
                    None => covered.push(Coverage {
                        path: file.path.clone(),
                        fate: fate.clone(),
                        digest: file.digest.clone(),
                    }),
                }
            }
        }
        covered.extend(self.carried.iter().map(|file| Coverage {
            path: file.path.clone(),
            fate: Fate::Carried,
            digest: file.digest.clone(),
        }));
        covered.extend(self.skipped.iter().map(|file| Coverage {
            path: file.path.clone(),
            fate: Fate::Skipped(file.reason),
            digest: file.digest.clone(),
        }));
        covered
    }
}

impl Chunk {
    /// Cuts the chunk in two for a model that takes less than estimated; `None` if it is one line.
    pub fn halves(&self, files: &[FileDiff<'_>]) -> Option<[Self; 2]> {
        split::halves(self, files)
    }
}

/// How much a fate takes away from a file: the heaviest of its parts decides.
const fn weight(fate: &Fate) -> u8 {
    match fate {
        Fate::Carried => 0,
        Fate::Reviewed => 1,
        Fate::Skipped(_) => 2,
        Fate::Failed(_) => 3,
    }
}
