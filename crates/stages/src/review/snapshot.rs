//! Everything of a snapshot that a review looks at, read and checked.
//!
//! **Invariant:** a diff whose bytes are not those that were collected is not read.

use mirilla_domain::carry::Prior;
use mirilla_domain::chunk::ChunkPlan;
use mirilla_domain::ids::{Sha256Hex, sha256};
use mirilla_domain::rules::{self, Rule};
use mirilla_domain::settings::{self, OperatorPolicy, Policy};
use mirilla_domain::snapshot::{Keys, SnapshotMeta, TrustedFiles};
use mirilla_ports::{ArtifactError, Artifacts};

use super::{ReviewOrder, ReviewPorts, ReviewSettings, carried};
use crate::error::StageError;

/// Largest diff that is read.
pub const MAX_DIFF_BYTES: u64 = 64 * 1024 * 1024;
/// Largest other object that is read.
const MAX_OBJECT_BYTES: u64 = 8 * 1024 * 1024;

/// Everything of a snapshot that a review looks at.
pub(super) struct Snapshot {
    pub(super) meta: SnapshotMeta,
    pub(super) meta_sha256: Sha256Hex,
    pub(super) diff: Vec<u8>,
    pub(super) rules: TrustedFiles,
    pub(super) rules_sha256: Sha256Hex,
    pub(super) policy: Policy,
    /// The last review of the pull request that was accepted, if what it says can be used.
    pub(super) prior: Option<Prior>,
}

impl Snapshot {
    /// Returns the rules that apply to what is asked about.
    pub(super) fn applicable_rules(&self, plan: &ChunkPlan) -> Vec<Rule> {
        let changed: Vec<&str> = plan
            .chunks
            .iter()
            .flat_map(|chunk| &chunk.files)
            .map(|file| file.path.as_str())
            .collect();
        rules::select(&self.rules.files, &self.policy.rules, &changed).rules
    }
}

/// Reads a job's snapshot.
pub(super) async fn load(
    ports: ReviewPorts<'_>,
    settings: &ReviewSettings,
    order: &ReviewOrder,
) -> Result<Snapshot, StageError> {
    let (meta, meta_sha256): (SnapshotMeta, _) = read_hashed(
        ports.artifacts,
        &Keys::meta(&order.job),
        "snapshot description",
    )
    .await?;
    let diff = ports.artifacts.get(&meta.diff.key, MAX_DIFF_BYTES).await?;
    if sha256(&diff) != meta.diff_sha256 {
        return Err(StageError::BadObject {
            what: "diff",
            reason: "its bytes are not those that were collected".to_owned(),
        });
    }
    let (rules, rules_sha256): (TrustedFiles, _) =
        read_hashed(ports.artifacts, &meta.rules.key, "rules").await?;
    let policy = effective_policy(&settings.policy, &rules);
    let prior = read_prior(ports.artifacts, &meta).await?;
    Ok(Snapshot {
        meta,
        meta_sha256,
        diff,
        rules,
        rules_sha256,
        policy,
        prior,
    })
}

async fn read_prior(
    artifacts: &dyn Artifacts,
    meta: &SnapshotMeta,
) -> Result<Option<Prior>, StageError> {
    let Some(stored) = &meta.prior else {
        return Ok(None);
    };
    match artifacts.get(&stored.key, MAX_OBJECT_BYTES).await {
        Ok(bytes) => Ok(carried::prior(&bytes)),
        Err(ArtifactError::NotFound { .. } | ArtifactError::TooLarge { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the operator's policy made stricter by a repository's trusted settings file.
pub fn effective_policy(operator: &OperatorPolicy, trusted: &TrustedFiles) -> Policy {
    let file = trusted
        .files
        .iter()
        .find(|file| file.path == settings::SETTINGS_FILE);
    let (repository, _problems) = settings::parse(file.map_or("", |file| file.text.as_str()));
    operator.with(&repository)
}

/// Reads a JSON object from the artifact store.
pub(crate) async fn read_json<T: serde::de::DeserializeOwned>(
    artifacts: &dyn Artifacts,
    key: &str,
    what: &'static str,
) -> Result<T, StageError> {
    Ok(read_hashed(artifacts, key, what).await?.0)
}

/// Reads a JSON object, and what identifies its bytes.
async fn read_hashed<T: serde::de::DeserializeOwned>(
    artifacts: &dyn Artifacts,
    key: &str,
    what: &'static str,
) -> Result<(T, Sha256Hex), StageError> {
    let bytes = artifacts.get(key, MAX_OBJECT_BYTES).await?;
    let value = serde_json::from_slice(&bytes).map_err(|error| StageError::BadObject {
        what,
        reason: error.to_string(),
    })?;
    Ok((value, sha256(&bytes)))
}
