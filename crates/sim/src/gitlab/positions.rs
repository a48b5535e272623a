//! Where notes may stand in a diff, how their lines are called, and where they are after a push.
//!
//! A note on an added line names its new line alone, one on a removed line its old line alone, and
//! one on an unchanged line both. Whatever else is named has no line code, and GitLab refuses the
//! note with that, not with the reason. Lines beside the hunks that are the same on both sides have a
//! code, too: the page can unfold them.

use serde_json::{Value, json};
use sha1::{Digest as _, Sha1};

use super::errors::{INCOMPLETE, LINE_CODE};
use super::world::{Merge, Project, Version};
use crate::diff::{Diff, FileDiff, Hunk};
use crate::git::{GitDir, GitError, carry};

/// Where a note stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Position {
    /// `text`, `image` or `file`.
    pub(crate) kind: String,
    pub(crate) base: String,
    pub(crate) start: String,
    pub(crate) head: String,
    pub(crate) old_path: Option<String>,
    pub(crate) new_path: Option<String>,
    pub(crate) old_line: Option<u64>,
    pub(crate) new_line: Option<u64>,
    /// As it was sent: GitLab does not look into it.
    pub(crate) line_range: Option<Value>,
}

/// What is wrong with a position: a field and GitLab's words.
pub(crate) type Wrong = Vec<(&'static str, &'static [&'static str])>;

impl Position {
    /// Returns the position as the API shows it.
    pub(crate) fn shown(&self) -> Value {
        let mut shown = json!({
            "base_sha": self.base,
            "start_sha": self.start,
            "head_sha": self.head,
            "old_path": self.old_path,
            "new_path": self.new_path,
            "position_type": self.kind,
        });
        if let Some(fields) = shown.as_object_mut() {
            if self.kind == "text" {
                fields.insert("old_line".to_owned(), json!(self.old_line));
                fields.insert("new_line".to_owned(), json!(self.new_line));
                fields.insert("line_range".to_owned(), json!(self.line_range));
            }
        }
        shown
    }
}

/// Returns the name of a line: the path's SHA-1 and the counters of both sides.
pub(crate) fn line_code(path: &[u8], old: u64, new: u64) -> String {
    format!("{}_{old}_{new}", hex::encode(Sha1::digest(path)))
}

/// Finds the line code of a position on a merge request, or says what is wrong with it.
pub(crate) fn place(
    project: &Project,
    merge: &Merge,
    position: &Position,
    max_patch_bytes: usize,
) -> Result<Result<String, Wrong>, GitError> {
    let has_line = position.old_line.is_some() || position.new_line.is_some();
    if position.kind == "text" && !has_line {
        return Ok(Err(vec![LINE_CODE, INCOMPLETE]));
    }
    let nowhere = Ok(Err(vec![LINE_CODE]));
    let Some(version) = merge.version_with(position) else {
        return nowhere;
    };
    let diff = project.git.diff(&version.base, &version.head)?;
    let Some(file) = file_of(&diff, position) else {
        return nowhere;
    };
    if position.kind != "text" {
        // Comments on a whole file have no line.
        return Ok(Ok(line_code(&file.path, 0, 0)));
    }
    let patch: usize = file.sections.iter().map(std::ops::Range::len).sum();
    if patch > max_patch_bytes {
        return nowhere;
    }
    let found = code_in_hunks(file, position.old_line, position.new_line);
    let found = match found {
        Some(found) => Some(found),
        None => beside_hunks(&project.git, version, file, position)?,
    };
    Ok(found.ok_or_else(|| vec![LINE_CODE]))
}

/// Finds the file that a position names by both its paths.
fn file_of<'a>(diff: &'a Diff, position: &Position) -> Option<&'a FileDiff> {
    diff.files.iter().find(|file| {
        let old = file.old_path.as_ref().unwrap_or(&file.path);
        position.new_path.as_deref().map(str::as_bytes) == Some(file.path.as_slice())
            && position.old_path.as_deref().map(str::as_bytes) == Some(old.as_slice())
    })
}

/// Finds the code of a line that stands in a hunk.
fn code_in_hunks(file: &FileDiff, old: Option<u64>, new: Option<u64>) -> Option<String> {
    file.hunks
        .iter()
        .flat_map(counted)
        .find(|(own, _)| *own == (old, new))
        .map(|(_, (old, new))| line_code(&file.path, old, new))
}

/// The number of a line on either side; `None` where it is not.
type Sides = (Option<u64>, Option<u64>);

/// Returns the lines of a hunk by their sides, with the counters of both sides.
fn counted(hunk: &Hunk) -> impl Iterator<Item = (Sides, (u64, u64))> + '_ {
    let (mut old, mut new) = (hunk.old_start, hunk.new_start);
    hunk.lines
        .iter()
        .filter(|line| line.old.is_some() || line.new.is_some())
        .map(move |line| {
            let at = (old, new);
            old = old.saturating_add(u64::from(line.old.is_some()));
            new = new.saturating_add(u64::from(line.new.is_some()));
            ((line.old, line.new), at)
        })
}

/// Finds the code of an unchanged line that no hunk shows.
fn beside_hunks(
    git: &GitDir,
    version: &Version,
    file: &FileDiff,
    position: &Position,
) -> Result<Option<String>, GitError> {
    let (Some(old), Some(new)) = (position.old_line, position.new_line) else {
        return Ok(None);
    };
    let shown = file
        .hunks
        .iter()
        .flat_map(|hunk| &hunk.lines)
        .any(|line| line.old == Some(old) || line.new == Some(new));
    if shown || old == 0 || !matches!(file.letter, b'M' | b'R') {
        return Ok(None);
    }
    let path = file.old_path.as_ref().unwrap_or(&file.path);
    let name = format!("{}:{}", version.base, String::from_utf8_lossy(path));
    let lines = git.object(&name)?.map_or(0, |blob| {
        let ends = memchr::memchr_iter(b'\n', &blob.bytes).count();
        let open = blob.bytes.last().is_some_and(|last| *last != b'\n');
        u64::try_from(ends).unwrap_or(u64::MAX) + u64::from(open)
    });
    let expected = follow(file, old);
    Ok((old <= lines && expected == Some(new)).then(|| line_code(&file.path, old, new)))
}

/// Returns the new number of an old line that no hunk touches.
fn follow(file: &FileDiff, old: u64) -> Option<u64> {
    let (mut added, mut removed) = (0_u64, 0_u64);
    for hunk in file.hunks.iter().filter(|hunk| hunk.old_start <= old) {
        for line in &hunk.lines {
            added = added.saturating_add(u64::from(line.new.is_some()));
            removed = removed.saturating_add(u64::from(line.old.is_some()));
        }
    }
    old.checked_add(added)?.checked_sub(removed)
}

/// Returns what a client of ours must not send as a range of lines, though GitLab takes it.
pub(crate) fn check_range(
    project: &Project,
    position: &Position,
    anchor: &str,
) -> Result<Option<String>, GitError> {
    let Some(range) = &position.line_range else {
        return Ok(None);
    };
    let diff = project.git.diff(&position.base, &position.head)?;
    let Some(file) = file_of(&diff, position) else {
        return Ok(None);
    };
    let end = |name: &str| -> Option<(usize, String)> {
        let end = range.get(name)?;
        let code = end.get("line_code")?.as_str()?.to_owned();
        let kind = end.get("type").and_then(Value::as_str)?;
        let (index, (old, new)) = file
            .hunks
            .iter()
            .flat_map(counted)
            .map(|((old, new), at)| ((old, new), line_code(&file.path, at.0, at.1)))
            .enumerate()
            .find(|(_, (_, own))| *own == code)
            .map(|(index, (sides, _))| (index, sides))?;
        let added = old.is_none();
        let number = |name: &str| end.get(name).and_then(Value::as_u64);
        let fits = (kind == "new") == added
            && number("new_line").is_none_or(|line| Some(line) == new)
            && number("old_line").is_none_or(|line| Some(line) == old);
        fits.then_some((index, code))
    };
    let (Some(start), Some(end)) = (end("start"), end("end")) else {
        return Ok(Some(
            "line_range has an end that is no line of the file's diff".to_owned(),
        ));
    };
    if start.0 > end.0 {
        return Ok(Some("line_range starts behind its end".to_owned()));
    }
    if end.1 != anchor {
        return Ok(Some(
            "line_range does not end at the line of its position".to_owned(),
        ));
    }
    Ok(None)
}

/// Follows a position from its version to the newest one; `None` if its line changed or is gone.
pub(crate) fn follow_push(
    git: &GitDir,
    position: &Position,
    to: &Version,
) -> Result<Option<(Position, String)>, GitError> {
    let (Some(path), Some(old_path)) = (&position.new_path, &position.old_path) else {
        return Ok(None);
    };
    let mut moved = Position {
        base: to.base.clone(),
        start: to.start.clone(),
        head: to.head.clone(),
        line_range: None,
        ..position.clone()
    };
    if let Some(line) = position.new_line {
        moved.new_line = carry(git, &position.head, &to.head, path.as_bytes(), line)?;
        if moved.new_line.is_none() {
            return Ok(None);
        }
    }
    if let Some(line) = position.old_line {
        moved.old_line = carry(git, &position.base, &to.base, old_path.as_bytes(), line)?;
        if moved.old_line.is_none() {
            return Ok(None);
        }
    }
    let diff = git.diff(&to.base, &to.head)?;
    let Some(file) = file_of(&diff, &moved) else {
        return Ok(None);
    };
    let found = match code_in_hunks(file, moved.old_line, moved.new_line) {
        Some(found) => Some(found),
        None => beside_hunks(git, to, file, &moved)?,
    };
    Ok(found.map(|code| (moved, code)))
}
