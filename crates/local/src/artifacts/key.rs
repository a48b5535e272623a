//! Names that every file system can hold and that cannot leave a directory.

use crate::LocalError;

/// The longest key. File systems take 255 bytes a part and 4,096 a path.
const MAX_KEY_BYTES: usize = 400;
/// The longest part.
const MAX_PART_BYTES: usize = 200;

/// The name of one object.
#[derive(Debug, Clone)]
pub(super) struct Key(String);

impl Key {
    pub(super) fn parse(key: &str) -> Result<Self, LocalError> {
        if key.len() <= MAX_KEY_BYTES && key.split('/').all(is_part) {
            Ok(Self(key.to_owned()))
        } else {
            Err(refused(key))
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the directory's parts and the file's name.
    pub(super) fn split(&self) -> (Vec<&str>, &str) {
        match self.0.rsplit_once('/') {
            Some((directory, name)) => (directory.split('/').collect(), name),
            None => (Vec::new(), &self.0),
        }
    }
}

/// The beginning of names: a directory, and how the names in it begin.
#[derive(Debug, Clone)]
pub(super) struct Prefix {
    text: String,
    directory: Vec<String>,
}

impl Prefix {
    /// Parses a prefix; the empty one means everything.
    pub(super) fn parse(prefix: &str) -> Result<Self, LocalError> {
        let (directory, rest) = match prefix.rsplit_once('/') {
            Some((directory, rest)) => (directory.split('/').collect(), rest),
            None => (Vec::new(), prefix),
        };
        let valid = prefix.len() <= MAX_KEY_BYTES
            && directory.iter().copied().all(is_part)
            && (rest.is_empty() || is_part(rest));
        if !valid {
            return Err(refused(prefix));
        }
        Ok(Self {
            text: prefix.to_owned(),
            directory: directory.into_iter().map(str::to_owned).collect(),
        })
    }

    /// Parses a prefix that is not empty: nobody means to delete everything.
    pub(super) fn parse_some(prefix: &str) -> Result<Self, LocalError> {
        if prefix.is_empty() {
            return Err(refused(prefix));
        }
        Self::parse(prefix)
    }

    /// Returns the directory below which all matches are.
    pub(super) fn directory(&self) -> &[String] {
        &self.directory
    }

    /// Returns whether a key begins like this.
    pub(super) fn matches(&self, key: &str) -> bool {
        key.starts_with(&self.text)
    }

    /// Returns whether keys in a directory can begin like this; `directory` ends with `/`.
    pub(super) fn reaches(&self, directory: &str) -> bool {
        directory.starts_with(&self.text) || self.text.starts_with(directory)
    }
}

/// Returns whether a text may be one part of a key. A part cannot begin with a dot, which keeps
/// `.`, `..` and the store's own files out.
pub(super) fn is_part(part: &str) -> bool {
    !part.is_empty()
        && part.len() <= MAX_PART_BYTES
        && !part.starts_with('.')
        && part
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

fn refused(key: &str) -> LocalError {
    LocalError::Key {
        key: key
            .chars()
            .take(80)
            .map(|c| if c.is_control() { '\u{fffd}' } else { c })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_could_leave_the_directory_are_refused() {
        let long = "a".repeat(201);
        for bad in [
            "",
            "/",
            "/etc/passwd",
            "..",
            "a/../b",
            "a/./b",
            "a//b",
            "a/",
            ".tmp/x",
            "a/.hidden",
            "a\\b",
            "a b",
            "a\0b",
            "a\nb",
            "ä",
            "C:x",
            &long,
        ] {
            assert!(Key::parse(bad).is_err(), "{bad:?}");
        }
        for good in [
            "a",
            "snapshots/0f/diff.patch",
            "findings/a/1.json",
            "a..b",
            "A-Z_9",
        ] {
            assert_eq!(Key::parse(good).unwrap().as_str(), good);
        }
    }

    #[test]
    fn prefixes_end_anywhere_but_stay_inside() {
        for bad in ["/", "../", "a//", "a/..", "./a", "a/./"] {
            assert!(Prefix::parse(bad).is_err(), "{bad:?}");
        }
        assert!(Prefix::parse("").is_ok() && Prefix::parse_some("").is_err());
        let prefix = Prefix::parse("snapshots/ab").unwrap();
        assert!(prefix.matches("snapshots/abc/meta.json") && !prefix.matches("snapshots/b"));
        assert!(prefix.reaches("snapshots/") && prefix.reaches("snapshots/abc/"));
        assert!(!prefix.reaches("snapshots/b/") && !prefix.reaches("work/"));
    }
}
