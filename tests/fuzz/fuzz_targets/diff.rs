//! Any bytes, parsed in every way there is: nothing panics, and what is claimed is in the input.
//!
//! The invariants are those of the crate's own tests.
#![no_main]

#[path = "../../../crates/diff/tests/it/support.rs"]
mod support;

use libfuzzer_sys::fuzz_target;
use mirilla_diff::{FileStatus, SectionReader, parse_patch, summary};

fuzz_target!(|input: &[u8]| {
    let parsed = support::parse_checked(input);
    let total = summary::of_bytes(input);
    assert_eq!(total.files, parsed.files.len());
    assert_eq!(total.problems, parsed.problems.len());

    for max in [usize::MAX, 64] {
        let mut reader = SectionReader::with_max(input, max);
        let mut kept = 0;
        while let Some(section) = reader.next_ref().expect("a slice reads without errors") {
            kept += section.bytes.len();
            let alone = section.parse();
            alone.files.iter().for_each(support::assert_file_invariants);
            assert!(!section.cut || !alone.is_complete(), "a cut is never silent");
        }
        assert!(max == 64 || kept == input.len(), "no byte is lost");
    }

    let (file, problems) = parse_patch(Some(b"old"), Some(b"new"), FileStatus::Modified, input);
    support::assert_file_invariants(&file);
    assert_eq!(problems.is_empty(), file.incomplete.is_none());
});
