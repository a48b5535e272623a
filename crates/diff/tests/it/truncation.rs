//! Every fixture cut at every byte: what is read is right, and the cut is never mistaken for the end.

use mirilla_diff::{FileDiff, Parsed, SectionReader, Side};

use crate::{golden::fixtures, support::parse_checked};

#[test]
fn lines_before_a_cut_are_right_and_the_cut_is_flagged() {
    for (name, bytes) in fixtures() {
        let whole = parse_checked(&bytes);
        for cut in 0..bytes.len() {
            let input = &bytes[..cut];
            let parsed = parse_checked(input);
            let at = format!("{name} cut at {cut}");
            assert_prefix(&at, &parsed, &whole);
            if whole.is_complete() {
                assert_eq!(
                    parsed.is_complete(),
                    ends_like_a_diff(input, &whole),
                    "{at}"
                );
            }
        }
    }
}

/// What the cut input says, the whole one says as well.
fn assert_prefix(at: &str, cut: &Parsed<'_>, whole: &Parsed<'_>) {
    assert!(cut.files.len() <= whole.files.len(), "{at}");
    for (at_file, (file, full)) in cut.files.iter().zip(&whole.files).enumerate() {
        if at_file + 1 < cut.files.len() {
            assert_eq!(file, full, "{at}: a file before the last is whole");
            continue;
        }
        assert_eq!(file.path(), full.path(), "{at}");
        let lines: Vec<_> = file.lines().collect();
        let full_lines: Vec<_> = full.lines().take(lines.len()).collect();
        let (last, before) = lines
            .split_last()
            .map_or((None, &lines[..]), |(l, b)| (Some(l), b));
        assert_eq!(before, &full_lines[..before.len()], "{at}");
        if let Some(last) = last {
            let full = full_lines.last().unwrap();
            assert_eq!(
                (last.kind, last.old, last.new),
                (full.kind, full.old, full.new),
                "{at}"
            );
            // Only the last line the counts ask for is kept without its LF: its number is certain, its
            // text perhaps not, and the file says so.
            assert!(full.text.starts_with(last.text), "{at}");
            let is_last_declared = file.hunks.last().unwrap().is_complete();
            let may_be_cut = file.incomplete.is_some() && is_last_declared;
            assert!(last.text == full.text || may_be_cut, "{at}");
        }
        for line in 1..200 {
            let claimed = file.commentable(Side::Right, line);
            assert!(
                !claimed || full.commentable(Side::Right, line),
                "{at}: line {line}"
            );
        }
    }
}

/// Whether nothing in `input` says that something is missing: it ends in LF, and what it has of the last
/// file can be a whole file by itself. Told from the text alone, by other means than the parser's.
fn ends_like_a_diff(input: &[u8], whole: &Parsed<'_>) -> bool {
    let text = String::from_utf8_lossy(input);
    if input.is_empty() {
        return true;
    }
    if !text.ends_with('\n') {
        return false;
    }
    let offset_in = |file: &FileDiff<'_>| file.section.as_ptr() as usize;
    let start = offset_in(&whole.files[0]);
    let last = whole
        .files
        .iter()
        .rfind(|file| offset_in(file) - start < input.len())
        .unwrap();
    let seen = &input[offset_in(last) - start..];
    if seen.len() == last.section.len() {
        return true;
    }
    let text = String::from_utf8_lossy(seen);
    if last.hunks.is_empty() {
        // One of the two halves of a binary patch is a patch; a submodule's log has no end.
        let half = text.contains("\nGIT binary patch\n") && text.ends_with("\n\n");
        return half || text.starts_with("Submodule ");
    }
    // Between hunks, or before the marker of the last line.
    let body_start = last.section.len() - last.hunks.iter().map(span).sum::<usize>();
    let mut end = body_start;
    for hunk in &last.hunks {
        end += span(hunk);
        let marker = b"\\ No newline at end of file\n";
        if seen.len() == end || (hunk.body.ends_with(marker) && seen.len() == end - marker.len()) {
            return true;
        }
    }
    // `old mode`, `new mode` and nothing else can be a whole file, and so can a pure rename.
    let ends_with_line = |prefix: &str| text.lines().last().is_some_and(|l| l.starts_with(prefix));
    seen.len() < body_start && ends_with_line("new mode ")
}

/// The bytes of a hunk, header included.
fn span(hunk: &mirilla_diff::Hunk<'_>) -> usize {
    let count = |start: u32, count: u32| match count {
        1 => format!("{start}"),
        _ => format!("{start},{count}"),
    };
    let heading = hunk.heading.len() + usize::from(!hunk.heading.is_empty());
    let ranges = count(hunk.old_start, hunk.old_count) + &count(hunk.new_start, hunk.new_count);
    "@@ - + @@\n".len() + ranges.len() + heading + hunk.body.len()
}

#[test]
fn sections_read_one_at_a_time_say_the_same() {
    for (name, bytes) in fixtures() {
        let whole = parse_checked(&bytes);
        let sections: Vec<_> = SectionReader::new(&bytes[..]).map(Result::unwrap).collect();
        let parsed: Vec<_> = sections.iter().map(mirilla_diff::Section::parse).collect();
        let files: Vec<_> = parsed
            .iter()
            .flat_map(|parsed| parsed.files.clone())
            .collect();
        assert_eq!(files, whole.files, "{name}");
        let problems: usize = parsed.iter().map(|parsed| parsed.problems.len()).sum();
        assert_eq!(problems, whole.problems.len(), "{name}");
    }
}
