//! What of an earlier review still holds, so that it need not be paid for again.
//!
//! A review writes down everything the model saw ([`Sight`]). The next review of the same pull request
//! compares: a chunk is carried only if the model would see exactly the same again. Findings of a carried
//! chunk move with their code.
//!
//! The attack to think of is laundering: text talks the model into silence about a file, and the next push
//! removes the text and not the file. So everything that was before the model's eyes counts, and what
//! cannot be compared is read again:
//!
//! * model, version of the prompt, rules, settings, merge base: for all chunks;
//! * the names of all changed files, which every question lists: each must still be there;
//! * every file of the chunk, by the digest of its patch, and every other part of these files;
//! * every file that a tool showed, by the hash of its bytes at the new head;
//! * a chunk with text addressed to a reviewer is never carried.
//!
//! **Invariant:** a file is carried whole or not at all, only if its coverage counted as read, and never
//! without all findings of the chunks it stood in.

mod again;

use std::collections::{BTreeMap, BTreeSet};

use mirilla_diff::FileDiff;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::chunk::{Chunk, ChunkPlan};
use crate::digest::{self, Change};
use crate::ids::{CommitSha, Sha256Hex, hash_fields, sha256};
use crate::plan::out_of_bounds;
use crate::prompt::{Description, PROMPT_VERSION};
use crate::review::{Fate, Finding, REVIEW_SCHEMA, Review};
use crate::schema::answer_schema;
use crate::settings::Policy;
use crate::snapshot::MissingFile;

/// Most bytes that a [`Sight`] takes in a review file: chunks past it are not written down, and so are
/// read again. Bounds what a change can add to the file by having the model look at many files.
pub const MAX_SIGHT_BYTES: usize = 1024 * 1024;

/// Everything the model saw of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sight {
    /// The commit that the diff was taken against.
    pub merge_base: CommitSha,
    /// Digest of what stands before every question: instructions, language and rules.
    pub rules: Sha256Hex,
    /// Digest of the settings that shape questions; see [`settings_digest`].
    pub settings: Sha256Hex,
    /// The chunks whose answers count, carried ones included.
    pub chunks: Vec<SeenChunk>,
}

/// One chunk, and what was shown beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SeenChunk {
    /// Its files, or parts of files.
    pub files: Vec<SeenPart>,
    /// The files that tools showed something of.
    pub looked_up: Vec<SeenFile>,
    /// Which of the review's findings came of it, counted from 0.
    pub findings: Vec<u32>,
    /// Whether one of its files held text addressed to a reviewer.
    pub addresses_reviewer: bool,
}

/// A changed file in a chunk, or the part of it that the chunk held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SeenPart {
    /// Its name in coverage and findings.
    pub path: String,
    /// Digest of the whole file's patch: hunk bodies, without line numbers.
    pub digest: Sha256Hex,
    /// Which part, from 1.
    pub part: u32,
    /// How many parts the file had.
    pub parts: u32,
    /// Where each hunk of the file began: the findings move by the difference.
    pub hunks: Vec<HunkStart>,
}

/// Where a hunk begins on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HunkStart {
    /// In the old file.
    pub old: u32,
    /// In the new file.
    pub new: u32,
}

/// A file that a tool showed something of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SeenFile {
    /// Its path.
    pub path: String,
    /// SHA-256 of all its bytes.
    pub sha256: Sha256Hex,
}

impl SeenChunk {
    /// Describes a chunk that is about to be read; what tools show and what is found is added later.
    pub fn of(chunk: &Chunk, files: &[FileDiff<'_>], addressed: &BTreeSet<String>) -> Self {
        let parts = chunk.files.iter().map(|part| SeenPart {
            path: part.path.clone(),
            digest: part.digest.clone(),
            part: part.part,
            parts: part.parts,
            hunks: again::starts(files, &part.path),
        });
        let mut paths = chunk.files.iter().map(|part| &part.path);
        Self {
            files: parts.collect(),
            looked_up: Vec::new(),
            findings: Vec::new(),
            addresses_reviewer: paths.any(|path| addressed.contains(path)),
        }
    }
}

impl Sight {
    /// Adds a chunk if there is room for it within [`MAX_SIGHT_BYTES`].
    pub fn push(&mut self, chunk: SeenChunk, room: &mut Room) {
        // Plain data: writing it down cannot fail.
        let bytes = serde_json::to_vec(&chunk).map_or(usize::MAX, |bytes| bytes.len());
        if let Some(left) = room.0.checked_sub(bytes) {
            room.0 = left;
            self.chunks.push(chunk);
        }
    }
}

/// How much room is left for chunks.
#[derive(Debug)]
pub struct Room(usize);

impl Default for Room {
    fn default() -> Self {
        Self(MAX_SIGHT_BYTES)
    }
}

/// Returns the digest of everything in the settings, and in the program, that shapes a question beside
/// rules and code: bounds, tools, the answer's form, and the description where it is shown beside the code.
pub fn settings_digest(
    policy: &Policy,
    description: Option<Description<'_>>,
    tools: &str,
) -> Sha256Hex {
    let description = description.map_or_else(String::new, |said| {
        hash_fields(&[said.title.as_bytes(), said.text.as_bytes()])
    });
    let hash = hash_fields(&[
        b"mirilla.question.v1",
        &policy.max_tokens.to_be_bytes(),
        &policy.chunk_tokens.to_be_bytes(),
        &policy.max_turns.to_be_bytes(),
        &[u8::from(policy.verify)],
        format!("{:?}", policy.pr_description).as_bytes(),
        description.as_bytes(),
        tools.as_bytes(),
        answer_schema().to_string().as_bytes(),
    ]);
    Sha256Hex::parse(&hash).unwrap_or_else(|_| sha256(hash.as_bytes()))
}

/// The review that is compared with: of the same pull request, accepted by the poster.
#[derive(Debug, Clone)]
pub struct Prior {
    review: Review,
    sight: Sight,
}

impl Prior {
    /// Reads a review file; `None` if it is of another schema, breaks a bound, or does not say what the
    /// model saw. Then everything is read.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut review: Review = serde_json::from_slice(bytes).ok()?;
        let broken = |finding: &Finding| out_of_bounds(finding).is_some();
        if review.schema != REVIEW_SCHEMA || review.findings.iter().any(broken) {
            return None;
        }
        let sight = review.sight.take()?;
        Some(Self { review, sight })
    }
}

/// What the next questions would be made of.
#[derive(Debug, Clone, Copy)]
pub struct Present<'a> {
    /// The model, as priced.
    pub model: &'a str,
    /// The commit that the diff is taken against.
    pub merge_base: &'a CommitSha,
    /// Like [`Sight::rules`].
    pub rules: &'a Sha256Hex,
    /// Like [`Sight::settings`].
    pub settings: &'a Sha256Hex,
    /// The diff.
    pub files: &'a [FileDiff<'a>],
    /// Files whose changes the forge did not give.
    pub missing: &'a [MissingFile],
    /// What would be asked if nothing were carried.
    pub plan: &'a ChunkPlan,
    /// Files that hold text addressed to a reviewer, now.
    pub addressed: &'a BTreeSet<String>,
}

/// A chunk that need not be read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    /// What the model saw of it, as of the present diff; its list of findings is empty.
    pub chunk: SeenChunk,
    /// What it found, at the present lines.
    pub findings: Vec<Finding>,
}

/// What need not be read again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Carry {
    chunks: Vec<Carried>,
    /// How many chunks each file of the earlier review stood in.
    held_in: BTreeMap<String, usize>,
}

impl Carry {
    /// Returns what can be carried, provided that every file that tools showed is still the same: to be
    /// checked by whoever has the files, and told to [`Carry::retain`].
    pub fn of(prior: &Prior, present: &Present<'_>) -> Self {
        let Prior { review, sight } = prior;
        let same = review.model == present.model
            && review.prompt_version == PROMPT_VERSION
            && sight.merge_base == *present.merge_base
            && sight.rules == *present.rules
            && sight.settings == *present.settings;
        let changes = digest::changes(present.files, present.missing);
        let changes: BTreeMap<&str, &Change> =
            (changes.iter().map(|change| (change.path.as_str(), change))).collect();
        // Each question lists the names of all changed files, and a name can speak, too.
        let names = review.coverage.iter().map(|line| line.path.as_str());
        if !same || !names.clone().all(|path| changes.contains_key(path)) {
            return Self::default();
        }
        let asked: BTreeMap<&str, &Sha256Hex> = (present.plan.chunks.iter())
            .flat_map(|chunk| &chunk.files)
            .map(|part| (part.path.as_str(), &part.digest))
            .collect();
        let read = |part: &SeenPart| {
            review.coverage.iter().any(|line| {
                line.path == part.path
                    && line.digest == part.digest
                    && matches!(line.fate, Fate::Reviewed | Fate::Carried)
            })
        };
        let holds = |part: &SeenPart| {
            asked.get(part.path.as_str()) == Some(&&part.digest)
                && !present.addressed.contains(&part.path)
                && read(part)
                && is_whole(sight, part)
        };
        let mut held_in: BTreeMap<String, usize> = BTreeMap::new();
        for chunk in &sight.chunks {
            let paths: BTreeSet<&String> = chunk.files.iter().map(|part| &part.path).collect();
            for path in paths {
                let count = held_in.entry(path.clone()).or_default();
                *count = count.saturating_add(1);
            }
        }
        let chunks = sight.chunks.iter().filter_map(|chunk| {
            if chunk.addresses_reviewer || chunk.files.is_empty() || !chunk.files.iter().all(holds)
            {
                return None;
            }
            let findings = chunk.findings.iter().map(|at| {
                let finding = review.findings.get(usize::try_from(*at).ok()?)?;
                let change = changes.get(finding.path.as_str())?;
                again::placed(finding, chunk, change, present.files)
            });
            let findings = findings.collect::<Option<Vec<Finding>>>()?;
            let mut chunk = chunk.clone();
            chunk.findings.clear();
            for part in &mut chunk.files {
                part.hunks = again::starts(present.files, &part.path);
            }
            Some(Carried { chunk, findings })
        });
        let mut carry = Self {
            chunks: chunks.collect(),
            held_in,
        };
        carry.retain(|_| true);
        carry
    }

    /// Keeps the chunks that `holds` vouches for, without those that share a file with a dropped one: a
    /// file that is read again is read whole.
    pub fn retain(&mut self, holds: impl Fn(&SeenChunk) -> bool) {
        self.chunks.retain(|carried| holds(&carried.chunk));
        loop {
            let mut here: BTreeMap<&str, usize> = BTreeMap::new();
            for carried in &self.chunks {
                let parts = carried.chunk.files.iter();
                let paths: BTreeSet<&str> = parts.map(|part| part.path.as_str()).collect();
                for path in paths {
                    let count = here.entry(path).or_default();
                    *count = count.saturating_add(1);
                }
            }
            let whole = |path: &str| here.get(path) == self.held_in.get(path);
            let kept: Vec<bool> = (self.chunks.iter())
                .map(|carried| carried.chunk.files.iter().all(|part| whole(&part.path)))
                .collect();
            if kept.iter().all(|kept| *kept) {
                return;
            }
            let mut kept = kept.into_iter();
            self.chunks.retain(|_| kept.next().unwrap_or(false));
        }
    }

    /// Returns the chunks, in the order in which they were read.
    pub fn chunks(&self) -> &[Carried] {
        &self.chunks
    }

    /// Returns the carried files.
    pub fn paths(&self) -> BTreeSet<String> {
        let parts = self.chunks.iter().flat_map(|carried| &carried.chunk.files);
        parts.map(|part| part.path.clone()).collect()
    }
}

/// Whether every part of a file was written down.
fn is_whole(sight: &Sight, part: &SeenPart) -> bool {
    let all = sight.chunks.iter().flat_map(|chunk| &chunk.files);
    let seen: BTreeSet<u32> = all
        .filter(|one| one.path == part.path && one.digest == part.digest && one.parts == part.parts)
        .map(|one| one.part)
        .collect();
    let count = u32::try_from(seen.len()).unwrap_or(u32::MAX);
    count == part.parts && seen.first() == Some(&1) && seen.last() == Some(&part.parts)
}
