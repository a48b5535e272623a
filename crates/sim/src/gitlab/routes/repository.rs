//! Files, blobs, trees, archives, commits and comparisons.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::git::{ArchiveKind, Object, find, tree_entries};
use crate::gitlab::changes::{Asked, Kept};
use crate::gitlab::errors::{grape, not_found};
use crate::gitlab::http::{Answer, Cx};
use crate::gitlab::versions::GitlabFeature;
use crate::gitlab::world::Project;
use crate::json::lossy;
use crate::server::{Reply, Transport};

fn commit_named(project: &Project, name: &str) -> Result<String, Reply> {
    project.commit_of(name)?.ok_or_else(|| not_found("Commit"))
}

/// A file of a commit.
struct FileAt {
    path: String,
    commit: String,
    blob: Object,
}

fn file_at(cx: &Cx<'_>) -> Result<FileAt, Reply> {
    let path = cx.var(1).to_owned();
    let project = cx.project()?;
    let reference = cx
        .params
        .text("ref")?
        .ok_or_else(|| grape(400, "ref is missing"))?;
    let commit = commit_named(project, &reference)?;
    match find(&project.git, &commit, path.as_bytes())? {
        Some((mode, blob)) if mode.starts_with("100") || mode == "120000" => {
            Ok(FileAt { path, commit, blob })
        }
        _ => Err(not_found("File")),
    }
}

impl FileAt {
    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

pub(crate) fn raw_file(cx: &mut Cx<'_>) -> Answer {
    let file = file_at(cx)?;
    let name = file.name().to_owned();
    Ok(
        Reply::new(200, "text/plain; charset=utf-8", file.blob.bytes.clone())
            .with(
                "content-disposition",
                format!("inline; filename=\"{name}\""),
            )
            .with("x-gitlab-blob-id", file.blob.oid)
            .with("x-gitlab-commit-id", file.commit)
            .with("x-gitlab-file-name", name)
            .with("x-gitlab-size", file.blob.size.to_string()),
    )
}

pub(crate) fn file(cx: &mut Cx<'_>) -> Answer {
    let reference = cx.params.text("ref")?;
    let file = file_at(cx)?;
    Ok(Reply::json(
        200,
        &json!({
            "file_name": file.name(),
            "file_path": file.path,
            "size": file.blob.size,
            "encoding": "base64",
            "content_sha256": hex::encode(Sha256::digest(&file.blob.bytes)),
            "ref": reference,
            "blob_id": file.blob.oid,
            "commit_id": file.commit,
            "content": STANDARD.encode(&file.blob.bytes),
        }),
    ))
}

fn blob_named(cx: &Cx<'_>) -> Result<Object, Reply> {
    let sha = cx.var(1);
    let plain = sha.len() == 40 && sha.bytes().all(|b| b.is_ascii_hexdigit());
    let found = if plain {
        cx.project()?.git.object(sha)?
    } else {
        None
    };
    found
        .filter(|object| object.kind == "blob")
        .ok_or_else(|| not_found("Blob"))
}

pub(crate) fn blob(cx: &mut Cx<'_>) -> Answer {
    let blob = blob_named(cx)?;
    Ok(Reply::json(
        200,
        &json!({
            "size": blob.size,
            "encoding": "base64",
            "content": STANDARD.encode(&blob.bytes),
            "sha": blob.oid,
        }),
    ))
}

pub(crate) fn raw_blob(cx: &mut Cx<'_>) -> Answer {
    let blob = blob_named(cx)?;
    Ok(Reply::new(200, "text/plain; charset=utf-8", blob.bytes))
}

pub(crate) fn zip(cx: &mut Cx<'_>) -> Answer {
    archive(cx, ArchiveKind::Zip)
}

pub(crate) fn tar_gz(cx: &mut Cx<'_>) -> Answer {
    archive(cx, ArchiveKind::TarGz)
}

fn archive(cx: &Cx<'_>, kind: ArchiveKind) -> Answer {
    let limit = cx.gitlab.options().limits.archives_per_minute;
    cx.gitlab.charge_action(&cx.caller, "archives", limit)?;
    let project = cx.project()?;
    let reference = cx
        .params
        .text("sha")?
        .unwrap_or_else(|| project.default_branch.clone());
    let found = project.commit_of(&reference)?;
    let sha = found.ok_or_else(|| not_found("File"))?;
    let name = format!("{}-{}-{sha}", project.name(), reference.replace('/', "-"));
    let bytes = project.git.archive(&sha, kind, &format!("{name}/"))?;
    let (extension, media) = match kind {
        ArchiveKind::Zip => ("zip", "application/zip"),
        ArchiveKind::TarGz => ("tar.gz", "application/octet-stream"),
    };
    let disposition = format!("attachment; filename=\"{name}.{extension}\"");
    Ok(Reply::new(200, media, bytes)
        .with("content-disposition", disposition)
        .travelling(Transport::Chunked))
}

pub(crate) fn commit(cx: &mut Cx<'_>) -> Answer {
    let project = cx.project()?;
    let sha = commit_named(project, cx.var(1))?;
    let info = project.git.commit_info(&sha)?;
    Ok(Reply::json(200, &cx.show().commit(project, &info)))
}

pub(crate) fn compare(cx: &mut Cx<'_>) -> Answer {
    cx.params.require(&["from", "to"])?;
    let (show, project) = (cx.show(), cx.project()?);
    let side = |name: &str| -> Result<String, Reply> {
        let found = project.commit_of(&cx.params.text_or_empty(name)?)?;
        found.ok_or_else(|| not_found("Ref"))
    };
    let (from, to) = (side("from")?, side("to")?);
    let straight = cx.params.truth("straight")?.unwrap_or_default();
    let diff = if straight {
        project.git.diff_straight(&from, &to)?
    } else {
        project.git.diff(&from, &to)?
    };
    let kept = Kept::of(&diff, cx.gitlab.options().limits, cx.version());
    let commits: Vec<Value> = project
        .git
        .log(&from, &to)?
        .iter()
        .map(|commit| show.commit(project, commit))
        .collect();
    Ok(Reply::json(
        200,
        &json!({
            "commit": commits.last(),
            "commits": commits,
            "diffs": kept.shown(0..kept.len(), Asked::default()),
            "compare_timeout": false,
            "compare_same_ref": from == to,
        }),
    ))
}

/// Lists a tree: paths with their entries, in git's order, directories before what is in them.
fn listed(
    project: &Project,
    root: Object,
    above: &str,
    recursive: bool,
) -> Result<Vec<Value>, Reply> {
    let mut shown = Vec::new();
    let mut waiting = vec![(above.to_owned(), root)];
    while let Some((above, tree)) = waiting.pop() {
        let mut inner = Vec::new();
        for entry in tree_entries(&tree) {
            let name = lossy(&entry.name);
            let path = if above.is_empty() {
                name.clone()
            } else {
                format!("{above}/{name}")
            };
            if recursive
                && entry.kind() == "tree"
                && let Some(below) = project.git.object(&entry.oid)?
            {
                inner.push((path.clone(), below));
            }
            shown.push(json!({
                "id": entry.oid,
                "name": name,
                "type": entry.kind(),
                "path": path,
                "mode": format!("{:0>6}", entry.mode),
            }));
        }
        waiting.extend(inner.into_iter().rev());
    }
    Ok(shown)
}

pub(crate) fn tree(cx: &mut Cx<'_>) -> Answer {
    let missing = || not_found("Tree");
    let path = cx.params.text_or_empty("path")?;
    let path = path.trim_matches('/').to_owned();
    let recursive = cx.params.truth("recursive")?.unwrap_or_default();
    let project = cx.project()?;
    let reference = cx
        .params
        .text("ref")?
        .unwrap_or_else(|| project.default_branch.clone());
    let commit = project.commit_of(&reference)?.ok_or_else(missing)?;
    let found = find(&project.git, &commit, path.as_bytes())?;
    let (_, root) = found
        .filter(|(mode, _)| mode == "40000")
        .ok_or_else(missing)?;
    let shown = listed(project, root, &path, recursive)?;
    let marks = cx.params.text("pagination")?.as_deref() == Some("keyset");
    if marks && !cx.has(GitlabFeature::TreeKeyset) {
        cx.tolerated("pagination=keyset is ignored by this version");
    }
    if !marks || !cx.has(GitlabFeature::TreeKeyset) {
        return cx.page(shown.len(), |range| {
            Ok(json!(shown.get(range).unwrap_or_default()))
        });
    }
    // The mark of the next page is the last entry's name for git; pages are not numbered.
    let after = cx.params.text("page_token")?;
    let id = |entry: &Value| entry.get("path").and_then(Value::as_str).map(hex::encode);
    let start = after.map_or(0, |after| {
        let at = shown
            .iter()
            .position(|entry| id(entry).as_ref() == Some(&after));
        at.map_or(shown.len(), |at| at.saturating_add(1))
    });
    let end = start.saturating_add(cx.per_page()?).min(shown.len());
    let page = shown.get(start..end).unwrap_or_default();
    let reply = Reply::json(200, &json!(page));
    match page.last().and_then(id) {
        Some(token) if end < shown.len() => {
            let next = cx.address_with(&[("page_token", token)]);
            Ok(reply.with("link", format!("<{next}>; rel=\"next\"")))
        }
        _ => Ok(reply),
    }
}
