//! Settings and rules at one commit, in one query; on wish with the pull request as it is now.

use mirilla_domain::ids::{Account, BranchName, CommitSha, RepoName};
use mirilla_domain::snapshot::{PullRequest, TrustedFiles};
use mirilla_ports::forge::ForgeError;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::error::{CallError, Named};
use crate::github::api::Api;
use crate::github::identity::is_outsider;
use crate::github::pull::{Label, unusable};
use crate::refused::Refused;
use crate::trusted::{Kept, MAX_FOLDER_FILES, NOT_TEXT};

const FILES: Named = Named {
    action: "read settings and rules",
    what: "the trusted commit",
    writes: false,
};

#[derive(Deserialize)]
struct Data {
    repository: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
struct Commit {
    #[serde(default)]
    oid: Option<String>,
}

/// A file or a folder.
#[derive(Deserialize)]
struct Object {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    entries: Option<Vec<Entry>>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    #[serde(default)]
    object: Option<Object>,
}

/// A pull request as GraphQL describes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pull {
    state: String,
    is_draft: bool,
    is_cross_repository: bool,
    title: String,
    body: String,
    head_ref_oid: String,
    base_ref_name: String,
    base_ref_oid: String,
    changed_files: u64,
    author: Option<Author>,
    #[serde(default)]
    author_association: String,
    labels: Option<Labels>,
}

#[derive(Deserialize)]
struct Author {
    login: String,
    #[serde(rename = "__typename")]
    kind: String,
}

#[derive(Deserialize)]
struct Labels {
    nodes: Vec<Label>,
}

#[derive(Deserialize)]
struct Branch {
    name: String,
}

const PULL_FIELDS: &str = "databaseId nameWithOwner defaultBranchRef{name} \
    pullRequest(number:$n){state isDraft isCrossRepository title body headRefOid baseRefName \
    baseRefOid changedFiles author{login __typename} authorAssociation labels(first:100){nodes{name}}}";

/// Reads `paths` at `rev`.
pub(crate) async fn read(
    api: &Api,
    repo: &RepoName,
    rev: &str,
    paths: &[&str],
) -> Result<TrustedFiles, ForgeError> {
    let answer = ask(api, repo, rev, paths, None).await;
    answer
        .map(|(files, _)| files)
        .map_err(|error| error.into_forge(FILES))
}

/// Reads `paths` at `rev` and, in the same query, the pull request.
pub(crate) async fn read_both(
    api: &Api,
    rev: &str,
    paths: &[&str],
    first: &PullRequest,
) -> Result<(TrustedFiles, PullRequest), ForgeError> {
    let answer = ask(api, &first.repo_name, rev, paths, Some(first)).await;
    answer
        .and_then(|(files, mut rest)| Ok((files, pull_request(&mut rest, first)?)))
        .map_err(|error| error.into_forge(FILES))
}

/// Returns the files and what else was found.
async fn ask(
    api: &Api,
    repo: &RepoName,
    rev: &str,
    paths: &[&str],
    pull: Option<&PullRequest>,
) -> Result<(TrustedFiles, Map<String, Value>), CallError> {
    // A tag may have a branch's name; `refs/heads/` rules it out.
    let rev = match CommitSha::parse(rev) {
        Ok(commit) => commit.to_string(),
        Err(_branch) => format!("refs/heads/{rev}"),
    };
    let (query, variables) = query(repo, &rev, paths, pull);
    let data: Data = api
        .query("POST /graphql (files)", &query, variables)
        .await?;
    let mut found = data
        .repository
        .ok_or(CallError::Refused(Refused::NotFound))?;
    let commit: Option<Commit> = take(&mut found, "commit")?;
    let oid = commit
        .and_then(|commit| commit.oid)
        .ok_or(CallError::Refused(Refused::NotFound))?;
    let mut kept = Kept::default();
    for (index, path) in paths.iter().enumerate() {
        if let Some(object) = take::<Option<Object>>(&mut found, &format!("p{index}"))? {
            collect(object, path, &mut kept);
        }
    }
    let files = TrustedFiles {
        commit: CommitSha::parse(&oid).map_err(unusable("trusted commit"))?,
        files: kept.into_files(),
    };
    Ok((files, found))
}

/// Writes the query: every path is a variable, so that nothing is ever quoted into it.
fn query(
    repo: &RepoName,
    rev: &str,
    paths: &[&str],
    pull: Option<&PullRequest>,
) -> (String, Value) {
    let mut declared = vec!["$o:String!,$r:String!,$rev:String!".to_owned()];
    let mut fields = vec!["commit:object(expression:$rev){...on Commit{oid}}".to_owned()];
    let mut variables = Map::new();
    variables.insert("o".to_owned(), json!(repo.owner()));
    variables.insert("r".to_owned(), json!(repo.name()));
    variables.insert("rev".to_owned(), json!(rev));
    for (index, path) in paths.iter().enumerate() {
        let shape = if path.ends_with('/') {
            "...on Tree{entries{name object{...on Blob{text}}}}"
        } else {
            "...on Blob{text}"
        };
        declared.push(format!("$p{index}:String!"));
        fields.push(format!("p{index}:object(expression:$p{index}){{{shape}}}"));
        let expression = format!("{rev}:{}", path.trim_end_matches('/'));
        variables.insert(format!("p{index}"), json!(expression));
    }
    if let Some(pull) = pull {
        declared.push("$n:Int!".to_owned());
        fields.push(PULL_FIELDS.to_owned());
        variables.insert("n".to_owned(), json!(pull.id.pr.get()));
    }
    let query = format!(
        "query({}){{repository(owner:$o,name:$r){{{}}}}}",
        declared.join(","),
        fields.join(" ")
    );
    (query, Value::Object(variables))
}

fn collect(object: Object, path: &str, kept: &mut Kept) {
    let Some(folder) = path.strip_suffix('/') else {
        // An object without text and entries is a binary file, or a folder where a file was expected.
        if object.entries.is_none() {
            let text = object.text.unwrap_or_else(|| NOT_TEXT.to_owned());
            kept.push(path.to_owned(), text);
        }
        return;
    };
    for entry in object
        .entries
        .unwrap_or_default()
        .into_iter()
        .take(MAX_FOLDER_FILES)
    {
        // Folders within have no text.
        if let Some(text) = entry.object.and_then(|object| object.text) {
            kept.push(format!("{folder}/{}", entry.name), text);
        }
    }
}

fn pull_request(
    found: &mut Map<String, Value>,
    first: &PullRequest,
) -> Result<PullRequest, CallError> {
    let number: Option<u64> = take(found, "databaseId")?;
    let name: String = take(found, "nameWithOwner")?;
    let default: Option<Branch> = take(found, "defaultBranchRef")?;
    let pull: Option<Pull> = take(found, "pullRequest")?;
    let gone = CallError::Refused(Refused::NotFound);
    let Some(pull) = pull.filter(|_| number == Some(first.id.repo.get())) else {
        return Err(gone);
    };
    let is_bot = pull.author.as_ref().is_some_and(|a| a.kind == "Bot");
    let default = default.ok_or(gone)?;
    Ok(PullRequest {
        id: first.id,
        repo_name: RepoName::parse(&name).map_err(unusable("name of its repository"))?,
        head: CommitSha::parse(&pull.head_ref_oid).map_err(unusable("head commit"))?,
        base_ref: BranchName::parse(&pull.base_ref_name).map_err(unusable("base branch"))?,
        base: CommitSha::parse(&pull.base_ref_oid).map_err(unusable("base commit"))?,
        default_branch: BranchName::parse(&default.name).map_err(unusable("default branch"))?,
        open: pull.state == "OPEN",
        draft: pull.is_draft,
        // Once a fork is deleted, what GraphQL says about it has not been seen documented.
        from_fork: pull.is_cross_repository || first.from_fork,
        title: pull.title,
        description: pull.body,
        author: pull.author.and_then(|author| {
            // REST shows a bot's account with this ending, GraphQL without.
            let suffix = if is_bot { "[bot]" } else { "" };
            Account::parse(&format!("{}{suffix}", author.login)).ok()
        }),
        author_is_bot: is_bot,
        author_is_outsider: is_outsider(&pull.author_association),
        labels: pull
            .labels
            .map(|labels| labels.nodes.into_iter().map(|l| l.name).collect())
            .unwrap_or_default(),
        changed_files: pull.changed_files,
    })
}

fn take<T: serde::de::DeserializeOwned>(
    found: &mut Map<String, Value>,
    key: &str,
) -> Result<T, CallError> {
    let value = found.remove(key).unwrap_or(Value::Null);
    serde_json::from_value(value).map_err(unusable("part that was asked for"))
}
