//! The "findings written" event, as S3 raises it: at least once for each object.
//!
//! **Invariant:** what was announced is remembered outside of the findings, where the reviewer
//! cannot write, and only after it was announced; a crash in between repeats the event.

use std::path::Path;

use mirilla_domain::snapshot::Keys;
use mirilla_ports::{ArtifactError, Artifacts as _};

use crate::{DirArtifacts, LocalError};

/// Watches the findings of an artifact directory.
#[derive(Debug)]
pub struct FindingsEvents {
    artifacts: DirArtifacts,
    announced: DirArtifacts,
}

impl FindingsEvents {
    /// Watches `artifacts`; `announced` is the directory that remembers what was announced.
    pub fn open(artifacts: &Path, announced: &Path) -> Result<Self, LocalError> {
        Ok(Self {
            artifacts: DirArtifacts::open(artifacts)?,
            announced: DirArtifacts::open(announced)?,
        })
    }

    /// Returns the keys of findings that were not announced yet, sorted; what is no findings key is
    /// left out.
    ///
    /// It forgets objects that are gone, so that its memory does not outgrow the findings.
    pub async fn pending(&self) -> Result<Vec<String>, ArtifactError> {
        let prefix = Keys::findings_prefix();
        let remembered = self.announced.list(prefix).await?;
        let found = self.artifacts.list(prefix).await?;
        for key in &remembered {
            if found.binary_search(key).is_err() {
                self.announced.delete(key).await?;
            }
        }
        Ok(found
            .into_iter()
            .filter(|key| remembered.binary_search(key).is_err())
            .filter(|key| Keys::parse_findings(key).is_some())
            .collect())
    }

    /// Remembers that an event was handed on for good.
    pub async fn announced(&self, key: &str) -> Result<(), ArtifactError> {
        self.announced.put(key, b"").await.map(|_object| ())
    }
}
