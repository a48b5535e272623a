//! The folder that `mirilla collect` wrote, as the jobs after it find it.
//!
//! **Invariant:** it has one job, whose name is the hash of what it says it is about. More is not believed by
//! who holds a token.

use std::path::Path;

use anyhow::Result;
use mirilla_domain::ids::Generation;
use mirilla_domain::job::JobKey;
use mirilla_domain::snapshot::{Keys, SnapshotMeta};
use mirilla_local::DirArtifacts;
use mirilla_ports::Artifacts as _;

use crate::failure::Failure;

/// Largest description that is read.
const MAX_META_BYTES: u64 = 8 * 1024 * 1024;
const SCHEMA: &str = "mirilla.snapshot.v1";

/// A snapshot.
pub(super) struct Snapshot {
    /// Its folder.
    pub(super) artifacts: DirArtifacts,
    /// What it says of itself.
    pub(super) meta: SnapshotMeta,
}

impl Snapshot {
    /// Opens a folder.
    pub(super) async fn open(folder: &Path) -> Result<Self> {
        let artifacts = existing(folder, "snapshot", "mirilla collect --out")?;
        let keys = artifacts.list("snapshots/").await?;
        let mut described = keys.iter().filter(|key| key.ends_with("/meta.json"));
        let (Some(key), None) = (described.next(), described.next()) else {
            return Err(bad(
                folder,
                "it does not hold the snapshot of one pull request",
            ));
        };
        let bytes = artifacts.get(key, MAX_META_BYTES).await?;
        let meta: SnapshotMeta = serde_json::from_slice(&bytes)
            .map_err(|error| bad(folder, &format!("its description cannot be read: {error}")))?;
        if meta.schema != SCHEMA {
            return Err(bad(
                folder,
                &format!("this program reads {SCHEMA}, which it is not"),
            ));
        }
        if meta.job != key_of(&meta).id() || *key != Keys::meta(&meta.job) {
            return Err(bad(folder, "its name is not that of what it says it holds"));
        }
        Ok(Self { artifacts, meta })
    }
}

/// Returns the key of a snapshot's job. Without a ledger there is one generation of everything.
pub(super) fn key_of(meta: &SnapshotMeta) -> JobKey {
    let pull_request = &meta.pull_request;
    JobKey {
        forge: pull_request.id.forge,
        repo: pull_request.id.repo,
        pr: pull_request.id.pr,
        head: pull_request.head.clone(),
        base_ref: pull_request.base_ref.clone(),
        generation: Generation::new(0),
    }
}

/// Opens a folder that an earlier job wrote.
pub(super) fn existing(folder: &Path, what: &str, by: &str) -> Result<DirArtifacts> {
    if !folder.is_dir() {
        return Err(Failure::usage(format!("there is no {what} in {}", folder.display()))
            .hint(format!("`{by} {}` writes one; in a workflow it travels as an artifact of the same run. `mirilla collect` writes none where there is nothing to review, and says so (`collected=false`)", folder.display()))
            .into());
    }
    Ok(DirArtifacts::open(folder)?)
}

fn bad(folder: &Path, why: &str) -> anyhow::Error {
    Failure::new(format!(
        "the snapshot in {} cannot be used: {why}",
        folder.display()
    ))
    .hint("let `mirilla collect --out` write it anew, with this version of the program")
    .into()
}
