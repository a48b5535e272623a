//! Sections that have no two sides: combined diffs, conflicts, submodule logs.

use crate::{
    cursor::Cursor,
    file::{FileDiff, FileStatus, Incomplete},
    parse::{
        hunks::Body,
        start::{Start, is_diff_line},
    },
    path::{Path, read_path},
    problem::{ProblemKind, Problems},
    ranges::LineRanges,
};

/// Reads the section of kind `start` that is next. Nothing if it names no path.
pub(super) fn read<'a>(
    start: Start,
    cursor: &mut Cursor<'a>,
    problems: &mut Problems<'_>,
) -> Option<FileDiff<'a>> {
    let offset = cursor.offset();
    let line = cursor.peek()?;
    cursor.skip_line();
    if !line.ended {
        problems.add(offset, ProblemKind::Truncated);
        return None;
    }
    let text = line.header();
    let file = match start {
        Start::Submodule => {
            let submodule = SubmoduleLine::read(text)?;
            let whole = skip_log(cursor, problems);
            FileDiff {
                incomplete: (!whole).then_some(Incomplete::Truncated),
                status: submodule.status,
                old_path: (submodule.status != FileStatus::Added).then(|| submodule.path.into()),
                new_path: (submodule.status != FileStatus::Deleted).then(|| submodule.path.into()),
                old_oid: submodule.old_oid,
                new_oid: submodule.new_oid,
                submodule: true,
                ..unread(cursor.since(offset), None)
            }
        }
        Start::Unmerged => {
            let path = text.strip_prefix(b"* Unmerged path ")?;
            problems.add(offset, ProblemKind::Unmerged);
            let path = read_path(path);
            unread(cursor.since(offset), Some((path?, Incomplete::Unmerged)))
        }
        Start::Git | Start::Plain | Start::Combined => {
            problems.add(offset, ProblemKind::Combined);
            while cursor.first().is_some() && !is_diff_line(cursor.rest()) {
                cursor.skip_line();
            }
            let path = text
                .strip_prefix(b"diff --cc ")
                .or_else(|| text.strip_prefix(b"diff --combined "))
                .and_then(read_path);
            unread(cursor.since(offset), Some((path?, Incomplete::Combined)))
        }
    };
    problems.name(file.path());
    Some(file)
}

/// Makes a modified file of which no line was read.
fn unread<'a>(section: &'a [u8], why: Option<(Path<'a>, Incomplete)>) -> FileDiff<'a> {
    let (path, incomplete) = why.unzip();
    FileDiff {
        old_path: path.clone(),
        new_path: path,
        status: FileStatus::Modified,
        old_mode: None,
        new_mode: None,
        old_oid: None,
        new_oid: None,
        binary: false,
        submodule: false,
        incomplete,
        hunks: Vec::new(),
        added: LineRanges::default(),
        deleted: LineRanges::default(),
        section,
    }
}

/// The line `Submodule PATH OLD..NEW:` that `diff.submodule=log` prints in place of a hunk.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SubmoduleLine<'a> {
    path: &'a [u8],
    old_oid: Option<&'a str>,
    new_oid: Option<&'a str>,
    status: FileStatus,
}

impl<'a> SubmoduleLine<'a> {
    pub(super) fn read(line: &'a [u8]) -> Option<Self> {
        let text = line.strip_prefix(b"Submodule ")?;
        for dirt in [
            &b" contains untracked content"[..],
            b" contains modified content",
        ] {
            if let Some(path) = text.strip_suffix(dirt) {
                return Self::new(path, None, FileStatus::Modified);
            }
        }
        let (text, status) = if let Some(text) = text.strip_suffix(b":") {
            let text = text.strip_suffix(b" (rewind)").unwrap_or(text);
            (text, FileStatus::Modified)
        } else if let Some(text) = text.strip_suffix(b" (new submodule)") {
            (text, FileStatus::Added)
        } else if let Some(text) = text.strip_suffix(b" (submodule deleted)") {
            (text, FileStatus::Deleted)
        } else {
            let text = text.strip_suffix(b" (commits not present)")?;
            (text, FileStatus::Modified)
        };
        let blank = memchr::memrchr(b' ', text)?;
        let (path, ids) = text.split_at_checked(blank)?;
        let ids = std::str::from_utf8(ids.get(1..)?).ok()?;
        Self::new(
            path,
            Some(ids.split_once("...").or_else(|| ids.split_once(".."))?),
            status,
        )
    }

    fn new(path: &'a [u8], ids: Option<(&'a str, &'a str)>, status: FileStatus) -> Option<Self> {
        let is_id = |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if path.is_empty() || ids.is_some_and(|(old, new)| !is_id(old) || !is_id(new)) {
            return None;
        }
        let (old_oid, new_oid) = ids.unzip();
        Some(Self {
            path,
            old_oid,
            new_oid,
            status,
        })
    }
}

/// Skips the commits that follow a submodule's line, `  > subject` or `  < subject`; returns whether the
/// last one is whole.
fn skip_log(cursor: &mut Cursor<'_>, problems: &mut Problems<'_>) -> bool {
    while let Some(line) = cursor.peek() {
        if !line.text.starts_with(b" ") {
            break;
        }
        if !line.ended {
            problems.add(cursor.offset(), ProblemKind::Truncated);
        }
        cursor.skip_line();
        if !line.ended {
            return false;
        }
    }
    true
}

/// Returns whether hunks without a header are those of a submodule: every line names a commit.
pub(super) fn is_submodule_patch(body: &Body<'_>) -> bool {
    let mut lines = body.hunks.iter().flat_map(crate::Hunk::lines).peekable();
    lines.peek().is_some()
        && lines.all(|line| {
            line.text
                .strip_prefix(b"Subproject commit ")
                .map(|id| id.strip_suffix(b"-dirty").unwrap_or(id))
                .is_some_and(|id| {
                    matches!(id.len(), 40 | 64) && id.iter().all(u8::is_ascii_hexdigit)
                })
        })
}
