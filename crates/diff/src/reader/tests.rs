use super::*;

/// A source that gives one byte at a time and is interrupted before each.
struct Dribble<'b> {
    bytes: &'b [u8],
    interrupt: bool,
}

impl Read for Dribble<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.interrupt = !self.interrupt;
        if self.interrupt {
            return Err(ErrorKind::Interrupted.into());
        }
        let Some((&byte, rest)) = self.bytes.split_first() else {
            return Ok(0);
        };
        self.bytes = rest;
        buffer[0] = byte;
        Ok(1)
    }
}

fn file(name: &str, lines: usize) -> String {
    let body = "+line\n".repeat(lines);
    format!(
        "diff --git a/{name} b/{name}\nnew file mode 100644\nindex 0000000..1111111\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1,{lines} @@\n{body}"
    )
}

#[test]
fn sections_are_the_same_however_the_bytes_arrive() {
    let diff = format!(
        "From: someone\n\n{}{}{}",
        file("a", 3),
        file("b", 1),
        file("c", 2)
    );
    let dribble = Dribble {
        bytes: diff.as_bytes(),
        interrupt: false,
    };
    let slow: Vec<Section> = SectionReader::new(dribble).map(Result::unwrap).collect();
    let fast: Vec<Section> = SectionReader::new(diff.as_bytes())
        .map(Result::unwrap)
        .collect();
    assert_eq!(slow, fast);
    let names: Vec<_> = slow
        .iter()
        .flat_map(|section| {
            section
                .parse()
                .files
                .iter()
                .map(|f| f.path().to_vec())
                .collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(names, [b"a", b"b", b"c"]);
    let joined: Vec<u8> = slow
        .iter()
        .flat_map(|section| section.bytes.clone())
        .collect();
    assert_eq!(joined, diff.as_bytes());
    for section in &slow {
        let at = usize::try_from(section.offset).unwrap();
        assert!(diff.as_bytes()[at..].starts_with(&section.bytes));
    }
}

#[test]
fn a_section_over_the_limit_is_cut_at_a_line_and_flagged() {
    let diff = format!("{}{}", file("big", 1000), file("small", 1));
    let mut reader = SectionReader::with_max(diff.as_bytes(), 400);
    let big = reader.next_section().unwrap().unwrap();
    assert!(big.cut);
    assert!(big.bytes.len() <= 400);
    assert!(big.bytes.ends_with(b"\n"));
    let parsed = big.parse();
    assert_eq!(
        parsed.files[0].incomplete,
        Some(Incomplete::SectionTooLarge)
    );
    assert_eq!(parsed.problems.len(), 1);
    assert_eq!(parsed.problems[0].kind, ProblemKind::SectionTooLarge);
    assert_eq!(parsed.problems[0].path.as_deref(), Some(&b"big"[..]));
    let header = file("big", 1000).find("+line").unwrap();
    assert_eq!(parsed.files[0].added.len(), (400 - header) / 6);

    let small = reader.next_section().unwrap().unwrap();
    assert!(!small.cut);
    assert_eq!(small.bytes, file("small", 1).as_bytes());
    assert!(small.parse().is_complete());
    assert_eq!(reader.next_section().unwrap(), None);
}

#[test]
fn a_section_exactly_at_the_limit_is_whole() {
    let one = file("a", 10);
    let diff = format!("{one}{}", file("b", 1));
    let mut reader = SectionReader::with_max(diff.as_bytes(), one.len());
    assert!(!reader.next_section().unwrap().unwrap().cut);
    let mut reader = SectionReader::with_max(diff.as_bytes(), one.len() - 1);
    let cut = reader.next_section().unwrap().unwrap();
    assert!(cut.cut);
    assert_eq!(
        cut.parse().files[0].incomplete,
        Some(Incomplete::SectionTooLarge)
    );
    let dribble = Dribble {
        bytes: diff.as_bytes(),
        interrupt: false,
    };
    let mut reader = SectionReader::with_max(dribble, one.len());
    assert!(!reader.next_section().unwrap().unwrap().cut);
    // The last section ends with the input, not with a boundary.
    let mut reader = SectionReader::with_max(one.as_bytes(), one.len());
    assert!(!reader.next_section().unwrap().unwrap().cut);
}

#[test]
fn a_line_without_end_is_cut_in_the_middle() {
    let diff = format!("diff --git a/x b/x\n{}", "x".repeat(10_000));
    let mut reader = SectionReader::with_max(diff.as_bytes(), 10);
    let section = reader.next_section().unwrap().unwrap();
    assert_eq!(section.bytes, b"diff --git");
    assert!(section.cut);
    assert_eq!(reader.next_section().unwrap(), None);
}

#[test]
fn an_empty_source_has_no_section() {
    assert_eq!(SectionReader::new(&b""[..]).next_section().unwrap(), None);
}

#[test]
fn the_buffer_does_not_grow_with_the_diff() {
    let one = file("some/path/of/a/file.rs", 2_000);
    let diff = one.repeat(2_000);
    let mut reader = SectionReader::with_max(diff.as_bytes(), 64 * 1024);
    let mut count = 0;
    while let Some(section) = reader.next_ref().unwrap() {
        assert!(!section.cut);
        count += 1;
    }
    assert_eq!(count, 2_000);
    assert!(reader.buffer.capacity() <= 64 * 1024 + 2 * READ_BYTES);
}

#[test]
fn an_error_of_the_source_is_passed_on() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("broken"))
        }
    }
    let error = SectionReader::new(Broken).next_section().unwrap_err();
    assert_eq!(error.to_string(), "broken");
}
