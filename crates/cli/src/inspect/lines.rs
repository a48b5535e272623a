//! Files and lines of a diff, or their counts in bounded memory.

use std::fs::File;
use std::io::{BufWriter, Read, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use mirilla_diff::{FileDiff, LineRanges, parse};
use serde::Serialize;
use serde_json::json;

use crate::output;

/// One file of a diff.
#[derive(Debug, Serialize)]
struct Entry {
    old_path: Option<String>,
    new_path: Option<String>,
    status: String,
    binary: bool,
    added_lines: Vec<u32>,
    deleted_lines: Vec<u32>,
    incomplete: bool,
}

impl Entry {
    fn of(file: &FileDiff<'_>) -> Self {
        let name = |path: &Option<std::borrow::Cow<'_, [u8]>>| {
            path.as_ref()
                .map(|path| String::from_utf8_lossy(path).into_owned())
        };
        let lines = |ranges: &LineRanges| ranges.lines().collect();
        Self {
            old_path: name(&file.old_path),
            new_path: name(&file.new_path),
            status: file.status.as_str().to_owned(),
            binary: file.binary,
            added_lines: lines(&file.added),
            deleted_lines: lines(&file.deleted),
            incomplete: file.incomplete.is_some(),
        }
    }
}

/// Prints every file; problems go to standard error.
pub(super) fn all(bytes: &[u8]) -> Result<()> {
    let parsed = parse(bytes);
    let entries: Vec<Entry> = parsed.files.iter().map(Entry::of).collect();
    let mut out = BufWriter::new(std::io::stdout().lock());
    serde_json::to_writer_pretty(&mut out, &entries).context("the output cannot be written")?;
    out.write_all(b"\n")
        .and_then(|()| out.flush())
        .context("the output cannot be written")?;
    for problem in &parsed.problems {
        output::worker_line(&problem.to_string());
    }
    Ok(())
}

/// Prints counts only, reading one file section at a time.
pub(super) fn summary(path: &Path) -> Result<()> {
    let input: Box<dyn Read> = if path == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(File::open(path).with_context(|| format!("{} cannot be read", path.display()))?)
    };
    let summary = mirilla_diff::summary::of_reader(input)
        .with_context(|| format!("{} cannot be read", path.display()))?;
    output::data_line(
        &json!({
            "files": summary.files,
            "added": summary.added,
            "deleted": summary.deleted,
            "binary": summary.binary,
            "incomplete": summary.incomplete,
            "problems": summary.problems,
        })
        .to_string(),
    );
    Ok(())
}
