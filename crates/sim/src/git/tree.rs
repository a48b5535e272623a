//! Trees and the paths in them.

use super::GitDir;
use super::cat::Object;
use super::command::GitError;

/// One entry of a tree object.
pub(crate) struct TreeEntry {
    pub(crate) mode: String,
    pub(crate) name: Vec<u8>,
    pub(crate) oid: String,
}

impl TreeEntry {
    pub(crate) fn kind(&self) -> &'static str {
        match self.mode.as_str() {
            "40000" => "tree",
            "160000" => "commit",
            _ => "blob",
        }
    }
}

/// Reads a tree object: `<mode> <name>\0<oid bytes>` again and again.
pub(crate) fn tree_entries(tree: &Object) -> Vec<TreeEntry> {
    let oid_bytes = tree.oid.len() / 2;
    let mut rest = tree.bytes.as_slice();
    let mut entries = Vec::new();
    while let Some(space) = rest.iter().position(|&b| b == b' ') {
        let (mode, after) = rest.split_at(space);
        let Some(end) = after.iter().position(|&b| b == 0) else {
            break;
        };
        let name = after.get(1..end).unwrap_or_default().to_vec();
        let (Some(oid), Some(next)) = (
            after.get(end.saturating_add(1)..end.saturating_add(1).saturating_add(oid_bytes)),
            after.get(end.saturating_add(1).saturating_add(oid_bytes)..),
        ) else {
            break;
        };
        entries.push(TreeEntry {
            mode: String::from_utf8_lossy(mode).into_owned(),
            name,
            oid: hex::encode(oid),
        });
        rest = next;
    }
    entries
}

/// Finds a path in a commit: its mode and object.
pub(crate) fn find(
    git: &GitDir,
    commit: &str,
    path: &[u8],
) -> Result<Option<(String, Object)>, GitError> {
    let Some(mut tree) = git.object(&format!("{commit}^{{tree}}"))? else {
        return Ok(None);
    };
    if path.is_empty() {
        return Ok(Some(("40000".to_owned(), tree)));
    }
    let segments: Vec<&[u8]> = path.split(|&b| b == b'/').collect();
    for (index, segment) in segments.iter().enumerate() {
        let entry = tree_entries(&tree)
            .into_iter()
            .find(|entry| entry.name == *segment);
        let Some(entry) = entry else { return Ok(None) };
        let last = index.saturating_add(1) == segments.len();
        if entry.mode == "160000" {
            let object = Object {
                oid: entry.oid,
                kind: "commit".to_owned(),
                size: 0,
                bytes: Vec::new(),
            };
            return Ok(last.then_some((entry.mode, object)));
        }
        let Some(object) = git.object(&entry.oid)? else {
            return Ok(None);
        };
        if last {
            return Ok(Some((entry.mode, object)));
        }
        if entry.mode != "40000" {
            return Ok(None);
        }
        tree = object;
    }
    Ok(None)
}
