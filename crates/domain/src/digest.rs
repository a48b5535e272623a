//! What identifies the change of one file, so that "read" and "judged" can be proved the same.
//!
//! The reviewer writes the digest of what it read into the coverage; the poster computes it again
//! from its own diff. It covers paths, kind of change, modes and hunk bodies. Line numbers, section
//! headings and the `index` line are left out: they change with text elsewhere in the file, or with
//! the way the diff was fetched, while the change stays the same.
//!
//! **Invariant:** reviewer and poster name files and digest them with [`changes`] and nothing else.

use std::collections::BTreeMap;

use mirilla_diff::FileDiff;

use crate::ids::{Sha256Hex, sha256};
use crate::snapshot::MissingFile;

/// One changed file of a diff: what one line of the coverage is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its name in coverage and findings; see [`name`].
    pub path: String,
    /// What identifies the change.
    pub digest: Sha256Hex,
    /// The entries of the diff that are about it, as indices: two for a type change, none for a file
    /// whose changes the forge did not give.
    pub entries: Vec<usize>,
}

/// Lists the changed files of a diff, each once, in the order of the diff; files whose changes the
/// forge did not give come last.
pub fn changes(files: &[FileDiff<'_>], missing: &[MissingFile]) -> Vec<Change> {
    let mut order: Vec<String> = Vec::new();
    let mut entries: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, file) in files.iter().enumerate() {
        let path = name(file);
        let of_path = entries.entry(path.clone()).or_default();
        if of_path.is_empty() {
            order.push(path);
        }
        of_path.push(index);
    }
    for file in missing {
        if entries.insert(file.path.clone(), Vec::new()).is_none() {
            order.push(file.path.clone());
        } else {
            // The entry of the diff, if any, is a header without its changes.
            order.retain(|path| *path != file.path);
            order.push(file.path.clone());
        }
    }
    order
        .into_iter()
        .map(|path| {
            let entries = entries.remove(&path).unwrap_or_default();
            let digest = digest_of(&path, entries.iter().filter_map(|at| files.get(*at)));
            Change {
                path,
                digest,
                entries,
            }
        })
        .collect()
}

/// Returns the name of a file in coverage and findings: its path on the new side, or on the old side
/// if it is gone.
///
/// A path that is not UTF-8 gets its odd bytes spelled as `\xe9`, so that two such files keep two names.
pub fn name(file: &FileDiff<'_>) -> String {
    if let Some(path) = file.path_str() {
        return path.to_owned();
    }
    let mut out = String::new();
    for part in file.path().utf8_chunks() {
        out.push_str(part.valid());
        for byte in part.invalid() {
            out.push_str("\\x");
            out.push_str(&hex::encode([*byte]));
        }
    }
    out
}

/// Returns the digest of one entry of a diff.
pub fn patch_digest(file: &FileDiff<'_>) -> Sha256Hex {
    let old = file.old_path.as_deref();
    let new = file.new_path.as_deref();
    let modes = if file.old_mode == file.new_mode {
        String::new()
    } else {
        let octal = |mode: Option<u32>| mode.map_or_else(String::new, |mode| format!("{mode:o}"));
        format!("{}:{}", octal(file.old_mode), octal(file.new_mode))
    };
    let flags = [
        u8::from(old.is_some()),
        u8::from(new.is_some()),
        u8::from(file.binary),
        u8::from(file.submodule),
    ];
    let mut fields: Vec<&[u8]> = vec![
        b"mirilla.patch.v1",
        &flags,
        old.unwrap_or_default(),
        new.unwrap_or_default(),
        file.status.as_str().as_bytes(),
        modes.as_bytes(),
        file.incomplete.map_or("", |why| why.as_str()).as_bytes(),
    ];
    fields.extend(file.hunks.iter().map(|hunk| hunk.body));
    parse(&crate::ids::hash_fields(&fields))
}

fn digest_of<'f, 'd: 'f>(path: &str, files: impl Iterator<Item = &'f FileDiff<'d>>) -> Sha256Hex {
    let mut digests: Vec<Sha256Hex> = files.map(patch_digest).collect();
    match (digests.pop(), digests.is_empty()) {
        (Some(only), true) => only,
        (Some(last), false) => {
            digests.push(last);
            let mut fields: Vec<&[u8]> = vec![b"mirilla.patches.v1"];
            fields.extend(digests.iter().map(|digest| digest.as_str().as_bytes()));
            parse(&crate::ids::hash_fields(&fields))
        }
        (None, _) => parse(&crate::ids::hash_fields(&[
            b"mirilla.patch-missing.v1",
            path.as_bytes(),
        ])),
    }
}

fn parse(hash: &str) -> Sha256Hex {
    // `hash_fields` returns 64 hex digits; hashing them again keeps this total without a panic.
    Sha256Hex::parse(hash).unwrap_or_else(|_| sha256(hash.as_bytes()))
}
