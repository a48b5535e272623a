//! Names of objects that work on every store.

use mirilla_ports::ArtifactError;

use super::unavailable;

/// The longest key; S3 takes 1,024 bytes, a directory fewer.
const MAX_KEY_BYTES: usize = 400;
/// The longest part.
const MAX_PART_BYTES: usize = 200;

/// A key that not every store can hold.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is no key: 1 to 400 characters, parts of letters, digits, `-`, `_` and `.` that do not \
     begin with a dot, separated by single `/`"
)]
struct BadKey(String);

/// Checks the name of one object.
pub(crate) fn check_key(key: &str) -> Result<(), ArtifactError> {
    if key.len() <= MAX_KEY_BYTES && key.split('/').all(is_part) {
        Ok(())
    } else {
        Err(refused(key))
    }
}

/// Checks the beginning of names; the empty one means all of them.
pub(crate) fn check_prefix(prefix: &str) -> Result<(), ArtifactError> {
    let (directory, rest) = prefix
        .rsplit_once('/')
        .map_or((None, prefix), |(directory, rest)| (Some(directory), rest));
    let valid = prefix.len() <= MAX_KEY_BYTES
        && directory.is_none_or(|it| it.split('/').all(is_part))
        && (rest.is_empty() || is_part(rest));
    if valid { Ok(()) } else { Err(refused(prefix)) }
}

/// Returns the error for a key that is none.
pub(super) fn refused(key: &str) -> ArtifactError {
    let shown: String = key
        .chars()
        .take(80)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    unavailable(&shown, BadKey(shown.clone()).into())
}

fn is_part(part: &str) -> bool {
    !part.is_empty()
        && part.len() <= MAX_PART_BYTES
        && !part.starts_with('.')
        && part
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_another_store_could_not_hold_are_refused() {
        let long = "a".repeat(201);
        for bad in [
            "", "/", "/a", "..", "a/../b", "a/./b", "a//b", "a/", ".tmp/x", "a\\b", "a b", "a\0b",
            "ä", &long,
        ] {
            assert!(check_key(bad).is_err(), "{bad:?}");
        }
        for good in ["a", "snapshots/0f/diff.patch", "findings/a/1.json", "a..b"] {
            assert!(check_key(good).is_ok(), "{good:?}");
        }
    }

    #[test]
    fn prefixes_end_anywhere_but_stay_plain() {
        for bad in ["/", "../", "a//", "a/..", "./a", "a/./"] {
            assert!(check_prefix(bad).is_err(), "{bad:?}");
        }
        for good in ["", "a", "a/", "snapshots/ab"] {
            assert!(check_prefix(good).is_ok(), "{good:?}");
        }
    }
}
