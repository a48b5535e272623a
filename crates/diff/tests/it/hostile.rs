//! Bytes that are no diff, and diffs that somebody bent: nothing panics, nothing is claimed that is not
//! there.

use mirilla_diff::{FileStatus, SectionReader, parse_patch, summary};
use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
};

use crate::{
    golden::fixtures,
    support::{assert_file_invariants, parse_checked},
};

/// Pieces of diffs, whole lines and halves of lines.
const PIECES: [&[u8]; 44] = [
    b"diff --git a/x b/x\n",
    b"diff --git a/x b/y\n",
    b"diff --git \"a/\\303\" \"b/\\303\"\n",
    b"diff --git ",
    b"diff --cc x\n",
    b"diff --combined x\n",
    b"index 1..2 100644\n",
    b"index 0000000..e69de29\n",
    b"new file mode 100644\n",
    b"deleted file mode 100644\n",
    b"old mode 100644\n",
    b"new mode 100755\n",
    b"similarity index 90%\n",
    b"rename from x\n",
    b"rename to y\n",
    b"copy from \"x\n",
    b"copy to \n",
    b"--- a/x\n",
    b"+++ b/x\n",
    b"--- /dev/null\n",
    b"+++ /dev/null\n",
    b"--- \n",
    b"+++ \"\\777\"\n",
    b"@@ -1 +1 @@\n",
    b"@@ -0,0 +1,3 @@ fn\n",
    b"@@ -3,2 +4,2 @@\n",
    b"@@ -4294967290,5 +4294967290,5 @@\n",
    b"@@ -9999999999 +1 @@\n",
    b"@@@ -1 -1 +1 @@@\n",
    b"@@",
    b" context\n",
    b"+added\n",
    b"-deleted\n",
    b"\\ No newline at end of file\n",
    b"\n",
    b"\r\n",
    b"\r",
    b"-- \n",
    b"Binary files a/x and b/x differ\n",
    b"GIT binary patch\n",
    b"literal 3\nKcmZQz\n\n",
    b"Submodule sub 1..2:\n",
    b"* Unmerged path x\n",
    b"Index: x\n",
];

/// Parses in every way there is; the invariants hold in each.
fn parse_every_way(input: &[u8]) {
    let parsed = parse_checked(input);
    let total = summary::of_bytes(input);
    assert_eq!(total.files, parsed.files.len());
    assert_eq!(total.problems, parsed.problems.len());
    for max in [usize::MAX, 64, 1] {
        let mut kept = 0;
        for section in SectionReader::with_max(input, max) {
            let section = section.unwrap();
            assert!(section.bytes.len() <= max);
            kept += section.bytes.len();
            let alone = section.parse();
            alone.files.iter().for_each(assert_file_invariants);
            if section.cut {
                assert!(!alone.is_complete(), "a cut is never silent");
            }
        }
        assert!(kept <= input.len());
        assert!(max != usize::MAX || kept == input.len(), "no byte is lost");
    }
    for status in [FileStatus::Modified, FileStatus::Added] {
        let (file, problems) = parse_patch(Some(b"old"), Some(b"new"), status, input);
        assert_file_invariants(&file);
        assert_eq!(problems.is_empty(), file.incomplete.is_none());
    }
}

fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let originals: Vec<_> = fixtures().into_iter().map(|(_, bytes)| bytes).collect();
    let one = (
        0..6_u8,
        any::<Index>(),
        any::<Index>(),
        any::<u8>(),
        select(&PIECES[..]),
    );
    (select(originals), vec(one, 1..8)).prop_map(|(mut bytes, mutations)| {
        for (kind, at, to, byte, piece) in mutations {
            if bytes.is_empty() {
                return bytes;
            }
            let (from, until) = (at.index(bytes.len()), to.index(bytes.len()));
            let (from, until) = (from.min(until), from.max(until));
            match kind {
                0 => bytes[from] = byte,
                1 => drop(bytes.drain(from..until)),
                2 => drop(bytes.splice(from..from, piece.iter().copied())),
                3 => bytes.truncate(until),
                4 => bytes.swap(from, until),
                _ => {
                    let copy = bytes[from..until].to_vec();
                    bytes.splice(from..from, copy);
                }
            }
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..400)) {
        parse_every_way(&bytes);
    }

    #[test]
    fn pieces_of_diffs_in_any_order_never_panic(pieces in vec(select(&PIECES[..]), 0..40)) {
        parse_every_way(&pieces.concat());
    }

    #[test]
    fn bent_diffs_never_panic(bytes in mutated()) {
        parse_every_way(&bytes);
    }
}

#[test]
fn a_hunk_of_the_previous_file_is_never_given_to_the_next() {
    let parsed = parse_checked(
        b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n one\n\
          diff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n",
    );
    let read: Vec<_> = parsed
        .files
        .iter()
        .map(|file| (file.path(), file.added.len(), file.incomplete.is_some()))
        .collect();
    assert_eq!(read, [(&b"x"[..], 0, true), (b"y", 1, false)]);
}

#[test]
fn surplus_lines_cannot_pose_as_another_file() {
    let parsed = parse_checked(
        b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n+surplus\n\
          --- a/evil\n+++ b/evil\n@@ -5 +5 @@\n-c\n+d\n",
    );
    assert_eq!(parsed.files.len(), 1);
    assert_eq!(parsed.files[0].added.lines().collect::<Vec<_>>(), [1]);
    assert!(parsed.files[0].incomplete.is_some());
}

#[test]
fn hunks_after_a_short_one_are_read_and_the_file_is_flagged() {
    let parsed = parse_checked(
        b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n+c\n\
          @@ -9 +9 @@\n-d\n+e\n",
    );
    assert_eq!(parsed.files[0].added.lines().collect::<Vec<_>>(), [2, 9]);
    assert!(parsed.files[0].incomplete.is_some());
    assert_eq!(parsed.problems.len(), 1);
}

#[test]
fn overlapping_hunks_are_left_out() {
    let parsed = parse_checked(
        b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -5,2 +5,2 @@\n a\n-b\n+c\n\
          @@ -6 +6 @@\n-d\n+e\n@@ -9 +9 @@\n-f\n+g\n",
    );
    assert_eq!(parsed.files[0].added.lines().collect::<Vec<_>>(), [6, 9]);
    assert_eq!(parsed.files[0].hunks.len(), 2);
    assert!(!parsed.is_complete());
}

#[test]
fn a_hundred_thousand_malformed_headers_are_one_problem() {
    let mut input = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n".to_vec();
    input.extend(b"@@ -0,0 +0,0 @@\n".repeat(100_000));
    let parsed = mirilla_diff::parse(&input);
    assert_eq!(parsed.problems.len(), 1);
    assert!(parsed.files[0].incomplete.is_some());
}
