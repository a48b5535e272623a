//! Which file of the diff a model means by a path.

use std::collections::{BTreeMap, BTreeSet};

use mirilla_diff::FileDiff;

use crate::digest;
use crate::prompt::show_path;

/// The names of a diff's files, and the spellings that can only mean one of them.
#[derive(Debug, Clone, Default)]
pub struct Names {
    names: BTreeSet<String>,
    /// Spelling to name; `None` if it could be several.
    spellings: BTreeMap<String, Option<String>>,
}

impl Names {
    /// Collects the names of a diff.
    pub fn of(files: &[FileDiff<'_>]) -> Self {
        let mut known = Self {
            names: files.iter().map(digest::name).collect(),
            spellings: BTreeMap::new(),
        };
        for file in files {
            let name = digest::name(file);
            let shown = show_path(&name);
            let bare = shown.trim_matches('"').to_owned();
            for spelling in [shown, bare] {
                known.add(spelling, &name);
            }
            // The old name of what was moved, unless another file has it now.
            let old = file
                .old_path
                .as_deref()
                .and_then(|old| std::str::from_utf8(old).ok());
            if let Some(old) = old.filter(|old| *old != name && !known.names.contains(*old)) {
                known.add(old.to_owned(), &name);
            }
        }
        known
    }

    fn add(&mut self, spelling: String, name: &str) {
        self.spellings
            .entry(spelling)
            .and_modify(|known| {
                if known.as_deref() != Some(name) {
                    *known = None;
                }
            })
            .or_insert_with(|| Some(name.to_owned()));
    }

    /// Returns the file that a path means; `None` if there is none, or if it could be several.
    ///
    /// Tolerates blanks around it, `a/` and `b/`, `./`, a leading `/`, backslashes, a line number after
    /// it, the form in which the prompt prints it, and the old name of a moved file. Capitals and parts
    /// of a path are never guessed, and `..` is never followed.
    pub fn resolve(&self, path: &str) -> Option<&str> {
        if let Some(exact) = self.exact(path) {
            return Some(exact);
        }
        let path = path.trim();
        if path.split(['/', '\\']).any(|part| part == "..") {
            return None;
        }
        let slashes = path.replace('\\', "/");
        let mut variants = vec![path, slashes.as_str()];
        for variant in variants.clone() {
            if let Some((before, digits)) = variant.rsplit_once(':') {
                if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
                    variants.push(before);
                }
            }
        }
        let mut meant = BTreeSet::new();
        for variant in variants {
            for prefix in ["", "/", "./", "a/", "b/"] {
                if let Some(rest) = variant.strip_prefix(prefix) {
                    meant.extend(self.exact(rest));
                }
            }
        }
        let only = meant.pop_first()?;
        meant.is_empty().then_some(only)
    }

    fn exact(&self, path: &str) -> Option<&str> {
        self.names
            .get(path)
            .map(String::as_str)
            .or_else(|| self.spellings.get(path)?.as_deref())
    }
}
