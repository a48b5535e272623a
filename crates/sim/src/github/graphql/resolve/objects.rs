//! The fields of git's objects.

use super::{Resolved, maybe, scalar, unknown};
use crate::git::{CommitInfo, Identity, Object, tree_entries};
use crate::github::graphql::execute::Run;
use crate::github::graphql::nodes::{Found, Node};
use crate::github::render::lossy;
use crate::github::world::Repo;

impl<'a> Run<'a> {
    pub(super) fn tree(
        node: &Node<'a>,
        repo: &'a Repo,
        tree: &Object,
        path: &str,
        field: &str,
    ) -> Resolved<'a> {
        match field {
            "oid" => scalar(tree.oid.as_str()),
            "entries" => Ok(Found::Many(
                tree_entries(tree)
                    .into_iter()
                    .map(|e| Node::Entry(repo, e.mode, e.name, e.oid, path.to_owned()))
                    .collect(),
            )),
            _ => unknown(node, field),
        }
    }

    pub(super) fn entry(
        node: &Node<'a>,
        repo: &'a Repo,
        (mode, name, oid, above): (&str, &[u8], &str, &str),
        field: &str,
    ) -> Resolved<'a> {
        let kind = match mode {
            "40000" => "tree",
            "160000" => "commit",
            _ => "blob",
        };
        let name = lossy(name);
        let path = if above.is_empty() {
            name.clone()
        } else {
            format!("{above}/{name}")
        };
        match field {
            "name" => scalar(name),
            "path" => scalar(path),
            "oid" => scalar(oid),
            "type" => scalar(kind),
            "mode" => scalar(u64::from_str_radix(mode, 8).unwrap_or(0)),
            "size" => scalar(repo.git.size(oid)?.filter(|_| kind == "blob").unwrap_or(0)),
            "object" => match (kind, repo.git.object(oid)?) {
                ("tree", Some(tree)) => Ok(Found::One(Node::Tree(repo, tree, path))),
                ("blob", Some(blob)) => Ok(Found::One(Node::Blob(blob))),
                _ => Ok(Found::Nothing),
            },
            _ => unknown(node, field),
        }
    }

    pub(super) fn commit(
        node: &Node<'a>,
        repo: &'a Repo,
        commit: &CommitInfo,
        field: &str,
    ) -> Resolved<'a> {
        match field {
            "oid" => scalar(commit.sha.as_str()),
            "message" => scalar(commit.message.as_str()),
            "messageHeadline" => scalar(commit.message.lines().next().unwrap_or_default()),
            "committedDate" => scalar(commit.committer.date.as_str()),
            "authoredDate" => scalar(commit.author.date.as_str()),
            "author" => Ok(Found::One(git_actor(&commit.author))),
            "committer" => Ok(Found::One(git_actor(&commit.committer))),
            "tree" => {
                let tree = repo.git.object(&commit.tree)?;
                maybe(tree.map(|tree| Node::Tree(repo, tree, String::new())))
            }
            _ => unknown(node, field),
        }
    }
}

fn git_actor<'a>(who: &Identity) -> Node<'a> {
    Node::GitActor(who.name.clone(), who.email.clone(), who.date.clone())
}

/// Finds an object by git's own expressions, as in `main:src/lib.rs`.
pub(super) fn object<'a>(repo: &'a Repo, expression: &str) -> Resolved<'a> {
    let (revision, path) = match expression.split_once(':') {
        Some((revision, path)) => (revision, Some(path)),
        None => (expression, None),
    };
    let plain = revision.bytes().all(|b| b.is_ascii_hexdigit()) && revision.len() >= 4;
    let branch = revision.strip_prefix("refs/heads/").unwrap_or(revision);
    let revision = match repo.branches.get(branch) {
        Some(tip) => tip.clone(),
        None if revision == "HEAD" => repo
            .branches
            .get(&repo.default_branch)
            .cloned()
            .unwrap_or_default(),
        None if plain => revision.to_owned(),
        None => return Ok(Found::Nothing),
    };
    let name = match path {
        Some(path) => format!("{revision}:{path}"),
        None => revision,
    };
    let Some(object) = repo.git.object(&name)? else {
        return Ok(Found::Nothing);
    };
    Ok(match object.kind.as_str() {
        "blob" => Found::One(Node::Blob(object)),
        "tree" => {
            let path = path.unwrap_or_default().trim_matches('/').to_owned();
            Found::One(Node::Tree(repo, object, path))
        }
        "commit" => Found::One(Node::Commit(repo, repo.git.commit_info(&object.oid)?)),
        _ => Found::Nothing,
    })
}
