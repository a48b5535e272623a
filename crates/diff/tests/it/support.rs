//! What the tests share: checks that hold for every input.

use mirilla_diff::{FileDiff, LineKind, Parsed, Side, parse};

/// Asserts what holds for the parse of any bytes.
pub(crate) fn assert_invariants(input: &[u8], parsed: &Parsed<'_>) {
    for file in &parsed.files {
        assert_file_invariants(file);
        let inside = input.as_ptr_range();
        let section = file.section.as_ptr_range();
        assert!(
            inside.start <= section.start && section.end <= inside.end,
            "a section is a part of the input"
        );
    }
    let lines = line_at(input, input.len());
    for problem in &parsed.problems {
        assert!(problem.offset <= input.len(), "{problem:?}");
        assert!((1..=lines).contains(&problem.line), "{problem:?}");
        let line = line_at(input, problem.offset);
        assert_eq!(problem.line, line, "{problem:?}");
    }
    let mut offsets = parsed.problems.iter().map(|problem| problem.offset);
    assert!(offsets.by_ref().is_sorted(), "problems are in input order");
}

/// The 1-based number of the line that `offset` is in.
pub(crate) fn line_at(input: &[u8], offset: usize) -> usize {
    memchr::memchr_iter(b'\n', &input[..offset]).count() + 1
}

/// Asserts what holds for every file, however it came about.
pub(crate) fn assert_file_invariants(file: &FileDiff<'_>) {
    assert!(!file.path().is_empty(), "a file has a name: {file:?}");
    let (mut added, mut deleted) = (Vec::new(), Vec::new());
    let mut last = (0, 0);
    for hunk in &file.hunks {
        let (mut old_seen, mut new_seen) = (0, 0);
        for line in hunk.lines() {
            if let Some(old) = line.old {
                assert_eq!(old, hunk.old_start + old_seen, "{file:?}");
                assert!(old > last.0, "old lines ascend: {file:?}");
                assert!(hunk.contains(Side::Left, old), "{file:?}");
                last.0 = old;
                old_seen += 1;
            }
            if let Some(new) = line.new {
                assert_eq!(new, hunk.new_start + new_seen, "{file:?}");
                assert!(new > last.1, "new lines ascend: {file:?}");
                assert!(hunk.contains(Side::Right, new), "{file:?}");
                assert!(file.commentable(Side::Right, new), "{file:?}");
                last.1 = new;
                new_seen += 1;
            }
            match line.kind {
                LineKind::Added => added.push(line.new.unwrap()),
                LineKind::Deleted => deleted.push(line.old.unwrap()),
                LineKind::Context => {
                    assert!(line.new.is_some());
                    let old = line.old.unwrap();
                    assert!(!file.commentable(Side::Left, old), "{file:?}");
                }
            }
            assert!(!line.text.contains(&b'\n'), "a line holds no LF");
        }
        assert!(old_seen <= hunk.old_count && new_seen <= hunk.new_count);
        let complete = (old_seen, new_seen) == (hunk.old_count, hunk.new_count);
        assert_eq!(hunk.is_complete(), complete, "{file:?}");
        assert!(
            complete || file.incomplete.is_some(),
            "a short hunk is flagged: {file:?}"
        );
        for (side, start, seen) in [
            (Side::Left, hunk.old_start, old_seen),
            (Side::Right, hunk.new_start, new_seen),
        ] {
            assert!(!hunk.contains(side, start.wrapping_add(seen)), "{file:?}");
            assert!(start == 0 || !hunk.contains(side, start - 1), "{file:?}");
        }
    }
    // The ranges and the lines say the same, and the ranges are sorted and do not touch.
    assert_eq!(file.added.lines().collect::<Vec<_>>(), added);
    assert_eq!(file.deleted.lines().collect::<Vec<_>>(), deleted);
    assert_eq!(
        (file.added.len(), file.deleted.len()),
        (added.len(), deleted.len())
    );
    for ranges in [&file.added, &file.deleted] {
        let runs: Vec<_> = ranges.iter().collect();
        assert!(runs.iter().all(|run| run.start() <= run.end()));
        assert!(
            runs.windows(2)
                .all(|pair| u64::from(*pair[0].end()) + 1 < u64::from(*pair[1].start()))
        );
    }
    for line in file.added_lines().take(50) {
        let number = line.new.unwrap();
        assert_eq!(file.line_text(Side::Right, number), Some(line.text));
    }
    for line in file.deleted_lines().take(50) {
        let number = line.old.unwrap();
        assert!(file.commentable(Side::Left, number));
        assert_eq!(file.line_text(Side::Left, number), Some(line.text));
    }
}

/// Parses and asserts the invariants.
pub(crate) fn parse_checked(input: &[u8]) -> Parsed<'_> {
    let parsed = parse(input);
    assert_invariants(input, &parsed);
    parsed
}
