//! The files of one commit, as far as they can be read.

use std::sync::Arc;

use async_trait::async_trait;
use mirilla_domain::snapshot::StoredObject;

/// What stands under a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A file.
    File,
    /// A symbolic link; its content is the path it leads to.
    Symlink,
    /// A commit of another repository, whose files are not here. An archive shows it as a folder with
    /// nothing in it.
    Submodule,
    /// Several entries have this path, so that none can be believed.
    Ambiguous,
}

/// One path of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The path, `/` between its parts; none of them is empty, `.` or `..`.
    pub path: String,
    /// What stands there.
    pub kind: EntryKind,
    /// Its size in bytes, as the source claims it.
    pub size_bytes: u64,
    /// The id of its blob, where the source knows it from the commit itself.
    pub blob: Option<String>,
}

/// Every path of a commit that can be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    /// Files, links and submodules, sorted by path; folders are in the paths.
    entries: Vec<Entry>,
    /// Entries left out because their names cannot be paths of a commit.
    pub unusable: u64,
}

impl Tree {
    /// Takes entries in any order; those with one path become one that is [`EntryKind::Ambiguous`].
    pub fn new(mut entries: Vec<Entry>, unusable: u64) -> Self {
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        entries.dedup_by(|later, first| {
            let same = later.path == first.path;
            if same {
                first.kind = EntryKind::Ambiguous;
            }
            same
        });
        Self { entries, unusable }
    }

    /// Returns the entries, sorted by path.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns where in [`Tree::entries`] a path is.
    pub fn position(&self, path: &str) -> Option<usize> {
        self.entries
            .binary_search_by(|entry| entry.path.as_str().cmp(path))
            .ok()
    }

    /// Returns the entry of a path.
    pub fn entry(&self, path: &str) -> Option<&Entry> {
        self.entries.get(self.position(path)?)
    }

    /// Returns whether a path is a folder of others.
    pub fn is_folder(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        let at = self.entries.partition_point(|entry| entry.path < folder);
        self.entries
            .get(at)
            .is_some_and(|entry| entry.path.starts_with(&folder))
    }
}

/// Longest path that is taken for one, in bytes.
pub const MAX_PATH_BYTES: usize = 1024;

/// Returns a name as a path of a commit; `None` if it cannot be one or would lead anywhere else.
pub fn as_path(name: &[u8]) -> Option<&str> {
    let path = std::str::from_utf8(name).ok()?;
    let parts = !path.is_empty() && !path.split('/').any(|part| matches!(part, "" | "." | ".."));
    (parts && path.len() <= MAX_PATH_BYTES && !path.contains('\0')).then_some(path)
}

/// Why something cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Nothing stands under the path.
    #[error("there is no entry of that path")]
    NotFound,
    /// The entry has more bytes than allowed.
    #[error("the entry is larger than {limit} bytes")]
    TooLarge {
        /// The bound in bytes.
        limit: u64,
    },
    /// The entry cannot be read, and no later try will fare better.
    #[error("the entry cannot be read: {reason}")]
    Unreadable {
        /// Why.
        reason: &'static str,
    },
    /// Nothing of the source can be read, and no later try will fare better.
    #[error("the source cannot be read: {reason}")]
    Unusable {
        /// Why.
        reason: String,
    },
    /// The source cannot be reached or failed.
    #[error("the source failed")]
    Unavailable {
        /// What broke.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The files of one commit.
#[async_trait]
pub trait Source: Send + Sync {
    /// Lists all paths. Read once, whatever is asked afterwards.
    async fn tree(&self) -> Result<Arc<Tree>, SourceError>;

    /// Returns all bytes of a file or a link, at most `limit_bytes`, else [`SourceError::TooLarge`];
    /// never more memory than that, whatever the entry claims.
    async fn read(&self, path: &str, limit_bytes: u64) -> Result<Vec<u8>, SourceError>;
}

#[async_trait]
impl<S: Source + ?Sized> Source for &S {
    async fn tree(&self) -> Result<Arc<Tree>, SourceError> {
        (**self).tree().await
    }

    async fn read(&self, path: &str, limit_bytes: u64) -> Result<Vec<u8>, SourceError> {
        (**self).read(path, limit_bytes).await
    }
}

/// Opens the files of the commit that a snapshot was taken of.
pub trait OpenSource: Send + Sync {
    /// Takes the commit's archive, if one was kept; `None` if there is nothing to read from. Nothing is
    /// read before something is asked for.
    fn open<'a>(&'a self, archive: Option<&StoredObject>) -> Option<Box<dyn Source + 'a>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str) -> Entry {
        Entry {
            path: path.to_owned(),
            kind: EntryKind::File,
            size_bytes: 1,
            blob: None,
        }
    }

    #[test]
    fn paths_that_lead_elsewhere_are_none() {
        let long = "a".repeat(MAX_PATH_BYTES + 1);
        for bad in [
            "",
            "/",
            "/etc/passwd",
            "../x",
            "a/../../x",
            "a//b",
            "./a",
            "a/.",
            "a/",
            "a\0b",
            &long,
        ] {
            assert_eq!(as_path(bad.as_bytes()), None, "{bad:?}");
        }
        assert_eq!(as_path(b"\xff"), None);
        for good in [
            "a",
            "a/b",
            ".github/x",
            "a..b",
            "...",
            "a\\b",
            "a\nb",
            "C:/x",
        ] {
            assert_eq!(as_path(good.as_bytes()), Some(good));
        }
    }

    #[test]
    fn a_tree_finds_paths_and_folders_and_believes_no_path_twice() {
        let tree = Tree::new(["b/c", "a", "b", "b.c", "b/c"].map(entry).into(), 2);
        let paths: Vec<&str> = tree.entries().iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, ["a", "b", "b.c", "b/c"]);
        assert_eq!(tree.entry("b/c").unwrap().kind, EntryKind::Ambiguous);
        assert_eq!(tree.entry("b").unwrap().kind, EntryKind::File);
        assert_eq!(tree.entry("b/"), None);
        assert!(tree.is_folder("b") && !tree.is_folder("a") && !tree.is_folder("b.c"));
    }
}
