//! What git 2.47.3 printed for every form a diff can take, and what is read from it.
//!
//! One snapshot per file of `tests/fixtures/material/diffs`; a file without one fails.

use std::{fmt::Write as _, fs};

use mirilla_casekit::repo_path;
use mirilla_diff::{FileDiff, Line, LineKind, LineRanges, Parsed};

use crate::support::parse_checked;

/// Every fixture with its bytes, by name.
pub(crate) fn fixtures() -> Vec<(String, Vec<u8>)> {
    let folder = repo_path("tests/fixtures/material/diffs");
    let mut found: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "diff")
        })
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, fs::read(path).unwrap())
        })
        .collect();
    found.sort();
    assert!(found.len() >= 43, "only {} fixtures", found.len());
    found
}

#[test]
fn every_form_of_diff_reads_as_reviewed() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for (name, bytes) in fixtures() {
        let dump = dump(&parse_checked(&bytes));
        settings.bind(|| insta::assert_snapshot!(name, dump));
    }
}

/// Prints all that was read, a line of the diff to a line of output.
pub(crate) fn dump(parsed: &Parsed<'_>) -> String {
    let mut out = String::new();
    for file in &parsed.files {
        dump_file(&mut out, file);
    }
    for problem in &parsed.problems {
        let path = problem.path.as_deref().map(<[u8]>::escape_ascii);
        let path = path.map(|path| format!(" ({path})")).unwrap_or_default();
        writeln!(out, "problem: {problem}{path}").unwrap();
    }
    out
}

fn dump_file(out: &mut String, file: &FileDiff<'_>) {
    let side = |path: Option<&[u8]>, mode: Option<u32>, oid: Option<&str>| {
        let path = path.map_or_else(
            || "absent".to_owned(),
            |path| path.escape_ascii().to_string(),
        );
        let mode = mode.map_or_else(|| "-".to_owned(), |mode| format!("{mode:06o}"));
        format!("[{path}] {mode} {}", oid.unwrap_or("-"))
    };
    writeln!(out, "{}", file.status).unwrap();
    let old = side(file.old_path.as_deref(), file.old_mode, file.old_oid);
    let new = side(file.new_path.as_deref(), file.new_mode, file.new_oid);
    writeln!(out, "  old {old}\n  new {new}").unwrap();
    for (flag, is_set) in [
        ("binary", file.binary),
        ("submodule", file.submodule),
        ("only line endings", file.only_line_endings_changed()),
    ] {
        if is_set {
            writeln!(out, "  {flag}").unwrap();
        }
    }
    if let Some(reason) = file.incomplete {
        writeln!(out, "  incomplete: {reason}").unwrap();
    }
    writeln!(
        out,
        "  added {} deleted {}",
        ranges(&file.added),
        ranges(&file.deleted)
    )
    .unwrap();
    for hunk in &file.hunks {
        writeln!(
            out,
            "  @@ -{},{} +{},{} [{}]",
            hunk.old_start,
            hunk.old_count,
            hunk.new_start,
            hunk.new_count,
            hunk.heading.escape_ascii()
        )
        .unwrap();
        for line in hunk.lines() {
            dump_line(out, &line);
        }
    }
}

fn dump_line(out: &mut String, line: &Line<'_>) {
    let number = |number: Option<u32>| number.map_or_else(|| "-".to_owned(), |n| n.to_string());
    let kind = match line.kind {
        LineKind::Context => ' ',
        LineKind::Added => '+',
        LineKind::Deleted => '-',
    };
    let end = if line.no_newline { " (no newline)" } else { "" };
    writeln!(
        out,
        "  {:>3} {:>3} {kind}[{}]{end}",
        number(line.old),
        number(line.new),
        line.text.escape_ascii()
    )
    .unwrap();
}

fn ranges(set: &LineRanges) -> String {
    let runs: Vec<_> = set
        .iter()
        .map(|run| {
            let (first, last) = run.into_inner();
            if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            }
        })
        .collect();
    if runs.is_empty() {
        "none".to_owned()
    } else {
        runs.join(",")
    }
}
