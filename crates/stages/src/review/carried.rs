//! What this review need not read again, and what it writes down for the next one.
//!
//! **Invariant:** a file that tools showed counts as unchanged only if its bytes were read at this head and
//! are the same; what cannot be read is not the same.

use std::collections::{BTreeMap, BTreeSet};

use mirilla_diff::FileDiff;
use mirilla_domain::carry::{
    self, Carry, Present, Room, SeenChunk, SeenFile, Sight, settings_digest,
};
use mirilla_domain::chunk::ChunkPlan;
use mirilla_domain::ids::{Sha256Hex, sha256};
use mirilla_domain::prompt::{self, Description};
use mirilla_domain::review::{Fate, Finding};
use mirilla_domain::rules::Rule;
use mirilla_domain::settings::PrDescription;
use mirilla_ports::Toolbox as _;

use super::Eyes;
use super::progress::{Collected, Progress};
use super::snapshot::Snapshot;

/// Most files that are opened to see whether they are still the same; chunks that need more are read
/// again.
const MAX_COMPARED: usize = 200;

/// What all questions of a review share, and which files speak to their reviewer.
pub(super) struct Shared {
    pub(super) rules: Vec<Rule>,
    rules_digest: Sha256Hex,
    settings_digest: Sha256Hex,
    addressed: BTreeSet<String>,
}

impl Shared {
    /// Takes the whole plan, before anything is carried: which rules apply must not depend on it.
    pub(super) fn of(
        snapshot: &Snapshot,
        files: &[FileDiff<'_>],
        plan: &ChunkPlan,
        eyes: &Eyes<'_>,
    ) -> Self {
        let rules = snapshot.applicable_rules(plan);
        let policy = &snapshot.policy;
        let tools = eyes.specs().iter().map(|tool| {
            let (name, description) = (tool.name, tool.description);
            format!("{name}\n{description}\n{}\n", tool.input_schema)
        });
        let tools: Vec<String> = tools.collect();
        Self {
            rules_digest: prompt::shared_digest(&rules, policy.language.as_deref()),
            settings_digest: settings_digest(policy, shown_description(snapshot), &tools.concat()),
            addressed: mirilla_domain::checks::addressed(files),
            rules,
        }
    }

    /// Returns what identifies the questions of a plan: answers to others do not count.
    pub(super) fn asked(&self, plan: &ChunkPlan, model: Option<&str>) -> Sha256Hex {
        // Plain data: writing it down cannot fail.
        let plan = serde_json::to_vec(plan).unwrap_or_default();
        let mut all = plan;
        for part in [
            model.unwrap_or_default(),
            self.rules_digest.as_str(),
            self.settings_digest.as_str(),
        ] {
            all.push(b'\n');
            all.extend_from_slice(part.as_bytes());
        }
        sha256(&all)
    }

    /// Returns what of the last accepted review still holds.
    pub(super) async fn carry(
        &self,
        snapshot: &Snapshot,
        files: &[FileDiff<'_>],
        plan: &ChunkPlan,
        model: Option<&str>,
        eyes: &Eyes<'_>,
    ) -> Carry {
        let (Some(prior), Some(model)) = (&snapshot.prior, model) else {
            return Carry::default();
        };
        let mut carry = Carry::of(
            prior,
            &Present {
                model,
                merge_base: &snapshot.meta.merge_base,
                rules: &self.rules_digest,
                settings: &self.settings_digest,
                files,
                missing: &snapshot.meta.missing,
                plan,
                addressed: &self.addressed,
            },
        );
        let mut same: BTreeMap<(String, Sha256Hex), bool> = BTreeMap::new();
        for seen in carry.chunks().iter().flat_map(|one| &one.chunk.looked_up) {
            let key = (seen.path.clone(), seen.sha256.clone());
            if !same.contains_key(&key) {
                let still = same.len() < MAX_COMPARED && eyes.would_show(seen).await;
                same.insert(key, still);
            }
        }
        let still = |seen: &SeenFile| {
            let key = (seen.path.clone(), seen.sha256.clone());
            same.get(&key).copied().unwrap_or(false)
        };
        carry.retain(|chunk| chunk.looked_up.iter().all(still));
        carry
    }

    /// Returns all findings, and everything the model saw: what this review read, then what it carried.
    ///
    /// What the comparison with the stated intent found belongs to the chunk of its file. A chunk in which
    /// the second look changed something is not written down: code of another chunk may have moved it to
    /// that, and is not compared.
    pub(super) fn sight(
        &self,
        snapshot: &Snapshot,
        files: &[FileDiff<'_>],
        plan: &ChunkPlan,
        progress: &Progress,
        collected: &Collected,
        carry: &Carry,
    ) -> (Vec<Finding>, Sight) {
        let found = collected.findings.iter();
        let mut findings: Vec<Finding> = found.map(|found| found.what.clone()).collect();
        let mut chunks: Vec<SeenChunk> = Vec::new();
        for (at, done) in &progress.chunks {
            if let Some(chunk) = plan.chunks.get(*at)
                && done.fate == Fate::Reviewed
                && !collected.altered.contains(at)
            {
                let holds = |path: &str| chunk.files.iter().any(|file| file.path == path);
                let numbered = (0_u32..).zip(&collected.findings);
                let of_chunk = numbered.filter(|(_, found)| match plan.chunks.get(found.chunk) {
                    Some(_) => found.chunk == *at,
                    None => holds(&found.what.path),
                });
                chunks.push(SeenChunk {
                    findings: of_chunk.map(|(number, _)| number).collect(),
                    looked_up: done.result.looked_up.clone(),
                    ..SeenChunk::of(chunk, files, &self.addressed)
                });
            }
        }
        for carried in carry.chunks() {
            let first = findings.len();
            findings.extend(carried.findings.iter().cloned());
            let numbers = (first..findings.len()).filter_map(|at| u32::try_from(at).ok());
            chunks.push(SeenChunk {
                findings: numbers.collect(),
                ..carried.chunk.clone()
            });
        }
        let mut sight = Sight {
            merge_base: snapshot.meta.merge_base.clone(),
            rules: self.rules_digest.clone(),
            settings: self.settings_digest.clone(),
            chunks: Vec::with_capacity(chunks.len()),
        };
        let mut room = Room::default();
        for chunk in chunks {
            sight.push(chunk, &mut room);
        }
        (findings, sight)
    }
}

/// Returns what the author says, if questions show it beside the code.
pub(super) fn shown_description(snapshot: &Snapshot) -> Option<Description<'_>> {
    let pull_request = &snapshot.meta.pull_request;
    let shown = snapshot.policy.pr_description == PrDescription::With;
    shown.then_some(Description {
        title: &pull_request.title,
        text: &pull_request.description,
    })
}

/// Reads the last accepted review. Whatever is wrong with it, everything is read.
pub(super) fn prior(bytes: &[u8]) -> Option<carry::Prior> {
    let prior = carry::Prior::read(bytes);
    if prior.is_none() {
        tracing::info!("the last review does not say what was seen, so everything is read");
    }
    prior
}
