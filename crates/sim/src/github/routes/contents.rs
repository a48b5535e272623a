//! Files, blobs and trees.
//!
//! <https://docs.github.com/rest/repos/contents>, <https://docs.github.com/rest/git>

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::pulls::commit_of;
use crate::git::{Object, find, tree_entries};
use crate::github::errors::{DOCS, basic, invalid_field, not_found};
use crate::github::http::{Answer, Cx};
use crate::github::render::{lossy, node_id};
use crate::github::world::Repo;
use crate::path::encode_path;
use crate::server::Reply;

/// Up to this size a file's contents are part of the JSON.
const MAX_INLINE_BYTES: u64 = 1_000_000;
/// Beyond this size a file is not served here at all.
const MAX_BYTES: u64 = 100_000_000;
/// Most entries of a directory.
const MAX_DIRECTORY: usize = 1_000;
/// Most entries of a tree.
const MAX_TREE: usize = 100_000;

/// Base64 with a line feed after every 60 characters and at the end, as GitHub writes it.
fn wrapped(bytes: &[u8]) -> String {
    let encoded = STANDARD.encode(bytes);
    let mut out = String::with_capacity(encoded.len() + encoded.len() / 60 + 1);
    for line in encoded.as_bytes().chunks(60) {
        out.push_str(&String::from_utf8_lossy(line));
        out.push('\n');
    }
    out
}

pub(crate) fn get(cx: &mut Cx<'_>) -> Answer {
    let path = cx.var(2).trim_matches('/').to_owned();
    let repo = cx.repo()?;
    let reference = cx
        .request
        .param("ref")
        .unwrap_or_else(|| repo.default_branch.clone());
    let commit = commit_of(repo, &reference)
        .map_err(|_missing| basic(404, &format!("No commit found for the ref {reference}")))?;
    let found = find(&repo.git, &commit, path.as_bytes())?;
    let (mode, object) = found.ok_or_else(not_found)?;
    match mode.as_str() {
        "40000" => directory(cx, repo, &commit, &path, &object),
        "160000" => Ok(Reply::json(
            200,
            &submodule(cx, repo, &commit, &path, &object.oid),
        )),
        "120000" => symlink(cx, repo, &commit, &path, &object),
        _ => file(cx, repo, &commit, &path, &object),
    }
}

/// The fields that every kind of contents has.
fn common(cx: &Cx<'_>, repo: &Repo, commit: &str, path: &str, oid: &str, kind: &str) -> Value {
    let show = cx.show();
    let encoded = encode_path(path.as_bytes());
    let url = format!("{}/contents/{encoded}?ref={commit}", show.repo_url(repo));
    let part = if kind == "dir" { "tree" } else { "blob" };
    let page = format!("{}/{part}/{commit}/{encoded}", show.repo_page(repo));
    let git = format!("{}/git/{part}s/{oid}", show.repo_url(repo));
    let download = format!("{}/raw/{commit}/{encoded}", show.repo_page(repo));
    json!({
        "type": kind,
        "name": path.rsplit('/').next().unwrap_or(path),
        "path": path,
        "sha": oid,
        "size": 0,
        "url": url,
        "html_url": page,
        "git_url": git,
        "download_url": if kind == "dir" || kind == "submodule" { Value::Null } else { json!(download) },
        "_links": { "self": url, "git": git, "html": page },
    })
}

fn put(value: &mut Value, name: &str, field: Value) {
    if let Some(object) = value.as_object_mut() {
        object.insert(name.to_owned(), field);
    }
}

fn file(cx: &Cx<'_>, repo: &Repo, commit: &str, path: &str, blob: &Object) -> Answer {
    if blob.size > MAX_BYTES {
        return Err(basic(
            403,
            "This API returns blobs up to 100 MB in size. The requested blob is too large to \
             fetch via the API",
        ));
    }
    if cx.accepts("raw") {
        let media = "application/vnd.github.raw+json; charset=utf-8";
        return Ok(Reply::new(200, media, blob.bytes.clone()));
    }
    let mut shown = common(cx, repo, commit, path, &blob.oid, "file");
    put(&mut shown, "size", json!(blob.size));
    let inline = blob.size <= MAX_INLINE_BYTES;
    put(
        &mut shown,
        "encoding",
        json!(if inline { "base64" } else { "none" }),
    );
    let content = if inline {
        wrapped(&blob.bytes)
    } else {
        String::new()
    };
    put(&mut shown, "content", json!(content));
    Ok(Reply::json(200, &shown))
}

/// A link to a file in the repository shows that file; any other shows where it points.
fn symlink(cx: &Cx<'_>, repo: &Repo, commit: &str, path: &str, link: &Object) -> Answer {
    let target = lossy(&link.bytes);
    let mut resolved: Vec<&str> = path.split('/').collect();
    resolved.pop();
    let mut inside = !target.starts_with('/');
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => inside &= resolved.pop().is_some(),
            name => resolved.push(name),
        }
    }
    if inside {
        let found = find(&repo.git, commit, resolved.join("/").as_bytes())?;
        if let Some((mode, blob)) = found
            && mode.starts_with("100")
        {
            return file(cx, repo, commit, path, &blob);
        }
    }
    let mut shown = common(cx, repo, commit, path, &link.oid, "symlink");
    put(&mut shown, "size", json!(link.size));
    put(&mut shown, "target", json!(target));
    Ok(Reply::json(200, &shown))
}

fn submodule(cx: &Cx<'_>, repo: &Repo, commit: &str, path: &str, oid: &str) -> Value {
    let mut shown = common(cx, repo, commit, path, oid, "submodule");
    put(
        &mut shown,
        "submodule_git_url",
        json!(format!("{}/submodule.git", cx.github.urls().html)),
    );
    shown
}

fn directory(cx: &Cx<'_>, repo: &Repo, commit: &str, path: &str, tree: &Object) -> Answer {
    let newer = cx.request.header("x-github-api-version") == Some("2026-03-10");
    let mut entries = Vec::new();
    for entry in tree_entries(tree).into_iter().take(MAX_DIRECTORY) {
        let name = lossy(&entry.name);
        let inner = if path.is_empty() {
            name
        } else {
            format!("{path}/{name}")
        };
        let kind = match entry.mode.as_str() {
            "40000" => "dir",
            "120000" => "symlink",
            // The older version of the API calls a submodule a file here.
            "160000" if newer => "submodule",
            _ => "file",
        };
        let mut shown = common(cx, repo, commit, &inner, &entry.oid, kind);
        if entry.kind() == "blob" {
            let size = repo.git.size(&entry.oid)?.unwrap_or(0);
            put(&mut shown, "size", json!(size));
        }
        entries.push(shown);
    }
    if !cx.accepts("object") {
        return Ok(Reply::json(200, &json!(entries)));
    }
    let mut shown = common(cx, repo, commit, path, &tree.oid, "dir");
    put(&mut shown, "entries", json!(entries));
    Ok(Reply::json(200, &shown))
}

pub(crate) fn blob(cx: &mut Cx<'_>) -> Answer {
    let sha = cx.var(2);
    if sha.len() < 40 || !sha.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(basic(
            422,
            "The sha parameter must be exactly 40 characters and contain only [0-9a-f].",
        ));
    }
    let repo = cx.repo()?;
    let blob = repo
        .git
        .object(sha)?
        .filter(|o| o.kind == "blob")
        .ok_or_else(not_found)?;
    if blob.size > MAX_BYTES {
        return Err(invalid_field("Blob", "data", "too_large", DOCS));
    }
    if cx.accepts("raw") {
        let media = "application/vnd.github.raw+json; charset=utf-8";
        return Ok(Reply::new(200, media, blob.bytes));
    }
    Ok(Reply::json(
        200,
        &json!({
            "sha": blob.oid,
            "node_id": node_id("Blob", 0) + &blob.oid,
            "url": format!("{}/git/blobs/{}", cx.show().repo_url(repo), blob.oid),
            "size": blob.size,
            "content": wrapped(&blob.bytes),
            "encoding": "base64",
        }),
    ))
}

pub(crate) fn tree(cx: &mut Cx<'_>) -> Answer {
    let repo = cx.repo()?;
    let name = cx.var(2);
    let sha = match commit_of(repo, name) {
        Ok(commit) => commit,
        Err(_no_commit) if name.len() >= 40 && name.bytes().all(|b| b.is_ascii_hexdigit()) => {
            name.to_owned()
        }
        Err(missing) => return Err(missing),
    };
    let root = repo
        .git
        .object(&format!("{sha}^{{tree}}"))?
        .ok_or_else(not_found)?;
    // Any value asks for the whole tree, even "0".
    let recursive = cx.request.param("recursive").is_some();
    let root_oid = root.oid.clone();
    let mut listed = Vec::new();
    let mut waiting = vec![(Vec::new(), root)];
    let mut truncated = false;
    while let Some((above, tree)) = waiting.pop() {
        let mut inner = Vec::new();
        for entry in tree_entries(&tree) {
            if listed.len() >= MAX_TREE {
                truncated = true;
                break;
            }
            let mut path: Vec<u8> = above.clone();
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(&entry.name);
            if recursive && entry.kind() == "tree" {
                if let Some(below) = repo.git.object(&entry.oid)? {
                    inner.push((path.clone(), below));
                }
            }
            listed.push((path, entry));
        }
        waiting.extend(inner.into_iter().rev());
    }
    listed.sort_by(|a, b| a.0.cmp(&b.0));
    let url = format!("{}/git", cx.show().repo_url(repo));
    let mut shown = Vec::new();
    for (path, entry) in listed {
        let kind = entry.kind();
        let mut item = json!({
            "path": lossy(&path),
            "mode": format!("{:0>6}", entry.mode),
            "type": kind,
            "sha": entry.oid,
        });
        if kind != "commit" {
            put(
                &mut item,
                "url",
                json!(format!("{url}/{kind}s/{}", entry.oid)),
            );
        }
        if kind == "blob" {
            put(
                &mut item,
                "size",
                json!(repo.git.size(&entry.oid)?.unwrap_or(0)),
            );
        }
        shown.push(item);
    }
    Ok(Reply::json(
        200,
        &json!({
            "sha": root_oid,
            "url": format!("{url}/trees/{root_oid}"),
            "tree": shown,
            "truncated": truncated,
        }),
    ))
}
