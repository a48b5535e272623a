//! Where a line of one commit is in another.

use super::GitDir;
use super::command::GitError;

/// Carries a line number of a path from one commit to another; `None` if the line was changed.
pub(crate) fn carry(
    git: &GitDir,
    from: &str,
    to: &str,
    path: &[u8],
    line: u64,
) -> Result<Option<u64>, GitError> {
    if from == to {
        return Ok(Some(line));
    }
    let changes = git.line_map(from, to, path)?;
    let Some(file) = changes.file(path) else {
        return Ok(Some(line));
    };
    if file.letter != b'M' {
        return Ok(None);
    }
    let (mut added, mut removed) = (0_u64, 0_u64);
    for hunk in &file.hunks {
        if hunk.lines.iter().any(|changed| changed.old == Some(line)) {
            return Ok(None);
        }
        if hunk.old_start > line
            || (hunk.old_start == line && hunk.lines.iter().all(|l| l.old.is_none()))
        {
            break;
        }
        let count = |new: bool| {
            let lines = hunk.lines.iter().filter(|l| {
                if new {
                    l.new.is_some()
                } else {
                    l.old.is_some()
                }
            });
            u64::try_from(lines.count()).unwrap_or(u64::MAX)
        };
        added = added.saturating_add(count(true));
        removed = removed.saturating_add(count(false));
    }
    Ok(Some(line.saturating_add(added).saturating_sub(removed)))
}
