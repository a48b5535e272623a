//! Where a comment may go: every place is one that the forge accepts.

use mirilla_domain::anchor::{Anchor, FileLines, LineKind, LineSpot, OffDiff, Wanted, place};
use mirilla_domain::review::Side;
use proptest::prelude::*;

use crate::bench::MAIN_GO;

fn lines(diff: &str) -> FileLines {
    let parsed = mirilla_diff::parse(diff.as_bytes());
    FileLines::of(&parsed.files[0]).unwrap()
}

fn wanted(line: u32, end_line: Option<u32>) -> Wanted<'static> {
    Wanted {
        side: Side::Right,
        line,
        end_line,
        quote: None,
    }
}

fn left(line: u32, end_line: Option<u32>) -> Wanted<'static> {
    Wanted {
        side: Side::Left,
        ..wanted(line, end_line)
    }
}

/// `31`, `3-6`, `L51-52`, or why not.
fn placed(file: &FileLines, wanted: &Wanted<'_>) -> String {
    match place(file, wanted) {
        Ok(anchor) => {
            let side = if anchor.side == Side::Left { "L" } else { "" };
            match anchor.start_line {
                Some(start) => format!("{side}{start}-{}", anchor.line),
                None => format!("{side}{}", anchor.line),
            }
        }
        Err(OffDiff::NoLine) => "no line".to_owned(),
        Err(OffDiff::OutsideDiff) => "outside".to_owned(),
        Err(other) => format!("{other:?}"),
    }
}

#[test]
fn lines_and_ranges_land_on_changed_lines_of_one_hunk() {
    // Added: 5, 31. Deleted: 5, 51, 52. Hunks on the right: 2-8, 28-34, 49-54.
    let file = lines(MAIN_GO);
    let table = [
        (wanted(5, None), "5", "an added line"),
        (wanted(5, Some(5)), "5", "a range of one line has no start"),
        (wanted(3, Some(6)), "3-6", "a range around an added line"),
        (wanted(6, Some(3)), "3-6", "reversed"),
        (wanted(1, Some(20)), "2-8", "cut to the hunk"),
        (
            wanted(6, Some(33)),
            "28-33",
            "the hunk with an added line in the range",
        ),
        (wanted(1, Some(99)), "2-8", "the first hunk that has one"),
        (wanted(2, None), "5", "context, three above"),
        (wanted(8, None), "5", "context, three below"),
        (wanted(6, Some(8)), "5", "a range of context, one below"),
        (wanted(28, None), "31", "three above in another hunk"),
        (wanted(9, None), "outside", "one past the hunk"),
        (wanted(20, None), "outside", "between hunks"),
        (wanted(50, None), "outside", "a hunk that adds nothing"),
        (wanted(0, None), "no line", "zero"),
        (wanted(0, Some(5)), "no line", "half a range"),
        (wanted(u32::MAX, None), "outside", "huge"),
        (
            wanted(u32::MAX - 1, Some(u32::MAX)),
            "outside",
            "a huge range",
        ),
        (left(51, None), "L51", "a deleted line"),
        (
            left(50, Some(53)),
            "L51-52",
            "the ends of a range on the left are deleted lines",
        ),
        (left(53, None), "L52", "context beside deleted lines"),
        (left(5, Some(52)), "L5", "one hunk only"),
        (left(20, None), "outside", "between hunks on the left"),
    ];
    for (wanted, expected, what) in table {
        assert_eq!(placed(&file, &wanted), expected, "{what}");
    }
}

#[test]
fn quotes_outweigh_line_numbers() {
    let diff = "\
diff --git a/q.rs b/q.rs
index 1..2 100644
--- a/q.rs
+++ b/q.rs
@@ -1,6 +1,11 @@
 fn a() {
+    let total = compute(price, amount);
+    save(total);
 }
-    let removed_call = legacy_total(price);
+
+    let total = compute(price, amount);
+    save(total);
+    let padding = \"a line that goes on and on and is shortened by the model\";
 fn b() {}
 fn c() {}
 fn d() {}
";
    let file = lines(diff);
    let quoting = |line: u32, quote: &'static str| Wanted {
        quote: Some(quote),
        ..wanted(line, None)
    };
    let table = [
        (quoting(3, "save(total);"), "3", "the named copy"),
        (quoting(9, "save(total);"), "7", "the nearest copy"),
        (quoting(5, "save(total);"), "3", "a tie goes to the lower"),
        (
            quoting(2, "save(total);"),
            "3",
            "moved although the named line is added too",
        ),
        (
            quoting(8, "let total = compute(price, amount);\nsave(total);"),
            "6-7",
            "several lines",
        ),
        (
            quoting(
                1,
                "+    let total = compute(price, amount);\n+    save(total);",
            ),
            "2-3",
            "with the diff's prefix",
        ),
        (
            quoting(0, "let padding = \"a line that goes on"),
            "8",
            "a piece, unique, no line",
        ),
        (quoting(0, "save(total);"), "no line", "several and no line"),
        (
            quoting(11, "fn d() {}"),
            "8",
            "a quote of an unchanged line does not move it there",
        ),
        (
            quoting(4, "let removed_call = legacy_total(price);"),
            "L3",
            "a deleted line",
        ),
        (
            quoting(3, "let removed_call = legacy_total(price);"),
            "3",
            "the named line is added, so the deleted one is not meant",
        ),
        (
            quoting(3, "no such text"),
            "3",
            "a wrong quote changes nothing",
        ),
        (quoting(3, "  \n \n"), "3", "an empty quote changes nothing"),
        (
            quoting(9, "\t save(total);\r"),
            "7",
            "white space does not matter",
        ),
    ];
    for (wanted, expected, what) in table {
        assert_eq!(placed(&file, &wanted), expected, "{what}");
    }
    let range = Wanted {
        quote: Some("save(total);"),
        ..wanted(2, Some(3))
    };
    assert_eq!(
        placed(&file, &range),
        "2-3",
        "the quote stands inside the range"
    );
}

#[test]
fn deleted_file_is_commented_on_the_left() {
    let file = lines(
        "diff --git a/gone.rs b/gone.rs\ndeleted file mode 100644\nindex 1..0\n--- a/gone.rs\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n",
    );
    assert_eq!(placed(&file, &wanted(2, None)), "L2");
    assert_eq!(file.path, "gone.rs");
}

#[test]
fn unchanged_end_of_a_range_knows_its_old_number() {
    let anchor = place(&lines(MAIN_GO), &wanted(29, Some(32))).unwrap();
    assert_eq!(
        anchor,
        Anchor {
            side: Side::Right,
            line: 32,
            start_line: Some(29),
            other_line: Some(31),
        }
    );
}

#[test]
fn line_carries_how_far_both_sides_have_come() {
    use LineKind::{Added, Deleted, Unchanged};
    let renamed = lines(
        "\
diff --git a/pkg/old_name.go b/pkg/new_name.go
similarity index 90%
rename from pkg/old_name.go
rename to pkg/new_name.go
index 1..2 100644
--- a/pkg/old_name.go
+++ b/pkg/new_name.go
@@ -8,5 +8,6 @@
 line 8
 line 9
-line 10
+line 10 changed
+brand new
 line 11
 line 12
",
    );
    let fresh = lines(
        "diff --git a/fresh.go b/fresh.go\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/fresh.go\n@@ -0,0 +1,2 @@\n+one\n+two\n",
    );
    for (file, side, line, want) in [
        (&renamed, Side::Right, 9, Some((9, 9, Unchanged))),
        (&renamed, Side::Left, 10, Some((10, 10, Deleted))),
        (&renamed, Side::Right, 10, Some((11, 10, Added))),
        (&renamed, Side::Right, 11, Some((11, 11, Added))),
        (&renamed, Side::Right, 13, Some((12, 13, Unchanged))),
        (&renamed, Side::Left, 12, Some((12, 13, Unchanged))),
        (&renamed, Side::Right, 14, None),
        (&fresh, Side::Right, 2, Some((0, 2, Added))),
    ] {
        let spot = want.map(|(old, new, kind)| LineSpot { old, new, kind });
        assert_eq!(file.spot(side, line), spot, "{side:?} {line}");
    }
    let two = place(&renamed, &wanted(10, Some(11))).unwrap();
    let range = renamed.range(&two).unwrap();
    assert_eq!((range.first.old, range.first.new), (11, 10));
    assert_eq!((range.last.old, range.last.new), (11, 11));
    let one = place(&renamed, &wanted(11, None)).unwrap();
    assert_eq!(renamed.range(&one), None, "one line is no range");
}

#[test]
fn file_without_lines_has_no_place() {
    let binary = lines(
        "diff --git a/x.png b/x.png\nindex 1..2 100644\nBinary files a/x.png and b/x.png differ\n",
    );
    assert_eq!(placed(&binary, &wanted(1, None)), "outside");
    let not_utf8 = mirilla_diff::parse(b"diff --git \"a/\\377.txt\" \"b/\\377.txt\"\nindex 1..2 100644\n--- \"a/\\377.txt\"\n+++ \"b/\\377.txt\"\n@@ -1 +1 @@\n-a\n+b\n");
    assert_eq!(
        FileLines::of(&not_utf8.files[0]),
        None,
        "it cannot be named"
    );
}

/// Hunks of arbitrary lines, as text of a diff.
fn any_diff() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        3 => prop_oneof![Just(' '), Just('+'), Just('-')]
            .prop_flat_map(|kind| "[a-c ]{0,3}".prop_map(move |text| format!("{kind}{text}"))),
    ];
    let hunk = proptest::collection::vec(line, 1..10);
    proptest::collection::vec((hunk, 1_u32..20), 1..4).prop_map(|hunks| {
        let mut out =
            String::from("diff --git a/p.rs b/p.rs\nindex 1..2 100644\n--- a/p.rs\n+++ b/p.rs\n");
        let (mut old, mut new) = (1_u32, 1_u32);
        for (body, gap) in hunks {
            old += gap;
            new += gap;
            let count = |kind: char| {
                u32::try_from(body.iter().filter(|line| !line.starts_with(kind)).count()).unwrap()
            };
            let (olds, news) = (count('+'), count('-'));
            // A side without lines is numbered by the line before it.
            let start = |at: u32, lines: u32| if lines == 0 { at - 1 } else { at };
            out.push_str(&format!(
                "@@ -{},{olds} +{},{news} @@\n{}\n",
                start(old, olds),
                start(new, news),
                body.join("\n")
            ));
            old += olds;
            new += news;
        }
        out
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_anchor_is_one_that_the_forge_accepts(
        diff in any_diff(),
        line in prop_oneof![0_u32..60, any::<u32>()],
        end_line in proptest::option::of(prop_oneof![0_u32..60, any::<u32>()]),
        on_left in any::<bool>(),
        quote in proptest::option::of("[a-c \n+]{0,6}"),
    ) {
        let parsed = mirilla_diff::parse(diff.as_bytes());
        prop_assert!(parsed.is_complete(), "{diff}");
        let file = &parsed.files[0];
        let side = if on_left { Side::Left } else { Side::Right };
        let wanted = Wanted { side, line, end_line, quote: quote.as_deref() };
        if let Ok(anchor) = place(&FileLines::of(file).unwrap(), &wanted) {
            let side = match anchor.side {
                Side::Left => mirilla_diff::Side::Left,
                Side::Right => mirilla_diff::Side::Right,
            };
            let first = anchor.first();
            prop_assert!(file.commentable(side, first) && file.commentable(side, anchor.line));
            prop_assert_eq!(file.hunk_at(side, first), file.hunk_at(side, anchor.line));
            prop_assert!(anchor.start_line.is_none_or(|start| start < anchor.line));
            let changed = match anchor.side {
                Side::Left => &file.deleted,
                Side::Right => &file.added,
            };
            prop_assert!((first..=anchor.line).any(|line| changed.contains(line)));
        }
    }
}
