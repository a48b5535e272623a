//! Whether bytes are what a diff says that the commit holds.

use mirilla_diff::{FileDiff, FileStatus, Side};
use sha1::{Digest as _, Sha1};
use sha2::Sha256;

/// Fewest digits of an abbreviated id that are believed.
const MIN_DIGITS: usize = 7;

/// What a diff says about bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fidelity {
    /// They are the file's: its id agrees, and so do all lines that the diff shows.
    Same,
    /// They are not.
    Differs,
    /// The diff does not say which bytes the file has.
    Unknown,
}

/// Compares bytes with the new side of a changed file: with the id in the diff's `index` line and, since
/// that may be abbreviated to digits that can be forged, with every line that the diff shows.
///
/// A renamed file or one with a new mode alone has no such line, and is the file that it was.
pub fn fidelity(bytes: &[u8], file: &FileDiff<'_>) -> Fidelity {
    let Some(id) = file.new_oid.filter(|id| id.len() >= MIN_DIGITS) else {
        let moved = matches!(
            file.status,
            FileStatus::Renamed | FileStatus::Copied | FileStatus::ModeChanged
        );
        let untouched = moved
            && file.new_oid.is_none()
            && file.hunks.is_empty()
            && !file.binary
            && file.incomplete.is_none();
        return if untouched {
            Fidelity::Same
        } else {
            Fidelity::Unknown
        };
    };
    if has_id(bytes, id) && shows(file, bytes) {
        Fidelity::Same
    } else {
        Fidelity::Differs
    }
}

/// Returns whether a blob's id begins with these digits, in a repository of either kind of id
/// (<https://git-scm.com/docs/hash-function-transition>).
fn has_id(bytes: &[u8], digits: &str) -> bool {
    let header = format!("blob {}\0", bytes.len());
    let sha1 = Sha1::new().chain_update(&header).chain_update(bytes);
    let sha256 = Sha256::new().chain_update(&header).chain_update(bytes);
    let digits = digits.to_ascii_lowercase();
    hex::encode(sha1.finalize()).starts_with(&digits)
        || hex::encode(sha256.finalize()).starts_with(&digits)
}

/// Returns whether a text has every line of the new side of a diff at its place.
fn shows(file: &FileDiff<'_>, bytes: &[u8]) -> bool {
    let mut lines = (1_u32..).zip(bytes.split(|byte| *byte == b'\n'));
    file.lines()
        .filter_map(|line| Some((line.number(Side::Right)?, line.text)))
        .all(|(number, text)| {
            lines
                .find(|(at, _)| *at >= number)
                .is_some_and(|(at, found)| at == number && found == text)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/a b/a\nindex 1269488..0e7a9b0 100644\n--- a/a\n+++ b/a\n@@ -1 +1,2 @@\n data\n+more\n";

    fn of(diff: &str, bytes: &[u8]) -> Fidelity {
        fidelity(bytes, &mirilla_diff::parse(diff.as_bytes()).files[0])
    }

    #[test]
    fn ids_are_those_that_git_gives() {
        // `printf hello | git hash-object --stdin`, in a repository of each kind.
        assert!(has_id(b"hello", "b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0"));
        assert!(has_id(b"hello", "B6FC4C6"));
        assert!(has_id(b"", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"));
        assert!(has_id(
            b"",
            "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
        ));
        assert!(!has_id(b"hello\n", "b6fc4c6"));
    }

    #[test]
    fn bytes_are_believed_only_if_id_and_lines_agree() {
        let id = |bytes: &[u8]| {
            let header = format!("blob {}\0", bytes.len());
            hex::encode(
                Sha1::new()
                    .chain_update(header)
                    .chain_update(bytes)
                    .finalize(),
            )
        };
        let with = |id: &str| DIFF.replace("0e7a9b0", id);
        let short = |bytes: &[u8]| id(bytes).chars().take(7).collect::<String>();
        let (right, forged) = (&b"data\nmore\n"[..], &b"data\nless\n"[..]);
        assert_eq!(of(&with(&id(right)), right), Fidelity::Same);
        assert_eq!(of(&with(&short(right)), right), Fidelity::Same);
        assert_eq!(of(&with(&id(right)), forged), Fidelity::Differs);
        // A forger who finds the abbreviated id still has to show the diff's own lines.
        assert_eq!(of(&with(&short(forged)), forged), Fidelity::Differs);
        assert_eq!(of(&with(&id(b"data")), b"data"), Fidelity::Differs);
        assert_eq!(of(&with("0e7a"), right), Fidelity::Unknown);
        assert_eq!(
            of(&DIFF.replace("index 1269488..0e7a9b0 100644\n", ""), right),
            Fidelity::Unknown
        );
    }

    #[test]
    fn a_file_that_only_moved_is_the_file_that_it_was() {
        let moved = "diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n";
        assert_eq!(of(moved, b"anything"), Fidelity::Same);
        let mode = "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n";
        assert_eq!(of(mode, b"anything"), Fidelity::Same);
    }
}
