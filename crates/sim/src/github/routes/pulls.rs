//! Pull requests: themselves, their diff, their files and commits; comparisons.
//!
//! <https://docs.github.com/rest/pulls/pulls>

use serde_json::{Value, json};

use crate::diff::Diff;
use crate::github::errors::{basic, diff_too_large, not_found};
use crate::github::http::{Answer, Cx};
use crate::github::world::{Pull, Repo};
use crate::server::Reply;

/// A diff with more files than this is not shown in one piece.
const MAX_DIFF_FILES: usize = 300;
/// A diff with more lines than this, context included, is not shown in one piece.
const MAX_DIFF_LINES: usize = 20_000;
/// The file list ends here.
const MAX_LISTED_FILES: usize = 3_000;
/// The commit list ends here.
const MAX_LISTED_COMMITS: usize = 250;

/// Returns the pull request the path names.
pub(crate) fn pull<'a>(cx: &'a Cx<'_>) -> Result<(&'a Repo, &'a Pull), Reply> {
    let number = cx.number(2)?;
    let repo = cx.repo()?;
    Ok((repo, repo.pulls.get(&number).ok_or_else(not_found)?))
}

pub(crate) fn list(cx: &mut Cx<'_>) -> Answer {
    let cx = &*cx;
    let repo = cx.repo()?;
    let state = cx
        .request
        .param("state")
        .unwrap_or_else(|| "open".to_owned());
    let head = cx.request.param("head");
    let base = cx.request.param("base");
    let mut found: Vec<&Pull> = repo
        .pulls
        .values()
        .filter(|p| state == "all" || p.open == (state == "open"))
        .filter(|p| {
            head.as_ref()
                .is_none_or(|head| *head == format!("{}:{}", p.head_owner, p.head_ref))
        })
        .filter(|p| base.as_ref().is_none_or(|base| *base == p.base_ref))
        .collect();
    if cx.request.param("direction").as_deref() != Some("asc") {
        found.reverse();
    }
    cx.page(found.len(), |range| {
        let shown = found.get(range).unwrap_or_default();
        Ok(shown
            .iter()
            .map(|pull| cx.show().pull_simple(repo, pull))
            .collect())
    })
}

pub(crate) fn get(cx: &mut Cx<'_>) -> Answer {
    let (repo, pull) = pull(cx)?;
    if cx.accepts("diff") {
        let diff = repo.git.diff(&repo.base_sha(pull), &pull.head)?;
        return whole_diff(&diff);
    }
    if cx.accepts("patch") {
        return Err(basic(
            415,
            "The simulator serves no mail patches; ask for the diff.",
        ));
    }
    Ok(Reply::json(200, &cx.show().pull(repo, pull)?))
}

fn whole_diff(diff: &Diff) -> Answer {
    if diff.files.len() > MAX_DIFF_FILES {
        return Err(diff_too_large(&format!(
            "Sorry, the diff exceeded the maximum number of files ({MAX_DIFF_FILES}). Consider \
             using 'List pull requests files' API or locally cloning the repository instead."
        )));
    }
    if diff.line_count() > MAX_DIFF_LINES {
        return Err(diff_too_large(&format!(
            "Sorry, the diff exceeded the maximum number of lines ({MAX_DIFF_LINES})"
        )));
    }
    Ok(Reply::new(
        200,
        "application/vnd.github.diff; charset=utf-8",
        diff.text.clone(),
    ))
}

pub(crate) fn files(cx: &mut Cx<'_>) -> Answer {
    let cx = &*cx;
    let (repo, pull) = pull(cx)?;
    let diff = repo.git.diff(&repo.base_sha(pull), &pull.head)?;
    let total = diff.files.len().min(MAX_LISTED_FILES);
    cx.page(total, |range| {
        let shown = diff.files.get(range).unwrap_or_default();
        Ok(shown
            .iter()
            .map(|file| cx.show().diff_entry(repo, &pull.head, &diff, file))
            .collect())
    })
}

pub(crate) fn commits(cx: &mut Cx<'_>) -> Answer {
    let cx = &*cx;
    let (repo, pull) = pull(cx)?;
    let log = repo.git.log(&repo.base_sha(pull), &pull.head)?;
    let total = log.len().min(MAX_LISTED_COMMITS);
    cx.page(total, |range| {
        let shown = log.get(range).unwrap_or_default();
        Ok(shown
            .iter()
            .map(|commit| cx.show().commit(repo, commit))
            .collect())
    })
}

/// Finds the commit a caller means by a branch, a reference or an object name.
pub(crate) fn commit_of(repo: &Repo, name: &str) -> Result<String, Reply> {
    let branch = name.strip_prefix("refs/").unwrap_or(name);
    let branch = branch.strip_prefix("heads/").unwrap_or(branch);
    if let Some(sha) = repo.branches.get(branch) {
        return Ok(sha.clone());
    }
    let pull = name
        .strip_prefix("refs/pull/")
        .and_then(|rest| rest.strip_suffix("/head"))
        .and_then(|number| number.parse().ok())
        .and_then(|number: u64| repo.pulls.get(&number));
    if let Some(pull) = pull {
        return Ok(pull.head.clone());
    }
    // Names with punctuation would reach into git's own syntax.
    let plain = name.len() >= 7 && name.bytes().all(|b| b.is_ascii_hexdigit());
    let found = if plain {
        repo.git.resolve(name, "commit")?
    } else {
        None
    };
    found.ok_or_else(not_found)
}

/// Finds one side of a comparison: `branch`, `sha` or `owner:branch`.
fn side_of(cx: &Cx<'_>, name: &str) -> Result<String, Reply> {
    let repo = cx.repo()?;
    let Some((owner, branch)) = name.split_once(':') else {
        return commit_of(repo, name);
    };
    let of = cx.world.repos.values().find(|other| {
        other.owner == owner
            && (other.id == repo.id
                || other.fork_of == Some(repo.id)
                || repo.fork_of == Some(other.id))
    });
    of.and_then(|other| other.branches.get(branch))
        .cloned()
        .ok_or_else(not_found)
}

pub(crate) fn compare(cx: &mut Cx<'_>) -> Answer {
    let cx = &*cx;
    let (base, head) = cx.var(2).split_once("...").ok_or_else(not_found)?;
    let (base, head) = (side_of(cx, base)?, side_of(cx, head)?);
    let repo = cx.repo()?;
    let merge_base = repo.git.merge_base(&base, &head)?.ok_or_else(not_found)?;
    let diff = repo.git.diff(&base, &head)?;
    if cx.accepts("diff") {
        return whole_diff(&diff);
    }
    let ahead = repo.git.log(&base, &head)?;
    let behind = repo.git.log(&head, &base)?.len();
    let status = match (ahead.len(), behind) {
        (0, 0) => "identical",
        (_, 0) => "ahead",
        (0, _) => "behind",
        _ => "diverged",
    };
    let show = cx.show();
    let first_page = cx.request.param("page").is_none_or(|page| page == "1");
    let files: Vec<Value> = if first_page {
        diff.files
            .iter()
            .take(MAX_DIFF_FILES)
            .map(|f| show.diff_entry(repo, &head, &diff, f))
            .collect()
    } else {
        Vec::new()
    };
    let base_commit = show.commit(repo, &repo.git.commit_info(&base)?);
    let merge_base_commit = show.commit(repo, &repo.git.commit_info(&merge_base)?);
    let page = format!("{}/compare/{base}...{head}", show.repo_page(repo));
    cx.page(ahead.len(), |range| {
        let commits: Vec<Value> = ahead
            .get(range)
            .unwrap_or_default()
            .iter()
            .map(|c| show.commit(repo, c))
            .collect();
        Ok(json!({
            "url": cx.address(),
            "html_url": page,
            "permalink_url": page,
            "diff_url": format!("{page}.diff"),
            "patch_url": format!("{page}.patch"),
            "base_commit": base_commit,
            "merge_base_commit": merge_base_commit,
            "status": status,
            "ahead_by": ahead.len(),
            "behind_by": behind,
            "total_commits": ahead.len(),
            "commits": commits,
            "files": files,
        }))
    })
}
