//! Merge requests, their versions, files and commits.

use serde_json::{Value, json};

use crate::gitlab::changes::{Asked, Kept};
use crate::gitlab::errors::{no_record, not_found};
use crate::gitlab::http::{Answer, Cx};
use crate::gitlab::versions::GitlabFeature;
use crate::json::merged;
use crate::server::{Reply, Transport};

pub(crate) fn list(cx: &mut Cx<'_>) -> Answer {
    let state = cx
        .params
        .choice("state", &["all", "opened", "closed", "merged", "locked"])?
        .unwrap_or_else(|| "all".to_owned());
    let branch = cx.params.text("source_branch")?;
    let author = cx.params.text("author_id")?;
    let is_by = |username: &str| {
        let number = cx.world.users.get(username).map(|user| user.id.to_string());
        author.is_none() || author == number
    };
    let found: Vec<u64> = cx
        .project()?
        .merges
        .values()
        .rev()
        .filter(|merge| state == "all" || merge.state.as_str() == state)
        .filter(|merge| is_by(&merge.author))
        .filter(|merge| {
            branch
                .as_ref()
                .is_none_or(|name| *name == merge.source_branch)
        })
        .map(|merge| merge.iid)
        .collect();
    page_of(cx, &found)
}

pub(crate) fn of_commit(cx: &mut Cx<'_>) -> Answer {
    let project = cx.project()?;
    let sha = project
        .commit_of(cx.var(1))?
        .ok_or_else(|| not_found("Commit"))?;
    let found: Vec<u64> = project
        .merges
        .values()
        .filter(|merge| merge.head == sha)
        .map(|merge| merge.iid)
        .collect();
    page_of(cx, &found)
}

fn page_of(cx: &Cx<'_>, found: &[u64]) -> Answer {
    let (show, project) = (cx.show(), cx.project()?);
    cx.page(found.len(), |range| {
        let mut shown = Vec::new();
        for iid in found.get(range).unwrap_or_default() {
            if let Some(merge) = project.merges.get(iid) {
                shown.push(show.merge(project, merge)?);
            }
        }
        Ok(json!(shown))
    })
}

pub(crate) fn get(cx: &mut Cx<'_>) -> Answer {
    let shown = cx.show().merge(cx.project()?, cx.merge()?)?;
    Ok(Reply::json(200, &shown))
}

pub(crate) fn versions(cx: &mut Cx<'_>) -> Answer {
    let (show, project, merge) = (cx.show(), cx.project()?, cx.merge()?);
    cx.page(merge.versions.len(), |range| {
        let mut shown = Vec::new();
        for version in merge
            .versions
            .iter()
            .rev()
            .skip(range.start)
            .take(range.len())
        {
            shown.push(show.version(project, merge, version)?);
        }
        Ok(json!(shown))
    })
}

pub(crate) fn version(cx: &mut Cx<'_>) -> Answer {
    let id = cx.number(2, "version_id")?;
    let asked = asked(cx)?;
    let (show, project, merge) = (cx.show(), cx.project()?, cx.merge()?);
    let version = merge.versions.iter().find(|version| version.id == id);
    let version = version.ok_or_else(no_record)?;
    let diff = project.git.diff(&version.base, &version.head)?;
    let kept = Kept::of(&diff, cx.gitlab.options().limits, cx.version());
    let mut commits = Vec::new();
    for commit in project.git.log(&version.base, &version.head)?.iter().rev() {
        commits.push(show.commit(project, commit));
    }
    let more = json!({ "commits": commits, "diffs": kept.shown(0..kept.len(), asked) });
    let shown = merged(show.version(project, merge, version)?, more);
    Ok(Reply::json(200, &shown))
}

/// Returns how the files are asked for, as far as this version can be asked.
fn asked(cx: &Cx<'_>) -> Result<Asked, Reply> {
    let unidiff = cx.params.truth("unidiff")?;
    let raw = cx.params.truth("access_raw_diffs")?;
    if unidiff.is_some() && !cx.has(GitlabFeature::Unidiff) {
        cx.tolerated("unidiff is ignored by this version");
    }
    if raw.is_some() && !cx.has(GitlabFeature::ChangesOverflow) {
        cx.tolerated("access_raw_diffs is ignored by this version");
    }
    Ok(Asked {
        expanded: raw == Some(true) && cx.has(GitlabFeature::ChangesOverflow),
        unidiff: unidiff == Some(true) && cx.has(GitlabFeature::Unidiff),
    })
}

pub(crate) fn diffs(cx: &mut Cx<'_>) -> Answer {
    let asked = asked(cx)?;
    let (project, merge) = (cx.project()?, cx.merge()?);
    let Some(version) = merge.latest() else {
        return cx.page(0, |_| Ok(json!([])));
    };
    let diff = project.git.diff(&version.base, &version.head)?;
    let kept = Kept::of(&diff, cx.gitlab.options().limits, cx.version());
    cx.page(kept.len(), |range| Ok(kept.shown(range, asked)))
}

pub(crate) fn changes(cx: &mut Cx<'_>) -> Answer {
    let asked = asked(cx)?;
    let (show, project, merge) = (cx.show(), cx.project()?, cx.merge()?);
    let (files, overflow): (Value, bool) = match merge.latest() {
        None => (json!([]), false),
        Some(version) => {
            let diff = project.git.diff(&version.base, &version.head)?;
            let kept = Kept::of(&diff, cx.gitlab.options().limits, cx.version());
            (kept.shown(0..kept.len(), asked), kept.overflow)
        }
    };
    let mut shown = merged(show.merge(project, merge)?, json!({ "changes": files }));
    if cx.has(GitlabFeature::ChangesOverflow) {
        shown = merged(shown, json!({ "overflow": overflow }));
    }
    Ok(Reply::json(200, &shown))
}

pub(crate) fn raw_diffs(cx: &mut Cx<'_>) -> Answer {
    let (project, merge) = (cx.project()?, cx.merge()?);
    let text = match merge.latest() {
        None => Vec::new(),
        Some(version) => {
            let diff = project.git.diff(&version.base, &version.head)?;
            Kept::of(&diff, cx.gitlab.options().limits, cx.version()).raw()
        }
    };
    Ok(Reply::new(200, "text/plain", text).travelling(Transport::Chunked))
}

pub(crate) fn commits(cx: &mut Cx<'_>) -> Answer {
    let (show, project, merge) = (cx.show(), cx.project()?, cx.merge()?);
    let log = match merge.latest() {
        None => std::sync::Arc::from([]),
        Some(version) => project.git.log(&version.start, &version.head)?,
    };
    cx.page(log.len(), |range| {
        let shown: Vec<Value> = log
            .iter()
            .rev()
            .skip(range.start)
            .take(range.len())
            .map(|commit| show.commit(project, commit))
            .collect();
        Ok(json!(shown))
    })
}
