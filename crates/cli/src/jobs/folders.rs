//! One store over several folders: some are only read, one takes what is written.
//!
//! **Invariant:** nothing is written to a folder that another job made.

use async_trait::async_trait;
use mirilla_domain::snapshot::StoredObject;
use mirilla_local::DirArtifacts;
use mirilla_ports::{ArtifactError, ArtifactWriter, Artifacts};

/// Folders, as one store.
pub(super) struct Folders<'a> {
    /// Where objects are found whose keys begin like this.
    read: Vec<(&'static str, &'a DirArtifacts)>,
    /// Where every other object is.
    rest: &'a DirArtifacts,
}

#[derive(Debug, thiserror::Error)]
#[error("this folder is another job's, and only read")]
struct OnlyRead;

impl<'a> Folders<'a> {
    /// Takes the folder that is written to.
    pub(super) const fn over(rest: &'a DirArtifacts) -> Self {
        Self {
            read: Vec::new(),
            rest,
        }
    }

    /// Adds a folder for keys that begin with a prefix.
    pub(super) fn reading(mut self, prefix: &'static str, folder: &'a DirArtifacts) -> Self {
        self.read.push((prefix, folder));
        self
    }

    fn read_only(&self, key: &str) -> Option<&'a DirArtifacts> {
        let found = self.read.iter().find(|(prefix, _)| key.starts_with(prefix));
        found.map(|(_, folder)| *folder)
    }

    fn holding(&self, key: &str) -> &'a DirArtifacts {
        self.read_only(key).unwrap_or(self.rest)
    }

    fn writable(&self, key: &str) -> Result<&'a DirArtifacts, ArtifactError> {
        match self.read_only(key) {
            None => Ok(self.rest),
            Some(_) => Err(ArtifactError::Unavailable {
                key: key.to_owned(),
                source: Box::new(OnlyRead),
            }),
        }
    }
}

#[async_trait]
impl Artifacts for Folders<'_> {
    async fn put(&self, key: &str, bytes: &[u8]) -> Result<StoredObject, ArtifactError> {
        self.writable(key)?.put(key, bytes).await
    }

    async fn put_new(&self, key: &str, bytes: &[u8]) -> Result<StoredObject, ArtifactError> {
        self.writable(key)?.put_new(key, bytes).await
    }

    async fn writer(
        &self,
        key: &str,
        limit_bytes: u64,
    ) -> Result<Box<dyn ArtifactWriter>, ArtifactError> {
        self.writable(key)?.writer(key, limit_bytes).await
    }

    async fn get(&self, key: &str, limit_bytes: u64) -> Result<Vec<u8>, ArtifactError> {
        self.holding(key).get(key, limit_bytes).await
    }

    async fn get_range(
        &self,
        object: &StoredObject,
        offset: u64,
        length: u64,
    ) -> Result<Vec<u8>, ArtifactError> {
        self.holding(&object.key)
            .get_range(object, offset, length)
            .await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<String>, ArtifactError> {
        self.holding(prefix).list(prefix).await
    }

    async fn delete(&self, prefix: &str) -> Result<(), ArtifactError> {
        self.writable(prefix)?.delete(prefix).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_another_job_wrote_is_read_and_never_changed() {
        let (theirs, ours) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let theirs = DirArtifacts::open(theirs.path()).unwrap();
        let ours = DirArtifacts::open(ours.path()).unwrap();
        theirs.put("snapshots/a/meta.json", b"taken").await.unwrap();
        let folders = Folders::over(&ours).reading("snapshots/", &theirs);
        let key = "snapshots/a/meta.json";
        assert_eq!(folders.get(key, 9).await.unwrap(), b"taken");
        assert_eq!(folders.list("snapshots/").await.unwrap(), [key]);
        assert!(folders.put(key, b"x").await.is_err());
        assert!(folders.put_new("snapshots/b", b"x").await.is_err());
        assert!(folders.writer("snapshots/b", 9).await.is_err());
        assert!(folders.delete("snapshots/").await.is_err());
        folders.put("findings/a", b"found").await.unwrap();
        assert_eq!(ours.get("findings/a", 9).await.unwrap(), b"found");
        assert_eq!(theirs.get(key, 9).await.unwrap(), b"taken");
    }
}
